"""Runs inside: takes a list of actions as JSON and says what became of each, as JSON.

An action is [KIND, ...]; its outcome is a text, a list, or "NOT errno" when it failed.  Nothing waits
longer than PATIENCE: what is refused must be refused, not forgotten.
"""
import contextlib
import errno
import hashlib
import json
import os
import random
import select
import socket
import struct
import sys
import threading
import time
import urllib.request

PATIENCE = 6
CHUNK = 1 << 16


def failure(problem):
    """The name of what went wrong."""
    if isinstance(problem, urllib.error.URLError) and isinstance(problem.reason, OSError):
        problem = problem.reason
    if isinstance(problem, socket.gaierror):
        names = {value: name for name, value in vars(socket).items() if name.startswith("EAI_")}
        return f"NOT {names.get(problem.errno, problem.errno)}"
    if isinstance(problem, TimeoutError) and problem.errno is None:
        return "NOT waited too long"
    if isinstance(problem, OSError) and problem.errno:
        return f"NOT {errno.errorcode.get(problem.errno, problem.errno)}"
    return f"NOT {type(problem).__name__} {problem}"


def read_all(connection):
    data = b""
    while more := connection.recv(CHUNK):
        data += more
    return data


def talk(host, port, text="hello\n", bind=None, patience=PATIENCE):
    """Says something and hears everything until the end."""
    with socket.create_connection((host, port), patience, bind and tuple(bind)) as connection:
        connection.sendall(text.encode("latin-1"))
        with contextlib.suppress(OSError):  # reset already: reading tells
            connection.shutdown(socket.SHUT_WR)
        return read_all(connection).decode("latin-1")


def connect(host, port):
    with socket.create_connection((host, port), PATIENCE):
        return "connected"


def udp(host, port, text="hello", bind=None):
    """One datagram and its answer; the answer must come from where it was asked for."""
    family, _, _, _, there = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE)
        if bind:
            sock.bind(tuple(bind))
        sock.connect(there)
        sock.send(text.encode("latin-1"))
        return sock.recv(CHUNK).decode("latin-1")


def udp_unconnected(host, port, text="hello"):
    """The answer and whom it came from."""
    family, _, _, _, there = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE)
        sock.sendto(text.encode("latin-1"), there)
        data, sender = sock.recvfrom(CHUNK)
        return [data.decode("latin-1"), sender[:2] == there[:2]]


def udp_send(host, port, text="hello"):
    family, _, _, _, there = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.sendto(text.encode("latin-1"), there)
        return "sent"


def udp_many(host, port, count, size):
    """Datagrams one after the other, each with its answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE)
        sock.connect((host, port))
        for number in range(count):
            data = random.Random(number).randbytes(size)
            sock.send(data)
            if sock.recv(CHUNK) != data:
                return f"NOT the same {number}"
    return count * size


def udp_burst(host, port, count, size):
    """Datagrams as fast as they go; then one that is repeated until its answer has passed the others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((host, port))
        for _ in range(count):
            sock.send(b"x" * size)
        sock.settimeout(0.1)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                sock.send(b"last")
                while sock.recv(CHUNK) != b"last":
                    pass
                return "passed"
            except TimeoutError:
                continue
    return "NOT passed"


def resolve(name, family=0):
    found = socket.getaddrinfo(name, 80, {0: 0, 4: socket.AF_INET, 6: socket.AF_INET6}[family],
                               socket.SOCK_STREAM)
    return sorted({entry[4][0] for entry in found})


def http(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode("latin-1")


def wire_name(name):
    """Labels as they are, dots apart: what is no name goes out all the same."""
    labels = [label.encode("latin-1") for label in name.split(".")] if name else []
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


CODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}


def resolver():
    with open("/etc/resolv.conf", encoding="ascii") as lines:
        return next(line.split()[1] for line in lines if line.startswith("nameserver"))


def read_answer(data):
    number, flags, _, answers, _, _ = struct.unpack_from("!HHHHHH", data)
    del number
    return f"{CODES.get(flags & 15, flags & 15)} {answers}"


