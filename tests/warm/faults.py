"""Ends processes of ours at every step of a job: by SIGKILL, by SIGTERM, and by SIGKILL after they stood still.

Whatever is ended, each caller has its answer once, or one sentence that is true; nothing crashes, nobody waits for
ever, and nothing is left that the next run does not remove.

Usage: faults.py [--kills N] [--seed N] [--steps]

N processes end at random moments under load; with --steps, before that one at each step of each job.  What has a
sanitizer says so by its end.
"""
import argparse
import collections
import contextlib
import itertools
import os
import pathlib
import random
import re
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

SOON = 60
STANDSTILL_S = 0.2
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "freeze": signal.SIGSTOP}

# What a caller may read when a process of ours was ended from outside; everything else is a finding.
TRUE = [re.compile(text) for text in (
    r"the engine ended while the program ran: it had begun, and how it would have ended is unknown",
    r"a sandbox of the engine's ended while the program ran: it had begun",
    r"the engine is about to end; try again later, or with --cold",  # to who was in its queue
    r"the sandbox ended before the program did",
    r"the sandbox ended while it was made, as when its first process is killed from outside",
    r"SIGTERM to sandbox-run ended the run",
    r"the (program|compiler) was ended by SIG(KILL|TERM); the sandbox did not send it",  # init's child, not yet theirs
    r"cannot make a network namespace: No such process",
    r"cannot make the sockets for .* and hand them to .*: Broken pipe",
    r"the egress process ended before its work was done",
    r"the process of the published ports ended before the program",
)]
numbers = itertools.count(os.getpid() * 100000)

C_CODE = '#include <stdio.h>\nint main(void) {{ puts("{0}"); return 0; }}\n'


def jobs(folder):
    """By name: the words of a call whose output is its number."""
    tree = folder / "tree"
    tree.mkdir(exist_ok=True)
    return {
        "command": lambda n: ["exec", "--", "echo", n],
        "python": lambda n: ["run", "--lang", "python", "--code", f"print({n})"],
        "compiled": lambda n: ["run", "--lang", "c", "--code", C_CODE.format(n)],
        "tree": lambda n: ["exec", "--volume", f"{tree}:/data:cow", "--", "sh", "-c", f"echo {n} > /data/{n}; cat /data/{n}"],
        "network": lambda n: ["exec", "--network", "full", "--", "sh", "-c", f"sleep 0.05; echo {n}"],
        "published": lambda n: ["exec", "--network", "localhost", "--publish", "0:8080", "--", "sh", "-c", f"sleep 0.05; echo {n}"],
        "kept": lambda n: ["run", "--keep-output", "--lang", "bash", "--code", f"echo {n}"],
    }


class Answer:
    """What one call said and how it ended."""

    def __init__(self, name, number, process, out, err):
        self.name, self.number, self.status = name, number, process.returncode
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    def is_right(self):
        return (self.status, self.out) == (0, f"{self.number}\n")

    def is_true_failure(self):
        """A status of ours, and exactly one sentence of ours, which is known to be true."""
        said = [line for line in self.err.splitlines() if " inside is reached at " not in line]
        return (self.status in (125, 137, 143) and self.out in ("", f"{self.number}\n") and len(said) == 1 and
                any(pattern.search(said[0]) for pattern in TRUE))

    def __str__(self):
        return f"{self.name}: status {self.status}, {self.out!r}, {self.err[-600:]!r}"


def call(name, words, number, env, hooks=False, caller=None):
    line = support.command(*words, caller=caller, hooks=hooks)
    with subprocess.Popen(line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        try:
            out, err = process.communicate(timeout=SOON)
        except subprocess.TimeoutExpired:
            where = {pid: state_of(pid) for pid in [process.pid, *engines.descendants(process.pid)]}
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{name} hangs: {where} {out} {err}") from None
        return Answer(name, number, process, out, err)


def state_of(pid):
    with contextlib.suppress(OSError, IndexError):
        name, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)
        return f"{name.split('(', 1)[1]} {rest[0]} {pathlib.Path(f'/proc/{pid}/wchan').read_text()}"
    return "gone"


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def stands_still(pid):
    return state_of(pid).split(" ")[-2:-1] == ["T"] or " T " in state_of(pid)


def groups_of_all(pids):
    return {path for path in support.groups_below("/sys/fs/cgroup") if os.path.basename(path).split(".")[1] in pids}


