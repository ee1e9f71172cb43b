"""The HTTP gateway (`sandbox-run-http`) for tests: started on a socket and a port of its own, ended with a look."""
import base64
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

import engine
import support

PROGRAM = support.BUILD / "sandbox-run-http"
FRONT = "sandbox-run-fro"  # the kernel keeps 15 characters
END_S = 20
WAIT_S = 2  # of others beside what takes long, while other tests run; alone it is below a tenth


class UnixConnection(http.client.HTTPConnection):
    """To a unix socket."""

    def __init__(self, path, timeout=support.DEADLINE):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Reply:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


class Gateway:
    """In a `with` block it serves; `folder` is a new directory for its socket and its state."""

    def __init__(self, folder, options=(), env=None, hooks=False):
        self.program = support.TEST_BUILD / PROGRAM.name if hooks else PROGRAM
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "http.sock"
        self.env = support.surroundings(None, {"SANDBOX_RUN_STATE": str(self.folder / "state"), **(env or {})})
        self.options = [str(option) for option in options]
        self.process = self.address = None
        self.private = []  # further places that no reply names
        if len(pathlib.Path(self.env.get("HOME", "/")).parts) > 2:  # a home that sandboxes have, too, says nothing
            self.private.append(self.env["HOME"])

    def __enter__(self):
        if not self.program.exists():
            pytest.skip("the gateway was left out of this build")
        support.machine_gives.skip_if(support.lacks(None))
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.process = subprocess.Popen(
            [self.program, "--socket", self.socket, "--listen", "127.0.0.1:0", *self.options],
            env=self.env, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "http" in line and "://" in line:
                self.address = line.split("://")[1].strip()
                break
        assert self.address, "the gateway did not start"
        return self

    def __exit__(self, kind, error, trace):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_S)
        stuck = self.process.poll() is None
        if stuck:
            self.process.kill()
            self.process.wait()
        said = self.process.stderr.read()
        self.process.stderr.close()
        assert kind or (not stuck and self.process.returncode == 0), (stuck, self.process.returncode, said)
        # A front has no environment that could name a file for what a sanitizer reports.
        assert not re.search("ERROR: .*Sanitizer|runtime error:", said), said

    def connect(self, tcp=False):
        return http.client.HTTPConnection(self.address, timeout=support.DEADLINE) if tcp else UnixConnection(self.socket)

    def ask(self, method, path, body=None, token=None, tcp=False, **headers):
        """One request on a connection of its own; JSON unless the body is bytes."""
        connection = self.connect(tcp or token is not None)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            names["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body)
            names.setdefault("Content-Type", "application/json")
        with contextlib.closing(connection):
            connection.request(method, path, body, names)
            reply = Reply(connection.getresponse())
        self.check_paths(reply.body.decode("utf-8", "replace") + str(reply.headers), repr((method, path, body, names)))
        return reply

    def check_paths(self, text, said=""):
        """No reply names a place of the host that its request did not name."""
        for place in (str(self.folder), str(support.BUILD), str(support.TEST_BUILD), str(support.REPO), *self.private):
            inside = place + "/"  # a checkout may lie at /work/main, beside which programs inside have /work/main.c
            assert inside not in text or place in said, (place, text[max(0, text.index(inside) - 300):][:600])

    def run(self, body, **rest):
        """The result of a run that is waited for."""
        reply = self.ask("POST", "/v1/executions", body, **rest)
        assert reply.status == 200, reply.body
        return reply.json()

    def raw(self, data, timeout=30):
        """Sends bytes to the TCP port as they are; everything that comes back until the end."""
        host, port = self.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=timeout) as peer:
            with contextlib.suppress(OSError):  # it may close before it has read all
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := peer.recv(65536):
                    answer += piece
            self.check_paths(answer.decode("utf-8", "replace"), repr(data))
            return answer

    def token(self, name, *options):
        """The text of a new token."""
        done = subprocess.run([support.SANDBOX_RUN, "token", "create", name, *options, "--json"], env=self.env,
                              capture_output=True, check=True, timeout=support.DEADLINE)
        return json.loads(done.stdout)["token"]

    def memory_kib(self, row="VmRSS"):
        """Of the gateway's own process."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(text.split(f"{row}:")[1].split()[0])

    def metric(self, name):
        for line in self.ask("GET", "/metrics").body.decode().splitlines():
            if line.split(" ")[0] == name:
                return float(line.split(" ")[1])
        raise KeyError(name)


def fronts(gateway):
    """The processes that read what its clients send."""
    return [pid for pid in engine.descendants(gateway.process.pid) if name_of(pid) == FRONT]


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
    except OSError:
        return None


def runs_of(gateway):
    """Processes that are none of its fronts."""
    return [pid for pid in engine.descendants(gateway.process.pid) if name_of(pid) not in (None, FRONT)]


def children_are_gone(gateway):
    """True as soon as no run of this gateway is left."""
    return engine.within(20, lambda: not runs_of(gateway))


@contextlib.contextmanager
def others(http):
    """Somebody else asks all the time; the longest time that an answer took is in the list at the end."""
    worst, over = [0.0], []

    def look():
        with contextlib.closing(http.connect()) as connection:
            while not over:
                begin = time.monotonic()
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                worst[0] = max(worst[0], time.monotonic() - begin)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        try:
            yield worst
        finally:
            over.append(True)
            looking.result()


class WebSocket:
    """A client of RFC 6455, as far as the gateway needs one: text and binary messages, no fragments."""

    def __init__(self, gateway, path, token=None, **headers):
        self.gateway = gateway
        self.connection = gateway.connect(tcp=token is not None)
        names = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                 "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
                 **{name.replace("_", "-"): value for name, value in headers.items()}}
        self.connection.request("GET", path, headers=names)
        self.socket = self.connection.sock
        self.reply = self.connection.getresponse()
        self.file = self.reply.fp
        self.key = names["Sec-WebSocket-Key"]
        self.closed = None  # (code, reason) of the gateway's last frame

    def send(self, data):
        opcode, data = (2, data) if isinstance(data, bytes) else (1, json.dumps(data).encode())
        mask = os.urandom(4)
        length = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + len(data).to_bytes(2, "big")
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask +
                            bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def events(self):
        """Until the gateway closes."""
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                return
            length = head[1] & 127
            if head[0] & 15 == 8:
                reason = self.file.read(length)
                self.closed = (int.from_bytes(reason[:2], "big"), reason[2:].decode())
                return
            if length >= 126:
                length = int.from_bytes(self.file.read(2 if length == 126 else 8), "big")
            text = self.file.read(length).decode("utf-8", "replace")
            self.gateway.check_paths(text)
            yield json.loads(text)

    def close(self):
        self.reply.fp = None  # it would flush what is closed
        self.file.close()
        self.socket.close()
        self.connection.close()
