"""Registries of packages on loopback, for tests of installers."""
import contextlib
import http.server
import io
import os
import ssl
import tarfile
import threading
import zipfile

import support


def tar_of(files, mode="w:gz"):
    """An archive: path to text."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def wheel_of(name, files):
    """A package of Python that need not be built."""
    packed = io.BytesIO()
    info = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "RECORD": "",
            "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(packed, "w") as wheel:
        for path, text in {**files, **{f"{name}-1.0.dist-info/{key}": text for key, text in info.items()}}.items():
            wheel.writestr(path, text)
    return packed.getvalue()


class Registry(http.server.ThreadingHTTPServer):
    """A package index with one package, or none."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked = []
        self.package = b""
        self.pages = {}  # instead of Python's
        self.scheme, self.tls = "http", None
        self.wants = None  # the Authorization without which nobody gets a page

    @property
    def port(self):
        return self.server_address[1]

    @property
    def base(self):
        return f"{self.scheme}://localhost:{self.port}"

    @property
    def url(self):
        return f"{self.base}/simple"

    def get_request(self):
        """TLS begins in the thread of the request, so that one that never does holds up no other."""
        connection, address = super().get_request()
        if self.tls:
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        """A client that trusts nobody just leaves."""


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.server.wants and self.headers.get("Authorization") != self.server.wants:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="packages"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        pages = self.server.pages or {"/simple/curious/": b'<a href="/curious-1.0.tar.gz">curious-1.0.tar.gz</a>',
                                      "/curious-1.0.tar.gz": self.server.package}
        body = pages.get(self.path, b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def serving(tls=None):
    """`tls`: the paths of a certificate for localhost and its key."""
    server = Registry()
    if tls:
        server.scheme, server.tls = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.tls.load_cert_chain(*tls)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def installer(caller, folder, program=""):
    """Runs a program with a store of its own, so that everything is installed anew."""
    cache = folder / "cache"
    cache.mkdir()
    home = folder / "home"
    home.mkdir()
    cache.chmod(0o700)
    if caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(cache, support.ORDINARY_UID, support.ORDINARY_UID)

    def words(*options, env=None):
        settings = {"SANDBOX_RUN_CACHE": str(cache), "HOME": str(home), **(env or {})}
        return support.result_of("run", *options, caller=caller, env=settings, timeout=120)

    def run(*options, env=None, code=program, language="python"):
        return words(*options, "--lang", language, "--code", code, env=env)

    run.home = home
    run.caller = caller
    run.words = words
    return run


def denied(result):
    return {(denial["kind"], denial["target"]) for denial in result["denials"]}


def stage(result, name="dependencies"):
    return next(stage for stage in result["stages"] if stage["name"] == name)
