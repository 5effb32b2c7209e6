"""The messages between processes of a cluster, and the connections that carry them.

`messages` has the messages of clients and members, with their codecs.
`links` carries messages over TCP on 127.0.0.1, each link in one direction.

What flows: messages in, bytes out, and back. Members (`node`) and clients (`client`) use this
package. It must know neither, and must not act on a message.
"""
