"""sandbox-run-egress, which reads what hostile programs send: what it is from outside, and what it can still do."""
import os
import pathlib
import signal

import pytest

from harness import DEADLINE, callers, root_only, running, status_of, wait_until
from support import Callers

EGRESS = "sandbox-run-egress"
INIT = "sandbox-run-init"
FIRST_ID, FIXED_ID = 1900000000, 61183
NO_CAPABILITY = "0" * 16
WAY_OUT = ("--allow-host", "example.org:443")


def has(run, *names):
    try:
        return [run.find(name) for name in names]
    except AssertionError:
        return None


def find_egress(run):
    """The program does not wait for it."""
    wait_until(lambda: has(run, EGRESS), "it runs")
    return run.find(EGRESS)


def user_of_egress(run):
    """Once it is what it will be."""
    assert run.read_line() == "READY file", run.finish()
    pid = find_egress(run)
    wait_until(lambda: status_of(pid)["Seccomp"] == "2", "the filter holds")
    uid, = set(status_of(pid)["Uid"].split())
    return uid


def threads_of(pid):
    return [path.name for path in pathlib.Path(f"/proc/{pid}/task").iterdir()]


@callers
@pytest.mark.core
def test_every_thread_is_confined(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", options=WAY_OUT, caller=caller) as run:
        run.read_line()
        pid = find_egress(run)
        wait_until(lambda: status_of(pid)["Seccomp"] == "2", "the filter holds")
        for thread in threads_of(pid):
            status = status_of(f"{pid}/task/{thread}")
            assert (status["Seccomp"], status["NoNewPrivs"], status["CapEff"]) == ("2", "1", NO_CAPABILITY)
            if caller == Callers.ROOT:
                uid, = set(status["Uid"].split())
                assert int(uid) >= FIRST_ID and status["Groups"] == "", "a user whom nothing else is"
                assert uid not in status_of(run.find(INIT))["Uid"].split(), "nor the program"


@root_only
def test_two_of_them_are_two_users(scene):
    with running(scene, "hold", "file", "/tmp/x", options=WAY_OUT) as one, \
            running(scene, "hold", "file", "/tmp/x", options=WAY_OUT) as other:
        assert user_of_egress(one) != user_of_egress(other)


@root_only
def test_where_the_ids_are_used_up_it_still_is_nobody_else(scene):
    with running(scene, "hold", "file", "/tmp/x", options=WAY_OUT, env={"SANDBOX_RUN_IDS": "1800000011:1"}) as run:
        assert user_of_egress(run) == str(FIXED_ID)
        assert "1800000011" in status_of(run.find(INIT))["Uid"].split()


@root_only
def test_without_its_confinement_it_is_root(scene):
    with running(scene, "hold", "file", "/tmp/x", options=WAY_OUT, without=("egress-confine",)) as run:
        run.read_line()
        status = status_of(find_egress(run))
        assert (status["Seccomp"], status["Uid"].split()[0]) == ("0", "0")


@callers
def test_it_has_only_what_it_needs_open(scene, caller):
    """Nothing of the caller's: no terminal, no file, no socket that was not made for this run."""
    with running(scene, "hold", "file", "/tmp/x", options=WAY_OUT, caller=caller) as run:
        run.read_line()
        pid = find_egress(run)
        links = [path.readlink() for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
        kinds = {str(link).partition(":")[0] for link in links}
    assert kinds <= {"socket", "anon_inode", "pipe"}


@pytest.mark.parametrize("how", ["ends", "is killed"])
@callers
def test_it_ends_with_the_run(scene, caller, how):
    with running(scene, "hold", "file", "/tmp/x", options=WAY_OUT, caller=caller) as run:
        run.read_line()
        pid = find_egress(run)
        if how == "is killed":
            run.process.kill()
        else:
            run.process.terminate()
        run.process.wait(timeout=DEADLINE)
        wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "it is gone")


@callers
def test_a_run_whose_way_out_dies_is_an_error_and_no_result(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", options=(*WAY_OUT, "--json", "--timeout", "10m"), caller=caller) as run:
        wait_until(lambda: has(run, EGRESS, "attack"), "the program runs")
        os.kill(run.find(EGRESS), signal.SIGKILL)
        run.process.wait(timeout=DEADLINE)  # not communicate(): the program ends with its stdin
        out, _ = run.process.communicate(timeout=DEADLINE)
    assert b'"stage":"egress"' in out and b'"success":false' in out
