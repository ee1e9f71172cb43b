"""Tries to read the files that it is given, then to connect to the port that comes last."""
import socket
import sys

for path in sys.argv[1:-1]:
    try:
        with open(path, "rb") as stream:
            print("read", len(stream.read()))
    except OSError:
        print("refused")
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[-1])), timeout=5)
    print("connected")
except OSError:
    print("no connection")
