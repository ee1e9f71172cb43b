"""In a guest, last: what doctor prints as the fix is typed into a shell, and the next run in that
shell then reaches the tier that was promised."""
import json
import os
import subprocess

import pytest

import support

pytestmark = pytest.mark.core

EXPECT = json.loads(os.environ["SBR_EXPECT"])
DEADLINE = 180
RUN = "run --json --lang sh --code 'echo mended'"


def fixes():
    """Every line of every check that is not content, in order, once."""
    said = json.loads(support.sandbox_run("doctor", "--json").stdout)
    lines = [line for check in said["checks"] if check["state"] == "missing" for line in check["fix"]]
    return list(dict.fromkeys(lines))


def typed(lines):
    """What a shell says to lines that come one by one: a line that starts another shell hands it
    those that follow, as on a terminal."""
    text = "".join(f"{line}\n" for line in lines)
    return subprocess.run(["bash"], input=text.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=DEADLINE, check=False,
                          env={**os.environ, "SHELL": "/bin/bash"})


def test_remedies_are_true():
    lines = fixes()
    if not EXPECT["remedies"]:
        return  # what is missing here needs another kernel, or nothing is missing
    assert lines, "something is missing and doctor knows no line to get it"
    done = typed([*lines, f"echo; echo result; {support.SANDBOX_RUN} {RUN}"])
    said = done.stdout.decode()
    about = f"typed: {lines}\nstdout: {said}\nstderr: {done.stderr.decode()}"
    assert "\nresult\n" in said, about
    try:
        result = json.loads(said.rsplit("\nresult\n", 1)[1])
    except ValueError:
        pytest.fail(about)
    assert result.get("stdout") == "mended\n", about
    assert result["isolation"]["tier"] == EXPECT["remedies"], about
