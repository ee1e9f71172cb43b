"""Several clients of one session, and clients that leave: each request has one answer, and the state is what it says."""
import contextlib
import json
import os
import socket

import pytest

import sessions
import support
import waiting
from sessions import Session


class Client:
    """Speaks the lines of the session's socket."""

    def __init__(self, session):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        directory = os.open(session.state / "sessions" / session.id, os.O_PATH)
        try:
            self.socket.connect(f"/proc/self/fd/{directory}/socket")
        finally:
            os.close(directory)
        self.lines = self.socket.makefile("rb")

    def send(self, *requests, **request):
        self.socket.sendall(b"".join(json.dumps(one).encode() + b"\n" for one in (*requests, *[request] * bool(request))))

    def answer(self):
        """The last line of an answer."""
        while line := json.loads(self.lines.readline()):
            if line["type"] in ("answer", "end", "error"):
                return line

    def ask(self, **request):
        self.send(**request)
        return self.answer()

    def cell(self, code, **options):
        return self.ask(op="exec", code=code, **options)["result"]

    def close(self):
        self.lines.close()
        self.socket.close()


@contextlib.contextmanager
def with_clients(session, n):
    clients = [Client(session) for _ in range(n)]
    try:
        yield clients
    finally:
        for one in clients:
            one.close()
        assert session.close().returncode == 0


@pytest.fixture(name="state")
def own_state(folder, any_caller):
    return sessions.own_state(folder, any_caller)


def text(result):
    return result["display"][-1]["text/plain"]


def names(client):
    return [one["path"] for one in client.ask(op="files")["answer"]["files"]]


def saved_and_changed(client):
    """Two states: `x` is 1, then, one cell later, 2, with a file more."""
    client.cell("x = 1")
    assert client.ask(op="checkpoint")["answer"]["cell"] == 2
    client.cell("x = 2; _ = open('later', 'w').write('later')")


def test_a_cell_behind_a_rollback_runs_in_the_old_state(state, any_caller):
    """The kernel that is woken has read nothing of what the other one got, and the files change after its answer."""
    with with_clients(Session(state, caller=any_caller), 1) as (one,):
        saved_and_changed(one)
        for turn in range(20):
            one.send({"op": "rollback", "cell": 2},
                     {"op": "exec", "code": f"_ = open('mine', 'w').write('{turn}'); x", "timeout_ms": 10000})
            assert one.answer()["type"] == "answer"
            assert text(one.answer()["result"]) == "1"
            assert names(one) == ["mine"]


def test_a_rollback_is_whole_though_its_client_left(state, any_caller):
    session = Session(state, caller=any_caller)
    with with_clients(session, 2) as (one, two):
        saved_and_changed(one)
        one.send(op="rollback", cell=2)
        one.close()
        assert text(two.cell("x")) == "1"
        assert names(two) == []
        record = (state / "sessions" / session.id / "cells.jsonl").read_text().splitlines()
        assert {"back": 2} in [json.loads(line) for line in record]


def test_questions_of_several_clients_wait_for_each_other(state, any_caller):
    with with_clients(Session(state, caller=any_caller), 4) as clients:
        clients[0].cell("x = 1")
        for _ in range(10):
            for one, word in zip(clients, ("vars", "checkpoint", "complete", "check")):
                one.send(op=word, code="x", cursor=1)
            assert [one.answer()["type"] for one in clients] == ["answer"] * 4


def test_copies_for_several_clients_wait_for_each_other(state, any_caller):
    session = Session(state, caller=any_caller)
    with with_clients(session, 3) as clients:
        clients[0].cell("x = 42")
        for one in clients:
            one.send(op="fork")
        made = [one.answer() for one in clients]
        assert [one["type"] for one in made] == ["answer"] * 3, made
        for one in made:
            session.run("close", one["answer"]["id"])


def test_each_cell_of_one_client_has_an_answer(state, any_caller):
    """A second one that would have to wait is refused, not forgotten."""
    with with_clients(Session(state, caller=any_caller), 2) as (one, other):
        other.send(op="exec", code="import time; time.sleep(60)")
        assert waiting.wait_until(lambda: one.ask(op="info")["answer"]["state"] == "busy")
        for number in range(3):
            one.send(op="exec", code=f"{number}")
        assert [one.answer()["error"]["code"] for _ in range(2)] == ["busy"] * 2
        other.ask(op="interrupt")
        assert text(one.answer()["result"]) == "0"


