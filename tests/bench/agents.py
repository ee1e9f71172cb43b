"""Tools for agents: `run_code` over stdio, warm, beside the same run by the library in this process.

Both are clients of one engine and take turns; each turn waits until a sandbox is ready again."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import report
from tables import MS

TESTS = pathlib.Path(__file__).resolve().parents[1]
CODE = {"language": "python", "code": "print(1)"}
PAUSE_S = 0.03  # in which the engine makes the next sandbox
WARM_UP = 20
MOST_OVER_MS = 1
VERSION = "2025-11-25"


class Library:
    """sbr_run, from a request in JSON to a result in JSON, as the tool needs both."""

    def __init__(self, bench):
        self.lib = ctypes.CDLL(str(bench.peers.sandbox_run.parent / "src/libsandboxrun.so"))
        self.lib.sbr_result_to_json.restype = ctypes.c_void_p
        self.free = ctypes.CDLL(None).free
        self.free.argtypes = [ctypes.c_void_p]
        self.runtime = ctypes.c_void_p()
        self.error = ctypes.create_string_buffer(4096)
        self.check(self.lib.sbr_runtime_open(None, ctypes.byref(self.runtime), self.error))
        self.text = json.dumps(CODE).encode()

    def check(self, status):
        if status < 0:
            raise RuntimeError(f"the library failed: {status}")

    def run(self):
        request, result = ctypes.c_void_p(), ctypes.c_void_p()
        began = time.perf_counter_ns()
        self.check(self.lib.sbr_request_from_json(self.text, ctypes.c_size_t(len(self.text)), ctypes.byref(request), self.error))
        self.check(self.lib.sbr_run(self.runtime, request, ctypes.byref(result), self.error))
        text = self.lib.sbr_result_to_json(result)
        answer = json.loads(ctypes.string_at(text))
        taken = time.perf_counter_ns() - began
        self.free(text)
        self.lib.sbr_result_free(result)
        self.lib.sbr_request_free(request)
        return taken, answer["stdout"], answer["startup"]

    def close(self):
        self.lib.sbr_runtime_close(self.runtime)


class Tool:
    """A client of `sandbox-run mcp`."""

    def __init__(self, bench, engine):
        self.number = 0
        self.process = subprocess.Popen([bench.peers.sandbox_run, "mcp"], env=engine.environment(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.lines = self.process.stdout
        self.call("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}})

    def call(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.lines.fileno(), 1 << 16)
        return json.loads(line)["result"]

    def run(self):
        began = time.perf_counter_ns()
        answer = self.call("tools/call", {"name": "run_code", "arguments": CODE})["structuredContent"]
        return time.perf_counter_ns() - began, answer["stdout"], None

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.lines.close()


def taken_by(clients, rounds):
    """Nanoseconds of each, in turns; and how the sandboxes were started."""
    taken = {name: [] for name in clients}
    ways = set()
    for number in range(WARM_UP + rounds):
        for name, client in clients.items():
            time.sleep(PAUSE_S)
            spent, stdout, way = client.run()
            if stdout != "1\n":
                raise RuntimeError(f"{name} printed {stdout!r}")
            if number >= WARM_UP:
                taken[name].append(spent)
                ways.add(way)
    for client in clients.values():
        client.close()
    return taken, ways - {None}


def agents(bench):
    sys.path.insert(0, str(TESTS))
    os.environ["SBR_BUILD"] = str(bench.peers.sandbox_run.parent)
    import engine as engines  # pylint: disable=import-outside-toplevel,import-error

    with tempfile.TemporaryDirectory(prefix="sandbox-run-bench-agents.", ignore_cleanup_errors=True) as place:
        with engines.Engine(pathlib.Path(place) / "engine", options=["--warm", "python"]) as engine:
            os.environ.update(engine.environment())  # the library asks the same engine
            clients = {"library": Library(bench), "run_code over stdio": Tool(bench, engine)}
            taken, ways = taken_by(clients, bench.effort.workspace_rounds * 5)
    bench.save("agents.txt", [f"{name}: {samples}" for name, samples in taken.items()])
    rows = [[name, *(report.rounded(report.percentile(samples, share) / MS) for share in (0.5, 0.9)), str(len(samples))]
            for name, samples in taken.items()]
    over = (report.median(taken["run_code over stdio"]) - report.median(taken["library"])) / MS
    note = f"Milliseconds, `print(1)` in Python, {' and '.join(sorted(ways))} start; from and to JSON on both sides."
    return report.Table("Tools for agents", note, ["what", "p50", "p90", "N"], rows,
                        [report.goal_at_most(f"run_code over stdio at most {MOST_OVER_MS} ms over the library", over,
                                             MOST_OVER_MS, " ms")])
