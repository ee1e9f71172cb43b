"""OCI image layouts for tests: layers as lists of archive members, honest or hostile."""
import functools
import gzip
import hashlib
import http.server
import io
import json
import os
import pathlib
import platform
import subprocess
import sys
import tarfile
import threading

from waiting import wait_until

BUSYBOX = "/bin/busybox"

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def member(name, content=b"", **fields):
    """A member of an archive; `fields` are those of TarInfo: type, linkname, mode, ..."""
    info = tarfile.TarInfo(name)
    info.size = len(content) if fields.get("type", tarfile.REGTYPE) == tarfile.REGTYPE else 0
    info.mode = 0o755
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def directory(name):
    return member(name, type=tarfile.DIRTYPE)


def link(name, target):
    return member(name, type=tarfile.SYMTYPE, linkname=target)


def archive(members):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()


def busybox_members():
    """The smallest system with a shell."""
    with open(BUSYBOX, "rb") as file:
        busybox = file.read()
    tools = ("sh", "cat", "ls", "id", "touch", "mkdir", "rm", "env", "stat", "wc", "ln")
    return [directory("bin"), member("bin/busybox", busybox), *[link(f"bin/{name}", "busybox") for name in tools],
            directory("etc"), member("etc/passwd", b"app:x:1000:1000::/app:/bin/sh\n"), directory("app"),
            member("app/data", b"first\n", mode=0o600), link("sbin", "bin"), directory("var/lib/empty"), directory("opt")]


def host_file(path, name=None):
    """A file of this machine, under its own name or another."""
    with open(path, "rb") as file:
        return member((name or path).lstrip("/"), file.read())


def libraries(*programs):
    """What programs of this machine need to start: the loader and the libraries."""
    listed = subprocess.run(["ldd", *programs], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = sorted({word for line in listed.splitlines() for word in line.split() if word.startswith("/") and ":" not in word})
    return [host_file(path) for path in found]


PACKAGES = ("collections", "ctypes", "encodings", "html", "importlib", "json", "re", "urllib")


def python_members(top="opt/tools"):
    """This machine's Python at a place of its own, with the modules that small programs import."""
    home = pathlib.Path(os.path.dirname(os.__file__))
    files = [path for path in home.iterdir() if path.suffix == ".py"]
    files += [path for package in PACKAGES for path in (home / package).rglob("*.py")]
    files += [path for path in (home / "lib-dynload").iterdir() if path.name.startswith(("_json", "resource"))]
    program = os.path.realpath(sys.executable)
    return [host_file(program, f"{top}/bin/python3"), *libraries(program),
            *[host_file(path, f"{top}/lib/{home.name}/{path.relative_to(home)}") for path in sorted(files)]]


@functools.lru_cache(maxsize=16)
def packed(layer):
    """Quickly, and once: many images have the same layer below."""
    return gzip.compress(layer, compresslevel=1, mtime=0)


class Layout:
    """An image layout in a directory."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "blobs" / "sha256").mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        self.manifests = []

    def blob(self, data):
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs" / "sha256" / digest).write_bytes(data)
        return {"digest": "sha256:" + digest, "size": len(data)}

    def add(self, layers, tag="latest", pack=packed, architecture=ARCHITECTURE, diff_ids=None, sizes=None, **config):
        """An image of layers, each the bytes of an archive."""
        sums = diff_ids or ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]
        made = self.blob(json.dumps({"architecture": architecture, "os": "linux", "config": config,
                                     "rootfs": {"type": "layers", "diff_ids": sums}}).encode())
        manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **made},
                    "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **self.blob(pack(layer))}
                               for layer in layers]}
        for layer, size in zip(manifest["layers"], sizes or ()):
            layer["size"] = size
        return self.name({"mediaType": manifest["mediaType"], **self.blob(json.dumps(manifest).encode())}, tag)

    def name(self, manifest, tag):
        """An image by its manifest, or by an index of manifests."""
        self.manifests.append({**manifest, "annotations": {"org.opencontainers.image.ref.name": tag}})
        (self.folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": self.manifests}))
        return f"oci:{self.folder}:{tag}"

    def read_manifest(self, tag):
        entry = next(one for one in self.manifests if one["annotations"]["org.opencontainers.image.ref.name"] == tag)
        return json.loads((self.folder / "blobs/sha256" / entry["digest"].partition(":")[2]).read_text())


class Registry:
    """A registry on loopback that stands for the usual one: without TLS, or with a login and TLS of its own."""

    def __init__(self, folder, secure=False):
        folder.mkdir()
        self.folder, self.process, self.address = folder, None, None
        self.config = str(folder / "registries.conf")
        self.secure = secure

    def _secure(self):
        """A certificate that only its own registry's directory knows, and a user."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-keyout", self.folder / "key", "-out", self.folder / "ca.crt", "-subj", "/CN=registry",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
        # bcrypt of "secret", the only form that the registry takes
        (self.folder / "users").write_text("app:$2b$04$UnDWEyNmWHVa2oDWNJPkKuUWqYQmftnml0ZJXwp/5EJ5j/hG0gZZ2\n")
        return (f", tls: {{certificate: {self.folder}/ca.crt, key: {self.folder}/key}}",
                f"auth: {{htpasswd: {{realm: own, path: {self.folder}/users}}}}\n")

    def __enter__(self):
        served = self.folder / "registry.yml"
        tls, auth = self._secure() if self.secure else ("", "")
        served.write_text(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.folder}/blobs}}}}\n"
                          f"http: {{addr: 127.0.0.1:0{tls}}}\nlog: {{level: info}}\n{auth}")
        with open(self.folder / "registry.log", "wb") as log:
            self.process = subprocess.Popen(["docker-registry", "serve", served], stdout=log, stderr=log)
        assert wait_until(self._port, 30)
        self.address = f"127.0.0.1:{self._port()}"
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f'[[registry]]\nprefix = "docker.io/library"\nlocation = "{self.address}/library"\n'
                       "insecure = true\n")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    def _port(self):
        held = subprocess.run(["ss", "-Hltnp"], stdout=subprocess.PIPE, check=True).stdout.decode()
        return next((line.split()[3].rpartition(":")[2] for line in held.splitlines()
                     if f"pid={self.process.pid}," in line), None)

    def push(self, ref, name):
        login = ["--dest-creds", "app:secret"] if self.secure else []
        subprocess.run(["skopeo", "copy", "--quiet", "--insecure-policy", "--dest-tls-verify=false", *login, ref,
                        f"docker://{self.address}/library/{name}"], check=True)


