"""How an attack is run, contained and not, and what is made of its answer.

An attack is proven in three ways.  It fails inside, for root and for an ordinary user.  It fails
when all but one of the layers that stop it are left out, for each layer: none of them is there for
show.  And it succeeds when all of them are left out: it is an attack, and the first two mean
something.  Layers are left out in a test build only (SANDBOX_RUN_TEST_WITHOUT).

Attacks that leave out the same layers share a sandbox, each in a process and a directory of its own
(attacks/main.c), except those that kill the attacker or would change the sandbox for the others.
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


def _attacker(scene, caller, without, options, by_itself, **kwargs):
    """Words of the tool before the attacker's own, and how to call it."""
    env = dict(kwargs.pop("env", None) or {})
    if without:
        env["SANDBOX_RUN_TEST_WITHOUT"] = ",".join(without)
    tool = str(scene.tools / "attack") if "mounts" in without else f"{INSIDE_TOOLS}/attack"
    if by_itself:
        line = ["run", *options, str(scene.tools / "attack"), "--"]
    else:
        line = ["exec", "--volume", f"{scene.tools}:{INSIDE_TOOLS}:ro", "--volume",
                f"{scene.data}:{INSIDE_DATA}:ro", *options, "--", tool]
    return line, {"caller": caller, "hooks": bool(without), "env": env, **kwargs}


def run_attack(scene, *words, caller=Callers.ROOT, without=(), options=(), **kwargs):
    """Runs the attacker inside; with layers left out, in the test build."""
    said = scene.words(words, without)
    line, how = _attacker(scene, caller, without, options,
                          goes_in_by_itself(said, without, caller), **kwargs)
    result = support.result_of(*line, *said, **how)
    lines = result.get("stdout", "").splitlines()
    verdicts = [line for line in lines if line.startswith(("GOT ", "NOT "))]
    return Answer(verdicts[-1] if verdicts else "", result["outcome"], result)


def as_lines(attacks):
    """Attacks as the attacker reads many of them."""
    assert not any(set("\t\n") & set(word) for words in attacks for word in words)
    return "".join("\t".join(words) + "\n" for words in attacks).encode()


def answers_of(result, count):
    """What the attacker said of each of many: its verdict, or how it ended without one."""
    lines = [""] * count
    for line in result.get("stdout", "").splitlines():
        number, _, said = line.partition("\t")
        if number.isdigit() and not (said.startswith("ended") and lines[int(number)]):
            lines[int(number)] = said
    return [Answer(line, result["outcome"], result) for line in lines]


def run_attacks(scene, attacks, caller=Callers.ROOT, without=(), options=(), **kwargs):
    """The answers to many attacks, each a tuple of words, in one sandbox; in the suite `warm` in two,
    when some of them need a volume."""
    said = [scene.words(words, without) for words in attacks]
    answers = {}
    for by_itself in (True, False):
        part = [n for n, words in enumerate(said)
                if goes_in_by_itself(words, without, caller) == by_itself]
        if part:
            line, how = _attacker(scene, caller, without, options, by_itself, **kwargs)
            result = support.result_of(*line, "many", stdin=as_lines([said[n] for n in part]), **how)
            answers.update(zip(part, answers_of(result, len(part))))
    return [answers[n] for n in range(len(said))]


def assert_none(wrong):
    """Of the cases of a test, with what is wrong with each."""
    assert not wrong, "\n".join(map(str, [f"{len(wrong)} wrong", *wrong]))


