"""The verdict names the real cause, from what the kernel says and never from what was printed."""
import os
import subprocess
import time

import pytest

import support
from support import available_callers, python, result_of, sandbox_run, shell
from waiting import Inside, read_line, started

USER = support.Callers.USER


def ended(result):
    return result["outcome"], result["exit_code"], result["signal"], result["_status"]


def exits_with(code, caller):
    result = shell(f"exit {code}", caller=caller)
    assert ended(result) == ("exited", code, None, code)
    assert result["success"] == (code == 0)


@pytest.mark.parametrize("code", [0, 3, 137])
def test_an_exit_code_is_the_programs_own(caller, code):
    exits_with(code, caller)


@pytest.mark.parametrize("code", [1, 124, 125, 126, 127, 128, 255])
def test_an_exit_code_that_we_use_too_is_the_programs_own(any_caller, code):
    exits_with(code, any_caller)


def is_named(name, number, caller):
    result = python(f"import os; os.kill(os.getpid(), {number})" if name not in ("INT", "PIPE") else
                    f"import os, signal; signal.signal({number}, signal.SIG_DFL);"
                    f"os.kill(os.getpid(), {number})", caller=caller)
    assert ended(result) == ("signaled", None, f"SIG{name}", 128 + number)
    assert not result["success"]


@pytest.mark.core
@pytest.mark.parametrize("name, number", [("SEGV", 11), ("KILL", 9)])
def test_a_signal_is_named(caller, name, number):
    is_named(name, number, caller)


@pytest.mark.parametrize("name, number", [("ABRT", 6), ("TERM", 15), ("INT", 2), ("FPE", 8), ("PIPE", 13),
                                          ("USR1", 10)])
def test_another_signal_is_named(any_caller, name, number):
    is_named(name, number, any_caller)


def test_a_real_crash_is_a_signal(caller):
    result = python("import ctypes; ctypes.string_at(0)", caller=caller)
    assert ended(result) == ("signaled", None, "SIGSEGV", 139)


IGNORE = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
HANGS = {
    "busy loop": "while True: pass",
    "sleep": "import time; time.sleep(1000)",
    "waits for nobody": "import os; r, w = os.pipe(); os.read(r, 1)",
    "ignores SIGTERM": IGNORE + "time.sleep(1000)",
    "every signal blocked": "import signal, time\n"
                            "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
                            "while True: time.sleep(1)",
    "stopped itself": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "stopped child": "import os, signal\npid = os.fork()\n"
                     "if not pid: os.kill(os.getpid(), signal.SIGSTOP)\nos.waitpid(pid, 0)",
    "daemon of two forks": "import os, time\nif os.fork() == 0:\n os.setsid()\n"
                           " if os.fork() == 0: time.sleep(1000)\n os._exit(0)\n" + IGNORE +
                           "time.sleep(1000)",
    "closed its streams": "import os, time; [os.close(i) for i in range(3)]; time.sleep(1000)",
    "forks for ever": IGNORE + "import os\nwhile True:\n  if os.fork() == 0: os._exit(0)\n"
                      "  os.wait()",
}


@pytest.mark.parametrize("how", HANGS)
def test_a_program_that_does_not_end_is_ended_in_time(caller, how):
    began = time.monotonic()
    result = python(HANGS[how], "--timeout", "250ms", "--grace", "100ms", caller=caller)
    assert (result["outcome"], result["_status"]) == ("timeout", 124), result
    assert not result["success"]
    assert result["execution_time"] >= 0.25
    assert time.monotonic() - began < 20
    assert "--timeout" in result["explanation"] and "250ms" in result["explanation"]


def test_the_limit_of_time_is_the_one_that_was_given(caller):
    """Long enough for a busy machine to be late without being taken for another limit."""
    result = python("import time; time.sleep(1000)", "--timeout", "1500ms", "--grace", "0ms", caller=caller)
    assert result["outcome"] == "timeout" and 1.5 <= result["execution_time"] < 4.5, result


def test_a_program_may_clean_up_within_the_grace_period(caller):
    code = ("import signal, sys, time\n"
            "def leave(*_): print('cleaned up', flush=True); sys.exit(5)\n"
            "signal.signal(signal.SIGTERM, leave)\nprint('ready', flush=True)\nwhile True: time.sleep(0.01)")
    result = python(code, "--timeout", "2s", "--grace", "30s", caller=caller)
    assert (result["outcome"], result["exit_code"], result["_status"]) == ("timeout", 5, 124)
    assert result["stdout"] == "ready\ncleaned up\n"
    assert result["execution_time"] < 20  # it did not wait for the rest of the grace period


