"""Members of a cluster in one thread: no sockets, no disks, no clock but the caller's."""
