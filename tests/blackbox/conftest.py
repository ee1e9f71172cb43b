"""Fixtures of the black-box tests.  Each test runs as root and as an ordinary user where it can."""
import os
import pathlib
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import support  # noqa: E402
from network_lab import lab, network  # noqa: E402,F401
from waiting import wait_until  # noqa: E402

# Large packages that a test of every change does not need: make check-engines, check-images and check-suites.
LONG = {
    "test_backend_engines.py": os.environ.get("SBR_ENGINES"),
    "test_image_ready.py": os.environ.get("SBR_IMAGES"),
    "test_reference_page.py": os.environ.get("SBR_BROWSER"),
}
collect_ignore = [name for name, wanted in LONG.items() if not wanted]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


@pytest.fixture(params=support.available_callers())
def caller(request):
    return request.param


@pytest.fixture(name="any_caller", scope="session")
def one_caller_is_enough():
    """For what does not depend on who calls: root, where there is one."""
    return os.environ.get("SBR_CALLER") or support.available_callers()[0]


@pytest.fixture
def root():
    """For what only the limits of a cgroup can tell exactly."""
    if support.Callers.ROOT not in support.available_callers():
        pytest.skip("needs root")
    return support.Callers.ROOT


def _public_folder():
    """Like tmp_path, but open to the ordinary user, and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="sbr-test-") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


folder = pytest.fixture(_public_folder)
session_folder = pytest.fixture(_public_folder, scope="session")


@pytest.fixture(scope="session")
def load(session_folder):
    """A static program whose use of the machine is known: programs/load.c."""
    return support.compile_c(PROGRAMS / "load.c", session_folder / "load", "-Wall", "-Werror")


_before = set()  # what the test before this one left of the machine's cgroups and processes, which is not this one's


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request):
    """Asked by intersection: what others start and end meanwhile is not ours.  The machine is looked at once for each
    test: what was there at the end of the last one is what was there before this one."""
    global _before  # pylint: disable=global-statement
    if "leaks" in request.node.name:
        yield
        return
    known = support.pids()
    if not _before:
        _before = support.leftovers(known)
    yield
    found = support.leftovers(known)
    left, _before = found - _before, found

    def gone():
        if any(map(support.is_ours, left)):
            left.intersection_update(support.leftovers(known))
        return not any(map(support.is_ours, left))

    assert wait_until(gone, 20), f"left behind: {sorted(left)}"
