"""The HTTP service: a warm run over a connection that is kept, beside the same run by the library in this process; and
how many runs a second eight connections get, beside eight threads of the library.

All are clients of one engine and take turns."""

import concurrent.futures
import json
import os
import pathlib
import re
import socket
import statistics
import sys
import tempfile
import time

import report
from agents import CODE, TESTS, Library, taken_by
from tables import MS

CONNECTIONS = 8
SLICES = 4
SLICE_S = 3
MOST_OVER_MS = 0.3
LEAST_OF_RATE = 0.95


class Connection:
    """One that is kept, to the gateway's port; bytes of its own, because http.client takes as long as the gateway."""

    def __init__(self, gateway, token):
        host, port = gateway.address.rsplit(":", 1)
        body = json.dumps(CODE)
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = (f"POST /v1/executions HTTP/1.1\r\nHost: {gateway.address}\r\nAuthorization: Bearer {token}\r\n"
                        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()

    def answer(self):
        data = self.socket.recv(1 << 16)
        while b"\r\n\r\n" not in data:
            data += self.socket.recv(1 << 16)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)[1])
        while len(body) < length:
            body += self.socket.recv(1 << 16)
        return json.loads(body)

    def run(self):
        began = time.perf_counter_ns()
        self.socket.sendall(self.request)
        answer = self.answer()
        return time.perf_counter_ns() - began, answer["stdout"], answer["startup"]

    def close(self):
        self.socket.close()


def rate(make):
    """Runs per second of as many clients at once."""
    clients = [make() for _ in range(CONNECTIONS)]

    def work(client):
        end, done = time.monotonic() + SLICE_S, 0
        while time.monotonic() < end:
            assert client.run()[1] == "1\n"
            done += 1
        return done

    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        began = time.monotonic()
        runs = sum(pool.map(work, clients)) / (time.monotonic() - began)
    for client in clients:
        client.close()
    return runs


def service(bench):
    sys.path.insert(0, str(TESTS))
    os.environ["SBR_BUILD"] = str(bench.peers.sandbox_run.parent)
    import engine as engines  # pylint: disable=import-outside-toplevel,import-error
    import gateway as gateways  # pylint: disable=import-outside-toplevel,import-error

    with tempfile.TemporaryDirectory(prefix="sandbox-run-bench-service.", ignore_cleanup_errors=True) as place:
        folder = pathlib.Path(place)
        with engines.Engine(folder / "engine", options=["--warm", "python"]) as engine:
            os.environ.update(engine.environment())
            gateway = gateways.Gateway(folder / "http", env=engine.environment())
            gateway.env.pop("SANDBOX_RUN_COLD", None)  # which tests set
            with gateway:
                token = gateway.token("bench")
                clients = {"library": lambda: Library(bench), "HTTP": lambda: Connection(gateway, token)}
                taken, ways = taken_by({name: make() for name, make in clients.items()}, bench.effort.workspace_rounds * 5)
                rates = {name: [] for name in clients}
                for _ in range(SLICES):
                    for name, make in clients.items():
                        rates[name].append(rate(make))
    bench.save("service.txt", [f"{name}: {samples}" for name, samples in (*taken.items(), *rates.items())])
    rows = [[name, *(report.rounded(report.percentile(samples, share) / MS) for share in (0.5, 0.9)), str(len(samples)),
             report.rounded(statistics.median(rates[name]))] for name, samples in taken.items()]
    over = (report.median(taken["HTTP"]) - report.median(taken["library"])) / MS
    part = statistics.median(rates["HTTP"]) / statistics.median(rates["library"])
    note = (f"Milliseconds, `print(1)` in Python, {' and '.join(sorted(ways))} start; runs a second of {CONNECTIONS} clients at "
            "once. The clients are of Python on both sides; that of HTTP uses a socket without a library for HTTP, whose "
            "own time is not the gateway's.")
    return report.Table("The HTTP service", note, ["what", "p50", "p90", "N", "runs/s"], rows, [
        report.goal_at_most(f"HTTP at most {MOST_OVER_MS} ms over the library", over, MOST_OVER_MS, " ms"),
        report.goal_at_least(f"HTTP at least {LEAST_OF_RATE} of the library's rate", part, LEAST_OF_RATE)])
