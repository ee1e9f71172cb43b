"""Registries of packages on loopback, for tests of installers."""
import contextlib
import http.server
import io
import os
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

    @property
    def port(self):
        return self.server_address[1]

    @property
    def url(self):
        return f"http://localhost:{self.port}/simple"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
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
def serving():
    server = Registry()
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
    run.words = words
    return run


def denied(result):
    return {(denial["kind"], denial["target"]) for denial in result["denials"]}


def stage(result, name="dependencies"):
    return next(stage for stage in result["stages"] if stage["name"] == name)
