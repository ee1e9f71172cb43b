"""How an attack is run, contained and not, and what is made of its answer.

An attack is proven in three ways.  It fails inside, for root and for an ordinary user.  It fails
when all but one of the layers that stop it are left out, for each layer: none of them is there for
show.  And it succeeds when all of them are left out: it is an attack, and the first two mean
something.  Layers are left out in a test build only (SANDBOX_RUN_TEST_WITHOUT).
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import select
import subprocess
import time

import pytest

import support
from support import DEADLINE, Callers

SECRET = "the host's secret"
INSIDE_TOOLS = "/attacks"
INSIDE_DATA = "/data"

# Steps that make no sense once the private root is left out: nothing is put where it belongs.
NO_ROOT = ("mounts", "program")
NAMESPACES = ("user-namespace", "mount-namespace", "pid-namespace", "network-namespace",
              "ipc-namespace", "uts-namespace", "cgroup-namespace")
CGROUPS = ("memory-cgroup", "pids-cgroup", "cpu-accounting")
# All that an ordinary user can leave out at once: what remains is a process like any other.
EVERYTHING = (*NAMESPACES, *NO_ROOT, "identity", "no-new-privs", "landlock", "seccomp")

callers = pytest.mark.parametrize("caller", support.available_callers())
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave layers out")


@dataclasses.dataclass(frozen=True)
class Scene:
    room: pathlib.Path
    tools: pathlib.Path
    secret: pathlib.Path
    data: pathlib.Path
    canary: pathlib.Path
    victim: int
    port: int
    port6: int
    abstract: str

    def words(self, words, without):
        """The attacker's words; a path that is brought in keeps its host name without a root."""
        on_host = "mounts" in without
        names = {field.name: str(getattr(self, field.name)) for field in dataclasses.fields(self)}
        names["inside_data"] = names["data"] if on_host else INSIDE_DATA
        return [str(word).format_map(names) for word in words]


@dataclasses.dataclass(frozen=True, repr=False)
class Answer:
    """What the attacker said last, and what the tool said of the run."""
    line: str
    outcome: str
    result: dict

    @property
    def got(self):
        return self.line.startswith("GOT ")

    @property
    def error(self):
        """Name of the error that stopped the attack; None when it was not stopped by one."""
        found = re.match(r"NOT (\w+)", self.line)
        return found.group(1) if found else None

    def __repr__(self):
        said = self.result.get("error") or self.result.get("stderr")
        return f"<{self.line or 'no answer'}; outcome {self.outcome}; {said}>"


def goes_in_by_itself(words, without, caller):
    """In the suite `warm` the attacker is the program, not a volume: volumes are never parked."""
    needs = (INSIDE_DATA, INSIDE_TOOLS)
    return (support.is_warm(caller) and not without
            and not any(place in word for word in words for place in needs))


def run_attack(scene, *words, caller=Callers.ROOT, without=(), options=(), env=None, **kwargs):
    """Runs the attacker inside; with layers left out, in the test build."""
    tool = str(scene.tools / "attack") if "mounts" in without else f"{INSIDE_TOOLS}/attack"
    env, said = dict(env or {}), scene.words(words, without)
    if without:
        env["SANDBOX_RUN_TEST_WITHOUT"] = ",".join(without)
    if goes_in_by_itself(said, without, caller):
        line = ["run", *options, str(scene.tools / "attack"), "--", *said]
    else:
        line = ["exec", "--volume", f"{scene.tools}:{INSIDE_TOOLS}:ro", "--volume",
                f"{scene.data}:{INSIDE_DATA}:ro", *options, "--", tool, *said]
    result = support.result_of(*line, caller=caller, hooks=bool(without), env=env, **kwargs)
    lines = result.get("stdout", "").splitlines()
    verdicts = [line for line in lines if line.startswith(("GOT ", "NOT "))]
    return Answer(verdicts[-1] if verdicts else "", result["outcome"], result)


