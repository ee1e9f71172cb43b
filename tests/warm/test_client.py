"""Clients of an engine that says little, nothing, or nonsense: a run ends as it would have without it."""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading

import pytest

import support

QUEUED, GRANT, COLD, REFUSED = 1, 2, 3, 4
LEASE, DONE = 1, 2
CLOSE = "close"


def word(number):
    return number.to_bytes(4, "little")


class FakeEngine:
    """Answers each request for a sandbox with the next list of answers, and notes what it was told."""

    def __init__(self, layout):
        self.layout = layout
        self.script = []
        self.told = []
        self.leaves = self.left = False  # when a stage is done, as an engine that is stopped
        self.heard = threading.Condition()
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "e.sock")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(self.path)
        self.socket.listen(8)
        threading.Thread(target=self._accept, daemon=True).start()

    def answer(self, kind, position=0, unknown=0, reason="", version=None):
        reply = bytearray(self.layout["reply"])
        reply[0:4] = word(self.layout["version"] if version is None else version)
        reply[4:8] = word(kind)
        for name, value in (("position", position), ("unknown", unknown)):
            reply[self.layout[name]:self.layout[name] + 4] = word(value)
        reply[self.layout["reason"]:self.layout["reason"] + len(reason)] = reason.encode()
        return bytes(reply)

    def _note(self, what):
        with self.heard:
            self.told.append(what)
            self.heard.notify_all()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        while True:
            data, fds, _, _ = socket.recv_fds(connection, 4096, 4)
            for fd in fds:
                os.close(fd)
            if not data:
                self._note("end")
                return
            ask = int.from_bytes(data[4:8], "little")
            at = self.layout["label"]
            self._note((ask, len(fds), bool(data[self.layout["key"]]), data[at:at + 32].split(b"\0")[0].decode()))
            if ask == DONE and self.leaves and self._leave(connection):
                return
            if ask != LEASE:
                continue
            for answer in self.script.pop(0) if self.script else []:
                if answer == CLOSE:
                    connection.close()
                    return
                with contextlib.suppress(BrokenPipeError):  # it has left already: the next word is its end
                    connection.send(answer)

    def _leave(self, connection):
        """False when the run has asked for its next stage already.  It does nothing meanwhile."""
        peer = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little")
        os.kill(peer, signal.SIGSTOP)
        self.left = not select.select([connection], [], [], 0)[0]
        if self.left:
            os.unlink(self.path)
            self.socket.shutdown(socket.SHUT_RDWR)
            connection.close()
        os.kill(peer, signal.SIGCONT)
        return self.left

    def wait_for(self, what):
        with self.heard:
            assert self.heard.wait_for(lambda: what in self.told, support.DEADLINE), self.told

    def asked(self):
        return [told for told in self.told if told != "end"]

    def env(self):
        return {"SANDBOX_RUN_SOCKET": self.path, "SANDBOX_RUN_COLD": None}

    def close(self):
        with contextlib.suppress(OSError):  # it has left
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.folder.cleanup()


@pytest.fixture
def fake(layout):
    engine = FakeEngine(layout)
    yield engine
    engine.close()


def echo(fake, *options, **kwargs):
    """A run that succeeds whatever the engine says."""
    result = support.shell("echo hi", *options, env=fake.env(), **kwargs)
    assert (result["outcome"], result["stdout"], result["startup"]) == ("exited", "hi\n", "cold"), result
    return result


def test_cold_is_asked_for_and_ended(fake):
    fake.script = [[fake.answer(COLD, reason="it is early")]]
    echo(fake)
    fake.wait_for("end")
    assert fake.asked() == [(LEASE, 1, True, "bash run"), (DONE, 0, False, "")]


@pytest.mark.parametrize("answers", [
    pytest.param(lambda fake: [CLOSE], id="ends"),
    pytest.param(lambda fake: [b"x"], id="short"),
    pytest.param(lambda fake: [fake.answer(COLD) + b"x" * 500], id="long"),
    pytest.param(lambda fake: [fake.answer(COLD, version=77)], id="another version"),
    pytest.param(lambda fake: [fake.answer(77)], id="no such answer"),
    pytest.param(lambda fake: [fake.answer(GRANT)], id="a sandbox that is not there"),
    pytest.param(lambda fake: [fake.answer(QUEUED, position=1), CLOSE], id="ends while we queue"),
    pytest.param(lambda fake: [], id="silent"),
])
def test_an_engine_that_is_of_no_use_does_no_harm(fake, answers):
    fake.script = [answers(fake)]
    echo(fake)


