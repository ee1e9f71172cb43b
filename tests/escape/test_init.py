"""Init and other processes: threats 3, 10 and 11.  Pid 1 is nobody's to read, stop or imitate."""
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import support
from harness import (NO_ROOT, Attack, callers, proofs, root_only, run_attack, run_outside, running,
                     wait_until)

# Init cannot be dumped, and the program has no capability that would look past that: with root's
# own capabilities, in no user namespace of its own, it would have.
NO_LOOKING = ("identity", "user-namespace")

ATTACKS = [
    Attack("tracing init", ("ptrace", 1), ("seccomp", *NO_LOOKING), errors=("EPERM",)),
    Attack("reading the memory of init", ("memory-of", "r", 1), ("seccomp", *NO_LOOKING),
           errors=("EPERM",)),
    Attack("writing the memory of init", ("memory-of", "w", 1), ("seccomp", *NO_LOOKING),
           errors=("EPERM",)),
    Attack("taking the control socket of init", ("steal-descriptor", 1, 3),
           ("seccomp", *NO_LOOKING), errors=("EPERM",)),
    Attack("opening the memory of init", ("proc-of", 1, "mem"), NO_LOOKING),
    Attack("opening the memory of init for writing", ("proc-of", 1, "mem", "w"),
           (*NO_LOOKING, "landlock", "read-only-proc")),
    Attack("reading the environment of init", ("proc-of", 1, "environ"), NO_LOOKING),
    Attack("reading the address space of init", ("proc-of", 1, "maps"), NO_LOOKING),
    # Listing asks for the owner alone, and what cannot be dumped is root's.
    Attack("listing the descriptors of init", ("list", "/proc/1/fd"), ("user-namespace",),
           also=("identity",)),
    Attack("following the root of init", ("proc-of", 1, "root", "link"), NO_LOOKING),
    Attack("following the working directory of init", ("proc-of", 1, "cwd", "link"), NO_LOOKING),
    Attack("following the executable of init", ("proc-of", 1, "exe", "link"), NO_LOOKING),
    Attack("tracing a child", ("ptrace-child",), ("seccomp",), errors=("EPERM",)),
    Attack("limiting init", ("limit-other", 1), ("seccomp",), errors=("EPERM",)),
    Attack("signalling a process of the host", ("kill", "{victim}", 0),
           ("pid-namespace", "landlock", "user-namespace"), also=NO_ROOT),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


@callers
@pytest.mark.core
def test_init_survives_every_signal(scene, caller):
    answer = run_attack(scene, "signal-storm", "parent", caller=caller)
    assert answer.line == "GOT I am still here" and answer.outcome == "exited", answer


@root_only
def test_init_is_killed_by_a_signal_without_the_pid_namespace(scene):
    answer = run_attack(scene, "signal-storm", "parent",
                        without=("pid-namespace", "user-namespace"))
    assert answer.outcome == "internal_error", answer


@callers
@pytest.mark.parametrize("target", [-1, 0])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_signals_to_everyone_stay_inside(scene, target, number, caller):
    """The attacker may hit itself; the supervisor lives to tell."""
    answer = run_attack(scene, "signal-group", target, int(number), caller=caller,
                        options=("--timeout", "300ms", "--grace", "0"))
    assert answer.outcome in ("exited", "signaled", "timeout"), answer
    os.kill(scene.victim, 0)


def test_a_signal_to_the_group_hits_the_others_outside(scene):
    """The same attack as a plain process: whoever is in its group is hit."""
    neighbour = subprocess.Popen(["sleep", "1000"], process_group=0)
    try:
        assert run_outside(scene, "signal-group", 0, int(signal.SIGTERM),
                           process_group=neighbour.pid).got
        assert neighbour.wait(support.DEADLINE) == -signal.SIGTERM
    finally:
        if neighbour.poll() is None:
            neighbour.kill()
            neighbour.wait()


@callers
def test_the_supervisor_and_the_program_share_neither_session_nor_group(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", caller=caller) as run:
        run.read_line()
        program, init = run.find("attack"), run.find("sandbox-run-init")
        sessions = [os.getsid(pid) for pid in (run.process.pid, init, program)]
        groups = [os.getpgid(pid) for pid in (run.process.pid, init, program)]
    assert len(set(sessions)) == 3, sessions
    assert len(set(groups)) == 3, groups


@callers
def test_the_executable_of_init_cannot_be_overwritten(scene, caller):
    answer = run_attack(scene, "overwrite-executable", "/proc/1/exe", "x", 1, caller=caller)
    assert answer.error in ("EACCES", "EPERM", "ETXTBSY"), answer


@root_only
def test_the_executable_of_init_is_sealed_even_when_it_can_be_reached(scene):
    """Everything that keeps the program from /proc/1/exe is off: it still cannot be written."""
    without = (*NO_LOOKING, "landlock", "seccomp", "read-only-proc")
    assert run_attack(scene, "proc-of", 1, "exe", "r", without=without).got
    answer = run_attack(scene, "overwrite-executable", "/proc/1/exe", "x", 0, without=without)
    assert answer.error in ("ETXTBSY", "EPERM"), answer


def test_an_ordinary_executable_is_overwritten_by_the_same_attack(scene):
    victim = scene.room / "victim"
    shutil.copy("/bin/true", victim)
    assert run_outside(scene, "overwrite-executable", str(victim), "x", 5).got
    assert victim.read_bytes()[:1] == b"x"
    victim.unlink()


@callers
def test_orphans_are_reaped(caller):
    code = ("import os, time\n"
            "for _ in range(50):\n"
            "    if os.fork() == 0:\n"
            "        if os.fork() == 0: os._exit(0)\n"
            "        os._exit(0)\n"
            "    os.wait()\n"
            "def others():\n"
            "    return [pid for pid in os.listdir('/proc') if pid.isdigit() and int(pid) not in (1, os.getpid())]\n"
            "deadline = time.monotonic() + 5\n"
            "while (left := others()) and time.monotonic() < deadline: time.sleep(0.01)\n"
            "print(len(left))\n")
    assert support.python(code, caller=caller)["stdout"] == "0\n"


def in_all_processes(token):
    """Processes of the host whose command line holds the token."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in words:
            found.append(int(pid))
    return found


@callers
@pytest.mark.parametrize("form", ["running", "stopped"])
@pytest.mark.core
def test_a_daemon_does_not_survive_the_run(scene, form, caller):
    token = f"sandbox-run-escape-daemon-{os.getpid()}-{form}-{caller}"
    assert run_attack(scene, "daemon", token, form, caller=caller).got
    assert in_all_processes(token) == []


@root_only
def test_a_daemon_survives_without_the_pid_namespace(scene):
    token = f"sandbox-run-escape-daemon-{os.getpid()}"
    without = ("pid-namespace", "user-namespace", "memory-cgroup", "pids-cgroup", "cpu-accounting")
    try:
        assert run_attack(scene, "daemon", token, without=without).got
        assert in_all_processes(token), "the attack proves nothing"
    finally:
        for pid in in_all_processes(token):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not in_all_processes(token), "the daemon is gone")


@callers
def test_processes_that_hop_from_pid_to_pid_end_with_the_run(scene, caller):
    answer = run_attack(scene, "hop", caller=caller)
    assert answer.got and answer.outcome in ("exited", "process_limit"), answer


@callers
def test_a_timeout_ends_what_ignores_the_request_to_end(scene, caller):
    token = f"sandbox-run-escape-stubborn-{os.getpid()}-{caller}"
    code = ("import os, signal, sys, time\n"
            "for n in range(1, 32):\n"
            "    if n not in (9, 19): signal.signal(n, signal.SIG_IGN)\n"
            "if os.fork(): os.setsid() if os.getpid() != os.getsid(0) else None\n"
            "while True: time.sleep(1000)\n")
    result = support.result_of("exec", "--timeout", "300ms", "--grace", "100ms", "--",
                               "/usr/bin/python3", "-c", code, token, caller=caller)
    assert result["outcome"] == "timeout"
    assert result["metrics"]["wall_ms"] < 300 + 100 + 500
    assert in_all_processes(token) == []


@callers
@pytest.mark.core
def test_killing_the_supervisor_ends_everything_inside(scene, caller):
    token = f"sandbox-run-escape-orphan-{os.getpid()}-{caller}"
    with running(scene, "-c", f"echo up; exec -a {token} sleep 1000", program="/bin/bash",
                 caller=caller) as run:
        run.read_line()
        wait_until(lambda: in_all_processes(token), "the program runs")
        # Behind setpriv the supervisor is the same process: it executes the tool in its place.
        run.process.kill()
        run.process.wait()
        wait_until(lambda: not in_all_processes(token), "the program is gone")


# Each says what it could do to process 1; a raised nice value of init shows in /proc.
PACE = r"""
import os
ways = {
    "affinity": lambda: os.sched_setaffinity(1, {min(os.sched_getaffinity(0))}),
    "class": lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    "parameter": lambda: os.sched_setparam(1, os.sched_param(0)),
    "process": lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    "group": lambda: os.setpriority(os.PRIO_PGRP, 1, 19),
    "user": lambda: os.setpriority(os.PRIO_USER, 0, 19),
}
for name, way in ways.items():
    try:
        way()
        print(name)
    except PermissionError:
        pass
os.setpriority(os.PRIO_PROCESS, 0, 5)
os.sched_setaffinity(0, os.sched_getaffinity(0))
"""


@callers
def test_a_program_cannot_slow_init(caller):
    """Init is of the program's own user, and whoever slows it is watched and collected from later."""
    result = support.python(PACE, caller=caller)
    assert result["exit_code"] == 0 and result["stdout"] == "", result


@callers
def test_without_the_filter_it_could(caller):
    result = support.python(PACE, caller=caller, hooks=True, env={"SANDBOX_RUN_TEST_WITHOUT": "seccomp"})
    assert {"affinity", "class", "process", "user"} <= set(result["stdout"].split()), result
