"""The measurements.  Each returns a Table and leaves its raw samples in build/bench/."""

import collections
import dataclasses
import os
import pathlib
import subprocess
import tempfile
import time

import report
from peers import INSIDE

MS = 1e6  # nanoseconds
KIB = 1024
GIB = 1 << 30

PROGRAMS = {
    "static": [f"{INSIDE}/static-true"],
    "dynamic": ["/usr/bin/true"],
    "python": ["/usr/bin/python3", "-c", "pass"],
}

MAX_OF_BWRAP = 0.4
MAX_SUPERVISOR_KIB = 500
MIN_CAPTURE_GB_S = 1.5
MIN_JSON_GB_S = 0.8
MIN_OF_BARE = 0.8  # bulk output through a pipe
MAX_STREAM_MS = 0.1  # that --stream adds to the first byte
# Name, repetitions, what it is, goal for the inside in % more than outside.
LOOPS = [
    ("cpu", 20_000_000, "pure computation", 1),
    ("stat", 100_000, "stat of one file", 20),
    ("open", 60_000, "open and close of one file", 20),
    ("getppid", 400_000, "the cheapest system call", 30),
]
CALLERS = (1, 2, 8)


@dataclasses.dataclass
class Effort:
    """How much of each measurement; the two efforts are in bench.py."""

    rounds: dict  # program -> rounds back to back
    paused_rounds: dict  # program -> rounds with a pause
    pause_ms: int
    memory_runs: int
    capture_bytes: int
    capture_runs: int
    loop_runs: int
    rate_slices: int
    rate_slice_ms: int
    language_rounds: int
    network_bytes: int
    network_connections: int
    network_rounds: int
    workspace_rounds: int
    warm_rounds: int
    languages: tuple = ()  # those to measure; none: all