def dns_raw(text, server=None):
    """Any bytes (hexadecimal) as a question; how it was answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE)
        sock.connect((server or resolver(), 53))
        sock.send(bytes.fromhex(text))
        return read_answer(sock.recv(4096))


def question(name, kind):
    header = struct.pack("!HHHHHH", 4711, 0x0100, 1, 0, 0, 0)
    return header + wire_name(name) + struct.pack("!HH", kind, 1)


def dns(name, kind=1, server=None):
    return dns_raw(question(name, kind).hex(), server)


def dns_took(name):
    """How long one question had to wait, in milliseconds."""
    started = time.monotonic()
    dns(name)
    return int((time.monotonic() - started) * 1000)


def dns_text(name):
    """The first TXT record, whole."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE)
        sock.connect((resolver(), 53))
        sock.send(question(name, 16))
        data = sock.recv(4096)
    return read_answer(data) + " " + data[-6:].decode("latin-1")


def dns_tcp(name, kind=1, server=None):
    with socket.create_connection((server or resolver(), 53), PATIENCE) as connection:
        message = question(name, kind)
        connection.sendall(struct.pack("!H", len(message)) + message)
        length, = struct.unpack("!H", connection.recv(2, socket.MSG_WAITALL))
        return read_answer(connection.recv(length, socket.MSG_WAITALL))


def blocks(seed, count):
    block = random.Random(seed).randbytes(CHUNK)
    for start in range(0, count, CHUNK):
        yield block[:min(CHUNK, count - start)]


def upload(host, port, count, seed):
    """Sends, ends its half, and hears what the other side counted."""
    with socket.create_connection((host, port), PATIENCE) as connection:
        connection.settimeout(10 * PATIENCE)
        for block in blocks(seed, count):
            connection.sendall(block)
        connection.shutdown(socket.SHUT_WR)
        return read_all(connection).decode().strip()


def download(host, port, count, seed):
    digest, total = hashlib.sha256(), 0
    with socket.create_connection((host, port), PATIENCE) as connection:
        connection.settimeout(10 * PATIENCE)
        connection.sendall(f"{count} {seed}\n".encode())
        while data := connection.recv(CHUNK):
            digest.update(data)
            total += len(data)
    return f"{total} {digest.hexdigest()}"


def short(host, port, count):
    """The other side ends its half first; ours goes on."""
    with socket.create_connection((host, port), PATIENCE) as connection:
        connection.sendall(b"go\n")
        said = read_all(connection).decode()
        connection.sendall(b"x" * count)
        connection.shutdown(socket.SHUT_WR)
        return said


def urgent(host, port, before, behind):
    """A byte that is out of band, between others."""
    with socket.create_connection((host, port), PATIENCE) as connection:
        connection.sendall(before.encode())
        connection.send(b"!", socket.MSG_OOB)
        connection.sendall(behind.encode())
        connection.shutdown(socket.SHUT_WR)
        return read_all(connection).decode()


def parallel(host, port, count, text="hello\n"):
    """Connections that are all open at once."""
    open_ones = []
    try:
        for _ in range(count):
            open_ones.append(socket.create_connection((host, port), PATIENCE))
        for number, connection in enumerate(open_ones):
            connection.sendall(f"{number} {text}".encode())
        for number, connection in enumerate(open_ones):
            connection.shutdown(socket.SHUT_WR)
            if read_all(connection) != f"{number} {text}".encode():
                return f"NOT the same {number}"
    finally:
        for connection in open_ones:
            connection.close()
    return "all"


def serial(host, port, count):
    """One after the other: how many went well before the first that did not, and what it met."""
    for number in range(count):
        try:
            talk(host, port)
        except OSError as problem:
            return [number, failure(problem)]
    return [count, ""]


def together(host, port, count):
    """As many threads, each with a connection of its own.

    "all" when each got its own bytes back, else how many did not and what they got."""
    outcomes = [None] * count

    def one(number):
        outcomes[number] = attempt("talk", [host, port, f"{number}\n", None, 10 * PATIENCE])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong = [got for number, got in enumerate(outcomes) if got != f"{number}\n"]
    return f"{len(wrong)} of {count}: {sorted(set(wrong))}" if wrong else "all"


def server_and_client(host, port=0):
    """Both ends inside."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as server:
        with socket.create_connection(server.getsockname()[:2], PATIENCE) as client:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"from inside")
                connection.shutdown(socket.SHUT_WR)
                return read_all(client).decode()


def make_socket(family, kind, protocol=0):
    with socket.socket(family, kind, protocol):
        return "made"


def option(level, name, value):
    """Sets an option on a socket of each kind."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(level, name, value)
        return "set"


