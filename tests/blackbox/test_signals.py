"""Whatever ends us, everything inside ends with us, and nothing is left behind."""
import json
import os
import signal

import pytest

import support
from support import result_of
from waiting import SOON, Inside, read_line, started, wait_until

# A program, a child that ignores SIGTERM, a daemon, and a stopped process.
FAMILY = """
import os, signal, sys, time
r, w = os.pipe()
def member(act):
    if os.fork() == 0:
        act()
        os.write(w, b'x')
        while True: time.sleep(1000)
def daemon():
    os.setsid()
    if os.fork(): os._exit(0)
    for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
def stopped():
    os.write(w, b'x')
    os.kill(os.getpid(), signal.SIGSTOP)
member(lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
member(daemon)
member(stopped)
for _ in range(3): os.read(r, 1)
print('ready', flush=True)
while True: time.sleep(1000)
"""


@pytest.fixture
def inside():
    inside = Inside()
    yield inside
    inside.close()


def groups_of(pid):
    return [name for name in support.leftovers() if f"/sandbox-run.{pid}." in name]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_to_us_cancels_the_run_and_ends_everything(caller, inside, number):
    with started("run", "--grace", "200ms", "--lang", "python", "--code", FAMILY, "--", inside.mark,
                 caller=caller) as process:
        assert read_line(process.stdout) == b"ready\n"
        inside.find(4)
        process.send_signal(number)
        assert process.wait(SOON) == 128 + number
        assert inside.all_end()


@pytest.mark.core
def test_a_cancelled_run_has_a_result(caller, inside):
    code = ("import os, time\nprint('before', flush=True)\n"
            "for _ in range(3): os.fork() or time.sleep(1000)\ntime.sleep(1000)")
    with started("run", "--json", "--lang", "python", "--code", code, "--", inside.mark,
                 caller=caller) as process:
        inside.find(4)
        process.send_signal(signal.SIGTERM)
        result = json.loads(process.stdout.read())
        assert process.wait(SOON) == 143
    assert (result["outcome"], result["success"], result["stdout"]) == ("cancelled", False,
                                                                        "before\n")


def test_a_signal_gives_the_program_its_grace_period(caller):
    code = ("import os, signal, time\n"
            "def leave(*_): os.write(1, b'bye\\n'); os._exit(0)\n"
            "signal.signal(signal.SIGTERM, leave); os.write(1, b'ready\\n')\nwhile True: time.sleep(0.01)")
    with started("run", "--grace", "30s", "--lang", "python", "--code", code,
                 caller=caller) as process:
        assert read_line(process.stdout) == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert read_line(process.stdout) == b"bye\n"
        assert process.wait(SOON) == 143


def test_an_interrupt_reaches_the_program_as_one(caller):
    # Not by print: interrupted in its write, Python would write the same line again.
    code = ("import os, time\ntry:\n    os.write(1, b'ready\\n')\n    while True: time.sleep(0.01)\n"
            "except KeyboardInterrupt:\n    print('caught')")
    with started("run", "--grace", "30s", "--lang", "python", "--code", code,
                 caller=caller) as process:
        assert read_line(process.stdout) == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert read_line(process.stdout) == b"caught\n"
        assert process.wait(SOON) == 130


def test_who_ignores_an_interrupt_is_asked_to_end_and_then_ended(any_caller):
    code = ("import os, signal, time\n"
            "signal.signal(signal.SIGINT, lambda *_: os.write(1, b'int\\n'))\n"
            "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'term\\n'))\n"
            "os.write(1, b'ready\\n')\nwhile True: time.sleep(0.01)")  # a signal right before a sleep does not end it
    with started("run", "--grace", "60s", "--lang", "python", "--code", code,
                 caller=any_caller) as process:
        for answer in (b"ready\n", b"int\n", b"term\n"):
            assert read_line(process.stdout) == answer
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
        assert process.wait(SOON) == 130


def test_a_second_signal_does_not_wait_for_the_grace_period(caller):
    code = ("import os, signal, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'no\\n'))\n"
            "os.write(1, b'ready\\n')\nwhile True: time.sleep(0.01)")
    with started("run", "--grace", "60s", "--lang", "python", "--code", code,
                 caller=caller) as process:
        assert read_line(process.stdout) == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert read_line(process.stdout) == b"no\n"
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 143


@pytest.mark.core
def test_killing_us_ends_everything_and_removes_the_groups(caller, inside):
    with started("run", "--lang", "python", "--code", FAMILY, "--", inside.mark,
                 caller=caller) as process:
        assert read_line(process.stdout) == b"ready\n"
        inside.find(4)
        has_groups = bool(groups_of(process.pid))
        assert has_groups == (caller == support.Callers.ROOT and not support.is_warm(caller))  # those are the engine's
        process.kill()
        assert process.wait(SOON) == -signal.SIGKILL
        assert inside.all_end()
        assert wait_until(lambda: not groups_of(process.pid))


@pytest.mark.core
def test_killing_us_while_the_output_is_not_read_ends_everything(caller, inside):
    code = "import os\nos.write(2, b'ready\\n')\nwhile True: os.write(1, b'x' * 65536)"
    with started("run", "--lang", "python", "--code", code, "--", inside.mark,
                 caller=caller) as process:
        assert read_line(process.stderr) == b"ready\n"
        inside.find(1)
        process.kill()
        assert inside.all_end()


def test_a_stopped_supervisor_still_ends_the_run_when_it_goes_on(root, inside):
    code = "print('ready', flush=True)\nimport time; time.sleep(1000)"
    with started("run", "--timeout", "3s", "--lang", "python", "--code", code, "--", inside.mark
                 ) as process:
        assert read_line(process.stdout) == b"ready\n"
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        inside.find(1)
        process.send_signal(signal.SIGCONT)
        assert process.wait(SOON) == 124
        assert inside.all_end()


def test_signals_of_the_program_do_not_reach_us(caller):
    code = ("import os, signal\nfor target in (0, -1):\n  for number in (1, 2, 3, 15, 9):\n"
            "    try: os.kill(target, number) if number != 9 or target else None\n"
            "    except OSError: pass\n")
    ignore = "import signal\nfor n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\n"
    result = result_of("run", "--lang", "python", "--code", ignore + code + "print('alive')",
                       caller=caller)
    assert (result["outcome"], result["stdout"]) == ("exited", "alive\n"), result


def test_ignored_and_blocked_signals_of_ours_are_not_inherited(caller):
    code = ("import signal\nprint(signal.getsignal(signal.SIGINT), "
            "signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL, "
            "signal.pthread_sigmask(signal.SIG_BLOCK, []))")

    def before_exec():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])

    result = result_of("run", "--lang", "python", "--code", code, caller=caller,
                       preexec_fn=before_exec)
    assert "default_int_handler" in result["stdout"] and "True set()" in result["stdout"]
