"""Mixed runs through one engine for a long time: cancelled, limited, their workers killed, the engine itself crashed.

Nothing may be lost, doubled, mixed up or left behind, and the engine's memory stays what it is.

Usage: soak.py [--runs N] [--threads N] [--caller root|user] [--sanitize address,undefined|thread]

The build is that of SBR_BUILD; --sanitize says what it was built with, and is for the load generator.
"""
import argparse
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import engine as engines  # noqa: E402
import support  # noqa: E402

EXITED, SIGNALED = 1, 2
SEED = 8
SEGMENTS = 20
STUCK_S = 900
KIB = 1024
AFTER_HARM_NS = 2_000_000_000  # a run that began this long after one was killed is not excused
MOST_GROWTH = 1.15  # of the engine's memory, end over beginning
MOST_GROWTH_KIB = 512
SMALL = {"wall_ms": 300, "grace_ms": 0, "memory_bytes": 48 << 20, "pids": 20, "disk_bytes": 4 << 20, "output_bytes": 65536}

# Verdict, check, request: see tests/bench/load.c.  Repeated lines are more likely.
LINES = [
    *4 * [("exited", "echo", {"language": "python", "code": "print(@N@)"})],
    *2 * [("exited", "echo", {"language": "sh", "code": "echo @N@"})],
    ("exited", "echo", {"language": "bash", "code": "read x; echo $x", "stdin": "@N@\n"}),
    ("exited", "echo", {"language": "python", "code": "import sys; print(sys.argv[1])", "args": ["@N@"]}),
    ("exited", "echo", {"language": "python", "code": "import os; print(os.environ['X'])", "env": {"X": "@N@"}}),
    ("exited", "echo", {"language": "python", "code": "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass\nprint(@N@)"}),
    ("exited", "echo", {"language": "javascript", "code": "console.log(@N@)"}),
    ("exited", "echo", {"args": ["echo", "@N@"]}),
    ("exited", "-", {"language": "python", "code": "pass", "stdin": "x" * 20000}),
    ("exited", "cancel", {"language": "python", "code": "import time; time.sleep(0.01)"}),
    ("exited", "cancel", {"language": "sh", "code": "exec sleep 0.01"}),
    ("signaled", "-", {"language": "python", "code": "import os; os.kill(os.getpid(), 9)"}),
    ("timeout", "-", {"language": "sh", "code": "sleep 100", "limits": {**SMALL, "wall_ms": 40}}),
    ("cpu_limit", "-", {"language": "python", "code": "while True: pass", "limits": {"cpu_ms": 20}}),
    ("memory_limit", "-", {"language": "python", "code": "x = bytearray(100 << 20)", "limits": {**SMALL, "wall_ms": 20000}}),
    ("output_limit", "-", {"language": "python", "code": "while True: print('x' * 4000)", "limits": {**SMALL, "wall_ms": 20000, "output_bytes": 1 << 20}}),
    ("disk_limit", "-", {"language": "sh", "code": "head -c 8000000 /dev/zero > /tmp/x", "limits": {**SMALL, "wall_ms": 20000}}),
]


def request_lines():
    return [f"run {verdict} {check} {json.dumps(request)}\n" for verdict, check, request in LINES]


def build_load(folder, sanitize=None):
    """tests/bench/load.c, with the library of this build."""
    flags = [f"-fsanitize={sanitize}"] if sanitize else []
    target = folder / "load"
    library = support.BUILD / "src"
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", *flags,
                    f"-I{support.REPO}/include", HERE.parent / "bench/load.c", "-o", target, f"-L{library}",
                    f"-Wl,-rpath,{library}", "-lsandboxrun"], check=True)
    target.chmod(0o755)
    return target


@dataclasses.dataclass
class Sample:
    line: int
    begin: int
    end: int
    way: str
    verdict: int
    well: bool


@dataclasses.dataclass
class State:
    """Of an engine that has nothing to do."""
    rss_kib: int
    descriptors: int
    processes: int
    groups: int
    mounts: int


def state_of(engine):
    pid = engine.process.pid
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return State(int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")),
                 len(engines.descendants(pid)), len(engines.groups_of(pid)),
                 len(pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()))