def test_an_engine_that_forgot_the_template_is_given_it_once(fake):
    fake.script = [[fake.answer(COLD, unknown=1)]] * 3
    echo(fake)
    assert len([told for told in fake.asked() if told[0] == LEASE]) == 1  # it came with the first


def test_a_full_queue_is_an_error_that_says_what_to_do(fake):
    fake.script = [[fake.answer(REFUSED, reason="the queue is full")]]
    done = support.sandbox_run("exec", "--", "true", env=fake.env())
    assert done.returncode == 125
    assert b"the queue is full; try again later, or with --cold" in done.stderr


def test_time_in_the_queue_is_told(fake):
    fake.script = [[fake.answer(QUEUED, position=2), fake.answer(QUEUED, position=1), fake.answer(COLD)]]
    result = echo(fake)
    assert 0 < result["metrics"]["queue_ms"] <= result["metrics"]["startup_ms"]


def test_whoever_waits_in_the_queue_can_be_cancelled(fake):
    fake.script = [[fake.answer(QUEUED, position=1)]]
    words = support.command("exec", "--json", "--", "true")
    with subprocess.Popen(words, env=support.environment(fake.env()), stdout=subprocess.PIPE) as run:
        fake.wait_for((LEASE, 1, True, "command run"))
        run.send_signal(signal.SIGINT)
        said = json.loads(run.communicate(timeout=support.DEADLINE)[0])
    assert (run.returncode, said["outcome"]) == (130, "cancelled")
    fake.wait_for("end")


@pytest.mark.parametrize("how", [(["--cold"], {}), ([], {"SANDBOX_RUN_COLD": "1"})])
def test_cold_means_that_nobody_is_asked(fake, how):
    options, variables = how
    result = support.shell("echo hi", *options, env={**fake.env(), **variables})
    assert result["startup"] == "cold"
    assert not fake.told


def test_what_cannot_be_made_ahead_asks_for_a_place_only(fake, tmp_path):
    fake.script = [[fake.answer(COLD)]]
    echo(fake, "--volume", f"{tmp_path}:/data")
    assert fake.asked()[0] == (LEASE, 0, False, "bash run")


def test_each_stage_asks_for_itself(fake):
    fake.script = [[fake.answer(COLD)]] * 4
    code = f"int main(void) {{ return {os.getpid() % 100}; }}"
    result = support.result_of("run", "--json", "--lang", "c", "--code", code, env=fake.env())
    assert result["exit_code"] == os.getpid() % 100
    asked = [told[3] for told in fake.asked() if told[0] == LEASE]
    assert asked == [f"c {stage['name']}" for stage in result["stages"]]
    assert all(stage["startup"] == "cold" for stage in result["stages"])


def test_an_engine_that_is_stopped_between_two_stages_leaves_the_next_to_be_cold(layout):
    """The compiled program is named to a sandbox of the engine's by fds, to a cold one by its place in the store."""
    for attempt in range(20):
        with contextlib.closing(FakeEngine(layout)) as fake:
            fake.script = [[fake.answer(COLD)]] * 2
            fake.leaves = True
            code = f"int main(void) {{ return {attempt + 1}; }} /* {os.getpid()} */"
            result = support.result_of("run", "--lang", "c", "--code", code, env=fake.env())
            assert (result["exit_code"], [stage["startup"] for stage in result["stages"]]) == (
                attempt + 1, ["cold"] * len(result["stages"])), result
            if fake.left:
                return
    pytest.fail("the run was always faster")


def test_verbose_says_why(fake):
    fake.script = [[fake.answer(COLD, reason="there is none of this kind")]]
    done = support.sandbox_run("exec", "--verbose", "--", "true", env=fake.env())
    assert b"engine: cold, because there is none of this kind" in done.stderr
    done = support.sandbox_run("exec", "--verbose", "--", "true",
                               env={**fake.env(), "SANDBOX_RUN_SOCKET": fake.path + "-gone"})
    assert b"engine: cold, because no engine is running" in done.stderr