def end(process, how):
    """SIGKILL, SIGTERM, or SIGKILL after it stood still for a moment."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, SIGNALS[how])
        if how == "freeze":
            select.select([], [], [], STANDSTILL_S)
            os.kill(process, signal.SIGKILL)


# ---- each step ---------------------------------------------------------------------------------------------------


def watch_frozen(process, done):
    """A process that stands still is killed after a moment, as somebody would who waits for it."""
    while not done.wait(0.02):
        if stands_still(process.pid):
            done.wait(STANDSTILL_S)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            return


@contextlib.contextmanager
def thawed(process):
    done = threading.Event()
    thread = threading.Thread(target=watch_frozen, args=(process, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def client_steps(folder, how, name, engine=None, step=1, stride=1):
    """The caller's own process is ended before each of its steps.  Yields what is wrong."""
    env = engine.environment() if engine else support.surroundings(None)
    make = jobs(folder)[name]
    while True:
        number = str(next(numbers))
        words = support.command(*make(number), hooks=True)
        hook = {"SANDBOX_RUN_TEST_STEP": f"sandbox:{step}:{int(SIGNALS[how])}"}
        with subprocess.Popen(words, env={**env, **hook}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            with thawed(process):
                try:
                    out, err = process.communicate(timeout=SOON)
                except subprocess.TimeoutExpired:
                    process.kill()
                    yield f"{name} {how} at {step}: hangs"
                    return
        answer = Answer(name, number, process, out, err)
        if process.returncode == 0 and how != "term":
            assert answer.is_right(), str(answer)
            return
        expected = {"kill": (-9,), "freeze": (-9,), "term": (0, 130, 143, -15)}[how]
        if process.returncode not in expected or answer.out not in ("", f"{number}\n"):
            yield f"at {step}: {answer}"
        if not engines.within(SOON, lambda pid=process.pid: not engines.groups_of(pid)):
            yield f"{name} {how} at {step} leaves {engines.groups_of(process.pid)}"
        step += stride
        if how == "term" and step > 60:
            return


def engine_steps(folder, how, name, step=1, stride=1, most=400):
    """The engine is ended before each of its steps, from its start to the end of a run.  Yields what is wrong."""
    make = jobs(folder)[name]
    for number, at in enumerate(range(step, most, stride)):
        hook = {"SANDBOX_RUN_TEST_STEP": f"sandbox-run:{at}:{int(SIGNALS[how])}"}
        engine = engines.Engine(folder / f"engine-{how}-{name}", options=["--warm", "command,python", "--park-max", "2", "--park-min", "1"],
                        hooks=True, env=hook)
        engine.folder.mkdir(exist_ok=True)
        engine.mounts = engines.mounts()
        process = subprocess.Popen(support.command("serve", *engine.options, hooks=True), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=engine.environment())
        engine.process = process
        with thawed(process):
            line = process.stderr.readline()
            env = {**engine.environment(), "SANDBOX_RUN_TEST_STEP": ""}
            text = str(next(numbers))
            answer = call(name, make(text), text, env, hooks=True)
            alive = process.poll() is None and how != "term"
            watched, groups = engine.watch(), engines.groups_of(process.pid)
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                status = process.wait(SOON)
            except subprocess.TimeoutExpired:
                yield f"engine {how} at {at} does not end: {state_of(process.pid)}"
                process.kill()
                status = process.wait()
        if not answer.is_right() and not answer.is_true_failure():
            yield f"engine {how} at {at}: {answer}"
        said = process.stderr.read().decode(errors="replace")
        process.stderr.close()
        if status not in (0, -9) or (how == "term" and status):
            yield f"engine {how} at {at}: status {status}: {line} {said}"
        left = engine.left_of(watched, groups)
        if left or engine.socket.exists():
            engines.within(5, lambda: not engine.socket.exists())
            if left or engine.socket.exists():
                yield f"engine {how} at {at} left {left} {engine.socket.exists()}"
                with contextlib.suppress(OSError):
                    engine.socket.unlink()
        if alive and number:
            return


# ---- at random, under load ---------------------------------------------------------------------------------------

KINDS = {  # by the name of the process, which the kernel cuts
    "sandbox-run-fro": "front",
    "sandbox-run-htt": "gateway",
    "sandbox-cleanup": "cleanup",
}


def line_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return [b""]


def kind_of(pid, roots):
    """What a process of ours is; None for a program's own."""
    if pid in roots:
        return roots[pid]
    line, name = line_of(pid), name_of(pid)
    for word in ("init", "egress", "publish"):
        if line[0] == f"sandbox-run-{word}".encode():
            return word
    if name in KINDS:
        return KINDS[name]
    if any(word.startswith(b"/driver/") and not word.endswith((b".o", b"/native.sh")) for word in line):  # no compiler
        return "zygote"
    return "janitor" if name.startswith("sandbox-run") else None


class Chaos:
    """An engine, a gateway and callers of both; somebody ends processes of them."""

    def __init__(self, folder, seed, tool_env=None):
        self.folder, self.chance, self.env = folder, random.Random(seed), tool_env or {}
        self.answers, self.killed, self.wrong = [], collections.Counter(), []
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.pids = set()  # of all callers
        self.running = {}  # of a caller's process: the kinds that were ended in its family
        self.jobs = jobs(folder)

    def one(self, worker, turn):
        name = worker.choice(sorted(self.jobs))
        number = str(next(numbers))
        env = {**self.engine.environment(), **self.env}
        if turn % 3 == 2:
            env["SANDBOX_RUN_COLD"] = "1"
        words = support.command(*self.jobs[name](number))
        process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        harmed = set()
        with self.lock:
            self.running[process.pid] = harmed
            self.pids.add(str(process.pid))
        try:
            out, err = process.communicate(timeout=SOON)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"{name} hangs, harmed {harmed}: {[(p, state_of(p)) for p in engines.descendants(process.pid)]}")
            process.kill()
            out, err = process.communicate()
        with self.lock:
            del self.running[process.pid]
        answer = Answer(name, number, process, out, err)
        self.answers.append((answer, harmed))
        if answer.is_right() or ("client" in harmed and process.returncode in (-9, -15, 143, 130)):
            return
        if not answer.is_true_failure():
            self.wrong.append(f"harmed {sorted(harmed)}: {answer}")

    def callers(self, seed):
        worker = random.Random(seed)
        for turn in itertools.count():
            if self.over.is_set():
                return
            self.one(worker, turn)

    def victims(self):
        """(kind, pid, the caller whose family it is of)."""
        found = []
        with self.lock:
            callers = list(self.running)
        for pid in callers:
            found += [("client", pid, pid)]
            found += [(kind_of(child, {}), child, pid) for child in engines.descendants(pid)]
        engine = self.engine.process.pid
        found += [(kind_of(child, {}), child, None) for child in engines.descendants(engine)]
        found += [("engine", engine, None)]
        return [(kind, pid, of) for kind, pid, of in found if kind]

    def harm(self):
        """Ends one process.  Kinds are equally likely, or those that are many would be all."""
        by_kind = collections.defaultdict(list)
        for kind, pid, of in self.victims():
            by_kind[kind].append((pid, of))
        kind = self.chance.choice(sorted(by_kind))
        pid, of = self.chance.choice(by_kind[kind])
        how = self.chance.choice(sorted(SIGNALS))
        if kind in ("janitor", "init", "cleanup") and how == "term":
            how = "kill"  # they do not take it
        with self.lock:
            for caller, harmed in self.running.items():
                if of == caller or of is None:
                    harmed.add(kind)
        end(pid, how)
        self.killed[f"{kind} {how}"] += 1
        if kind == "engine":
            self.restart()

    def restart(self):
        old = self.engine
        try:
            old.process.wait(SOON)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"the engine does not end: {state_of(old.process.pid)}")
            old.process.kill()
            old.process.wait()
        if old.process.returncode not in (0, -9, -15):
            self.wrong.append(f"the engine ended with {old.process.returncode}: {old.words()[-2000:]}")
        old.forget()
        old.start()

    def run(self, kills, threads=3):
        with engines.Engine(self.folder / "engine", env=self.env, options=["--warm", "command,python", "--park-max", "4",
                                                                           "--park-min", "2"]) as self.engine:
            crowd = [threading.Thread(target=self.callers, args=(seed,)) for seed in range(threads)]
            for one in crowd:
                one.start()
            try:
                for _ in range(kills):
                    select.select([], [], [], self.chance.uniform(0, 0.06))
                    self.harm()
            finally:
                self.over.set()
                for one in crowd:
                    one.join()
            self.engine.answers()
            self.look_for_left()
        return self.wrong

    def look_for_left(self):
        """A caller and its janitor may both have been killed: the next run that is cold removes what they left."""
        def gone():
            self.engine.python("pass", env={"SANDBOX_RUN_COLD": "1"})
            return not groups_of_all(self.pids)

        if not engines.within(SOON, gone, 0.5):
            self.wrong.append(f"left: {groups_of_all(self.pids)}")

    def summary(self):
        right = sum(answer.is_right() for answer, _ in self.answers)
        return f"{len(self.answers)} calls, {right} right; ended: {dict(sorted(self.killed.items()))}"


STEPS = [  # what is ended, how, in which job
    *(("client", how, name) for how in ("kill", "term") for name in ("command", "compiled", "tree", "network", "kept")),
    ("client", "freeze", "compiled"), ("client", "freeze", "published"),
    *(("engine", how, name) for how in sorted(SIGNALS) for name in ("command", "python", "compiled")),
]


def each_step(folder, what, how, name, stride=1):
    """What is wrong."""
    steps = {"client": client_steps, "engine": engine_steps}[what]
    return list(steps(folder, how, name, stride=stride))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", action="store_true")
    options = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="sbr-faults-") as name:
        folder, begin = pathlib.Path(name), time.monotonic()
        for row in STEPS if options.steps else ():
            found = each_step(folder, *row)
            print(*row, "as it should be" if not found else found, f"{time.monotonic() - begin:.0f} s", flush=True)
            wrong += found
        chaos = Chaos(folder, options.seed)
        wrong += chaos.run(options.kills)
        print(chaos.summary(), f"{time.monotonic() - begin:.0f} s")
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
