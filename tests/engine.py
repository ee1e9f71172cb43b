"""A warm engine (`sandbox-run serve`) for tests: its own socket, started and ended with a look at what it leaves.

As a program: engine.py COMMAND [ARG...] runs the command with an engine behind each caller, as the suite `warm` does.
"""
import collections
import contextlib
import functools
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

import support

READY_S = 60  # it is when the languages that it starts with are warm
END_S = 20
WARM_S = 180  # until the first sandbox of a language waits; a JVM warms for seconds
LOOK_S = 0.005  # between two looks at what nobody announces
ASK_S = 0.05  # between two questions to an engine: each is a process, beside the JVM that it asks for


def within(seconds, condition, look_s=LOOK_S):
    """True as soon as the condition holds; looks more and more seldom, as waiting.wait_until."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        select.select([], [], [], look_s)
        look_s = max(look_s, min(1.4 * look_s, 0.05))
    return True


def descendants(pid):
    """Of a process, by the tree of children; those that end meanwhile are left out."""
    found, todo = [], [pid]
    while todo:
        pid = todo.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                children = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()
                found += map(int, children)
                todo += map(int, children)
    return found


def groups_of(pid):
    """The control groups that the process made."""
    return {path for path in support.groups_below("/sys/fs/cgroup")
            if os.path.basename(path).startswith(f"sandbox-run.{pid}.")}


def members_of(group):
    try:
        return pathlib.Path(group, "cgroup.procs").read_text().split()
    except OSError as problem:
        return problem


@functools.cache
def callers():
    """Those whose limits are held by control groups: only such runs are made ahead."""
    found = []
    for caller in support.available_callers():
        if support.lacks(caller):
            continue
        missing = support.shell(":", caller=caller)["isolation"]["missing"]
        if not any("cgroup" in name for name in map(str, missing)):
            found.append(caller)
    return found


def somebody():
    """Those, or who is told why there is no engine for him."""
    return callers() or support.available_callers()[:1]


def mounts():
    return set(pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


class Engine:
    """In a `with` block it runs; leaving the block ends it by SIGTERM and checks that nothing is left.

    `folder` is where its socket goes: a new directory, which becomes the caller's."""

    def __init__(self, folder, caller=None, options=(), env=None, hooks=False, tool=None):
        self.caller = caller or somebody()[0]
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "engine.sock"
        self.options = [str(option) for option in options]
        self.extra = dict(env or {})
        self.hooks = hooks
        self.tool = [str(word) for word in tool or []]
        self.process = None
        self.said = collections.deque(maxlen=1000)

    # Its life

    def __enter__(self):
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if self.caller == support.Callers.USER and os.geteuid() == 0:
            os.chown(self.folder, support.ORDINARY_UID, support.ORDINARY_UID)
        return self.start()

    def __exit__(self, kind, error, trace):
        died = self.process and self.process.poll()
        if self.process and died is None:
            left = self.stop(check=kind is None)
            assert kind or not left, f"the engine left behind: {left}; it said: {self.words()}"
        self.forget()
        assert kind or not died, f"the engine died, {died}; it said: {self.words()}"

    def start(self):
        """Returns when it listens."""
        before = mounts()
        words = support.command("serve", *self.options, caller=self.caller, hooks=self.hooks)
        if self.tool:
            words[words.index(str(support.SANDBOX_RUN))] = self.tool[0]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env=self.environment())
        self.said.clear()
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self.listen, args=(self.process.stderr,), daemon=True)
        self.reader.start()
        self.mounts = before
        if not self.ready.wait(READY_S) or self.process.poll() is not None:
            self.process.kill()
            raise AssertionError(f"the engine is not ready: {self.process.wait()}: {self.words()}")
        return self

    def listen(self, stream):
        """Keeps what it says, so that it never waits for a reader."""
        for line in stream:
            self.said.append(line.decode(errors="replace").rstrip())
            if line.startswith(b"ready"):
                self.ready.set()
        self.ready.set()

    def words(self):
        return "\n".join(self.said)

    def forget(self):
        if self.process:
            self.reader.join(END_S)
            self.process.stderr.close()
            self.process = None

    def stop(self, how=signal.SIGTERM, check=True):
        """Ends it; returns what is left of it after a while, which should be nothing."""
        watched = self.watch()
        groups = groups_of(self.process.pid)
        self.process.send_signal(how)
        try:
            status = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "none: it had to be killed"
        left = self.left_of(watched, groups)
        if check and how == signal.SIGTERM and (status != 0 or self.socket.exists()):
            left.append(f"exit status {status}, socket {self.socket.exists()}")
        return left

    def kill(self):
        """A crash.  Returns what is left; restart() must work then."""
        left = self.stop(signal.SIGKILL)
        self.forget()
        return left

    def restart(self):
        return self.start()

    def watch(self):
        """(pid, name, pidfd) of everything that it started."""
        watched = []
        for pid in descendants(self.process.pid):
            with contextlib.suppress(OSError):
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                watched.append((pid, name, os.pidfd_open(pid)))
        return watched

    def left_of(self, watched, groups):
        pid, end = self.process.pid, time.monotonic() + END_S
        left = []
        for child, name, pidfd in watched:
            if not select.select([pidfd], [], [], max(0, end - time.monotonic()))[0]:
                left.append(f"process {child} {name}")
            os.close(pidfd)
        within(END_S, lambda: not groups_of(pid) and not any(map(os.path.exists, groups)))
        left += [f"{group} with {members_of(group)}"
                 for group in sorted(groups_of(pid) | set(filter(os.path.exists, groups)))]
        new = mounts() - self.mounts
        within(END_S, lambda: not new & mounts())
        return left + sorted(new & mounts())

    # Its callers

    def variables(self):
        """What makes a caller use it."""
        return {"SANDBOX_RUN_SOCKET": str(self.socket), "SANDBOX_RUN_COLD": None}

    def environment(self):
        places = {"SANDBOX_RUN_CACHE": support.cache_of(self.caller),
                  "SANDBOX_RUN_STATE": support.state_of(self.caller)}
        return support.environment({**places, **self.variables(), **self.extra})

    def result_of(self, *words, **kwargs):
        env = {**self.variables(), **kwargs.pop("env", {})}
        return support.result_of(*words, caller=self.caller, hooks=self.hooks, env=env, **kwargs)

    def code(self, language, code, *options, words=(), **kwargs):
        """The result of a program in some language; `words` are its own."""
        return self.result_of("run", *options, "--lang", language, "--code", code, "--", *words, **kwargs)

    def python(self, code, *options, **kwargs):
        return self.code("python", code, *options, **kwargs)

    def status(self):
        done = support.sandbox_run("serve", "--status", "--json", caller=self.caller, hooks=self.hooks,
                                   env=self.variables())
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def is_settled(self):
        """None is being made: who asks again and again, and at once, finds none of what takes long to make."""
        return all(pool["making"] == 0 and pool["state"] != "starting" for pool in self.status()["pools"])

    def is_full(self):
        """As many wait as shall wait, of every kind."""
        return all(pool["parked"] >= pool["wanted"] for pool in self.status()["pools"])

    def wait_full(self, seconds=WARM_S):
        """True when as many wait as shall wait."""
        return within(seconds, lambda: self.is_settled() and self.is_full(), ASK_S)

    def parked(self, run, seconds=WARM_S):
        """Calls until the result says that its sandbox had waited for it, and returns that result."""
        end = time.monotonic() + seconds
        while True:
            last = run()
            if last.get("startup") == "parked":
                return last
            assert time.monotonic() < end, f"never parked: {last}; {self.status()}; {self.words()}"
            within(end - time.monotonic(), self.is_settled, ASK_S)

    def wait_parked(self, language, code=None, *options, seconds=WARM_S):
        """Until a sandbox of the language waits."""
        code = SMALL.get(language, "") if code is None else code
        return self.parked(lambda: self.code(language, code, *options), seconds)

    def answers(self):
        """Whoever asks gets an answer, and the engine lives."""
        result = self.python("print('alive')")
        assert (result["stdout"], self.process.poll()) == ("alive\n", None), (result, self.words())
        return result


SMALL = {"python": "pass", "javascript": "", "bash": ":", "sh": ":", "lua": "", "ruby": "", "perl": "",
         "java": "class Main { public static void main(String[] a) {} }",
         "go": "package main\nfunc main() {}\n", "rust": "fn main() {}\n",
         "c": "int main(void) { return 0; }\n", "c++": "int main() { return 0; }\n",
         "typescript": "const n: number = 1; void n;\n", "sql": "SELECT 1;\n"}


@contextlib.contextmanager
def behind_every_caller():
    """One engine for each caller; gives the variables by which support.py finds them."""
    with contextlib.ExitStack() as stack:
        place = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sbr-engine-")))
        place.chmod(0o711)
        variables = {}
        for caller in callers():
            engine = stack.enter_context(Engine(place / caller, caller))
            variables[support.ENGINE_OF + caller.upper()] = str(engine.socket)
        yield variables


def main():
    with behind_every_caller() as variables:
        return subprocess.run(sys.argv[1:], env={**os.environ, **variables}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
