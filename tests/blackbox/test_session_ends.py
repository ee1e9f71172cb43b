"""What ends a session, or what it leaves running, from outside or by its limits: the reason is true, nothing is left."""
import json
import os
import pathlib
import signal

import pytest

import sessions
import support
import waiting

BURN = "import threading\ndef burn():\n    while True: pass\nthreading.Thread(target=burn, daemon=True).start()"


@pytest.fixture(name="state")
def own_state(folder, any_caller):
    return sessions.own_state(folder, any_caller)


@pytest.fixture(name="make")
def maker(state, any_caller):
    with sessions.maker(state, any_caller) as make:
        yield make


def init_of(supervisor):
    """The process that is the first one of its pid namespace, and a child of the supervisor."""
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        if fields["PPid"] == str(supervisor) and fields["NSpid"].split()[1:] == ["1"]:
            return int(fields["Pid"])
    return None


def in_cell(session, caller):
    """A client whose cell runs."""
    return waiting.started("session", "exec", session.id, "--json", "--code", "import time\nopen('on', 'w')\ntime.sleep(60)",
                           caller=caller, env=session.env)


def runs(session):
    return session.run("get", session.id, "on").returncode == 0


def test_a_killed_init_is_our_failure(make, any_caller):
    session = make()
    with in_cell(session, any_caller) as client:
        assert waiting.wait_until(lambda: runs(session))
        os.kill(init_of(session.supervisor()), signal.SIGKILL)
        result = json.loads(client.stdout.read())
        assert (result["outcome"], result["session"]) == ("internal_error", "lost")
        assert client.wait(waiting.SOON) == 125
    assert session.json("restart", session.id)["state"] == "ready"


def test_sigterm_ends_a_session_in_order(make, any_caller):
    session = make()
    session.cell("x = 41")
    supervisor = session.supervisor()
    with in_cell(session, any_caller) as client:
        assert waiting.wait_until(lambda: runs(session))
        init = init_of(supervisor)
        os.kill(supervisor, signal.SIGTERM)
        result = json.loads(client.stdout.read())
        assert result["session"] == "lost" and "SIGTERM" in result["explanation"]
    assert waiting.wait_until(lambda: not os.path.exists(f"/proc/{supervisor}"))
    assert not os.path.exists(f"/proc/{init}")
    listed = session.listed()[session.id]
    assert (listed["state"], listed["reason"]) == ("lost", "its process was ended by SIGTERM")


def test_leftovers_have_the_cpu_time_of_a_cell(make):
    session = make("--cpu-time", "500ms")
    assert session.cell(BURN)["session"] == "kept"
    assert waiting.wait_until(lambda: session.listed()[session.id]["state"] == "frozen")
    used = [session.json("metrics", session.id)["cpu_user_ms"] for _ in range(3)]
    assert used[0] == used[2] < 5000
    session.run("vars", session.id, "--json") # wakes it for the answer
    assert waiting.wait_until(lambda: session.listed()[session.id]["state"] == "frozen")
    assert session.value("6 * 7") == "42"


def test_many_sessions_are_closed_at_once(make):
    session = make()
    done = session.run("close", *[f"{number:012x}" for number in range(99)], session.id)
    assert b"there is no session" in done.stderr and session.id not in session.listed()


def test_without_file_descriptors_the_reason_is_known(state, any_caller):
    env = {"SANDBOX_RUN_STATE": str(state)}
    for number in (6, 8, 10, 12, 14, 16, 18, 20, 24):
        done = support.sandbox_run("session", "create", "python", "--json", env=env, caller=any_caller,
                                   prefix=("prlimit", f"--nofile={number}:{number}"))
        answer = json.loads(done.stdout or b"{}")
        if "id" in answer:
            break
        text = (done.stdout + done.stderr).decode()
        assert "ended before" not in text and "bug" not in text, (number, text)
        sessions_left = os.listdir(state / "sessions") if (state / "sessions").exists() else []
        assert sessions_left == [], (number, text)
    if "id" in answer:
        support.sandbox_run("session", "close", answer["id"], env=env, caller=any_caller)
