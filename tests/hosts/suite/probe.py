"""Runs inside: tries each line of stdin (talk, udp or inside, then host and port) and says what came of it.

Without socket.py and the modules behind it, which take an emulated machine half a minute to compile.
"""
import sys
from _socket import (SHUT_WR, SOCK_DGRAM, SOCK_STREAM, gaierror, getaddrinfo, socket)

PATIENCE = 10


def connected(host, port, kind):
    """Whichever address of the host is there."""
    problem = None
    for family, _, _, _, there in getaddrinfo(host, port, 0, kind):
        sock = socket(family, kind)
        sock.settimeout(PATIENCE)
        try:
            sock.connect(there)
            return sock
        except OSError as refusal:
            problem = refusal
    raise problem


def talk(host, port):
    sock = connected(host, port, SOCK_STREAM)
    sock.send(b"hello")
    sock.shutdown(SHUT_WR)
    return sock.recv(64)


def udp(host, port):
    sock = connected(host, port, SOCK_DGRAM)
    sock.send(b"hello")
    return sock.recv(64)


def inside(host, port):
    """Both ends in here."""
    family, _, _, _, there = getaddrinfo(host, port, 0, SOCK_STREAM)[0]
    server = socket(family, SOCK_STREAM)
    server.bind(there)
    server.listen()
    client = connected(host, server.getsockname()[1], SOCK_STREAM)
    fd, _ = server._accept()
    socket(fileno=fd).send(b"hello")
    return client.recv(64)


def attempt(line):
    kind, host, port = line.split()
    try:
        return {"talk": talk, "udp": udp, "inside": inside}[kind](host, int(port)).decode() or "NOT a word"
    except gaierror:
        return "NOT a name"
    except TimeoutError:
        return "waited too long"
    except OSError as problem:
        return f"NOT {problem}"


for each in sys.stdin.read().splitlines():
    print(attempt(each), flush=True)
