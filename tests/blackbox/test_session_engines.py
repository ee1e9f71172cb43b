"""Sessions and engines: with an engine, a session finds a kernel that is ready; no engine's end touches a session.

SBR_ENGINE_RESTARTS and SBR_LIVE_SESSIONS make the last test a long one."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import tempfile

import pytest

import engine as engines
from sessions import Session
from waiting import read_line, started, wait_until

RESTARTS = int(os.environ.get("SBR_ENGINE_RESTARTS", "2"))
LIVE = int(os.environ.get("SBR_LIVE_SESSIONS", "3"))


@pytest.fixture(name="engine", scope="module")
def small_engine():
    """Nothing is warm in it but what sessions leave."""
    with tempfile.TemporaryDirectory(prefix="sbr-session-") as name:
        os.chmod(name, 0o755)
        with engines.Engine(pathlib.Path(name) / "e", options=["--warm", ""]) as found:
            yield found


@pytest.fixture(name="state")
def own_state(engine, request):
    return engine.folder / request.node.name


def spares(state):
    return [path.parent for path in (state / "spares").glob("*/socket")]


def wait_spare(state):
    assert wait_until(lambda: spares(state)), "no spare session is made"


def mtime_of(path):
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0


def made(engine, state, *options):
    return Session(state, *options, caller=engine.caller, env=engine.variables())


def test_the_second_session_finds_its_kernel_ready(engine, state):
    first = made(engine, state)
    assert first.made["startup"] == "cold" and first.value("6 * 7") == "42"
    wait_spare(state)
    assert list(first.listed()) == [first.id], "nobody has the spare one, so it is not listed"
    second = made(engine, state, "--idle", "2h")
    assert second.made["startup"] == "parked" and second.id != first.id
    assert second.value("6 * 8") == "48" and set(second.listed()) == {first.id, second.id}
    assert 7000 < second.listed()[second.id]["expires_in_s"] <= 7200, "its times are those of its own client"
    other = made(engine, state, "--memory", "300m")
    assert other.made["startup"] == "cold", "a spare one has other limits"
    assert other.cell("1")["limits"]["memory_bytes"] == 300 << 20
    wait_spare(state)
    anew = made(engine, state, "--cold")
    assert anew.made["startup"] == "cold"
    for session in (first, second, other, anew):
        assert session.close().returncode == 0


def test_one_spare_session_has_one_client(engine, state):
    made(engine, state).close()
    wait_spare(state)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: made(engine, state), range(4)))
    assert len({session.id for session in found}) == 4
    assert sum(session.made["startup"] == "parked" for session in found) >= 1
    for number, session in enumerate(found):
        session.cell(f"mine = {number}")
    assert [session.value("mine") for session in found] == ["0", "1", "2", "3"]
    for session in found:
        session.close()


def test_a_killed_spare_session_costs_nothing_but_time(engine, state):
    made(engine, state).close()
    wait_spare(state)
    for path in spares(state):
        pid = holder(path / "lock")
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda gone=pid: not os.path.exists(f"/proc/{gone}"))
        os.utime(path, (0, 0))
    session = made(engine, state)
    assert session.made["startup"] == "cold" and session.value("1") == "1"
    assert wait_until(lambda: any(mtime_of(path) for path in spares(state))), "a new one is made"
    again = made(engine, state)
    assert again.made["startup"] == "parked", "what the killed one left is gone"
    session.close()
    again.close()


def holder(path):
    return next(int(child) for child in os.listdir("/proc") if child.isdigit() and holds(child, path))


def pipes_of(pid):
    try:
        return {link for fd in os.listdir(f"/proc/{pid}/fd") if (link := os.readlink(f"/proc/{pid}/fd/{fd}")).startswith("pipe:")}
    except OSError:
        return set()


def maker_of_spare(state):
    """The process that hears of the adoption of the spare session."""
    [path] = spares(state)
    spare = holder(path / "lock")
    heard = pipes_of(spare)
    found = [int(child) for child in os.listdir("/proc") if child.isdigit() and int(child) != spare and heard & pipes_of(child)]
    return next(pid for pid in found if pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii") == "sandbox-session\n")


def test_all_spare_sessions_have_one_maker(engine, state):
    """A spare that forked the next one would make each a descendant of all before it, and each slower."""
    live, makers = [made(engine, state)], set()
    for _ in range(4):
        wait_spare(state)
        makers.add(maker_of_spare(state))
        live.append(made(engine, state))
    assert len(makers) == 1, makers
    wait_spare(state)
    [maker] = makers
    os.kill(maker, signal.SIGKILL)
    assert wait_until(lambda: not os.path.exists(f"/proc/{maker}"))
    live.append(made(engine, state))
    assert live[-1].made["startup"] == "parked", "the one that waited is still there"
    wait_spare(state)
    another = maker_of_spare(state)
    assert another != maker, "and has begun to make them"
    engine.stop()
    assert wait_until(lambda: not os.path.exists(f"/proc/{another}")), "it ends with its spare session"
    engine.forget()
    engine.start()
    for session in live:
        assert session.close().returncode == 0


def holds(pid, path):
    try:
        return any(os.path.samefile(f"/proc/{pid}/fd/{fd}", path) for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


@contextlib.contextmanager
def cell(session, code):
    """A cell that runs, or waits, while the block does."""
    with started("session", "exec", session.id, "--stream", "--timeout", "60s", "--code", code, caller=session.caller,
                 env=session.env) as client:
        yield client


def next_event(client):
    return json.loads(read_line(client.stdout))


@contextlib.contextmanager
def queued(client, before):
    """The cell says first that it waits."""
    events = [next_event(client), next_event(client)]
    assert [(event["type"], event["seq"]) for event in events] == [("start", 0), ("queue", 1)], events
    assert events[1]["before"] == before
    yield


def test_a_cell_takes_a_slot_and_an_idle_session_none(engine):
    """With one slot, many sessions live; their cells wait for each other, and say so."""
    with engines.Engine(engine.folder / "one", options=["--warm", "", "--slots", "1"]) as small:
        live = [made(small, small.folder / "state", "--memory", "100m") for _ in range(3)]
        assert [session.value("40 + 2") for session in live] == ["42"] * 3
        assert small.status()["running"] == 0
        with cell(live[0], "import threading\nthreading.Event().wait()") as first:
            assert next_event(first)["type"] == "start" and wait_until(lambda: small.status()["running"] == 1)
            with cell(live[1], "6 * 7") as second, queued(second, 0), cell(live[2], "7 * 7") as third, queued(third, 1):
                assert small.status()["queued"] == 2
                assert live[1].json("info", live[1].id)["state"] == "ready"
                third.send_signal(signal.SIGINT)
                assert b"interrupted before it began" in third.stdout.read() and third.wait() == 125
                small.kill()
                last = json.loads(second.stdout.read().splitlines()[-1])
                assert last["result"]["display"] == [{"text/plain": "42"}], "without an engine it begins"
            assert live[0].run("interrupt", live[0].id).returncode == 0
            assert json.loads(first.stdout.read().splitlines()[-1])["result"]["session"] == "kept"
        small.forget()
        small.start()
        assert [session.value("1 + 1") for session in live] == ["2"] * 3 and small.status()["running"] == 0
        for session in live:
            session.close()


def test_sessions_outlive_engines(engine, state):
    """Those that waited in an engine's name, too; only what still waits ends with it."""
    live = [made(engine, state)]
    while len(live) < LIVE:
        wait_spare(state)
        live.append(made(engine, state))
    assert {session.made["startup"] for session in live[1:]} == {"parked"}
    for session in live:
        session.cell("n = 0")
    for turn in range(1, RESTARTS + 1):
        left = engine.kill() if turn % 2 else engine.stop()
        assert not left
        assert wait_until(lambda: not spares(state)), "a spare session outlives its engine"
        assert [session.value("(n := n + 1)") for session in live] == [str(2 * turn - 1)] * LIVE
        engine.forget()
        engine.start()
        assert [session.value("(n := n + 1)") for session in live] == [str(2 * turn)] * LIVE
    for session in live:
        assert session.close().returncode == 0
    assert os.listdir(state / "sessions") == []


