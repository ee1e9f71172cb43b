"""Attacks on a machine without user namespaces, where the program is one more process of its user.

What is at stake is the user's own: files that he may change and processes that he may signal.  So
whatever is attacked here belongs to the ordinary user, and is open to everybody else too, so that
nothing but the sandbox is in the way.  An attack is proven as in harness.py.
"""
import contextlib
import dataclasses
import itertools
import os
import pathlib
import platform
import re
import select
import socket
import subprocess

import pytest

import harness
import no_userns
from support import DEADLINE, ORDINARY_UID, Callers

ABI = no_userns.LANDLOCK_ABI
KERNEL = tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", platform.release()).groups())

BOTH, FILTER, RULES = ("landlock", "seccomp"), ("seccomp",), ("landlock",)
SCOPED = BOTH if ABI >= 6 else FILTER  # signals and abstract sockets
TRUNCATION = BOTH if ABI >= 3 else FILTER
TCP = BOTH if ABI >= 4 else FILTER
USER = ORDINARY_UID if os.geteuid() == 0 else os.geteuid()

_numbers = itertools.count()

needs_landlock = pytest.mark.skipif(ABI < 1, reason="the tier needs Landlock")


def _give(path, mode):
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, USER, USER)
    return path


class House:
    """Files of the user's, of which `shared` is brought in read-only.  Wherever that is, it is a part of
    the house."""

    def __init__(self, path, shared=None):
        self.path = path
        self.shared = shared or path / "shared"
        self.secret = path / "secret"
        path.mkdir()
        self.shared.mkdir()
        for file in (self.secret, self.shared / "file"):
            file.write_text(harness.SECRET + "\n")
            _give(file, 0o666)
            with contextlib.suppress(OSError):  # some file systems have none
                os.setxattr(file, "user.note", b"private")
        _give(self.shared, 0o777)
        _give(path, 0o777)

    def state(self):
        """All that an attack could have changed."""
        found = {}
        below = {*self.path.rglob("*"), self.shared, *self.shared.rglob("*")}
        for path in [self.path, *sorted(below)]:
            st = path.lstat()
            text = path.read_text() if path.is_file() else ""
            found[str(path)] = (st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, text)
        return found


class Victim:
    """A process of the user's that dies of every signal that reaches it, and answers while it lives."""

    def __init__(self, machine, house):
        self.process = subprocess.Popen(
            [*machine.prefix(Callers.USER), "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            bufsize=0, start_new_session=True, cwd=house.path, env={"PATH": "/usr/bin:/bin",
                                                                    "SECRET": harness.SECRET})
        self.pid = self.process.pid
        assert self.is_alive()

    def is_alive(self):
        """Whoever sent it a signal did so before this question, which then stays unanswered."""
        try:
            self.process.stdin.write(b"?")
        except BrokenPipeError:
            return False
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        assert ready, "the victim neither answers nor is gone"
        return self.process.stdout.read(1) == b"?"

    def close(self):
        self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stdin.close()
        self.process.stdout.close()


