"""kill -9 of clients, engines and supervisors at any moment: nothing is lost but the cell that runs.

SBR_SESSION_KILLS=1000 makes it a long one."""
import json
import os
import random
import select
import signal

import pytest

import engine as engines
import sessions
from sessions import Session
from support import sandbox_run
from waiting import started, wait_until

KILLS = int(os.environ.get("SBR_SESSION_KILLS", "40"))
PER_SESSION = 40
PER_SUPERVISOR, PER_ENGINE = 10, 19 # so often a supervisor and an engine are killed instead of a client


@pytest.fixture(name="state")
def own_state(folder, any_caller):
    return sessions.own_state(folder, any_caller)


def count(session):
    """How many cells have added one, after the last one that runs."""
    return int(session.value("n"))


def kill_client(session, code, moment):
    with started("session", "exec", session.id, "--code", code, caller=session.caller, env=session.env) as client:
        select.select([client.stdout], [], [], moment)
        client.kill()


def kill_supervisor(session, moment):
    """A cell runs meanwhile; the session is restored.  True when the cell was answered before."""
    pid = session.supervisor()
    with started("session", "exec", session.id, "--code", "n += 1", "--json", caller=session.caller,
                 env=session.env) as client:
        select.select([client.stdout], [], [], moment)
        os.kill(pid, signal.SIGKILL)
        answered = b'"success":true' in client.stdout.read()
    wait_until(lambda: session.listed()[session.id]["state"] == "lost")
    lost, session.id = session.id, session.run("restore", session.id).stdout.decode().strip()
    assert session.run("close", lost).returncode == 0
    return answered


def kill_engine(session, engine, moment):
    """The cell has a slot of the engine, or waits for it, and goes on without."""
    with started("session", "exec", session.id, "--code", "n += 1", "--json", caller=session.caller,
                 env=session.env) as client:
        select.select([client.stdout], [], [], moment)
        assert not engine.kill()
        assert b'"success":true' in client.stdout.read()
    engine.forget()
    engine.start()


@pytest.mark.parametrize("turn_of", range(max(1, KILLS // PER_SESSION)))
def test_nothing_is_lost_but_the_running_cell(state, folder, any_caller, turn_of):
    chance = random.Random(21 + turn_of)
    with engines.Engine(folder / "engine", caller=any_caller, options=["--warm", ""]) as engine:
        kill_and_count(Session(state, caller=any_caller, env=engine.variables()), engine, chance)
    assert os.listdir(state / "sessions") == []


def kill_and_count(session, engine, chance):
    try:
        session.cell("n = 0")
        certain = 0
        for turn in range(1, min(KILLS, PER_SESSION) + 1):
            possible = certain + 1
            if turn % PER_ENGINE == 0:
                kill_engine(session, engine, chance.uniform(0, 0.03))
                certain += 1
            elif turn % PER_SUPERVISOR == 0:
                certain += kill_supervisor(session, chance.uniform(0, 0.05))
            else:
                kill_client(session, "n += 1", chance.uniform(0, 0.03))
            found = count(session)
            assert certain <= found <= possible, f"turn {turn}"
            certain = found
        assert list(session.listed()) == [session.id]
    finally:
        session.close()


def test_after_a_restart_of_the_machine_the_list_says_what_is_gone(state, any_caller):
    session = Session(state, "--env", "COLOUR=blue", "--memory", "300m", caller=any_caller)
    session.cell("import os; x = 41")
    os.kill(session.supervisor(), signal.SIGKILL)
    wait_until(lambda: session.listed()[session.id]["state"] == "lost")
    meta = state / "sessions" / session.id / "session.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "boot_id": "another start"}))
    assert session.listed()[session.id]["reason"] == "the machine was restarted"
    gone = sandbox_run("session", "exec", session.id, "--code", "x", env=session.env, caller=any_caller)
    assert gone.returncode == 127 and b"the machine was restarted" in gone.stderr
    restored = session.run("restore", session.id).stdout.decode().strip()
    again = session.json("exec", restored, "--code", "x + 1, os.environ['COLOUR']")
    assert again["display"] == [{"text/plain": "(42, 'blue')"}], "with the options that it was made with"
    assert again["limits"]["memory_bytes"] == 300 << 20
    assert session.run("close", restored).returncode == 0 and session.close().returncode == 0
