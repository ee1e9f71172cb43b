"""Sessions: a cell, a new session, saved states of 50 MB, and what an idle one costs; beside ipykernel.

ipykernel is driven by jupyter_client, both of Debian; it is unpacked for the bench, because IPython on the host would
change what a Python session is.  Where it cannot be fetched, its rows are missing.  Each figure is taken by a client that
stays connected, as a program would: no process is started for a cell.  Those that are compared take turns."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import report
from tables import MS

TESTS = pathlib.Path(__file__).resolve().parents[1]
DRIVER = TESTS.parent / "languages/drivers/session-python.py"
CELL = "x += 1"
LARGE = "import os; big = bytearray(os.urandom(50 << 20))"
IDLE, IDLE_QUICK = 200, 20  # sessions at a time
IDLE_SECONDS = 3
SETTLED_SECONDS = 0.2
ENOUGH_ROUNDS = 60  # of an effort that is not quick
SECONDS = 60
MOST_CELL_MS, MOST_CREATE_MS, MOST_BACK_MS, MOST_IDLE_MIB, MOST_THAW_MS = 0.5, 5, 20, 10, 2
SHARE_OF_PEER, SHARE_OF_PEER_CREATE = 0.3, 0.05
PEER = """
import sys, time
from jupyter_client.manager import start_new_kernel
began = time.perf_counter_ns()
manager, client = start_new_kernel(kernel_name="python3")
print(time.perf_counter_ns() - began, flush=True)
client.execute_interactive("x = 0")
for line in sys.stdin:
    began = time.perf_counter_ns()
    client.execute_interactive(line)
    print(time.perf_counter_ns() - began, flush=True)