def assert_each(attacks, answers, holds):
    """Every answer is as `holds` wants it; those that are not are named."""
    assert len(attacks) == len(answers) > 0
    assert_none([f"{' '.join(map(str, words))}: {answer}"
                 for words, answer in zip(attacks, answers) if not holds(answer)])


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
    lasting: bool = False  # when it succeeds, the sandbox is another one for those after it
    options: tuple = ()
    policy: str = "default"

    def without(self, keep=None):
        """The names to leave out, so that of the layers only `keep` is left."""
        names = [name for layer in self.layers if layer != keep for name in layer.split("+")]
        kept = keep.split("+") if keep else []
        return tuple(name for name in dict.fromkeys([*names, *self.also]) if name not in kept)

    def stays_alone(self, succeeds):
        return self.killed or (succeeds and self.lasting)

    def why_not_stopped(self, answer):
        """A sentence, or None."""
        if self.killed:
            if answer.outcome != "denied":
                return f"not killed for it: {answer}"
            return f"it lived on: {answer}" if answer.line else None
        if not answer.error:
            return f"the attack was not stopped: {answer}"
        return f"stopped otherwise: {answer}" if self.errors and answer.error not in self.errors else None


def run_grouped(scene, attacks, caller=Callers.ROOT, without=lambda attack: (), succeed=False):
    """Pairs of attack and answer; those that leave out the same and want the same options share a
    sandbox."""
    groups, found = {}, []
    for number, attack in enumerate(attacks):
        options = (*attack.options, "--policy", attack.policy)
        alone = number if attack.stays_alone(succeed) else None
        groups.setdefault((tuple(sorted(without(attack))), options, alone), []).append(attack)
    for (left_out, options, alone), group in groups.items():
        how = {"caller": caller, "without": left_out, "options": options}
        if alone is None:
            found += zip(group, run_attacks(scene, [attack.words for attack in group], **how))
        else:
            found.append((group[0], run_attack(scene, *group[0].words, **how)))
    return found


def _layers_alone(attacks):
    """Each layer with the attacks that it stops alone, and whether the private root is left out."""
    found = {}
    for attack in (attack for attack in attacks if len(attack.layers) > 1):
        for layer in attack.layers:
            on_host = "mounts" in attack.without(keep=layer)
            found.setdefault((layer, on_host), []).append(attack)
    return [pytest.param(layer, on_host, stopped, id=f"{layer} without a root" if on_host else layer)
            for (layer, on_host), stopped in found.items()]


def proofs(attacks):
    """The three proofs as three tests, of all the attacks."""
    @pytest.mark.core
    @callers
    def test_the_attack_fails_inside(scene, caller):
        pairs = run_grouped(scene, attacks, caller)
        assert_none([f"{attack.sentence}: {why}" for attack, answer in pairs
                     if (why := attack.why_not_stopped(answer))])

    @root_only
    @pytest.mark.parametrize("layer, on_host, stopped", _layers_alone(attacks))
    def test_one_layer_alone_stops_the_attack(scene, layer, on_host, stopped):
        if layer == "landlock" and on_host and not os.path.isdir("/work"):
            pytest.skip("without a private root, Landlock's rules need a /work on the host")
        pairs = run_grouped(scene, stopped, without=lambda attack: attack.without(keep=layer))
        assert_none([f"{attack.sentence}: {layer} alone did not stop it: {answer}"
                     for attack, answer in pairs
                     if (answer.got if attack.killed else not answer.error)])

    @root_only
    def test_the_attack_succeeds_without_the_layers(scene):
        pairs = run_grouped(scene, attacks, without=Attack.without, succeed=True)
        assert_none([f"{attack.sentence}: it proves nothing: {answer}"
                     for attack, answer in pairs if not answer.got])

    return (test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
            test_the_attack_succeeds_without_the_layers)


def wait_until(true, what, state=lambda: ""):
    """Looks again and again until a deadline, for what nobody announces."""
    deadline, pause = time.monotonic() + 10, 0.002
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"still not: {what} {state()}")
        select.select([], [], [], pause)
        pause = min(1.4 * pause, 0.05)


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
        if not self.groups:  # then by their parents: another worker's runs come and go all the time
            return set(filter(support.is_ours, support.leftovers()))
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
def running(scene, *words, caller=None, without=(), options=(), env=None, program=None, **kwargs):
    """Starts a program (the attacker, unless named) and ends it when the block is left.  The caller is root, where the
    tests are root's."""
    caller = caller or support.available_callers()[0]
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
