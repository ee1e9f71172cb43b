"""Processes of ours are ended at some of their steps and at random; `make soak` has each step and more kills."""
import pathlib
import tempfile

import pytest

import engine as engines
import faults
import service_faults
import strikes
import support
import work_faults

pytestmark = pytest.mark.skipif(not engines.callers() or support.available_callers()[0] not in engines.callers(),
                                reason="needs an engine of the user who runs the tests")
KILLS = 25
STRIDES = {"outputs": 2, "keptoutput": 2, "audited": 3, "sessionmade": 2}  # what takes long is ended more seldom


@pytest.mark.parametrize("what, how, name, stride", [
    ("client", "kill", "command", 1),
    ("client", "kill", "compiled", 5),
    ("client", "term", "compiled", 12),
    ("client", "freeze", "tree", 6),
    ("engine", "kill", "compiled", 4),
    ("engine", "freeze", "command", 6),
    ("engine", "term", "compiled", 40),
])
def test_a_process_that_ends_at_any_step_harms_nobody(what, how, name, stride):
    with tempfile.TemporaryDirectory(prefix="sbr-faults-") as folder:
        assert not faults.each_step(pathlib.Path(folder), what, how, name, stride)


def test_processes_that_end_at_random_under_load_lose_no_answer():
    with tempfile.TemporaryDirectory(prefix="sbr-faults-") as folder:
        chaos = faults.Chaos(pathlib.Path(folder), 7)
        wrong = chaos.run(KILLS)
        assert not wrong, (wrong, chaos.summary())


@pytest.mark.skipif(not strikes.have(), reason="needs strace")
@pytest.mark.parametrize("name, only", [
    ("workspace", "uid_map"),  # a helper that holds the locks starts then
    ("outputs", "ftruncate|linkat|renameat"),
    ("workspaceexported", "clone3|fsync"),
    ("keptoutput", "mkdirat|stdout|stderr"),
    ("batch", "results.jsonl|pwrite|fsync"),
    ("audited", "audit"),
    ("token", "json|fsync|linkat"),
    ("sessionmade", "connect|clone|sendmsg"),
])
def test_a_command_that_is_killed_leaves_all_or_nothing(tmp_path, name, only):
    wrong, ended = work_faults.each_call(tmp_path, name, only=only, stride=STRIDES.get(name, 1))
    assert ended and not wrong


@pytest.mark.skipif(not strikes.have(), reason="needs strace")
@pytest.mark.parametrize("name, stride", [
    ("supervisor-exec", 25), ("supervisor-fork", 25), ("init-fork", 50), ("kernel-exec", 50),
    ("gateway-run", 2), ("gateway-session", 4), ("front-batch", 3), ("gateway-async", 6), ("gateway-workspace", 8), ("front-mcp", 8),
])
def test_a_service_that_is_killed_answers_or_says_so(tmp_path, name, stride):
    wrong, ended = service_faults.each_step(tmp_path, name, stride)
    assert ended and not wrong
