"""Every input that was ever saved, through a plain build of its target.

A new crasher is copied into corpus/NAME/ under a name that says what it is about.
"""

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SBR_BUILD", HERE.parents[1] / "build")).resolve()

TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.c"))


@pytest.fixture(scope="session", autouse=True)
def build_replays():
    """Nobody but these tests needs the programs, so they are made here."""
    programs = [f"tests/fuzz/replay_{name}" for name in TARGETS]
    subprocess.run(["/usr/bin/ninja", "--quiet", "-C", BUILD, *programs], check=True, timeout=280)


@pytest.mark.parametrize("name", TARGETS)
def test_saved_inputs_are_handled(name):
    inputs = sorted(path for path in (HERE / "corpus" / name).iterdir() if not path.name.startswith("."))
    assert inputs, "the target has no corpus"
    done = subprocess.run([BUILD / f"tests/fuzz/replay_{name}", HERE / "corpus" / name], capture_output=True,
                          text=True, errors="replace", timeout=120, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
    begun = [line for line in done.stderr.splitlines() if line.startswith(str(HERE))]
    assert sorted(begun) == [str(path) for path in inputs]