def test_a_kernel_that_a_cell_ended_begins_anew_for_the_next_client(state, any_caller):
    with with_clients(Session(state, caller=any_caller), 3) as (one, two, own):
        for turn in range(3):
            own.send(op="exec", code="import time; time.sleep(60)")
            assert waiting.wait_until(lambda: one.ask(op="info")["answer"]["state"] == "busy")
            one.send(op="exec", lang="bash", code="exit 3")
            assert one.ask(op="info")["answer"]["state"] == "busy"  # it is in the queue
            two.send(op="exec", lang="bash", code=f"echo {turn}")
            assert two.ask(op="info")["answer"]["state"] == "busy"
            own.ask(op="interrupt")
            own.answer()
            assert one.answer()["result"]["exit_code"] == 3
            assert two.answer()["result"]["stdout"] == f"{turn}\n"


def test_a_kernel_whose_child_has_its_channel_is_known_to_have_ended(state, any_caller):
    with with_clients(Session(state, lang="bash", caller=any_caller), 1) as (one,):
        result = one.cell("import ctypes, os\nlibc = ctypes.CDLL(None)\n"
                          "os._exit(1) if libc.fork() else libc.sleep(600)", lang="python", timeout_ms=20000)
        assert result["outcome"] == "exited" and "kernel ended" in result["explanation"]
        assert text(one.cell("6 * 7", lang="python")) == "42"


@pytest.mark.parametrize("first, second", [("python", "javascript"), ("javascript", "python")])
def test_a_kernel_that_makes_its_streams_non_blocking_harms_no_other(state, any_caller, first, second):
    """Node does so; the pipes are those of all kernels, and hold 64 KiB."""
    cells = {"python": "import sys; _ = sys.stdout.write('x' * 3_000_000)", "bash": "head -c 3000000 /dev/zero",
             "javascript": "process.stdout.write('x'.repeat(3_000_000)); 0"}
    with with_clients(Session(state, lang=first, caller=any_caller), 1) as (one,):
        for lang in (first, second, first, "bash", second, first):
            result = one.cell(cells[lang], lang=lang)
            assert (result["exit_code"], result["stdout_bytes"]) == (0, 3_000_000), (lang, result["stderr"])


@pytest.mark.skipif(not support.have("lua5.4") and not support.have("lua"), reason="needs Lua")
def test_output_of_lua_without_a_line_end_belongs_to_its_cell(state, any_caller):
    with with_clients(Session(state, lang="lua", caller=any_caller), 1) as (one,):
        for mode in (None, "line", "full", "no"):
            if mode:
                one.cell(f"io.stdout:setvbuf('{mode}')")
            for wanted in ("a", "b", "c\nd"):
                assert one.cell(f"local _ = io.write({json.dumps(wanted)})")["stdout"] == wanted
            assert one.cell("io.write('e'); error('f')")["stdout"] == "e"


def test_a_session_is_not_frozen_while_a_kernel_starts(state, any_caller):
    with with_clients(Session(state, "--freeze", "50ms", caller=any_caller), 1) as (one,):
        for _ in range(3):
            one.cell("1")
            assert one.ask(op="kernel", lang="javascript")["answer"]["state"] == "ready"
            assert waiting.wait_until(lambda: one.ask(op="info")["answer"]["state"] in ("frozen", "ready"))
            one.cell("process.exit(0)", lang="javascript")


def test_a_client_too_many_is_told_so(state, any_caller):
    session = Session(state, caller=any_caller)
    with with_clients(session, 64) as clients:
        assert clients[-1].ask(op="info")["answer"]["state"] == "ready"
        refused = session.run("exec", session.id, "--code", "1")
        assert refused.returncode == 125 and b"as many clients as it takes" in refused.stderr


@pytest.mark.parametrize("size, words", [((64 << 20) + 1, b"more than 64 MiB"), (90 << 20, b"a line of more than 112 MiB")])
def test_a_file_too_large_is_refused_with_the_reason(state, any_caller, tmp_path, size, words):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(size)
    session = Session(state, caller=any_caller)
    with with_clients(session, 1) as (one,):
        refused = session.run("put", session.id, "-", "large", stdin=(tmp_path / "large").read_bytes())
        assert refused.returncode == 125 and words in refused.stderr
        assert names(one) == []


def test_a_language_that_does_not_fit_is_named_with_what_it_needs(state, any_caller):
    with with_clients(Session(state, caller=any_caller), 1) as (one,):
        error = one.ask(op="exec", lang="php", code="1;").get("error")
        if error is None:
            pytest.skip("php needs no directory of its own here")
        assert "php needs /etc/" in error["message"]
