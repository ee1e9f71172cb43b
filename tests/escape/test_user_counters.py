"""Counters of the kernel that are the caller's, and that a program inside counts to: it leaves enough of them."""
import contextlib
import subprocess
import sys

import pytest

import support
from harness import callers, root_only
from support import Callers

QUEUES = 16
OWN_FILES = 1024  # what most hosts let a process have, and the default of --open-files
# More than a program may have, and not all that the host has; the number, then they are held until stdin ends.
WATCH = ("import ctypes, sys\n"
         "libc, n = ctypes.CDLL(None), 0\n"
         "while n < 40 and libc.inotify_init1(0) >= 0: n += 1\n"
         "print(n, flush=True)\n"
         "sys.stdin.read()\n")
# Sends descriptors that nobody receives until no more can be sent.
SEND = ("import errno, socket, sys\n"
        "pairs, n = [], 0\n"
        "try:\n"
        "    while n < 20000:\n"
        "        pairs.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))\n"
        "        socket.send_fds(pairs[-1][0], [b'x'], [0] * 250)\n"
        "        n += 250\n"
        "except OSError as error: print(errno.errorcode[error.errno], flush=True)\n"
        "sys.stdin.read()\n")
SEND_ONE = ("import errno, resource, socket\n"
            f"resource.setrlimit(resource.RLIMIT_NOFILE, ({OWN_FILES}, resource.getrlimit(7)[1]))\n"
            "one, other = socket.socketpair()\n"
            "try: socket.send_fds(one, [b'x'], [0]); print('sent')\n"
            "except OSError as error: print(errno.errorcode[error.errno])\n")


@contextlib.contextmanager
def holding(code, caller, hooks=False, env=None):
    """A run that has said its first line and waits."""
    line = support.command("run", "--quiet", "--lang", "python", "--code", code, caller=caller, hooks=hooks)
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=support.surroundings(caller, env)) as run:
        try:
            yield run.stdout.readline().strip()
        finally:
            run.stdin.close()


def on_the_host(code, caller):
    prefix = support.AS_ORDINARY if caller == Callers.USER and Callers.ROOT in support.available_callers() else ()
    done = subprocess.run([*prefix, sys.executable, "-c", code], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, timeout=support.DEADLINE, check=True)
    return done.stdout.strip()


@callers
@pytest.mark.core
def test_queues_of_inotify_are_left_to_the_caller(caller):
    with holding(WATCH, caller) as taken:
        assert int(taken) == QUEUES and int(on_the_host(WATCH, caller)) > 0


@root_only
def test_a_program_takes_more_of_them_without_the_bound():
    env = {"SANDBOX_RUN_TEST_WITHOUT": "no-user-namespaces"}
    with holding(WATCH, Callers.ROOT, hooks=True, env=env) as taken:
        assert int(taken) > QUEUES


@callers
@pytest.mark.parametrize("policy", ["default", "strict"])
@pytest.mark.core
def test_runs_start_while_a_program_keeps_descriptors_on_their_way(policy, caller):
    with holding(SEND, caller) as stopped:
        other = on_the_host(SEND_ONE, caller)
        result = support.shell("echo on", "--policy", policy, caller=caller,
                               prefix=("prlimit", f"--nofile={OWN_FILES}:"))
    assert result.get("stdout") == "on\n", result
    # The program counts to the caller, unless that is root, whose runs have ids of their own.
    assert (stopped, other) == ("ETOOMANYREFS", "sent" if caller == Callers.ROOT else "ETOOMANYREFS")