STATE = "import os; born = os.urandom(8); big = bytearray(os.urandom(4 << 20)); open('f', 'w').write('one'); os.mkdir('/tmp/d')"
SEEN = "born, hash(bytes(big)), open('f').read(), os.listdir('/tmp')"


def test_a_copy_takes_the_sandbox_of_a_spare_session(engine, state):
    first = made(engine, state)
    first.cell(STATE)
    live = [first.id]
    for of in (0, 0, 1):  # the last one is a copy of a copy
        wait_spare(state)
        copy = first.json("fork", live[of])
        assert (copy["by"], copy["startup"], copy["of"]) == ("fork", "parked", live[of]), copy
        live.append(copy["id"])
    look = [first.json("exec", one, "--code", SEEN)["display"][0]["text/plain"] for one in live]
    assert len(set(look)) == 1, look
    assert set(first.listed()) == set(live) and len({one["pid"] for one in pids(first, live)}) == len(live)
    first.json("exec", live[1], "--code", "big[:] = b''; open('f', 'w').write('two'); x = 5")
    assert [first.json("exec", one, "--code", "len(big), open('f').read(), 'x' in globals()")["display"][0]["text/plain"]
            for one in live[:3]] == ["(4194304, 'one', False)", "(0, 'two', True)", "(4194304, 'one', False)"]
    exported = first.run("export", live[2], "--format", "py").stdout
    assert exported.startswith(STATE.encode()), "it has the record of its session"
    assert first.json("rollback", live[3], "1")["by"] == "replay"
    wait_spare(state)
    assert made(engine, state).made["startup"] == "parked", "a spare session was left, and has another state"
    os.kill(first.supervisor(), signal.SIGKILL)
    assert wait_until(lambda: first.listed()[first.id]["state"] == "lost")
    assert first.json("exec", live[2], "--code", SEEN)["display"][0]["text/plain"] == look[0], "it needs no other session"
    for one in first.listed():
        assert first.run("close", one).returncode == 0


