"""Interrupts by other threads and by signal handlers: between two lines of a client, never within one."""
import json
import subprocess
import sys
import time

import pytest

import machine_gives
import support
import toolchains
from sessions import Session, own_state
from waiting import read_line, started, wait_until

LIBRARY = support.BUILD / "src" / "libsandboxrun.so"
# One thread executes cells whose lines are long, another one interrupts all the time; so does a timer's signal.
CLIENT = """
import ctypes, json, signal, sys, threading
library, name, rounds = ctypes.CDLL(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3])
session, error, result = ctypes.c_void_p(), ctypes.create_string_buffer(4096), ctypes.c_char_p()
assert library.sbr_session_open(name, ctypes.byref(session), error) == 0
code, over = b"#" * (6 << 20) + b"\\nx = 1", threading.Event()
def interrupt(*_):
    library.sbr_session_interrupt(session)
def press():
    while not over.is_set():
        interrupt()
        over.wait(0.002)
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
threading.Thread(target=press).start()
try:
    for turn in range(rounds):
        r = library.sbr_session_exec(session, code, ctypes.c_size_t(len(code)), ctypes.c_uint64(0), None, None,
                                     ctypes.byref(result), error)
        print(json.dumps([r, json.loads(result.value)["outcome"] if r == 0 else error.raw.decode("utf-8", "replace")]))
finally:
    over.set()
    signal.setitimer(signal.ITIMER_REAL, 0)
"""


def test_an_interrupt_never_falls_into_a_line(tmp_path, any_caller):
    session = Session(own_state(tmp_path, any_caller), "--grace", "10s", caller=any_caller)
    try:
        as_user = any_caller == support.Callers.USER and "root" in support.available_callers()
        done = subprocess.run([*(support.AS_ORDINARY if as_user else []), sys.executable, "-c", CLIENT, str(LIBRARY),
                               session.id, "6"], capture_output=True, timeout=120, check=False,
                              env=support.environment(session.env))
        assert done.returncode == 0, done.stderr.decode()
        ends = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(ends) == 6
        for r, how in ends: # one that came before the cell has none to end
            assert how in ("exited", "cancelled") if r == 0 else "the cell was interrupted" in how, how
        assert session.value("40 + 2") == "42"
    finally:
        session.close()


# Of every kernel but the compiled ones, whose cells are processes: a cell that leaves something, one that does not end and says "begun" where it can, and one whose value is 42.
ENDLESS = {
    "python": ("x = 41", "import time; print('begun', flush=True); time.sleep(1000)", "x + 1"),
    "javascript": ("let x = 41", "console.log('begun'); for (;;);", "x + 1"),
    "typescript": ("let x: number = 41", "console.log('begun'); for (;;);", "x + 1"),
    "bash": ("x=41", "echo begun; sleep 1000", "echo $((x + 1))"),
    "zsh": ("x=41", "echo begun; sleep 1000", "echo $((x + 1))"),
    "sh": ("x=41", "echo begun; sleep 1000", "echo $((x + 1))"),
    "ruby": ("x = 41", "puts 'begun'; $stdout.flush; sleep 1000", "x + 1"),
    "perl": ("my $x = 41;", "$| = 1; print \"begun\\n\"; sleep 1000;", "$x + 1"),
    "php": ("$x = 41;", "echo \"begun\\n\"; flush(); sleep(1000);", "$x + 1"),
    "lua": ("x = 41", "print('begun') io.stdout:flush() while true do end", "x + 1"),
    "r": ("x <- 41", "cat('begun\\n'); Sys.sleep(1000)", "cat(x + 1, '\\n')"),
    "java": ("int x = 41;", "System.out.println(\"begun\"); Thread.sleep(1000000);", "x + 1"),
    "sql": ("CREATE TABLE t (x); INSERT INTO t VALUES (41);",
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c;", "SELECT x + 1 FROM t;"),
    "postgres": ("CREATE TABLE t (x int); INSERT INTO t VALUES (41);", "SELECT pg_sleep(1000);", "SELECT x + 1 FROM t;"),
}


@pytest.mark.parametrize("language", list(ENDLESS))
def test_an_interrupt_ends_the_cell_of_a_kernel_and_keeps_its_state(folder, root, language):
    machine_gives.skip_if(None if language in toolchains.names() else f"{language} is not installed")
    before, endless, after = ENDLESS[language]
    session = Session(own_state(folder, root), "--grace", "20s", "--timeout", "2m", lang=language, caller=root)
    try:
        assert session.cell(before)["success"]
        with started("session", "exec", session.id, "--code", endless, env=session.env, caller=root) as cell:
            if language in ("sql", "postgres"):
                assert wait_until(lambda: session.json("info", session.id)["state"] == "busy")
            else:
                assert read_line(cell.stdout) == b"begun\n"
            assert wait_until(lambda: session.run("interrupt", session.id) and cell.poll() is not None)
            assert cell.returncode == 130, cell.stderr.read()
        result = session.cell(after)
        shown = result["stdout"] + "".join(one["text/plain"] for one in result["display"])
        assert result["session"] == "kept" and shown.split()[-1] == "42", result
    finally:
        begin = time.monotonic()
        session.close()
    assert time.monotonic() - begin < 15, "a kernel that waits for a cell leaves when it is asked to, not after the grace"


def test_a_session_of_postgres_shows_its_tables(folder, root):
    machine_gives.skip_if(None if "postgres" in toolchains.names() else "postgres is not installed")
    session = Session(own_state(folder, root), lang="postgres", caller=root)
    try:
        assert session.cell("CREATE TABLE numbers (a int, bee text); CREATE VIEW v AS SELECT a AS alpha FROM numbers;")["success"]
        assert [(one["name"], one["type"], one["value"]) for one in session.json("vars", session.id)["data"]["vars"]] == [
            ("numbers", "table", "a, bee"), ("v", "view", "alpha")]
        assert not session.cell("BEGIN; SELECT nothing;")["success"]  # until ROLLBACK, no question has an answer
        assert session.json("vars", session.id)["data"]["vars"] == [] and session.cell("ROLLBACK;")["success"]
        assert session.value("SELECT count(*) FROM numbers;").split()[-1] == "0"
    finally:
        session.close()