@dataclasses.dataclass
class Neighbourhood:
    """The machine and what on it belongs to the user."""
    machine: no_userns.Machine
    scene: harness.Scene
    house: House
    victim: Victim
    volume: pathlib.Path  # what is brought in of the house

    @property
    def names(self):
        return self.names_of(self.house, self.victim)

    def names_of(self, house, victim):
        return {"house": house.path, "secret": house.secret,
                "shared": house.shared, "victim": victim.pid,
                "port": self.scene.port, "port6": self.scene.port6,
                "abstract": self.scene.abstract, "socket": self.scene.data / "socket",
                "datagrams": house.path / "datagrams", "places": self.machine.places,
                "tools": self.scene.tools}

    def words(self, words):
        return [str(word).format_map(self.names) for word in words]

    def volumes(self):
        return [word for path in (self.scene.tools, self.volume)
                for word in ("--volume", f"{path}:{path}:ro")]

    def arguments(self, words, options=()):
        return ["exec", *self.volumes(), *options, "--", self.scene.tools / "attack",
                *self.words(words)]

    def result_of(self, words, without=(), options=(), env=None, **kwargs):
        hooks = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else {}
        subcommand, *rest = self.arguments(words, options)
        result = self.machine.result_of(subcommand, *rest, hooks=bool(without),
                                        env={**hooks, **(env or {})}, **kwargs)
        assert "isolation" in result, f"it did not run: {result}"
        assert result["isolation"]["tier"] == "process"
        return result

    def attack(self, *words, **kwargs):
        """Runs the attacker in the tier; with layers left out, in the test build."""
        result = self.result_of(words, **kwargs)
        lines = result.get("stdout", "").splitlines()
        verdicts = [line for line in lines if line.startswith(("GOT ", "NOT "))]
        return harness.Answer(verdicts[-1] if verdicts else "", result["outcome"], result)

    def attacks(self, attacks, **kwargs):
        """The answers to many, in one run; an attack is a list of words."""
        lines = [self.words(words) for words in attacks]
        result = self.result_of(("many",), stdin=harness.as_lines(lines), **kwargs)
        return harness.answers_of(result, len(lines))

    @contextlib.contextmanager
    def targets(self, attacks):
        """Words of attacks, each with a house of its own as its target, and a victim if it wants one."""
        with contextlib.ExitStack() as stack:
            targets = []
            for number, attack in zip(_numbers, attacks):
                house = House(self.house.path.parent / f"house-{number}", self.volume / f"of-{number}")
                stack.enter_context(datagram_socket(house.path / "datagrams"))
                victim = self.victim
                if any("{victim}" in word for word in attack.words):
                    victim = stack.enter_context(contextlib.closing(Victim(self.machine, house)))
                targets.append(Target(attack, house, victim, self.names_of(house, victim)))
            yield targets

    @contextlib.contextmanager
    def running(self, *words, caller=Callers.USER, options=(), hooks=False, env=None):
        """The attacker in flight until the block is left, as a harness.Running."""
        process = subprocess.Popen(
            self.machine.command(*self.arguments(words, options), caller=caller, hooks=hooks),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            env=self.machine.environment(env))
        try:
            yield harness.Running(process)
        finally:
            if not process.stdin.closed:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            process.stderr.close()

    def outside(self, *words):
        """The attacker as the user's own plain process, in flight."""
        return subprocess.Popen(
            [*self.machine.prefix(Callers.USER), str(self.scene.tools / "attack"),
             *self.words(words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


@contextlib.contextmanager
def datagram_socket(path):
    """A socket of the host that takes datagrams from everybody."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.bind(str(path))
        os.chmod(path, 0o666)
        ours.setblocking(False)
        yield ours


class Target:
    """What one of many attacks is aimed at."""

    def __init__(self, attack, house, victim, names):
        self.attack, self.house, self.victim = attack, house, victim
        self.words = [str(word).format_map(names) for word in attack.words]
        self.before = house.state()

    def is_untouched(self):
        return self.house.state() == self.before and self.victim.is_alive()


@dataclasses.dataclass(frozen=True)
class Attack:
    """`layers` stop it, each alone; `also` is left out with them though it is no defence."""
    sentence: str
    words: tuple
    layers: tuple
    also: tuple = ()

    def without(self, keep=None):
        return tuple(name for name in (*self.layers, *self.also) if name != keep)


def try_all(neighbourhood, attacks, without=lambda attack: (), caller=Callers.USER):
    """Triples of attack, answer and whether its target is untouched; those that leave out the same share a run."""
    groups, found = {}, []
    for attack in attacks:
        groups.setdefault(without(attack), []).append(attack)
    for left_out, group in groups.items():
        with neighbourhood.targets(group) as targets:
            answers = neighbourhood.attacks([target.words for target in targets], caller=caller, without=left_out)
            found += [(target.attack, answer, target.is_untouched()) for target, answer in zip(targets, answers)]
    assert len(found) == len(attacks)
    return found


def proofs(attacks):
    """The three proofs as three tests, of all the attacks."""
    layers = sorted({layer for attack in attacks if len(attack.layers) > 1 for layer in attack.layers})

    @pytest.mark.core
    @harness.callers
    def test_the_attack_fails_in_the_tier(neighbourhood, caller):
        tried = try_all(neighbourhood, attacks, caller=caller)
        harness.assert_none([f"{attack.sentence}: {answer}, untouched: {untouched}"
                             for attack, answer, untouched in tried if not answer.error or not untouched])

    @pytest.mark.parametrize("layer", layers)
    def test_one_layer_alone_stops_the_attack(neighbourhood, layer):
        stopped = [attack for attack in attacks if len(attack.layers) > 1 and layer in attack.layers]
        tried = try_all(neighbourhood, stopped, lambda attack: attack.without(keep=layer))
        harness.assert_none([f"{attack.sentence}: {layer} alone did not stop it: {answer}"
                             for attack, answer, _ in tried if not answer.error])

    def test_the_attack_succeeds_without_the_layers(neighbourhood):
        tried = try_all(neighbourhood, attacks, Attack.without)
        harness.assert_none([f"{attack.sentence}: it proves nothing: {answer}"
                             for attack, answer, _ in tried if not answer.got])

    return (test_the_attack_fails_in_the_tier, test_one_layer_alone_stops_the_attack,
            test_the_attack_succeeds_without_the_layers)


def make_neighbourhood(machine, scene, folder):
    volume = pathlib.Path(folder) / "shared"
    volume.mkdir(mode=0o755)
    house = House(pathlib.Path(folder) / "house", volume / "of-all")
    with datagram_socket(house.path / "datagrams"):
        victim = Victim(machine, house)
        try:
            yield Neighbourhood(machine, scene, house, victim, volume)
        finally:
            victim.close()
    assert machine.left() == [], "a directory of a run was left behind"
