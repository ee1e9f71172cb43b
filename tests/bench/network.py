"""The network of a run, against bare loopback: how fast data, connections, datagrams and lookups are inside, and what
each mode adds to the start of a run.  Server and clients are in a network namespace that is made for it."""

import collections
import contextlib
import dataclasses
import os
import pathlib
import subprocess

import report
from tables import MS, order_of_round, ratio

HERE = pathlib.Path(__file__).resolve().parent
SERVER = "192.0.2.1"  # kept for documentation: nobody's
PORT = "7070"
NAME = "bench.example.net"
US = 1e3
SECONDS = 60
MIN_THROUGHPUT = 0.25  # of bare loopback: every byte crosses two more sockets


@dataclasses.dataclass
class Lab:
    """A network namespace with the server in it."""

    name: str
    hosts: pathlib.Path  # a hosts file that has the server's name

    def command(self, words):
        # Not `ip netns exec`: it hides the control groups.
        line = 'mount --bind "$0" /etc/hosts && exec "$@"'
        enter = ["nsenter", f"--net=/run/netns/{self.name}", "unshare", "--mount", "sh", "-c", line, self.hosts]
        return [str(word) for word in (*enter, *words)]

    def run(self, words):
        done = subprocess.run(
            self.command(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{words[0]}: {done.stderr.strip()[-200:]}")
        return [int(line) for line in done.stdout.split()]


@contextlib.contextmanager
def lab(netload):
    if os.geteuid() != 0:
        raise RuntimeError("a network namespace for the server takes root")
    made = Lab(f"sandbox-run-bench-{os.getpid()}", netload.with_name("hosts"))
    made.hosts.write_text(f"{SERVER} {NAME}\n", encoding="ascii")
    subprocess.run(["ip", "netns", "add", made.name], check=True)
    try:
        for words in (["ip", "link", "set", "lo", "up"], ["ip", "addr", "add", f"{SERVER}/32", "dev", "lo"]):
            subprocess.run(made.command(words), check=True)
        command = made.command([netload, "serve", SERVER, PORT])
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            server.stdout.readline()
            try:
                yield made
            finally:
                server.terminate()
    finally:
        subprocess.run(["ip", "netns", "delete", made.name], check=False)


def inside(sandbox_run, mode, words):
    """The same command in a sandbox that may reach the server."""
    rules = ["--allow-host", f"{SERVER}:{PORT}", "--allow-host", NAME]
    limits = ["--max-connections", "1000000", "--timeout", f"{SECONDS}s"]
    netload, *rest = words
    brought = ["--volume", f"{netload}:/netload", "--", "/netload", *rest]
    return [sandbox_run, "exec", "--network", mode, *rules, *limits, *brought]


@dataclasses.dataclass
class Case:
    """`value` turns the nanoseconds that were printed into what is shown; `more` is better or not."""

    name: str
    unit: str
    words: list
    value: object
    more: bool = True


def cases(netload, effort):
    size, n = effort.network_bytes, effort.network_connections
    place = [SERVER, PORT]
    return [
        Case("download", "GB/s", [netload, "down", *place, size], lambda taken: size / taken[0]),
        Case("upload", "GB/s", [netload, "up", *place, size], lambda taken: size / taken[0]),
        Case("connections", "1/s", [netload, "connect", *place, n], lambda taken: n * 1e9 / taken[0]),
        Case("datagram, there and back", "µs", [netload, "echo", *place, n], lambda t: report.median(t) / US, False),
        Case("lookup of a name", "µs", [netload, "lookup", NAME, n], lambda t: report.median(t) / US, False),
    ]


def network(bench):
    """Bare, allow and full take turns."""
    netload = bench.raw / "netload"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", netload, HERE / "netload.c"], check=True)
    sandbox_run = bench.peers.sandbox_run
    samples = collections.defaultdict(list)
    with lab(netload) as made:
        measured = cases(netload, bench.effort)
        for number in range(bench.effort.network_rounds):
            for where in order_of_round(("bare", "allow", "full"), number):
                for case in measured:
                    words = case.words if where == "bare" else inside(sandbox_run, where, case.words)
                    samples[case.name, where].append(case.value(made.run(words)))
    bench.save("network.txt", [f"{name} {where}: {taken}" for (name, where), taken in samples.items()])
    rows = []
    goals = []
    for case in measured:
        middle = {where: report.median(samples[case.name, where]) for where in ("bare", "allow", "full")}
        shares = [ratio(middle[where], middle["bare"]) for where in ("allow", "full")]
        rows.append([f"{case.name}, {case.unit}", *(report.rounded(middle[w]) for w in middle), *shares])
        if case.name == "download":
            text = f"download inside `allow` at least {MIN_THROUGHPUT} × bare loopback"
            goals.append(report.goal_at_least(text, middle["allow"] / middle["bare"], MIN_THROUGHPUT, " ×"))
    note = (
        "Server and client in one network namespace, over loopback; bare, `allow` and `full` take turns, the figures are"
        " medians. A lookup is getaddrinfo of a name that stands in the hosts file, so bare asks nobody."
    )
    header = ["what", "bare", "allow", "full", "allow × bare", "full × bare"]
    return report.Table("Network", note, header, rows, goals)


def network_start(bench):
    """What a mode adds to the start of a run."""
    modes = {
        "none": [],
        "localhost": ["--network", "localhost"],
        "allow": ["--allow-host", "example.org:443"],
        "full": ["--network", "full"],
    }
    rounds = bench.effort.rounds["dynamic"] // 2
    commands = [[bench.peers.sandbox_run, "exec", *words, "--", "/usr/bin/true"] for words in modes.values()]
    taken = collections.defaultdict(list)
    for i, nanoseconds, status in bench.rbench_lines("latency", rounds, 0, commands):
        if status:
            raise RuntimeError(f"--network {list(modes)[i]} failed")
        taken[list(modes)[i]].append(nanoseconds)
    bench.save("network-start.txt", [f"{mode}: {values}" for mode, values in taken.items()])
    base = report.median(taken["none"])
    rows = [
        [
            mode,
            *(report.rounded(report.percentile(values, share) / MS) for share in (0.5, 0.9)),
            report.rounded((report.median(values) - base) / MS),
            ratio(report.median(values), base),
        ]
        for mode, values in taken.items()
    ]
    note = "Milliseconds of `sandbox-run exec -- true` from vfork to reaped, the modes in turns."
    header = ["mode", "p50", "p90", "more than none", "× none"]
    return report.Table("Start with a network", note, header, rows)