def run_outside(scene, *words, **kwargs):
    """The same attacker on the host, as a plain process: shows that the attack is one."""
    done = subprocess.run([str(scene.tools / "attack"), *scene.words(words, NO_ROOT)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE,
                          check=False, **{"stdin": subprocess.DEVNULL, **kwargs})
    lines = done.stdout.decode().splitlines()
    return Answer(lines[-1] if lines else "", "", {"stderr": done.stderr})


@dataclasses.dataclass(frozen=True)
class Attack:
    """`layers` stop the attack, each alone; a layer "a+b" is left out as a whole.  `also` is left
    out with them though it is no defence.  Killing the attacker counts as stopping it."""
    sentence: str
    words: tuple
    layers: tuple
    also: tuple = ()
    errors: tuple = ()  # when given: what the attacker must be told
    killed: bool = False  # the filter ends the attacker: outcome "denied"
    options: tuple = ()
    policy: str = "default"

    def without(self, keep=None):
        """The names to leave out, so that of the layers only `keep` is left."""
        names = [name for layer in self.layers if layer != keep for name in layer.split("+")]
        kept = keep.split("+") if keep else []
        return tuple(name for name in dict.fromkeys([*names, *self.also]) if name not in kept)

    def run(self, scene, **kwargs):
        return run_attack(scene, *self.words, options=(*self.options, "--policy", self.policy),
                          **kwargs)

    def assert_stopped(self, answer):
        if self.killed:
            assert answer.outcome == "denied", f"not killed for it: {answer}"
            assert not answer.line, f"it lived on: {answer}"
            return
        assert answer.error, f"the attack was not stopped: {answer}"
        assert not self.errors or answer.error in self.errors, f"stopped otherwise: {answer}"


def _identifier(value):
    return value.sentence if isinstance(value, Attack) else str(value)


def proofs(attacks):
    """The three proofs as three parametrised tests.  A few attacks of each kind are of the core."""
    core = attacks[:: max(1, len(attacks) // 4)]
    marked = [pytest.param(attack, marks=[pytest.mark.core] if attack in core else [])
              for attack in attacks]

    @callers
    @pytest.mark.parametrize("attack", marked, ids=_identifier)
    def test_the_attack_fails_inside(scene, attack, caller):
        attack.assert_stopped(attack.run(scene, caller=caller))

    pairs = [pytest.param(attack, layer, id=f"{attack.sentence}-{layer}")
             for attack in attacks if len(attack.layers) > 1 for layer in attack.layers]

    @root_only
    @pytest.mark.parametrize("attack, layer", pairs)
    def test_one_layer_alone_stops_the_attack(scene, attack, layer):
        without = attack.without(keep=layer)
        if layer == "landlock" and "mounts" in without and not os.path.isdir("/work"):
            pytest.skip("without a private root, Landlock's rules need a /work on the host")
        answer = attack.run(scene, without=without)
        if attack.killed:
            assert not answer.got, f"{layer} alone did not stop it: {answer}"
        else:
            assert answer.error, f"{layer} alone did not stop it: {answer}"

    @root_only
    @pytest.mark.parametrize("attack", attacks, ids=_identifier)
    def test_the_attack_succeeds_without_the_layers(scene, attack):
        answer = attack.run(scene, without=attack.without())
        assert answer.got, f"the attack proves nothing: {answer}"

    return (test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
            test_the_attack_succeeds_without_the_layers)


def wait_until(true, what, state=lambda: ""):
    """Looks again and again until a deadline, for what nobody announces."""
    deadline = time.monotonic() + 10
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"still not: {what} {state()}")
        select.select([], [], [], 0.002)


class Ground:
    """Control groups of the tests' own, where they can be had: what is in them is theirs."""

    CONTROLLERS = ("pids", "memory", "cpuacct", "cpu")

    def __init__(self):
        self.groups = {}  # the tests' own group of each controller: the one that they came from
        if os.geteuid() != 0:
            return
        for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            home = pathlib.Path(f"/sys/fs/cgroup/{names}{path}")
            own = home / f"sandbox-run-escape.{os.getpid()}"
            if names not in self.CONTROLLERS or not os.access(home / "tasks", os.W_OK):
                continue
            own.mkdir()
            self.groups[own] = home
            (own / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self):
        for own, home in self.groups.items():
            for pid in (own / "cgroup.procs").read_text().split():
                (home / "cgroup.procs").write_text(pid)
            own.rmdir()

    def leftovers(self):
        if not self.groups:
            return support.leftovers()
        found = set()
        for own in self.groups:
            # os.walk passes over what vanishes meanwhile, and begins with the group itself.
            for directory in (pathlib.Path(path) for path, _, _ in os.walk(own)):
                found.add(str(directory))
                with contextlib.suppress(OSError):
                    found.update(f"process {pid}"
                                 for pid in (directory / "cgroup.procs").read_text().split())
        return found


class Running:
    """A program that runs inside until its stdin is closed."""

    def __init__(self, process):
        self.process = process

    def read_line(self):
        """The next line of the program's stdout; the deadline is the test's."""
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        assert ready, "the program said nothing"
        return self.process.stdout.readline().decode().rstrip("\n")

    def finish(self):
        out, err = self.process.communicate(timeout=DEADLINE)
        return out.decode(), err.decode()

    def has(self, name):
        with contextlib.suppress(AssertionError):
            return self.find(name) > 0
        return False

    def find(self, name):
        """Pid on the host of a process of this run by its name, through the tree of children."""
        todo = [self.process.pid]
        while todo:
            pid = todo.pop()
            with contextlib.suppress(OSError):
                comm = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if name in (comm, words[0].decode(errors="replace")):
                    return pid
                for task in os.listdir(f"/proc/{pid}/task"):
                    children = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text()
                    todo += [int(word) for word in children.split()]
        raise AssertionError(f"there is no process {name!r}")


@contextlib.contextmanager
def running(scene, *words, caller=Callers.ROOT, without=(), options=(), env=None, program=None,
            **kwargs):
    """Starts a program (the attacker, unless named) and ends it when the block is left."""
    tool = str(scene.tools / "attack") if "mounts" in without else f"{INSIDE_TOOLS}/attack"
    line = [program] if program else [tool]
    env = {"PATH": "/usr/bin:/bin", "SANDBOX_RUN_COLD": "1", **(env or {})}
    if without:
        env["SANDBOX_RUN_TEST_WITHOUT"] = ",".join(without)
    process = subprocess.Popen(
        support.command("exec", "--volume", f"{scene.tools}:{INSIDE_TOOLS}:ro", *options, "--",
                        *line, *scene.words(words, without), caller=caller, hooks=bool(without)),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=env,
        **kwargs)
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream and not stream.closed:
                stream.close()


def status_of(pid):
    """/proc/PID/status as a dictionary."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {key: value.strip() for key, _, value in
            (line.partition(":") for line in text.splitlines())}


def json_error(result):
    assert "error" in result, f"not an error: {json.dumps(result)[:400]}"
    return result["error"]