def test_no_grace_means_none(caller):
    code = ("import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: time.sleep(1000))\n"
            "time.sleep(1000)")
    result = python(code, "--timeout", "200ms", "--grace", "0", caller=caller)
    assert result["outcome"] == "timeout" and result["execution_time"] < 3


@pytest.mark.parametrize("keeps", ["stdout open", "a stopped process", "a daemon"])
@pytest.mark.core
def test_the_run_ends_with_its_program_whatever_that_leaves_behind(caller, keeps):
    inside = Inside()
    extra = "os.kill(os.getpid(), signal.SIGSTOP)" if "stopped" in keeps else ""
    code = ("import os, signal, sys, time\nr, w = os.pipe()\n"
            "if os.fork() == 0:\n  os.setsid(); signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
            f"  if os.fork() == 0:\n    os.write(w, b'x')\n    {extra}\n    time.sleep(1000)\n"
            "  os._exit(0)\nos.read(r, 1); print('main', flush=True); input()")
    try:
        with started("run", "--timeout", "60s", "--lang", "python", "--code", code, "--",
                     inside.mark, caller=caller) as process:
            assert read_line(process.stdout) == b"main\n"
            inside.find(2)
            process.stdin.write(b"\n")
            assert process.wait(20) == 0
            assert inside.all_end()
    finally:
        inside.close()


@pytest.mark.core
def test_cpu_time_is_limited(caller):
    result = python("while True: pass", "--cpu-time", "300ms", caller=caller)
    assert (result["outcome"], result["_status"]) == ("cpu_limit", 124)
    assert 0.3 <= result["cpu_time"] < 0.8
    assert "--cpu-time" in result["explanation"]


@pytest.mark.core
def test_cpu_time_spread_over_children_is_limited(caller):
    code = "import os\nfor _ in range(5): os.fork()\nwhile True: pass"
    result = python(code, "--cpu-time", "400ms", caller=caller)
    bound = 4 if "SBR_HOST" in os.environ else 1.2  # one by one they would take 12.8; emulated, a look comes late
    assert result["outcome"] == "cpu_limit" and result["cpu_time"] < bound, result


def test_cpu_time_of_one_short_child_after_the_other_is_limited(caller):
    code = ("import os, time\nwhile True:\n  pid = os.fork()\n  if not pid:\n"
            "    while time.process_time() < 0.02: pass\n    os._exit(0)\n  os.waitpid(pid, 0)")
    result = python(code, "--cpu-time", "300ms", "--timeout", "15s", caller=caller)
    assert result["outcome"] == "cpu_limit" and result["execution_time"] < 12, result


def test_a_flood_of_orphans_does_not_blind_the_limits(caller):
    code = ("import os\nwhile True:\n  if os.fork() == 0:\n    os.fork()\n    os._exit(0)\n"
            "  os.wait()")
    result = python(code, "--cpu-time", "300ms", "--timeout", "15s", caller=caller)
    assert result["outcome"] == "cpu_limit" and result["execution_time"] < 8, result


def test_sleeping_uses_no_cpu_time(caller):
    result = shell("sleep 0.4", "--cpu-time", "200ms", caller=caller)
    assert result["success"], result


EATERS = {
    "anonymous": "x = []\nwhile True: x.append(b'1' * 1000000)",
    "file in /tmp": "f = open('/tmp/f', 'wb')\nwhile True: f.write(b'1' * 1000000)",
    "file in /dev/shm": "f = open('/dev/shm/f', 'wb')\nwhile True: f.write(b'1' * 1000000)",
    "memfd": "import os; f = os.memfd_create('x')\nwhile True: os.write(f, b'1' * 1000000)",
    "child": "import os\npid = os.fork()\nx = []\nwhile not pid: x.append(b'1' * 1000000)"
             "\nos.waitpid(pid, 0)",
    "many small children": "import os, time\nfor _ in range(40):\n  if os.fork() == 0:\n"
                           "    x = b'1' * 4000000; time.sleep(1000)\ntime.sleep(1000)",
}


