"""What a program with a placeholder does: argv is the port with TLS, the plain one, and what to do.
Prints one line of JSON for each answer."""
import base64
import json
import os
import socket
import ssl
import sys

PORT, PLAIN, WHAT = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
KEY = os.environ["API_KEY"]
BEARER = f"Authorization: Bearer {KEY}"


def connect(name="localhost", port=PORT, tls=True, alpn=None):
    raw = socket.create_connection(("localhost", port), 60)
    if not tls:
        return raw
    context = ssl.create_default_context()
    if alpn:
        context.set_alpn_protocols(alpn)
    return context.wrap_socket(raw, server_hostname=name)


def answer(stream):
    """Status, head and body of one reply."""
    file = stream.makefile("rb")
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = file.readline()
        if not line:
            return "the end"
        head += line
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line)
    body = b""
    if fields.get("Transfer-Encoding") == "chunked":
        while size := int(file.readline(), 16):
            body += file.read(size)
            file.readline()
    else:
        body = file.read(int(fields.get("Content-Length", 0)))
    return [head.split(b" ")[1].decode(), fields, body.decode()]


def ask(*lines, target="/key", host=f"localhost:{PORT}", body="", **how):
    lines = [f"Host: {host}", *lines, *([f"Content-Length: {len(body)}"] if body else [])]
    with connect(**how) as stream:
        stream.sendall("\r\n".join([f"GET {target} HTTP/1.1", *lines, "", body]).encode())
        return answer(stream)


def websocket():
    with connect() as stream:
        stream.sendall(f"GET /socket HTTP/1.1\r\nHost: localhost:{PORT}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       f"Sec-WebSocket-Key: {base64.b64encode(b'0123456789abcdef').decode()}\r\n{BEARER}\r\n\r\n".encode())
        file = stream.makefile("rb")
        while file.readline() != b"\r\n":
            pass
        said = []
        for text in (b"yes", b"tell", b"bless"):  # one ends as a key begins
            stream.sendall(bytes([0x81, 0x80 | len(text), 1, 2, 3, 4]) + bytes(byte ^ (1 + i % 4) for i, byte in enumerate(text)))
            said.append(file.read(file.read(2)[1]).decode())
        return said


def elsewhere():
    """By a name that is not the secret's, for the same server: its own certificate is seen, and refused."""
    with socket.create_connection(("127.0.0.1", PORT), 60) as raw, \
            ssl.create_default_context().wrap_socket(raw, server_hostname="other.example") as stream:
        stream.sendall(b"GET /key HTTP/1.1\r\nHost: other.example\r\n\r\n")
        return answer(stream)


def search():
    """Memory of every process that can be read, their environments, and all files; the key is given backwards."""
    wanted = WHAT[1].encode()
    found, looked = [], 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("environ", "cmdline"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    found += [f"{pid}/{name}"] * (wanted in file.read()[::-1])
            except OSError:
                pass
        try:
            with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
                for line in maps:
                    start, end = (int(part, 16) for part in line.split()[0].split("-"))
                    if line.split()[1][0] == "r" and end < 1 << 62:
                        memory.seek(start)
                        block = memory.read(end - start)
                        looked += len(block)
                        found += [f"{pid}/{line}"] * (wanted in block[::-1])
        except OSError:
            pass
    for top in ("/work", "/tmp", "/etc", "/dev/shm", "/run"):
        for folder, _, files in os.walk(top):
            for name in files:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        found += [name] * (wanted in file.read(1 << 22)[::-1])
                except OSError:
                    pass
    return [found, looked > 1 << 20]


CASES = {
    "bearer": lambda: ask(BEARER),
    "basic": lambda: ask("Authorization: Basic " + base64.b64encode(f"me:{KEY}".encode()).decode()),
    "header": lambda: ask(f"X-Api-Key: {KEY}"),
    "agent": lambda: ask(f"User-Agent: {KEY}", target="/echo"),
    "query": lambda: ask(target=f"/echo?key={KEY}"),
    "body": lambda: ask(target="/echo", body=json.dumps({"key": KEY})),
    "echo": lambda: ask(BEARER, target="/echo"),
    "pieces": lambda: ask(BEARER, target="/pieces"),
    "host": lambda: ask(BEARER, host="evil.example"),
    "absolute": lambda: ask(BEARER, target="https://evil.example/key"),
    "sni": lambda: ask(BEARER, name="evil.example"),
    "h2": lambda: ask(BEARER, alpn=["h2"]),
    "plain": lambda: ask(BEARER, tls=False),
    "plain port": lambda: ask(BEARER, port=PLAIN, host=f"localhost:{PLAIN}", tls=False),
    "smuggle": lambda: ask("Content-Length: 3", "Transfer-Encoding: chunked", BEARER),
    "websocket": websocket,
    "other": elsewhere,
    "search": search,
}
for case in WHAT:
    if case not in CASES:
        break
    try:
        print(json.dumps([case, CASES[case]()]), flush=True)
    except OSError as problem:
        print(json.dumps([case, str(problem)]), flush=True)
