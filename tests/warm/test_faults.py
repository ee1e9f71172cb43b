"""Processes of ours are ended at some of their steps and at random; `make soak` has each step and more kills."""
import pathlib
import tempfile

import pytest

import engine as engines
import faults
import support

pytestmark = pytest.mark.skipif(not engines.callers() or support.available_callers()[0] not in engines.callers(),
                                reason="needs an engine of the user who runs the tests")
KILLS = 25


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
