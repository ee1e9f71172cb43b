"""Attacks on a machine without user namespaces, where the program is one more process of its user.

What is at stake is the user's own: files that he may change and processes that he may signal.  So
whatever is attacked here belongs to the ordinary user, and is open to everybody else too, so that
nothing but the sandbox is in the way.  An attack is proven as in harness.py.
"""
import contextlib
import dataclasses
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

needs_landlock = pytest.mark.skipif(ABI < 1, reason="the tier needs Landlock")


def _give(path, mode):
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, USER, USER)
    return path


class House:
    """Files of the user's, of which `shared` is brought in read-only."""

    def __init__(self, path):
        self.path = path
        self.shared = path / "shared"
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
        for path in [self.path, *sorted(self.path.rglob("*"))]:
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

    @property
    def names(self):
        return {"house": self.house.path, "secret": self.house.secret,
                "shared": self.house.shared, "victim": self.victim.pid,
                "port": self.scene.port, "port6": self.scene.port6,
                "abstract": self.scene.abstract, "socket": self.scene.data / "socket",
                "datagrams": self.house.path / "datagrams", "places": self.machine.places,
                "tools": self.scene.tools}

    def words(self, words):
        return [str(word).format_map(self.names) for word in words]

    def volumes(self):
        return [word for path in (self.scene.tools, self.house.shared)
                for word in ("--volume", f"{path}:{path}:ro")]

    def arguments(self, words, options=()):
        return ["exec", *self.volumes(), *options, "--", self.scene.tools / "attack",
                *self.words(words)]

    def attack(self, *words, caller=Callers.USER, without=(), options=(), env=None):
        """Runs the attacker in the tier; with layers left out, in the test build."""
        hooks = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else {}
        subcommand, *rest = self.arguments(words, options)
        result = self.machine.result_of(subcommand, *rest, caller=caller, hooks=bool(without),
                                        env={**hooks, **(env or {})})
        lines = result.get("stdout", "").splitlines()
        verdicts = [line for line in lines if line.startswith(("GOT ", "NOT "))]
        assert "isolation" in result, f"it did not run: {result}"
        assert result["isolation"]["tier"] == "process"
        return harness.Answer(verdicts[-1] if verdicts else "", result["outcome"], result)

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


@dataclasses.dataclass(frozen=True)
class Attack:
    """`layers` stop it, each alone; `also` is left out with them though it is no defence."""
    sentence: str
    words: tuple
    layers: tuple
    also: tuple = ()

    def without(self, keep=None):
        return tuple(name for name in (*self.layers, *self.also) if name != keep)


def proofs(attacks):
    """The three proofs as three parametrised tests."""
    ids = [attack.sentence for attack in attacks]

    @pytest.mark.core
    @harness.callers
    @pytest.mark.parametrize("attack", attacks, ids=ids)
    def test_the_attack_fails_in_the_tier(neighbourhood, attack, caller):
        before = neighbourhood.house.state()
        answer = neighbourhood.attack(*attack.words, caller=caller)
        assert answer.error, f"the attack was not stopped: {answer}"
        assert neighbourhood.house.state() == before
        assert neighbourhood.victim.is_alive()

    pairs = [pytest.param(attack, layer, id=f"{attack.sentence}-{layer}")
             for attack in attacks if len(attack.layers) > 1 for layer in attack.layers]

    @pytest.mark.parametrize("attack, layer", pairs)
    def test_one_layer_alone_stops_the_attack(neighbourhood, attack, layer):
        answer = neighbourhood.attack(*attack.words, without=attack.without(keep=layer))
        assert answer.error, f"{layer} alone did not stop it: {answer}"

    @pytest.mark.parametrize("attack", attacks, ids=ids)
    def test_the_attack_succeeds_without_the_layers(neighbourhood, attack):
        answer = neighbourhood.attack(*attack.words, without=attack.without())
        assert answer.got, f"the attack proves nothing: {answer}"

    return (test_the_attack_fails_in_the_tier, test_one_layer_alone_stops_the_attack,
            test_the_attack_succeeds_without_the_layers)


def make_neighbourhood(machine, scene, folder):
    house = House(pathlib.Path(folder) / "house")
    with datagram_socket(house.path / "datagrams"):
        victim = Victim(machine, house)
        try:
            yield Neighbourhood(machine, scene, house, victim)
        finally:
            victim.close()
    assert machine.left() == [], "a directory of a run was left behind"
