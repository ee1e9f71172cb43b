"""An engine of another version: answers as such a one does, and ends by SIGTERM.  other_engine.py SOCKET [HELLO]"""
import signal
import socket
import sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
listener.listen(8)
print("listens", flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        if connection.recv(4096) and len(sys.argv) > 2:
            connection.send(bytes.fromhex(sys.argv[2]))
