"""Cells that flood the supervisor of their session, and clients that do not read: its memory and CPU time stay small,
the time limit holds, and nothing is lost."""
import json
import os

import pytest

import sessions
import waiting
from sessions import CHANNEL

MANY = "b'{\"a\":[' + b'{},' * 5500000 + b'{}]}'"


@pytest.fixture(name="state")
def own_state(folder, any_caller):
    return sessions.own_state(folder, any_caller)


@pytest.fixture(name="make")
def maker(state, any_caller):
    with sessions.maker(state, any_caller) as make:
        yield make


def peak_mib(session):
    return sessions.peak_mib(session.supervisor())


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reading(session, caller, code, timeout):
    """A client that streams a cell, and whose output is read when the test wants it."""
    return waiting.started("session", "exec", session.id, "--stream", "--code", code, "--timeout", timeout, caller=caller,
                           env=session.env)


def test_values_without_number_take_no_memory(make):
    session = make("--memory", "128m")
    for number, dropped in ((1, 1), (99, None)): # of this cell, of another one
        result = session.cell(f"{CHANNEL}\ndisplay({number}, {MANY})", "--timeout", "30s")
        assert (result["outcome"], result["session"]) == ("exited", "kept"), result["explanation"]
        assert result.get("display_dropped") == dropped and result["display"] == []
        assert session.value("6 * 7") == "42"
        assert peak_mib(session) < 64
        session.json("restart", session.id)


def test_bundles_have_bounds_together(make):
    session = make("--memory", "128m")
    code = f"{CHANNEL}\nfor i in range(70000): display(1, b'{{}}')\ndisplay(1, b'{{\"a\": [1e999, 12345678901234567890]}}')"
    result = session.cell(code, "--timeout", "60s")
    assert result["session"] == "kept" and result["display"] == [{}] * len(result["display"])
    assert len(result["display"]) == 70001 - result["display_dropped"] <= 32000
    result = session.cell(f"{CHANNEL}\ndisplay(2, b' {{ \"text/plain\" :\\n \"a\\\\u0000b\" }} ')")
    assert result["display"] == [{"text/plain": "a\0b"}]
    broken = session.cell(f"{CHANNEL}\ndisplay(3, b'{{\"a\": }}')")
    assert (broken["session"], broken["explanation"]) == ("lost", "the kernel broke its channel")
    assert peak_mib(session) < 64


def test_long_answers_stay_text(make):
    session = make("--memory", "256m")
    session.cell(CHANNEL + """
import threading
def answer():
    body = b'[' + b'{},' * 5000000 + b'{}]'
    for number in range(1, 4): send(b'answer %d ok %d\\n' % (number, len(body))); send(body)
threading.Timer(0.1, answer).start()
class Slow:
    def __repr__(self): import time; time.sleep(20)
x = Slow()""", "--timeout", "30s")
    asked = session.run("vars", session.id, "--json")
    assert b"values" in asked.stdout + asked.stderr, asked
    assert peak_mib(session) < 64


@pytest.mark.parametrize("body", [MANY, "b'{}'"], ids=["long", "short"])
def test_the_time_limit_holds_while_frames_come(make, body):
    session = make("--memory", "128m", "--grace", "1s")
    result = session.cell(f"{CHANNEL}\nbody = {body}\nwhile True: display(1, body)", "--timeout", "1s")
    assert result["outcome"] == "timeout" and result["metrics"]["wall_ms"] < 4000, result["metrics"]["wall_ms"]


def test_frames_cost_no_more_than_the_program_has(make):
    session = make("--cpus", "0.1")
    before = cpu_s(session.supervisor())
    result = session.cell(f"{CHANNEL}\nmany = b'display 99 - 2\\n{{}}' * 4000\nwhile True: send(many)", "--timeout", "2s")
    assert result["outcome"] == "timeout"
    assert cpu_s(session.supervisor()) - before < 0.5


def test_a_slow_reader_holds_its_cell_up(make, any_caller):
    session = make()
    code = "for i in range(30000):\n    print('x' * 999)\n    if i % 100 == 0: open('at', 'w').write(str(i))"
    seen = []

    def stands_still():
        seen.append(session.run("get", session.id, "at").stdout)
        return len(seen) > 3 and seen[-1] and len(set(seen[-3:])) == 1

    with reading(session, any_caller, code, "60s") as client:
        assert waiting.wait_until(stands_still)
        assert int(seen[-1]) < 29000
        assert session.listed()[session.id]["state"] == "busy"
        lines = [json.loads(line) for line in client.stdout.read().splitlines()]
        assert client.wait(waiting.SOON) == 0
    assert sum(len(line["data"]) for line in lines if line["type"] == "stdout") == 30_000_000
    assert lines[-1]["type"] == "end" and lines[-1]["result"]["success"]
    assert peak_mib(session) < 96
    assert session.value("6 * 7") == "42"


def test_a_stalled_reader_does_not_outlast_the_time_limit(make, any_caller):
    """The cell is stopped, says so, and the session goes on; another client is served meanwhile."""
    session = make()
    with reading(session, any_caller, "while True: print('x' * 999)", "1s") as client:
        assert waiting.wait_until(lambda: session.listed()[session.id]["state"] == "ready")
        assert session.value("6 * 7") == "42"
        lines = [json.loads(line) for line in client.stdout.read().splitlines()]
    assert lines[-1]["result"]["outcome"] == "timeout" and lines[-1]["result"]["session"] == "kept"
    assert peak_mib(session) < 96