def bind(address, port=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.bind((address, port))
        return "bound"


def broadcast(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.sendto(b"to all", (address, port))
        return "sent"


def unix(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.connect(name)
        return sock.recv(64).decode()


def route(kind, flags, body):
    """A request to the kernel's tables of routes: 0 is the answer to one that was taken."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        data = bytes.fromhex(body)
        sock.send(struct.pack("=IHHII", 16 + len(data), kind, flags | 5, 1, 0) + data)
        _, answer, _, _, _, code = struct.unpack_from("=IHHIIi", sock.recv(4096))
        return f"NOT {errno.errorcode[-code]}" if answer == 2 and code else "taken"


def exhaust(host, port, count):
    """As many sockets as there may be, each of which sends a datagram."""
    kept = []
    try:
        for _ in range(count):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            kept.append(sock)
            sock.connect((host, port))
            sock.send(b"mine")
    except OSError as problem:
        return [len(kept), failure(problem)]
    finally:
        for sock in kept:
            sock.close()
    return [len(kept), ""]


def fast_open(host, port, text="hello\n"):
    """Connects without calling connect()."""
    family, _, _, _, there = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        for name in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, name, struct.pack("ll", PATIENCE, 0))
        sock.sendto(text.encode(), socket.MSG_FASTOPEN, there)
        sock.shutdown(socket.SHUT_WR)
        return read_all(sock).decode()


def send_message(host, port, text="hello"):
    """A datagram by sendmsg(), which has its address behind two pointers."""
    family, _, _, _, there = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE)
        for level, name in ((socket.IPPROTO_IP, 11), (socket.IPPROTO_IPV6, 25)):  # ..._RECVERR
            if family == socket.AF_INET6 or level == socket.IPPROTO_IP:
                sock.setsockopt(level, name, 1)  # else nobody tells it of a refusal
        sock.sendmsg([text.encode()], [], 0, there)
        return sock.recv(CHUNK).decode()


def tcp_flood(host, port, count):
    """Connections that are begun and left; how many there were at most."""
    kept = []
    try:
        for _ in range(count):
            sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            sock.setblocking(False)
            kept.append(sock)
            sock.connect_ex((host, port))
    except OSError as problem:
        return [len(kept), failure(problem)]
    finally:
        for sock in kept:
            sock.close()
    return [len(kept), ""]


def stuff(host, port, count):
    """Writes to peers that do not read until nothing is taken any more; how much was."""
    socks = [socket.create_connection((host, port), PATIENCE) for _ in range(count)]
    total = 0
    for sock in socks:
        sock.setblocking(False)
    while ready := select.select([], socks, [], 0.5)[1]:
        for sock in ready:
            with contextlib.suppress(BlockingIOError):
                total += sock.send(bytes(CHUNK))
    for sock in socks:
        sock.close()
    return total


def dns_flood(domain, count):
    """Questions that nobody waits for."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.connect((resolver(), 53))
        for number in range(count):
            try:
                sock.send(question(f"n{number}.{domain}", 1))
            except (BlockingIOError, ConnectionError):
                continue
    return "asked"


def descriptors():
    return sorted(int(name) for name in os.listdir("/proc/self/fd"))


def abort(host, port, count):
    """Sends, and breaks off."""
    with socket.create_connection((host, port), PATIENCE) as connection:
        connection.sendall(b"x" * count)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return "broke off"


def udp_parallel(host, port, count):
    """Many sockets to one place: each gets its own answers."""
    socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    try:
        for number, sock in enumerate(socks):
            sock.settimeout(PATIENCE)
            sock.connect((host, port))
            sock.send(str(number).encode())
        return sum(sock.recv(CHUNK) == str(number).encode() for number, sock in enumerate(socks))
    finally:
        for sock in socks:
            sock.close()


def udp_segments(host, port, size, count):
    """One call, many datagrams."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE)
        sock.setsockopt(socket.IPPROTO_UDP, 103, size)  # UDP_SEGMENT
        sock.connect((host, port))
        sock.send(b"x" * size * count)
        return [len(sock.recv(CHUNK)) for _ in range(count)]


def interfaces():
    return sorted(name for _, name in socket.if_nameindex())


def attempt(kind, words):
    try:
        return globals()[kind](*words)
    except (OSError, ValueError) as problem:
        return failure(problem)


if __name__ == "__main__":
    json.dump([attempt(kind, words) for kind, *words in json.load(sys.stdin)], sys.stdout)
