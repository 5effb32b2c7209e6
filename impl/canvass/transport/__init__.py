"""What processes of a cluster say to each other, in bytes, and the links that carry it.

`messages` are those of clients and members, with their codecs.
`links` carries messages over TCP on 127.0.0.1, one way each.

What flows: messages in, bytes out, and back. Members (`node`) and clients (`client`) both know this
package; it must know neither, and no meaning of a message.
"""
