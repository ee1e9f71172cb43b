"""A short soak; `make soak` is the long one."""
import os
import pathlib
import tempfile

import pytest

import engine as engines
import soak


@pytest.mark.parametrize("caller", engines.callers())
def test_five_hundred_mixed_runs_with_kills_and_two_crashes(caller):
    with tempfile.TemporaryDirectory(prefix="sbr-soak-") as folder:
        os.chmod(folder, 0o755)
        print(soak.soak(pathlib.Path(folder), caller, runs=500, segments=6, kills=2))