def pids(session, ids):
    return [json.loads((session.state / "sessions" / one / "session.json").read_text()) for one in ids]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_copy_does_without_a_spare_session_that_is_gone(engine, state, number):
    first = made(engine, state)
    first.cell("x = 42")
    wait_spare(state)
    [path] = spares(state)
    pid = holder(path / "lock")
    os.kill(pid, number)
    try:
        copy = first.json("fork", first.id)
        assert (copy["by"], copy["startup"]) == ("fork", "cold"), copy
        assert first.json("exec", copy["id"], "--code", "x")["display"][0]["text/plain"] == "42"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        for one in first.listed():
            first.run("close", one)


FORGED = """
import gc, os
for thing in gc.get_objects():
    if type(thing).__name__ == "Checkpoints":
        class Forged:
            fork = staticmethod(lambda pipe, _: os.fork() or (os.write(pipe, b'nonsense' * 999), os._exit(0)))
        thing.memory = Forged()
"""


def test_a_forged_memory_costs_a_spare_session_and_nothing_else(engine, state):
    first = made(engine, state)
    first.cell("x = 42; open('f', 'w').write('one')")
    first.cell(FORGED)
    wait_spare(state)
    copy = first.json("fork", first.id)
    assert (copy["by"], copy["replayed"], copy["because"]) == ("replay", 2, "the copy of the memory is not sound"), copy
    assert first.json("exec", copy["id"], "--code", "x, open('f').read()")["display"][0]["text/plain"] == "(42, 'one')"
    for one in first.listed():
        assert first.run("close", one).returncode == 0
