"""Sessions: a cell, a new session, saved states of 50 MB, and what an idle one costs; beside ipykernel.

ipykernel is driven by jupyter_client, both of Debian; without them its rows are missing.  Each figure is taken by a
client that stays connected, as a program would: no process is started for a cell."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import report
from tables import MS

CELL = "x += 1"
LARGE = "import os; big = bytearray(os.urandom(50 << 20))"
IDLE = 20  # sessions at a time
MOST_CELL_MS, MOST_CREATE_MS, MOST_BACK_MS, MOST_IDLE_MIB, MOST_THAW_MS = 0.5, 5, 20, 10, 2
SHARE_OF_PEER = 0.3
PEER = """
import json, sys, time
from jupyter_client.manager import start_new_kernel
began = time.perf_counter_ns()
manager, client = start_new_kernel(kernel_name="python3")
created = time.perf_counter_ns() - began
client.execute_interactive("x = 0")
taken = []
for _ in range(int(sys.argv[1])):
    began = time.perf_counter_ns()
    client.execute_interactive("x += 1")
    taken.append(time.perf_counter_ns() - began)
client.stop_channels()
manager.shutdown_kernel(now=True)
print(json.dumps({"create": [created], "cell": taken}))
"""


class Client:
    """One connection to a session."""

    def __init__(self, tool, state, *options):
        self.env = {**os.environ, "SANDBOX_RUN_STATE": str(state)}
        self.tool, self.state = tool, state
        began = time.perf_counter_ns()
        made = self.command("create", "--lang", "python", "--json", *options)
        self.create_ns = time.perf_counter_ns() - began
        self.id = json.loads(made)["id"]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(state / "sessions" / self.id / "socket"))
        self.lines = self.socket.makefile("rb")

    def command(self, *words):
        return subprocess.run([self.tool, "session", *words], env=self.env, check=True, stdout=subprocess.PIPE).stdout

    def timed(self, **request):
        """The answer, and how many nanoseconds it took."""
        began = time.perf_counter_ns()
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        line = json.loads(self.lines.readline())
        taken = time.perf_counter_ns() - began
        if line["type"] == "error":
            raise RuntimeError(line["error"]["message"])
        return line, taken

    def cell(self, code):
        return self.timed(op="exec", code=code)[1]

    def close(self):
        self.socket.close()
        self.command("close", self.id)


def private_kib(pid):
    """Of a process and its descendants."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    own = sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(("Private_", "Swap:")))
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return own + sum(private_kib(int(child)) for child in children)


def measure(tool, state, rounds, taken):
    client = Client(tool, state, "--memory", "1g")
    taken["create"] = [client.create_ns]
    client.cell("x = 0")
    taken["cell"] = [client.cell(CELL) for _ in range(rounds)]
    client.cell(LARGE)
    taken["checkpoint, 50 MB"], taken["rollback, 50 MB"] = [], []
    for _ in range(5):
        answer, spent = client.timed(op="checkpoint")
        taken["checkpoint, 50 MB"].append(spent)
        taken["rollback, 50 MB"].append(client.timed(op="rollback", cell=answer["answer"]["cell"])[1])
        client.cell(CELL)
    taken["fork by replay, 50 MB"] = []
    for _ in range(3):
        answer, spent = client.timed(op="fork")
        taken["fork by replay, 50 MB"].append(spent)
        client.command("close", answer["answer"]["id"])
    client.close()


def measure_idle(tool, state, taken):
    """The memory of frozen sessions in KiB, and the first cell after that."""
    clients = [Client(tool, state, "--freeze", "200ms") for _ in range(IDLE)]
    taken["create"].extend(client.create_ns for client in clients)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        states = [client.timed(op="info")[0]["answer"]["state"] for client in clients]
        if set(states) == {"frozen"}:
            break
        time.sleep(0.05)
    pids = [json.loads((state / "sessions" / client.id / "session.json").read_text())["pid"] for client in clients]
    kib = [private_kib(pid) for pid in pids]
    taken["first cell after thawing"] = [client.cell("1") for client in clients]
    for client in clients:
        client.close()
    return kib


def measure_peer(rounds, taken):
    done = subprocess.run(["/usr/bin/python3", "-c", PEER, str(rounds)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 0:
        for name, samples in json.loads(done.stdout).items():
            taken[f"{name}, ipykernel"] = samples


def goals_of(taken, kib):
    def middle(name):
        return report.median(taken[name]) / MS if taken.get(name) else None

    peer = middle("cell, ipykernel")
    return [
        report.goal_at_most(f"a cell at most {MOST_CELL_MS} ms", middle("cell"), MOST_CELL_MS, " ms"),
        report.goal_at_most(f"a cell at most {SHARE_OF_PEER} × ipykernel's",
                            middle("cell") / peer if peer else None, SHARE_OF_PEER, " ×"),
        report.goal_at_most(f"create at most {MOST_CREATE_MS} ms", middle("create"), MOST_CREATE_MS, " ms"),
        report.goal_at_most(f"rollback of 50 MB at most {MOST_BACK_MS} ms", middle("rollback, 50 MB"), MOST_BACK_MS, " ms"),
        report.goal_at_most(f"an idle session at most {MOST_IDLE_MIB} MiB", report.median(kib) / 1024, MOST_IDLE_MIB, " MiB"),
        report.goal_at_most(f"first cell after thawing at most {MOST_THAW_MS} ms", middle("first cell after thawing"),
                            MOST_THAW_MS, " ms"),
    ]


def sessions(bench):
    rounds = bench.effort.workspace_rounds * 5
    taken = {}
    with tempfile.TemporaryDirectory(prefix="sandbox-run-bench-sessions.") as place:
        state = pathlib.Path(place) / "state"
        measure(bench.peers.sandbox_run, state, rounds, taken)
        kib = measure_idle(bench.peers.sandbox_run, state, taken)
    measure_peer(rounds, taken)
    bench.save("sessions.txt", [f"{name}: {samples}" for name, samples in taken.items()])
    rows = [[name, *(report.rounded(report.percentile(samples, share) / MS) for share in (0.5, 0.9)), str(len(samples))]
            for name, samples in taken.items()]
    rows.append(["private memory of an idle session, MiB",
                 *(report.rounded(report.percentile(kib, share) / 1024) for share in (0.5, 0.9)), str(len(kib))])
    note = ("Milliseconds. `create` is the command; everything else is asked for over the session's socket. Saved"
            " states have 50 MB of random bytes.")
    return report.Table("Sessions", note, ["what", "p50", "p90", "N"], rows, goals_of(taken, kib))
