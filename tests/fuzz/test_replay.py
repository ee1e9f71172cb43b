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
INPUTS = sorted(path for path in (HERE / "corpus").rglob("*") if path.is_file())


@pytest.fixture(scope="session", autouse=True)
def build_replays():
    """Nobody but these tests needs the programs, so they are made here."""
    programs = [f"tests/fuzz/replay_{name}" for name in TARGETS]
    subprocess.run(["/usr/bin/ninja", "--quiet", "-C", BUILD, *programs], check=True, timeout=280)


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_has_a_corpus(name):
    assert any(path.parent.name == name for path in INPUTS)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_saved_input_is_handled(path):
    program = BUILD / f"tests/fuzz/replay_{path.parent.name}"
    done = subprocess.run([program, path], capture_output=True, text=True, errors="replace",
                          timeout=60, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
