"""Engine and program of different versions: each sees, names and ends the other, and no run is harmed."""
import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys

import pytest

import engine as engines
import support
from conftest import PROGRAMS

MARK = 0x4F4C4548  # of a hello, which is the same in all versions
OTHER = 77


def hello(version, release=b"9.8.7"):
    return version.to_bytes(4, "little") + MARK.to_bytes(4, "little") + bytes(4) + release.ljust(20, b"\0")


@contextlib.contextmanager
def other(folder, *words):
    """An engine of another version, which `words` describe; gives its process and the variables of its clients."""
    path = folder / "e.sock"
    with subprocess.Popen([sys.executable, PROGRAMS / "other_engine.py", path, *words], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"listens\n"
            yield process, {"SANDBOX_RUN_SOCKET": str(path), "SANDBOX_RUN_COLD": None}
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


KINDS = {
    "names itself": ([hello(OTHER).hex()], "is of version 9.8.7 and speaks protocol 77, not "),
    "is silent": ([], "is of another version than this program"),  # as those were before a hello was agreed on
    "says nonsense": [["00" * 40], "is of another version than this program"],
    "has a long name": ([hello(OTHER, b"x" * 20).hex()], f"is of version {'x' * 19} and speaks protocol 77"),
    "has a bad name": ([hello(OTHER, b"\x1b[31m\xff").hex()], "is of version ?[31m?"),
}


def at_terminal(words, env):
    """What a person reads who calls this."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=support.environment(env)) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # EIO: the last has left
            while piece := os.read(ours, 65536):
                said += piece
        os.close(ours)
        assert process.wait(support.DEADLINE) == 0
    return said.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_another_version_is_seen_named_and_stopped(tmp_path, kind):
    words, said = KINDS[kind]
    with other(tmp_path, *words) as (process, env):
        named = f"the engine, process {process.pid}, {said}"
        status = support.sandbox_run("serve", "--status", env=env)
        assert status.returncode == 125 and named in status.stderr.decode()
        assert "`sandbox-run serve --stop` ends it" in status.stderr.decode()
        second = support.sandbox_run("serve", "--daemon", env=env)
        assert second.returncode == 125 and f"process {process.pid};" in second.stderr.decode()
        result = support.shell("echo hi", env=env)
        assert (result["stdout"], result["startup"]) == ("hi\n", "cold")
        verbose = support.sandbox_run("exec", "--verbose", "--", "true", env=env)
        assert verbose.returncode == 0 and named in verbose.stderr.decode()
        stop = support.sandbox_run("serve", "--stop", env=env)
        assert (stop.returncode, stop.stderr, process.wait(support.DEADLINE)) == (0, b"", 0)


def test_who_is_at_a_terminal_is_told_and_a_pipe_is_not(tmp_path):
    words, said = KINDS["names itself"]
    with other(tmp_path, *words) as (_, env):
        assert at_terminal(support.command("exec", "--", "true"), env).count(said) == 1
        assert support.sandbox_run("exec", "--", "true", env=env).stderr == b""
        found = json.loads(support.sandbox_run("doctor", "--json", env=env).stdout)["checks"]
        engine = next(one for one in found if one["name"] == "engine")
        assert engine["state"] == "weaker" and said in engine["found"], engine


def test_one_that_hangs_is_named_and_nobody_waits_for_long(tmp_path):
    with other(tmp_path) as (process, env):
        process.send_signal(signal.SIGSTOP)
        for word in ("--status", "--stop"):
            done = support.sandbox_run("serve", word, env=env)
            assert done.returncode == 125
            assert f"process {process.pid}, does not answer" in done.stderr.decode()
            assert f"`kill -9 {process.pid}` ends it" in done.stderr.decode()
        assert support.shell("echo hi", env=env)["stdout"] == "hi\n"


@pytest.mark.skipif(not engines.callers() or support.available_callers()[0] not in engines.callers(),
                    reason="needs an engine of the user who runs the tests")
def test_an_engine_answers_every_other_version_alike(place, layout):
    """Whatever the words of another version are: the answer is the same 32 bytes, and nothing is lost."""
    with engines.Engine(place / "versions", support.available_callers()[0], ("--warm", "command")) as engine:
        for words in (bytes(4), OTHER.to_bytes(4, "little") * 200, b"x", layout["version"].to_bytes(4, "little")):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.settimeout(support.DEADLINE)
                client.connect(str(engine.socket))
                client.send(words)
                answer = client.recv(4096)
                assert answer[:8] == hello(layout["version"])[:8] and len(answer) == 32, answer
                assert int.from_bytes(answer[8:12], "little") == engine.process.pid
                assert client.recv(4096) == b""
        found = support.sandbox_run("doctor", "--json", env=engine.variables())
        assert f"process {engine.process.pid} of version" in found.stdout.decode()
        engine.answers()


def test_an_engine_that_dies_before_it_is_ready_is_reported(tmp_path):
    """In the background nobody else can say it."""
    env = support.environment({"SANDBOX_RUN_SOCKET": str(tmp_path / "e.sock")})
    with subprocess.Popen(support.command("serve", "--daemon"), env=env, stderr=subprocess.PIPE) as process:
        child = []

        def has_child():
            child[:] = engines.descendants(process.pid)[:1]
            return child

        assert engines.within(support.DEADLINE, has_child)
        os.kill(child[0], signal.SIGKILL)
        said = process.communicate(timeout=support.DEADLINE)[1].decode()
    assert process.returncode == 125
    assert f"the engine, process {child[0]}, was ended by Killed before it was ready" in said
