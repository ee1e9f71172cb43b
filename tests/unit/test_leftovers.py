"""What a test leaves behind is found, and what belongs to somebody else on this machine is not."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import support  # noqa: E402

# A process with a name of ours whose parent is gone; it waits for the end of its stdin.
ORPHAN = """
import ctypes, os, signal, sys
prctl = ctypes.CDLL(None).prctl
parent = os.getpid()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
if os.fork():
    os._exit(0)
prctl(1, signal.SIGUSR1, 0, 0, 0)  # when the parent is gone
if os.getppid() == parent:
    signal.sigwait([signal.SIGUSR1])
os.setsid()
prctl(15, b"sandbox-run-x", 0, 0, 0)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def orphan(env):
    with subprocess.Popen([sys.executable, "-c", ORPHAN], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        pid = int(process.stdout.readline())
        support.STARTED.discard(process.pid)
        try:
            yield f"process {pid} sandbox-run-x"
        finally:
            os.kill(pid, signal.SIGKILL)


def test_an_orphan_of_ours_is_ours():
    with orphan(support.environment()) as name:
        assert name in support.leftovers() and support.is_ours(name)


def test_an_orphan_of_somebody_else_is_not():
    with orphan({"PATH": os.environ["PATH"]}) as name:
        assert name in support.leftovers() and not support.is_ours(name)


@pytest.mark.parametrize("started, ours", [(True, True), (False, False)])
def test_a_group_without_its_supervisor_is_ours_if_we_started_it(started, ours):
    with subprocess.Popen(["true"]) as process:
        process.wait()
    if not started:
        support.STARTED.discard(process.pid)
    assert support.is_ours(f"/sys/fs/cgroup/sandbox-run.{process.pid}.1") == ours
