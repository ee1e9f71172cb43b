"""An API with TLS on this machine's loopback, which asks for a key: for tests of --secret.

    with api(folder) as server:
        server.port, server.plain_port    with TLS; without
        server.seen                       requests: (method, target, headers, body)
        server.roots                      the certificate that clients have to trust
"""
import base64
import contextlib
import hashlib
import http.server
import json
import pathlib
import socketserver
import ssl
import subprocess
import threading

KEY = "sk-live-Zk3v9QpL7xWn2TbRyU5oAe81"
SOCKET_SALT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def certificate(folder, names="DNS:localhost,IP:127.0.0.1"):
    """A certificate of its own authority; paths of certificate and key."""
    cert, key = folder / "api.crt", folder / "api.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=the test's own", "-addext", f"subjectAltName={names}", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return cert, key


def forms(key=KEY):
    """What must not come back: the key, and what only it can be decoded to."""
    return [key, base64.b64encode(b"me:" + key.encode()).decode(), key.encode().hex(), "".join(f"%{byte:02X}" for byte in key.encode())]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body, kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunks(self, *parts):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.world.seen.append((self.command, self.path, dict(self.headers.items()), body))
        path = self.path.partition("?")[0].strip("/").partition("/")
        getattr(self, f"on_{path[0] or 'key'}", self.on_files)(body)

    do_POST = do_HEAD = do_GET

    def has_key(self):
        given = self.headers.get("Authorization", "")
        basic = base64.b64encode(f"me:{KEY}".encode()).decode()
        return given in (f"Bearer {KEY}", f"Basic {basic}") or self.headers.get("X-Api-Key") == KEY

    def on_key(self, body):
        self.answer(200 if self.has_key() else 401, b'{"ok": %s}' % str(self.has_key()).lower().encode())

    def on_echo(self, body):
        plain = json.dumps({"headers": dict(self.headers.items()), "target": self.path, "body": body.decode("latin-1")})
        text = "\n".join([plain, *forms(), base64.b64encode(plain.encode()).decode()])
        self.answer(200, text.encode(), X_Echo=KEY)

    def on_pieces(self, body):
        text = f"data: {KEY}\n\ndata: {forms()[1]}\n\n".encode()
        self.chunks(*[text[at:at + 7] for at in range(0, len(text), 7)])

    def on_events(self, body):
        """Each event waits until the client has asked for it at /next."""
        self.server.world.turn.clear()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(3):
            self.wfile.write(f"data: event {number} {self.has_key()}\n\n".encode())
            self.wfile.flush()
            if not self.server.world.turn.wait(60):
                return
            self.server.world.turn.clear()
        self.close_connection = True

    def on_next(self, body):
        self.server.world.turn.set()
        self.answer(200, b"{}")

    def on_redirect(self, body):
        self.answer(302, b"", Location=self.path.partition("?")[2])

    def on_big(self, body):
        size = int(self.path.rpartition("/")[2])
        self.answer(200, hashlib.sha256(body).hexdigest().encode() if body else b"x" * size)

    def on_socket(self, body):
        accept = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + SOCKET_SALT).digest()).decode()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)):
            self.send_header(name, value)
        self.end_headers()
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                break
            mask = self.rfile.read(4)
            text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(head[1] & 127)))
            reply = text + b" " + str(self.has_key()).encode() + (b" " + KEY.encode() if text == b"tell" else b"")
            self.wfile.write(bytes([0x81, len(reply)]) + reply)
            self.wfile.flush()
        self.close_connection = True

    def on_files(self, body):
        """Files for who has the key: a repository, a package."""
        file = self.server.world.files / self.path.partition("?")[0].strip("/")
        if not self.has_key():
            self.answer(401, b"", WWW_Authenticate='Basic realm="api"')
        elif file.is_file():
            self.answer(200, file.read_bytes(), "application/octet-stream")
        else:
            self.answer(404, b"")


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    world = None

    def handle_error(self, request, client_address):
        """A client that refuses the certificate is no fault of the server's."""


class World:
    def __init__(self, folder):
        self.files = pathlib.Path(folder)
        self.seen, self.turn = [], threading.Event()

    def header(self, name):
        """Of the newest request."""
        return self.seen[-1][2].get(name)


@contextlib.contextmanager
def serving(world, context=None):
    server = Server(("127.0.0.1", 0), Handler)
    server.world = world
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def api(folder, names="DNS:localhost,IP:127.0.0.1"):
    world = World(folder)
    world.roots, key = certificate(pathlib.Path(folder), names)
    world.roots.chmod(0o644)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(world.roots, key)
    with serving(world, context) as world.port, serving(world) as world.plain_port:
        yield world