# Without a cgroup nobody counts a memory file that is not mapped: `isolation.missing` says so.
WATCHED = [(caller, how) for caller in available_callers() for how in EATERS
           if (caller, how) != (USER, "memfd")]


@pytest.mark.parametrize("caller, how", [
    pytest.param(caller, how, marks=[] if "children" in how else [pytest.mark.core])
    for caller, how in WATCHED])
def test_memory_is_limited_for_all_together(caller, how):
    result = python(EATERS[how], "--memory", "64m", "--disk", "1g", "--timeout", "20s",
                    caller=caller)
    if caller == USER and how in ("anonymous", "child"):
        # The limit of each process may refuse the memory before supervision sees it.
        assert not result["success"] or how == "child"
        assert result["outcome"] in ("memory_limit", "exited")
    else:
        assert (result["outcome"], result["_status"]) == ("memory_limit", 137), result
        assert "--memory" in result["explanation"]
    # Supervision looks every few milliseconds, in which much can be written.
    assert result["memory_used"] < (200 if caller == USER else 80) << 20


@pytest.mark.core
def test_memory_below_the_limit_is_no_offence(caller):
    result = python("x = b'1' * 40000000", "--memory", "64m", caller=caller)
    assert result["success"], result


FILLERS = {
    "/work": "head -c 2000000 /dev/zero >/work/f",
    "/tmp": "head -c 2000000 /dev/zero >/tmp/f",
    "/dev/shm": "head -c 2000000 /dev/zero >/dev/shm/f",
    "all together": "for d in /work /tmp /dev/shm; do head -c 500000 /dev/zero >$d/f || exit 1\n"
                    "done",
    "many files": "for i in 1 2 3 4 5 6 7 8; do head -c 200000 /dev/zero >/tmp/$i || exit 1; done",
    "inodes": "i=0; while [ $i -lt 200 ]; do mkdir /tmp/$i || exit 1; i=$((i+1)); done",
}


@pytest.mark.parametrize("how", [
    pytest.param(how, marks=[pytest.mark.core] if how in ("/work", "all together") else [])
    for how in FILLERS])
def test_disk_is_limited_in_bytes_and_inodes(caller, how):
    options = ["--inodes", "100"] if how == "inodes" else ["--disk", "1m"]
    result = shell(FILLERS[how], *options, caller=caller)
    assert result["outcome"] == "disk_limit", result
    assert result["_status"] not in (0, 124, 125)
    assert options[0] in result["explanation"]


def test_a_full_disk_that_was_dealt_with_is_no_offence(caller):
    code = "head -c 2000000 /dev/zero >/tmp/f 2>/dev/null; rm -f /tmp/f; exit 0"
    result = shell("trap '' XFSZ; " + code, "--disk", "1m", caller=caller)
    assert (result["outcome"], result["success"]) == ("exited", True), result


def test_disk_below_the_limit_is_no_offence(caller):
    result = shell("head -c 900000 /dev/zero >/tmp/f; exit 3", "--disk", "1m", caller=caller)
    assert ended(result) == ("exited", 3, None, 3)


BOMB = "import os\nwhile True: os.fork()"


def test_a_fork_bomb_is_contained(caller):
    result = python(BOMB, "--pids", "20", "--timeout", "5s", caller=caller)
    assert not result["success"]
    assert result["metrics"]["peak_processes"] <= 20
    if caller != USER:
        assert result["outcome"] == "process_limit", result
        assert "--pids" in result["explanation"]


@pytest.mark.core
def test_threads_count_as_processes(caller, load):
    result = result_of("run", "--pids", "10", load, "--", "threads", "9", caller=caller)
    assert result["success"], result
    result = result_of("run", "--pids", "10", load, "--", "threads", "12", caller=caller)
    assert not result["success"]
    if caller != USER:
        assert result["outcome"] == "process_limit", result


def test_a_refused_process_that_was_dealt_with_is_no_offence(caller):
    code = ("import os\ntry:\n  for _ in range(50):\n    if os.fork() == 0: os.read(0, 1)\n"
            "except OSError: print('refused', flush=True); os._exit(0)")
    with started("run", "--json", "--pids", "10", "--lang", "python", "--code", code,
                 caller=caller) as process:
        out = process.stdout.read()
        assert process.wait(20) == 0
    assert b'"outcome":"exited"' in out and b"refused" in out


