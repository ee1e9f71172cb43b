"""Cells that attack their own session: it reports them and stays usable, or ends and says so."""
import os

import pytest

import sessions
from sessions import Session

# What the cell does, then (outcome, session, a word of the explanation); None: anything.
ENDINGS = {
    "closes the channel": ("import os\nfor fd in range(3, 1024):\n    try: os.close(fd)\n    except OSError: pass",
                           (None, "lost", "")),
    "writes garbage": ("import os\nfor fd in range(3, 1024):\n    try: os.write(fd, b'\\0\\xff garbage\\n')\n"
                       "    except OSError: pass", ("cancelled", "lost", "broke its channel")),
    "writes without an end": ("import os\nwhile True:\n    for fd in range(3, 1024):\n"
                              "        try: os.write(fd, b'a' * 65536)\n        except OSError: pass",
                              ("cancelled", "lost", "broke its channel")),
    "exits": ("import sys; sys.exit(7)", ("exited", "lost", "ended the kernel")),
    "exits at once": ("import os; os._exit(9)", ("exited", "lost", "exit code 9")),
    "kills its kernel": ("import os; os.kill(os.getpid(), 9)", ("signaled", "lost", "SIGKILL")),
    "leaves a child in its place": ("import os\nif os.fork(): os._exit(3)", ("exited", "lost", "exit code 3")),
    "blocks signals": ("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                       "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True: pass",
                       ("timeout", "lost", "killed")),
    "takes all memory": ("x = bytearray(800 << 20)", ("memory_limit", "lost", "memory")),
}
KEPT = {
    "prints frames": "print('done 1 ok 2\\n{}')",
    "writes frames of other cells": "import os\nfor fd in range(3, 1024):\n"
                                    "    try: os.write(fd, b'done 99 ok 2\\n{}')\n    except OSError: pass",
    "forks and the child ends": "import os\nif os.fork() == 0: os._exit(0)",
    "forks and the child speaks": "import os\nif os.fork() == 0:\n    print('child', flush=True)\n    os._exit(0)\nos.wait()",
    "replaces stdout": "import sys\nsys.stdout = sys.stderr = None",
    "closes stdout": "import os\nos.close(1); os.close(2)",
}


@pytest.fixture(name="state")
def own_state(folder, any_caller):
    return sessions.own_state(folder, any_caller)


def test_each_end_is_named_and_a_restart_begins_anew(state, any_caller):
    session = Session(state, caller=any_caller)
    try:
        for name, (code, (outcome, kept, words)) in ENDINGS.items():
            result = session.cell(code, "--timeout", "1s" if "blocks" in name else "20s")
            assert result["session"] == kept and words in result["explanation"], (name, result["explanation"])
            assert outcome in (None, result["outcome"]), (name, result["outcome"])
            lost = session.run("exec", session.id, "--code", "1")
            assert lost.returncode == 125 and b"is lost" in lost.stderr, name
            assert session.listed()[session.id]["state"] == "lost", name
            assert session.json("restart", session.id)["state"] == "ready", name
            assert session.value("6 * 7") == "42", name
    finally:
        assert session.close().returncode == 0
    assert os.listdir(state / "sessions") == []


def test_what_does_no_harm_keeps_the_session(state, any_caller):
    session = Session(state, caller=any_caller)
    try:
        for name, code in KEPT.items():
            result = session.cell(code, "--timeout", "5s")
            assert (result["outcome"], result["session"]) == ("exited", "kept"), (name, result["explanation"])
            assert session.value("6 * 7") == "42", name
    finally:
        session.close()


def test_a_fork_bomb_ends_by_the_limits(state, any_caller):
    session = Session(state, "--pids", "32", caller=any_caller)
    try:
        result = session.cell("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "--timeout", "1s")
        assert result["outcome"] == "timeout"
        assert session.json("restart", session.id)["state"] == "ready"
        assert session.value("6 * 7") == "42"
    finally:
        session.close()


def test_code_that_is_no_cell_is_refused(state, any_caller, folder):
    session = Session(state, caller=any_caller)
    try:
        for name, data, words in (("long.py", b"#" * (100 << 20), b"at most 16 MiB"),
                                  ("bytes.py", b"x = '\xff'\n", b"not UTF-8")):
            (folder / name).write_bytes(data)
            done = session.run("exec", session.id, folder / name)
            assert done.returncode == 125 and words in done.stderr
        result = session.cell("for _ in range(40): print('x' * 1_000_000)")
        assert result["success"] and result["stdout_bytes"] == 40_000_040 and result["stdout_truncated"]
        assert session.value("6 * 7") == "42"
    finally:
        session.close()


def test_more_output_than_allowed_is_interrupted(state, any_caller):
    session = Session(state, "--max-output", "100k", caller=any_caller)
    try:
        session.cell("x = 3")
        result = session.cell("while True: print('x' * 1000)")
        assert (result["outcome"], result["session"]) == ("output_limit", "kept")
        assert session.value("x") == "3"
    finally:
        session.close()


def test_a_cell_spoils_its_own_saved_states_only(state, any_caller):
    own, other = Session(state, caller=any_caller), Session(state, caller=any_caller)
    try:
        for session in (own, other):
            session.cell("import os\nx = 1; open('f', 'w').write('1')")
            assert session.json("checkpoint", session.id)["cell"] == 2
            session.cell("x = 2; open('f', 'w').write('2')")
        own.json("checkpoint", own.id)
        own.cell("os.kill(-1, 19)") # all but itself: the processes that are its saved states stop
        spoiled = own.run("rollback", own.id, "3")
        assert spoiled.returncode == 125 and b"stopped it" in spoiled.stderr
        own.cell("os.kill(-1, 9)")
        spoiled = own.run("rollback", own.id, "2")
        assert spoiled.returncode == 125 and spoiled.stderr
        assert own.value("x") == "2", "it goes on"
        assert other.run("rollback", other.id, "2").returncode == 0
        assert other.value("x, open('f').read()") == "(1, '1')"
    finally:
        own.close()
        other.close()


def test_a_rollback_follows_no_link_out_of_the_sandbox(state, any_caller, folder):
    session = Session(state, caller=any_caller)
    try:
        session.cell("import os\nos.mkdir('d'); open('d/f', 'w').write('old')")
        session.json("checkpoint", session.id)
        session.cell(f"import shutil\nshutil.rmtree('d'); os.symlink('{folder}', 'd')")
        (folder / "f").write_text("the host's")
        session.json("rollback", session.id, "2")
        assert (folder / "f").read_text() == "the host's"
        assert session.value("os.path.islink('d'), open('d/f').read()") == "(False, 'old')"
    finally:
        session.close()
