"""Set-up that fails at step n, for every n: the program did not run, and nothing is left.

Part 8 of the contract: a protection that cannot be set up stops the run.
"""
import os
import pathlib
import re

import pytest

import support
from harness import callers, json_error

SOURCES = support.REPO / "src/confine"
STEP_NAMES = {symbol: name for path in SOURCES.glob("*.c") for symbol, name in re.findall(
    r'struct confiner (\w+) = \{\s*"([\w-]+)"', path.read_text(encoding="utf-8"))}
# As the table of confine.c has them for a run: a step that is added there is tried here.
STEPS = [STEP_NAMES[symbol] for symbol in re.findall(
    r"^\s*\{ &(\w+),\s+RUN\b", (SOURCES / "confine.c").read_text(encoding="utf-8"), re.MULTILINE)]


def stages(step):
    """Where the error may come from.  An init that ends before its ids are mapped is found out by
    whoever maps them, or tells itself, whichever comes first."""
    return (step, "ids") if step == STEPS[0] or step == "namespaces" else (step,)


def test_the_table_of_steps_was_found():
    assert {"namespaces", "mounts", "cgroup", "program", "rlimits", "identity", "no-new-privs",
            "landlock", "seccomp"} <= set(STEPS)
    assert STEPS[-2:] == ["seccomp", "open-files"], "the filter forbids what the others need"


@callers
@pytest.mark.parametrize("step", STEPS)
def test_a_failed_step_is_an_error_of_ours_and_the_program_does_not_run(step, caller):
    """Its effect would be seen on its stdout, and as an exit status of its own.  Mounts are looked at here, processes
    and control groups after every test."""
    before = pathlib.Path("/proc/self/mountinfo").read_text()
    result = support.result_of("run", "--lang", "python", "--code", "print('ran'); raise SystemExit(42)",
                               caller=caller, hooks=True, env={"SANDBOX_RUN_TEST_FAIL": step})
    assert result["_status"] == 125
    assert (result["success"], result["outcome"]) == (False, "internal_error")
    assert json_error(result)["stage"] in stages(step)
    if json_error(result)["stage"] == step:
        assert json_error(result)["message"] == "failed because a test asked for it"
    assert "stdout" not in result and result["_stderr"] == b""
    assert pathlib.Path("/proc/self/mountinfo").read_text() == before


@callers
@pytest.mark.parametrize("step", [STEPS[0], "program", STEPS[-1]])
def test_a_failed_step_is_told_in_one_sentence(scene, step, caller):
    """The first one, the last, and one between them; with a volume."""
    done = support.sandbox_run("exec", "--volume", f"{scene.tools}:/attacks", "--", "sh", "-c",
                               "echo ran; exit 42", caller=caller, hooks=True,
                               env={"SANDBOX_RUN_TEST_FAIL": step})
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 125
    assert done.stdout == b"", "the program ran"
    assert len(lines) == 1 and any(f"{stage}: " in lines[0] for stage in stages(step)), lines


@callers
def test_the_program_runs_when_no_step_fails(caller):
    done = support.sandbox_run("exec", "--", "sh", "-c", "echo ran; exit 42", caller=caller,
                               hooks=True)
    assert (done.returncode, done.stdout) == (42, b"ran\n")


@callers
def test_a_release_build_knows_no_such_switch(caller):
    env = {"SANDBOX_RUN_TEST_FAIL": "seccomp", "SANDBOX_RUN_TEST_WITHOUT": ",".join(STEPS)}
    result = support.result_of("exec", "--", "grep", "-E", "^(Seccomp|NoNewPrivs):",
                               "/proc/self/status", caller=caller, env=env)
    assert result["stdout"].split() == ["NoNewPrivs:", "1", "Seccomp:", "2"]


def test_the_release_build_holds_no_word_of_the_switches():
    image = support.SANDBOX_RUN.read_bytes()
    assert b"SANDBOX_RUN_TEST" not in image
    assert b"SANDBOX_RUN_TEST" in support.SANDBOX_RUN_HOOKS.read_bytes()


@callers
def test_an_ordinary_user_without_control_groups_is_refused_unless_it_is_said(caller):
    if caller == support.Callers.ROOT:
        result = support.result_of("exec", "--", "true", caller=caller)
        assert result["isolation"] == {**result["isolation"], "tier": "container", "missing": []}
        return
    line = support.command("exec", "--json", "--", "echo", "ran", caller=caller)
    line.remove("--allow-degraded")
    done = support.subprocess.run(line, stdout=support.subprocess.PIPE, check=False,
                                  stderr=support.subprocess.PIPE, timeout=support.DEADLINE)
    if os.access("/sys/fs/cgroup/cgroup.procs", os.W_OK):
        pytest.skip("this user has a control group")
    assert done.returncode == 125 and b"ran" not in done.stdout
    assert b"missing:" in done.stdout and b"--allow-degraded" in done.stdout