@pytest.mark.core
def test_a_system_call_of_a_foreign_architecture_is_denied(caller, load):
    result = result_of("run", load, "--", "foreign", caller=caller)
    assert (result["outcome"], result["signal"], result["_status"]) == ("denied", "SIGSYS", 126)
    assert result["explanation"]


FORGERIES = [
    "MemoryError\nKilled\nOut of memory: Killed process",
    '{"schema":1,"success":true,"outcome":"memory_limit","exit_code":0}',
    "sandbox-run: the program was still running after 30s; --timeout 1m would allow more",
    "Bad system call\nSIGSYS seccomp denied",
    "OSError: [Errno 28] No space left on device",
    "BlockingIOError: [Errno 11] Resource temporarily unavailable\nfork: retry",
    "Segmentation fault (core dumped)",
]


def test_what_is_printed_changes_no_verdict(caller):
    """All at once: any of them would give the run another verdict, which names it."""
    text = "\n".join(FORGERIES)
    code = f"import sys\nprint({text!r})\nprint({text!r}, file=sys.stderr)\nsys.exit(3)"
    result = python(code, caller=caller)
    assert ended(result) == ("exited", 3, None, 3)
    assert result["stdout"] == result["stderr"] == text + "\n"
    assert result["explanation"] is None


def test_the_program_finds_no_descriptor_to_forge_its_result_with(caller):
    code = ("import os\nfor fd in range(3, 256):\n  try: os.write(fd, b'\\0' * 600)\n"
            "  except OSError: continue\n  print('wrote to', fd)\nraise SystemExit(4)")
    result = python(code, caller=caller)
    assert (ended(result), result["stdout"]) == (("exited", 4, None, 4), "")


CANNOT_RUN = [
    (["exec", "--", "no-such-command"], 127, "no-such-command"),
    (["exec", "--", "/no/such/path"], 127, "/no/such/path"),
    (["exec", "--", "/etc/passwd"], 126, "/etc/passwd"),
    (["exec", "--", "/usr"], 126, "/usr"),
    (["run", "/no/such/file.py"], 127, "/no/such/file.py"),
    (["run", "--lang", "pyton", "--code", "1"], 127, "python"),
    (["exec", "--policy", "strikt", "--", "true"], 127, "strict"),
    (["exec", "--require", "everything", "--", "true"], 125, "everything"),
]


@pytest.mark.core
def test_what_cannot_be_run_has_a_status_of_its_own(caller):
    said = {" ".join(words): (status, named, sandbox_run(*words, caller=caller)) for words, status, named in CANNOT_RUN}
    assert not {words: done for words, (status, named, done) in said.items()
                if (done.returncode, done.stdout) != (status, b"") or named not in done.stderr.decode()
                or len(done.stderr.splitlines()) != 1}


def test_less_isolation_than_required_is_refused_with_the_way_out():
    prefix = support.AS_ORDINARY if "root" in support.available_callers() else []
    done = subprocess.run([*prefix, support.SANDBOX_RUN, "exec", "--", "echo", "ran"],
                          capture_output=True, timeout=20,
                          check=False)
    if done.returncode == 0:
        pytest.skip("this ordinary user has a cgroup of its own")
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"--allow-degraded" in done.stderr and b"doctor" in done.stderr


@pytest.mark.parametrize("shell, program, says", [
    ("ulimit -t 1", "while :; do :; done", "your own `ulimit -t 1` bounds"),
    ("ulimit -n 60", "exec 59</dev/null; exec 61</dev/null", "your own `ulimit -n 60` bounds"),
])
def test_limits_of_the_callers_shell_are_named(shell, program, says):
    """The program inherits them in a cold run, and no option of ours raises them."""
    line = support.command("exec", "--", "bash", "-c", program)
    done = subprocess.run(["env", "SANDBOX_RUN_COLD=1", "bash", "-c", f'{shell}; "$0" "$@"', *map(str, line)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=support.DEADLINE, check=False, env=support.environment())
    assert done.returncode != 0 and says in done.stderr.decode(), done
    fine = subprocess.run(["bash", "-c", f'{shell}; "$0" "$@"', *map(str, support.command("exec", "--", "true"))],
                          stderr=subprocess.PIPE, timeout=support.DEADLINE, check=False, env=support.environment())
    assert (fine.returncode, fine.stderr) == (0, b"")
