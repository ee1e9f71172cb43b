"""Fixtures of the tests of engines: one engine for a module's tests, or one for a single test."""
import collections
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import engine as engines  # noqa: E402
import support  # noqa: E402

PROGRAMS = HERE / "programs"
EACH = 5  # of the programs of a table


@pytest.fixture(scope="module")
def place():
    """A directory that every caller may enter, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="sbr-warm-") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@pytest.fixture(scope="module")
def layout():
    """Where the fields of the engine's messages are."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "layout"
        support.compile_c(PROGRAMS / "engine_layout.c", program, f"-I{support.REPO}/src", f"-I{support.REPO}/include",
                          "-D_GNU_SOURCE")
        return json.loads(subprocess.run([program], capture_output=True, check=True).stdout)


@pytest.fixture(scope="module", params=engines.somebody())
def engine(request, place):
    """Shared by the tests of a module, as its callers share it.  SERVE has the module's own options of it."""
    words = [*getattr(request.module, "SERVE", []), *os.environ.get("SBR_SERVE", "").split()]
    with engines.Engine(place / request.param, request.param, words) as found:
        yield found
        assert found.process.poll() is None, f"the engine died: {found.words()}"


@pytest.fixture(params=engines.somebody())
def own_engine(request, place):
    """For tests that harm it."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        os.chmod(folder, 0o755)
        with engines.Engine(pathlib.Path(folder) / "e", request.param) as found:
            yield found


def pytest_configure(config):
    config.addinivalue_line("markers", "core: belongs to the choice that every host runs")
    config.addinivalue_line("markers", "table: its programs are run by one caller, and each fifth by others")


def pytest_collection_modifyitems(items):
    """What a program does depends on its language.  That a caller's engine can run it is seen with a few of them."""
    seen = collections.Counter()

    def is_run(item):
        if not item.get_closest_marker("table") or item.callspec.params["engine"] == engines.somebody()[0]:
            return True
        seen[item.function] += 1
        return seen[item.function] % EACH == 1

    items[:] = filter(is_run, list(items))


@pytest.fixture
def folder(place):
    """A directory of the test's own that the caller may read."""
    for number in itertools.count():
        path = place / f"program{number}"
        if not path.exists():
            path.mkdir(mode=0o755)
            return path