class SlowRegistry:
    """A registry on loopback that serves a layout, and waits in the middle of the blobs it was told to hold."""

    def __init__(self, layout):
        self.layout, self.fetched, self.held = layout, [], {}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_BlobHandler, self))
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        for digest in list(self.held):
            self.release(digest)
        self.server.shutdown()
        self.server.server_close()

    def hold(self, digest):
        """The pair (half of it was sent, it may go on)."""
        self.held[digest] = (threading.Event(), threading.Event())
        return self.held[digest][0]

    def release(self, digest):
        self.held.pop(digest)[1].set()


class _BlobHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, registry, *words):
        self.registry = registry
        super().__init__(*words)

    def log_message(self, *_):
        pass

    def _answer(self, data, kind, digest=""):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Docker-Content-Digest", digest)
        self.end_headers()
        return data

    def do_GET(self):
        folder, (*_, part, name) = self.registry.layout.folder, self.path.split("/")
        if self.path == "/v2/":
            self._answer(b"", "text/plain")
            return
        if part == "manifests":
            entry = next(one for one in self.registry.layout.manifests
                         if name in (one["digest"], one["annotations"]["org.opencontainers.image.ref.name"]))
            name = entry["digest"]
        data = (folder / "blobs/sha256" / name.partition(":")[2]).read_bytes()
        kind = "application/vnd.oci.image.manifest.v1+json" if part == "manifests" else "application/octet-stream"
        self._answer(data, kind, name)
        if part == "blobs":
            self.registry.fetched.append(name)
        half, go_on = self.registry.held.get(name, (None, None))
        try:
            self.wfile.write(data[:len(data) // 2])
            self.wfile.flush()
            if half:
                half.set()
                go_on.wait()
            self.wfile.write(data[len(data) // 2:])
        except OSError:
            self.close_connection = True  # the client was killed
