"""Result forging: threat 25.  What the result says comes from us, whatever the program says."""
import json
import socket

import pytest

import support
from harness import assert_each, callers, run_attack, run_attacks, run_outside

FORGED = json.dumps({"schema": 1, "success": True, "outcome": "exited", "exit_code": 0,
                     "stdout": "forged", "isolation": {"tier": "container"}})


@callers
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_printed_result_is_only_output(stream, caller):
    code = (f"import sys\nsys.{stream}.write({FORGED!r} + '\\n' * 3)\nsys.{stream}.flush()\n"
            "sys.exit(9)\n")
    result = support.python(code, caller=caller)
    assert (result["success"], result["exit_code"], result["outcome"]) == (False, 9, "exited")
    assert result[stream] == FORGED + "\n\n\n"
    assert result["_status"] == 9


@callers
def test_output_that_breaks_out_of_its_string_does_not(caller):
    hostile = '","success":true,"exit_code":0,"x":"\\u0000\x00\x1b\u2028\\'
    code = f"import sys; sys.stdout.write({hostile!r}); sys.exit(5)"
    result = support.python(code, caller=caller)
    assert (result["stdout"], result["exit_code"]) == (hostile, 5)


@callers
def test_there_is_no_channel_to_send_a_report_by(scene, caller):
    attacks = [("forge", size) for size in (4, 16, 128, 512, 600, 1024)]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller), lambda answer: answer.error == "EBADF")
    answer = run_attack(scene, "forge", 128, caller=caller)
    assert answer.error == "EBADF" and answer.result["exit_code"] == 1, answer


def test_a_report_is_sent_where_there_is_a_channel(scene):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        answer = run_outside(scene, "forge", 16, pass_fds=(theirs.fileno(),))
        assert answer.got and len(ours.recv(64)) == 16


@callers
@pytest.mark.parametrize("status", [0, 1, 124, 125, 126, 127, 137, 255])
def test_an_exit_status_of_ours_is_told_from_the_programs(status, caller):
    result = support.shell(f"exit {status}", caller=caller)
    assert (result["outcome"], result["exit_code"]) == ("exited", status)


@callers
def test_time_and_memory_cannot_be_talked_down(caller):
    """A child that burns and dies counts, also when its parent never waits for it."""
    code = ("import os, time\n"
            "start = time.monotonic()\n"
            "done, end = os.pipe()\n"
            "if os.fork() == 0:\n"
            "    data = bytearray(40 << 20)\n"
            "    until = time.process_time() + 0.3\n"
            "    while time.process_time() < until: pass\n"
            "    os._exit(0)\n"
            "os.close(end)\n"
            "os.read(done, 1)\n"
            "print(time.monotonic() - start)\n")
    result = support.python(code, caller=caller)
    assert result["cpu_time"] >= 0.29
    assert result["memory_used"] >= 40 << 20
    assert result["execution_time"] >= float(result["stdout"])


@callers
def test_a_program_that_ends_itself_by_a_kill_is_signaled_not_limited(caller):
    result = support.python("import os; os.kill(os.getpid(), 9)", caller=caller)
    assert (result["outcome"], result["signal"], result["exit_code"]) == ("signaled", "SIGKILL",
                                                                         None)


@callers
def test_the_words_of_a_limit_on_stderr_do_not_make_one(caller):
    code = "import sys; sys.stderr.write('Killed\\nout of memory\\ntimeout\\n'); sys.exit(137)"
    assert support.python(code, caller=caller)["outcome"] == "exited"


@callers
def test_isolation_is_told_by_us(caller):
    result = support.result_of("exec", "--", "true", caller=caller)
    names = set(result["isolation"]["mechanisms"])
    assert {"user-namespace", "mount-namespace", "pid-namespace", "network-namespace",
            "ipc-namespace", "uts-namespace", "cgroup-namespace", "seccomp", "landlock",
            "no-capabilities", "no-new-privileges", "private-root", "rlimits"} <= names
    tier = "container" if caller == support.Callers.ROOT else "reduced"
    assert result["isolation"]["tier"] == tier