@dataclasses.dataclass
class Bench:
    """What every measurement needs."""

    peers: object
    effort: Effort
    rbench: pathlib.Path
    workload: pathlib.Path
    raw: pathlib.Path

    def save(self, name, lines):
        (self.raw / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def rbench_lines(self, mode, count, time_ms, commands):
        """Lists of integers, one per line that rbench printed."""
        with tempfile.NamedTemporaryFile("w", suffix=".commands", encoding="utf-8") as file:
            file.writelines(" ".join(map(str, command)) + "\n" for command in commands)
            file.flush()
            done = subprocess.run(
                [self.rbench, mode, str(count), str(time_ms), file.name],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def order_of_round(items, number):
    """Forwards and backwards in turn, so that nobody always follows the same neighbour."""
    return list(items) if number % 2 == 0 else list(reversed(items))


# One run: latency


def latency(bench, program, rounds, pause_ms):
    """Peer name -> (nanoseconds of the runs that succeeded, number of those that failed)."""
    peers = bench.peers.usable
    commands = [peer.command(PROGRAMS[program]) for peer in peers]
    lines = bench.rbench_lines("latency", rounds, pause_ms, commands)
    bench.save(
        f"start-{program}-pause-{pause_ms}ms.txt",
        ["# tool nanoseconds wait-status", *(f"{peers[i].name} {ns} {status}" for i, ns, status in lines)],
    )
    samples = {peer.name: [] for peer in peers}
    failures = collections.Counter()
    for i, nanoseconds, status in lines:
        if status:
            failures[peers[i].name] += 1
        else:
            samples[peers[i].name].append(nanoseconds)
    return {name: (taken, failures[name]) for name, taken in samples.items()}


def ratio(value, base):
    return report.rounded(value / base) if base else "-"


def latency_rows(program, measured):
    middles = {name: report.median(taken) for name, (taken, _) in measured.items() if taken}
    for name, (taken, failed) in measured.items():
        if not taken:
            yield [program, name, *["-"] * 5, f"{failed} FAILED"]
            continue
        yield [
            program,
            name,
            *(report.rounded(report.percentile(taken, share) / MS) for share in (0.5, 0.9, 0.99)),
            ratio(middles[name], middles.get("bare")),
            ratio(middles[name], middles.get("bwrap")),
            f"{len(taken)}" + (f", {failed} FAILED" if failed else ""),
        ]


def share_of_bwrap(measured):
    taken = {name: measured.get(name, ([], 0))[0] for name in ("sandbox-run", "bwrap")}
    if not all(taken.values()):
        return None
    return report.median(taken["sandbox-run"]) / report.median(taken["bwrap"])


def latency_table(bench, title, rounds, pause_ms):
    rows = []
    goals = []
    for program in PROGRAMS:
        measured = latency(bench, program, rounds[program], pause_ms)
        rows += latency_rows(program, measured)
        if program == "static":
            text = f"{title}: static program, p50 at most {MAX_OF_BWRAP} × bwrap"
            goals.append(report.goal_at_most(text, share_of_bwrap(measured), MAX_OF_BWRAP, " ×"))
    note = (
        "Milliseconds from vfork to reaped, through the command line, with an empty environment. The tools"
        " take turns, in an order drawn anew for each round; a ratio is between medians of the same rounds."
    )
    header = ["program", "tool", "p50", "p90", "p99", "× bare", "× bwrap", "N"]
    return report.Table(title, note, header, rows, goals)


def back_to_back(bench):
    return latency_table(bench, "One run, back to back", bench.effort.rounds, 0)


def after_a_pause(bench):
    pause = bench.effort.pause_ms
    title = f"One run, {pause} ms pause before each"
    return latency_table(bench, title, bench.effort.paused_rounds, pause)


# Memory


def children_of(pid):
    listed = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in listed.split()]


def descendants_of(pid):
    found = []
    for child in children_of(pid):
        found += [child, *descendants_of(child)]
    return found


def process_name(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()


def memory_kib(pid):
    """(private, proportional) memory of a process."""
    sizes = collections.Counter()
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        name, size = line.split()[:2]
        sizes[name.rstrip(":")] += int(size)
    return sizes["Private_Clean"] + sizes["Private_Dirty"], sizes["Pss"]


def process_role(pid, started):
    """The janitor shares the address space of the supervisor, so it is counted with it: None."""
    if pid == started:
        return "supervisor"
    return None if process_name(pid) == process_name(started) else "init"


def memory_of_ours(command):
    """Role -> (private, proportional) KiB while the program sleeps."""
    with subprocess.Popen(command, env={}, stdin=subprocess.DEVNULL) as process:
        time.sleep(0.5)
        found = {}
        for pid in [process.pid, *descendants_of(process.pid)]:
            role = process_role(pid, process.pid)
            if role and process_name(pid) != "sleep":
                found[role] = memory_kib(pid)
        process.terminate()
    return found


def memory_of_helpers(command):
    """Sums over everything but the program."""
    with subprocess.Popen(command, env={}, stdin=subprocess.DEVNULL) as process:
        time.sleep(0.5)
        helpers = [
            memory_kib(pid)
            for pid in [process.pid, *descendants_of(process.pid)]
            if process_name(pid) != "sleep"
        ]
        process.wait()
    return tuple(map(sum, zip(*helpers)))


def memory(bench):
    sleeping = ["/usr/bin/sleep", "1.5"]
    samples = collections.defaultdict(list)
    for _ in range(bench.effort.memory_runs):
        for peer in bench.peers.named("sandbox-run"):
            for role, sizes in memory_of_ours(peer.command(sleeping)).items():
                samples[f"sandbox-run: {role}"].append(sizes)
        for peer in bench.peers.named("bwrap"):
            samples["bwrap: both helpers"].append(memory_of_helpers(peer.command(sleeping)))
    bench.save(
        "memory.txt",
        ["# process: private-KiB PSS-KiB", *(f"{n}: {p} {s}" for n, t in samples.items() for p, s in t)],
    )
    rows = [
        [name, *(str(report.median([sizes[i] for sizes in taken])) for i in (0, 1)), str(len(taken))]
        for name, taken in samples.items()
    ]
    supervisor = [sizes[0] for sizes in samples["sandbox-run: supervisor"]]
    goal = report.goal_at_most(
        f"private memory of the supervisor under {MAX_SUPERVISOR_KIB} KiB",
        report.median(supervisor) if supervisor else None,
        MAX_SUPERVISOR_KIB,
        " KiB",
    )
    note = (
        "While the program sleeps, from `/proc/PID/smaps_rollup`: private is Private_Clean + Private_Dirty."
        " The janitor shares the supervisor's address space and is counted with it."
    )
    header = ["process", "private KiB", "PSS KiB", "N"]
    return report.Table("Memory of a running sandbox", note, header, rows, [goal])


# Output


@dataclasses.dataclass
class Capture:
    name: str
    command: list
    size: int
    through_pipe: bool = True
    goal: float | None = None  # GB/s


CAPTURE_SECONDS = 30
ZEROS, PYTHON = "zeros to a pipe", "lines of Python to a pipe"


def captures(bench):
    """What is compared; a tool that does not run here is left out."""
    size = bench.effort.capture_bytes
    few = 1 << 20  # each NUL becomes six bytes of JSON
    zeros = ["/usr/bin/head", "-c", str(2 * size), "/dev/zero"]
    text = [f"{INSIDE}/workload", "write", str(size)]
    few_zeros = ["/usr/bin/head", "-c", str(few), "/dev/zero"]
    room = ["--max-output", "2g"]  # what JSON keeps; a stream that is passed on has no end
    lines = ["/usr/bin/python3", "-c", f"for i in range({size // 640}): print('x' * 63)"]
    cases = []
    for peer in bench.peers.named("bare", "bwrap"):
        cases.append(Capture(f"{peer.name}: {ZEROS}", peer.command(zeros), 2 * size))
    for peer in bench.peers.named("bare"):
        cases.append(Capture("bare: text to a pipe", peer.command(text), size))
        cases.append(Capture(f"bare: {PYTHON}", peer.command(lines), size // 640 * 64))
    for peer in bench.peers.named("sandbox-run"):
        cases += [
            Capture("sandbox-run: zeros to /dev/null", peer.command(zeros), 2 * size, False, MIN_CAPTURE_GB_S),
            Capture(f"sandbox-run: {ZEROS}", peer.command(zeros), 2 * size, goal=MIN_CAPTURE_GB_S),
            Capture("sandbox-run: text to a pipe", peer.command(text), size),
            Capture(f"sandbox-run: {PYTHON}", peer.command(lines), size // 640 * 64),
            Capture("sandbox-run --json: text", peer.command(text, "--json", *room), size, goal=MIN_JSON_GB_S),
            Capture("sandbox-run --json: 1 MiB of zeros", peer.command(few_zeros, "--json"), few),
        ]
    return cases


def finish(process, deadline):
    """What it wrote on stdout, if that is a pipe; raises when it fails or takes too long."""
    try:
        said, _ = process.communicate(timeout=max(deadline - time.monotonic(), 0.001))
    finally:
        process.kill()
    if process.returncode:
        raise RuntimeError(f"exit status {process.returncode}")
    return said


def capture_seconds(case, drain):
    """Start to end of one run, reader included."""
    start = time.monotonic()
    deadline = start + CAPTURE_SECONDS
    out = subprocess.PIPE if case.through_pipe else subprocess.DEVNULL
    with subprocess.Popen(case.command, env={}, stdin=subprocess.DEVNULL, stdout=out) as writer:
        if not case.through_pipe:
            finish(writer, deadline)
            return time.monotonic() - start
        with subprocess.Popen([drain, "drain"], stdin=writer.stdout, stdout=subprocess.PIPE) as reader:
            writer.stdout.close()
            writer.stdout = None
            finish(writer, deadline)
            arrived = int(finish(reader, deadline))
    if arrived < case.size:
        raise RuntimeError(f"only {arrived} of {case.size} bytes arrived")
    return time.monotonic() - start


def capture_samples(bench, cases):
    """Case name -> GB/s of each run, and case name -> why it was given up."""
    speeds = {case.name: [] for case in cases}
    failures = {}
    for number in range(bench.effort.capture_runs):
        for case in order_of_round(cases, number):
            if case.name in failures:
                continue
            try:
                speeds[case.name].append(case.size / capture_seconds(case, bench.workload) / 1e9)
            except subprocess.TimeoutExpired:
                failures[case.name] = f"not finished after {CAPTURE_SECONDS} s"
            except RuntimeError as problem:
                failures[case.name] = str(problem)
    return speeds, failures


def share_of_bare(speeds, failures, what):
    """Of the medians, for what goes through the same pipe with and without us."""
    ours, bare = f"sandbox-run: {what}", f"bare: {what}"
    known = speeds.get(ours) and speeds.get(bare) and not {ours, bare} & set(failures)
    share = report.median(speeds[ours]) / report.median(speeds[bare]) if known else None
    return report.goal_at_least(f"{what}: at least {MIN_OF_BARE} of bare", share, MIN_OF_BARE)


def output(bench):
    cases = captures(bench)
    speeds, failures = capture_samples(bench, cases)
    bench.save("output.txt", ["# case: GB/s", *(f"{n}: {s}" for n, t in speeds.items() for s in t)])
    rows = []
    goals = []
    for case in cases:
        failed = failures.get(case.name)
        taken = [] if failed else speeds[case.name]
        shown = [report.rounded(f(taken)) for f in (report.median, min, max)] if taken else ["-"] * 3
        rows.append([case.name, *shown, f"NOT MEASURED: {failed}" if failed else str(len(taken))])
        if case.goal:
            middle = report.median(taken) if taken else None
            goals.append(report.goal_at_least(f"{case.name}: at least {case.goal} GB/s", middle, case.goal, " GB/s"))
    goals += [share_of_bare(speeds, failures, what) for what in (ZEROS, PYTHON)]
    size = bench.effort.capture_bytes / GIB
    note = (
        f"Zeros: {2 * size:g} GiB; lines of Python: a tenth of {size:g} GiB; else {size:g} GiB; bytes of the program per second,"
        " from the start of the tool to the end of the reader. Zeros: `head -c N /dev/zero`; text: lines of"
        " 64 bytes. bwrap hands its own stdout through and looks at nothing. --json keeps all of it in"
        " memory and prints it at the end, where a NUL takes six bytes."
    )
    header = ["output", "p50 GB/s", "min", "max", "N"]
    return report.Table("Output", note, header, rows, goals)


# The first byte


def first_byte_ms(command, wanted):
    """From the start of the tool to the program's first byte in the reader's hands."""
    start = time.monotonic()
    with subprocess.Popen(command, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        said = b""
        while wanted not in said:
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                raise RuntimeError(f"{command[0]} ended without {wanted!r}")
            said += data
        taken = (time.monotonic() - start) * 1000
        process.stdout.read()
    return taken


def first_byte(bench):
    echo = ["/usr/bin/echo", "first"]
    ways = {peer.name: (peer.command(echo), b"first") for peer in bench.peers.named("bare", "sandbox-run")}
    for peer in bench.peers.named("sandbox-run"):
        ways["sandbox-run --stream"] = (peer.command(echo, "--stream"), b'"data":"first')
    taken = {name: [] for name in ways}
    # The medians of 400 rounds differ by 0.1 ms from one run to the next, which is the goal.
    for number in range(5 * bench.effort.rounds["dynamic"]):
        for name in order_of_round(list(ways), number):
            taken[name].append(first_byte_ms(*ways[name]))
    bench.save("first-byte.txt", ["# way: ms", *(f"{n}: {s}" for n, t in taken.items() for s in t)])
    rows = [[name, *(report.rounded(f(found)) for f in (report.median, min, max)), str(len(found))]
            for name, found in taken.items()]
    plain, streamed = taken.get("sandbox-run"), taken.get("sandbox-run --stream")
    more = report.median(streamed) - report.median(plain) if plain and streamed else None
    text = f"--stream adds at most {MAX_STREAM_MS} ms to the first byte"
    note = ("`echo` in a pipe: from the start of the tool until its reader has the first byte of the program; with"
            " --stream, the event that has it. The ways take turns.")
    return report.Table("First byte", note, ["first byte", "p50 ms", "min", "max", "N"], rows,
                        [report.goal_at_most(text, more, MAX_STREAM_MS, " ms")])


# Running code


def loop_nanoseconds(command):
    done = subprocess.run(command, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def loop_samples(bench, name, count):
    """Peer name -> nanoseconds of one repetition, by run."""
    peers = bench.peers.named("bare", "sandbox-run", "bwrap")
    samples = {peer.name: [] for peer in peers}
    for number in range(bench.effort.loop_runs):
        for peer in order_of_round(peers, number):
            command = peer.command([f"{INSIDE}/workload", name, str(count)])
            samples[peer.name].append(loop_nanoseconds(command))
    return samples


def running_code(bench):
    rows = []
    goals = []
    raw = ["# loop tool nanoseconds"]
    for name, count, about, most in LOOPS:
        samples = loop_samples(bench, name, count)
        raw += [f"{name} {tool} {ns}" for tool, taken in samples.items() for ns in taken]
        bare = report.median(samples["bare"])
        for tool, taken in samples.items():
            middle = report.median(taken)
            ratios = (middle / bare, min(taken) / min(samples["bare"]))
            rows.append([about, tool, report.rounded(middle), *(f"{value:.3f}" for value in ratios)])
        more = (report.median(samples["sandbox-run"]) / bare - 1) * 100 if "sandbox-run" in samples else None
        goals.append(report.goal_at_most(f"{about}: at most {most} % slower inside", more, most, " %"))
    bench.save("running-code.txt", raw)
    note = (
        "Nanoseconds of one repetition, timed by the program itself: the start of the sandbox is not in it."
        f" N = {bench.effort.loop_runs}."
    )
    header = ["loop", "tool", "p50 ns", "× bare", "× bare (fastest)"]
    return report.Table("Code inside against outside", note, header, rows, goals)


# Many callers


def runs_per_second(bench, peer, callers):
    command = peer.command(PROGRAMS["static"])
    lines = bench.rbench_lines("rate", callers, bench.effort.rate_slice_ms, [command])
    failures = sum(failed for _, failed, _ in lines)
    if failures:
        raise RuntimeError(f"{peer.name}: {failures} runs failed with {callers} callers")
    return sum(runs / nanoseconds * 1e9 for runs, _, nanoseconds in lines)


def throughput(bench):
    peers = bench.peers.named("bare", "sandbox-run", "bwrap")
    samples = collections.defaultdict(list)
    for number in range(bench.effort.rate_slices):
        for callers in CALLERS:
            for peer in order_of_round(peers, number):
                samples[peer.name, callers].append(runs_per_second(bench, peer, callers))
    bench.save(
        "throughput.txt",
        ["# tool callers runs/s", *(f"{n} {c} {rate:.1f}" for (n, c), t in samples.items() for rate in t)],
    )
    middles = {key: report.median(taken) for key, taken in samples.items()}
    rows = [
        [
            peer.name,
            *(f"{middles[peer.name, callers]:.0f}" for callers in CALLERS),
            *(f"{middles[peer.name, callers] / middles['bare', callers]:.0%}" for callers in CALLERS),
        ]
        for peer in peers
    ]
    note = (
        f"Runs per second of the static program, {' / '.join(map(str, CALLERS))} callers at once;"
        f" median of {bench.effort.rate_slices} slices of {bench.effort.rate_slice_ms} ms, the tools taking"
        f" turns. {os.cpu_count()} CPUs."
    )
    header = ["tool", *(f"callers: {n}" for n in CALLERS), *(f"% of bare, {n}" for n in CALLERS)]
    return report.Table("Runs per second", note, header, rows)


MEASUREMENTS = (back_to_back, after_a_pause, memory, output, first_byte, running_code, throughput)
