"""HTTP/1.1: requests parsed without I/O, connections with deadlines, and the ports that take them."""
