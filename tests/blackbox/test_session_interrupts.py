"""Interrupts by other threads and by signal handlers: between two lines of a client, never within one."""
import json
import subprocess
import sys

import support
from sessions import Session, own_state

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