class Soak:
    def __init__(self, engine, load, folder, threads, memory=True):
        self.memory = memory  # a sanitizer keeps what was freed
        self.engine = engine
        self.load = load
        self.threads = threads
        self.mix = folder / "mix"
        self.mix.write_text("".join(request_lines()), encoding="utf-8")
        self.mix.chmod(0o644)
        self.chance = random.Random(SEED)
        self.samples, self.complaints = [], []
        self.harm = []  # moments at which somebody was killed
        self.states = []

    def segment(self, runs, kills, crash):
        """So many runs; meanwhile `kills` processes of the engine are killed, and the engine itself."""
        prefix = support.AS_ORDINARY if self.engine.caller == support.Callers.USER and os.geteuid() == 0 else []
        process = subprocess.Popen([*prefix, self.load, "mix", str(self.threads), str(runs), self.mix],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.engine.environment())
        havoc = threading.Thread(target=self.havoc, args=(process.pid, kills, crash))
        havoc.start()
        out, complaints = process.communicate(timeout=STUCK_S)
        havoc.join()
        assert process.returncode == 0, complaints
        self.complaints += complaints.splitlines()
        for line in out.splitlines():
            number, begin, end, way, verdict, well = line.split()
            self.samples.append(Sample(int(number), int(begin), int(end), way, int(verdict), well == "1"))

    def havoc(self, load_pid, kills, crash):
        try:
            pidfd = os.pidfd_open(load_pid)
        except ProcessLookupError:
            return
        for number in range(kills + crash):
            if select.select([pidfd], [], [], self.chance.uniform(0.01, 0.3))[0]:
                break
            if crash and number == kills // 2:
                self.crash()
            else:
                self.kill_one()
        os.close(pidfd)

    def kill_one(self):
        found = engines.descendants(self.engine.process.pid)
        if found:
            self.harm.append(time.monotonic_ns())
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.chance.choice(found), signal.SIGKILL)

    def crash(self):
        self.harm.append(time.monotonic_ns())
        left = self.engine.kill()
        self.harm.append(time.monotonic_ns())
        assert not left, f"a crash left {left}"
        self.engine.restart()

    def note_state(self):
        """When as many wait as shall wait, and nobody is on his way out."""
        last = []

        def settled():
            last.append(state_of(self.engine))
            return len(last) > 20 and all(state == last[-1] for state in last[-20:])

        engines.within(20, settled)
        self.states.append(last[-1])

    # What must hold

    def excused(self, sample):
        """Somebody who took part in it was killed."""
        return any(sample.begin - AFTER_HARM_NS < moment < sample.end for moment in self.harm)

    def problems(self, runs):
        found = []
        if len(self.samples) != runs:
            found.append(f"{runs} runs were asked for and {len(self.samples)} answered")
        wrong = [sample for sample in self.samples if not sample.well and not self.excused(sample)]
        if wrong:
            found.append(f"{len(wrong)} runs did not end as they should: {wrong[:5]}; {self.complaints[:5]}")
        excused = sum(not sample.well for sample in self.samples) - len(wrong)
        if excused > self.threads * len(self.harm):
            found.append(f"{excused} runs suffered from {len(self.harm)} kills")
        return found + self.growth()

    def growth(self):
        """The beginning is the second state: the first still lacks what only the first runs need."""
        if len(self.states) < 4:
            return []
        first, last = self.states[1], self.states[-1]
        found = [f"{name}: {getattr(first, name)}, then {getattr(last, name)}"
                 for name in ("descriptors", "processes", "groups", "mounts")
                 if getattr(last, name) > 1.5 * getattr(first, name) + 8]
        alike = [state for state in self.states if (state.processes, state.groups) == (last.processes, last.groups)]
        if last.descriptors > alike[0].descriptors + 4:  # with as many that wait
            found.append(f"descriptors: {alike[0].descriptors}, then {last.descriptors}")
        if self.memory and last.rss_kib > max(first.rss_kib * MOST_GROWTH, first.rss_kib + MOST_GROWTH_KIB):
            found.append(f"memory: {first.rss_kib} KiB, then {last.rss_kib} KiB")
        return found

    def summary(self):
        ways = collections.Counter(sample.way for sample in self.samples)
        unwell = sum(not sample.well for sample in self.samples)
        return (f"{len(self.samples)} runs ({', '.join(f'{count} {way}' for way, count in sorted(ways.items()))}), "
                f"{len(self.harm)} kills, {unwell} runs ended by them; memory "
                f"{', '.join(str(state.rss_kib) for state in self.states)} KiB; at the end {self.states[-1]}")


SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:second_deadlock_stack=1:die_after_fork=0",
}


def soak(folder, caller, runs, threads=4, segments=SEGMENTS, kills=3, sanitize=None):
    """Raises what is wrong; returns a line of what was done."""
    load = build_load(folder, sanitize)
    with engines.Engine(folder / "engine", caller, env=SANITIZERS if sanitize else None) as engine:
        work = Soak(engine, load, folder, threads, memory=not sanitize)
        crashes = (segments // 3, 2 * segments // 3)
        for number in range(segments):
            share = runs * (number + 1) // segments - runs * number // segments
            work.segment(share, kills if number % 2 else 0, number in crashes)
            work.note_state()
        problems = work.problems(runs)
        assert not problems, "\n".join([*problems, work.summary(), engine.words()[-2000:]])
    return work.summary()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--caller", choices=engines.callers(), default=engines.callers()[0])
    parser.add_argument("--sanitize", choices=["address,undefined", "thread"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sbr-soak-") as folder:
        os.chmod(folder, 0o755)
        begin = time.monotonic()
        print(soak(pathlib.Path(folder), options.caller, options.runs, options.threads,
                   sanitize=options.sanitize))
        print(f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