client.stop_channels()
manager.shutdown_kernel(now=True)
"""


class Client:
    """One connection to a session."""

    def __init__(self, bench, engine, state, *options):
        self.env = {**engine.environment(), "SANDBOX_RUN_STATE": str(state)}
        self.tool, self.state = bench.peers.sandbox_run, state
        began = time.perf_counter_ns()
        made = self.command("create", "--lang", "python", "--json", *options)
        self.create_ns = time.perf_counter_ns() - began
        self.made = json.loads(made)
        self.id = self.made["id"]
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

    def pid(self):
        return json.loads((self.state / "sessions" / self.id / "session.json").read_text(encoding="utf-8"))["pid"]

    def close(self):
        self.socket.close()
        self.command("close", self.id)


class Bare:
    """The kernel's own program without a sandbox or a supervisor."""

    def __init__(self):
        near, far = socket.socketpair()
        self.process = subprocess.Popen(["/usr/bin/python3", "-B", "-s", DRIVER], pass_fds=[far.fileno()],
                                        env={"SANDBOX_RUN_KERNEL_FD": str(far.fileno())}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
        far.close()
        self.socket, self.frames, self.number = near, near.makefile("rb"), 0
        self.frame()

    def frame(self):
        words = self.frames.readline().split()
        self.frames.read(int(words[3]))
        return words[0]

    def cell(self, code):
        self.number += 1
        began = time.perf_counter_ns()
        self.socket.sendall(b"execute %d - %d\n%s" % (self.number, len(code), code.encode()))
        while self.frame() != b"done":
            pass
        return time.perf_counter_ns() - began

    def close(self):
        self.frames.close()
        self.socket.close()
        self.process.wait(SECONDS)


class Peer:
    """ipykernel; without it `cell` gives None."""

    def __init__(self, folder):
        subprocess.run([TESTS.parent / "tools/packages.sh", "unpack", folder, "python3-ipykernel"], check=False)
        env = {**os.environ, "PYTHONPATH": str(folder / "usr/lib/python3/dist-packages"),
               "JUPYTER_PATH": str(folder / "usr/share/jupyter"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", PEER], env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.create_ns = self.figure()

    def figure(self):
        line = self.process.stdout.readline()
        return int(line) if line else None

    def cell(self, code):
        if self.create_ns is None:
            return None
        self.process.stdin.write(code + "\n")
        self.process.stdin.flush()
        return self.figure()

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(SECONDS)


def tree(pid):
    """A process and its descendants."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *(below for child in children for below in tree(int(child)))]


def private_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(("Private_", "Swap:")))


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)


def wait_spare(state):
    until(lambda: any((state / "spares").glob("*/socket")))


def measure_cells(clients, rounds, taken):
    """They take turns."""
    for name, client in clients.items():
        client.cell("x = 0")
        taken[name] = []
    for _ in range(rounds):
        for name, client in clients.items():
            taken[name].append(client.cell(CELL))


def measure_states(client, taken):
    client.cell(LARGE)
    taken["checkpoint, 50 MB"], taken["rollback, 50 MB"] = [], []
    for _ in range(5):
        answer, spent = client.timed(op="checkpoint")
        taken["checkpoint, 50 MB"].append(spent)
        taken["rollback, 50 MB"].append(client.timed(op="rollback", cell=answer["answer"]["cell"])[1])
        client.cell("big[0] ^= 1")
    taken["fork, 50 MB"], taken["fork, 50 MB, without a spare session"] = [], []
    for number in range(14): # every other one begins before there is a spare session again
        if number % 2 == 0:
            wait_spare(client.state)
            time.sleep(SETTLED_SECONDS) # its maker's work is no part of a copy
        answer, spent = client.timed(op="fork")
        parked = answer["answer"]["startup"] == "parked"
        taken["fork, 50 MB" if parked else "fork, 50 MB, without a spare session"].append(spent)
        client.command("close", answer["answer"]["id"])


def measure_idle(make, state, count, taken):
    """(KiB of each frozen session, CPU ticks of all), and the first cell after that."""
    clients = [make("--freeze", "200ms")]
    taken["create, cold"] = [clients[0].create_ns]
    taken["create, warm"] = []
    while len(clients) < count:
        wait_spare(state)
        clients.append(make("--freeze", "200ms"))
        way = "create, warm" if clients[-1].made["startup"] == "parked" else "create, cold"
        taken[way].append(clients[-1].create_ns)
    until(lambda: {client.timed(op="info")[0]["answer"]["state"] for client in clients} == {"frozen"})
    pids = [tree(client.pid()) for client in clients]
    kib = [sum(map(private_kib, all_of_one)) for all_of_one in pids]
    before = sum(cpu_ticks(pid) for all_of_one in pids for pid in all_of_one)
    time.sleep(IDLE_SECONDS)
    ticks = sum(cpu_ticks(pid) for all_of_one in pids for pid in all_of_one) - before
    taken["first cell after thawing"] = [client.cell("1") for client in clients]
    for client in clients:
        client.close()
    return kib, ticks


def goals_of(taken, kib, ticks):
    def middle(name):
        return report.median(taken[name]) / MS if any(taken.get(name) or []) else None

    def share(name):
        peer = middle(f"{name}, ipykernel")
        return middle(name) / peer if peer else None

    taken = {**taken, "create": taken["create, warm"]}
    return [
        report.goal_at_most(f"a cell at most {MOST_CELL_MS} ms over the bare kernel",
                            middle("cell") - middle("cell, bare kernel"), MOST_CELL_MS, " ms"),
        report.goal_at_most(f"a cell at most {SHARE_OF_PEER} × ipykernel's", share("cell"), SHARE_OF_PEER, " ×"),
        report.goal_at_most(f"create, warm, at most {MOST_CREATE_MS} ms", middle("create"), MOST_CREATE_MS, " ms"),
        report.goal_at_most(f"create, warm, at most {SHARE_OF_PEER_CREATE} × ipykernel's", share("create"),
                            SHARE_OF_PEER_CREATE, " ×"),
        report.goal_at_most(f"rollback of 50 MB at most {MOST_BACK_MS} ms", middle("rollback, 50 MB"), MOST_BACK_MS, " ms"),
        report.goal_at_most(f"fork of 50 MB at most {MOST_BACK_MS} ms", middle("fork, 50 MB"), MOST_BACK_MS, " ms"),
        report.goal_at_most(f"an idle session at most {MOST_IDLE_MIB} MiB", report.median(kib) / 1024, MOST_IDLE_MIB, " MiB"),
        report.goal_at_most(f"{len(kib)} idle sessions use no CPU in {IDLE_SECONDS} s", ticks, 0, " ticks"),
        report.goal_at_most(f"first cell after thawing at most {MOST_THAW_MS} ms", middle("first cell after thawing"),
                            MOST_THAW_MS, " ms"),
    ]


def measure(bench, engine, state, taken):
    idle = state.with_name("idle")  # so that there are spare sessions of one kind only

    def make(*options):
        return Client(bench, engine, idle, *options)

    effort = bench.effort.workspace_rounds
    clients = {"cell": Client(bench, engine, state, "--memory", "1g"), "cell, bare kernel": Bare(),
               "cell, ipykernel": Peer(bench.raw / "ipykernel")}
    measure_cells(clients, effort * 5, taken)
    taken["create, ipykernel"] = [clients["cell, ipykernel"].create_ns]
    measure_states(clients["cell"], taken)
    for client in clients.values():
        client.close()
    return measure_idle(make, idle, IDLE if effort >= ENOUGH_ROUNDS else IDLE_QUICK, taken)


def sessions(bench):
    sys.path.insert(0, str(TESTS))
    os.environ["SBR_BUILD"] = str(bench.peers.sandbox_run.parent)
    import engine as engines  # pylint: disable=import-outside-toplevel,import-error

    taken = {}
    with tempfile.TemporaryDirectory(prefix="sandbox-run-bench-sessions.", ignore_cleanup_errors=True) as place:
        scratch = pathlib.Path(place)
        with engines.Engine(scratch / "engine", options=["--warm", ""]) as engine:
            kib, ticks = measure(bench, engine, scratch / "state", taken)
    bench.save("sessions.txt", [f"{name}: {samples}" for name, samples in taken.items()])
    rows = [[name, *(report.rounded(report.percentile(samples, share) / MS) for share in (0.5, 0.9)), str(len(samples))]
            for name, samples in taken.items() if any(samples)]
    rows.append(["private memory of an idle session, MiB",
                 *(report.rounded(report.percentile(kib, share) / 1024) for share in (0.5, 0.9)), str(len(kib))])
    note = ("Milliseconds. `create` is the command, with an engine and a session of this kind before it, unless it is cold;"
            " everything else is asked for over the session's socket. Saved states have 50 MB of random bytes. A copy"
            " (`fork`) is a second session with the memory of the kernel; like `create`, it finds a spare session of its kind.")
    return report.Table("Sessions", note, ["what", "p50", "p90", "N"], rows, goals_of(taken, kib, ticks))
