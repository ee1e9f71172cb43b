"""Two pytests that share a collection (tests/shares.py): each test runs exactly once, and those that must be alone run
with nobody beside."""
import collections
import os
import pathlib
import re
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
DEADLINE = 120
WORKERS = 2

# Each test notes when it begins and ends.  The first of each worker waits for that of the other, so that none of them
# takes everything before the other has begun.
COMMON = """
import os, pathlib, time
import pytest

FOLDER = pathlib.Path({folder!r})


def note(word, name):
    with open(FOLDER / "notes", "a") as notes:
        notes.write(f"{{word}} {{os.getpid()}} {{name}}\\n")


def look_for_others():
    # Stays as long as it takes another worker to begin a test that it must not begin.
    before, until = (FOLDER / "notes").read_text(), time.monotonic() + 0.5
    while (FOLDER / "notes").read_text() == before and time.monotonic() < until:
        pass


@pytest.fixture(autouse=True)
def noted(request):
    note("begin", request.node.nodeid)
    deadline = time.monotonic() + {deadline}
    (FOLDER / f"worker-{{os.getpid()}}").touch()
    while len(list(FOLDER.glob("worker-*"))) < {workers}:
        assert time.monotonic() < deadline, "the other worker has not come"
    if request.node.get_closest_marker("alone"):
        look_for_others()
    yield
    note("end", request.node.nodeid)
"""

FILES = {
    "test_plain.py": "def test_a(): pass\ndef test_b(): pass\n",
    "test_more.py": "def test_c(): pass\ndef test_d(): assert False\n",
    "test_languages.py": "import pytest\n@pytest.mark.parametrize('language', ['x', 'y', 'z'])\n"
                         "@pytest.mark.parametrize('n', [1, 2])\ndef test_l(language, n): pass\n",
    "test_group_one.py": "import pytest\npytestmark = pytest.mark.group('together')\n"
                         "def test_g(): pass\ndef test_h(): pass\n",
    "test_group_two.py": "import pytest\n@pytest.mark.group('together', weight=5)\ndef test_i(): pass\n"
                         "def test_j(): pass\n@pytest.mark.skip\ndef test_k(): pass\n",
    "test_machine.py": "import pytest\n@pytest.mark.alone\ndef test_alone(): pass\n"
                       "def test_beside(): pass\n@pytest.mark.alone\ndef test_alone_too(): pass\n",
    "test_machine_too.py": "import pytest\npytestmark = pytest.mark.alone\ndef test_m(): pass\ndef test_n(): pass\n",
}
NOT_RUN = {"test_group_two.py::test_k"}  # skipped: reported, but its fixtures are not set up
ALONE = {"test_machine.py::test_alone", "test_machine.py::test_alone_too", "test_machine_too.py::test_m",
         "test_machine_too.py::test_n"}


def pytest_of(folder, *words, **env):
    """A pytest on the folder's tests, with the plugin."""
    line = [sys.executable, "-B", "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "shares",
            "--rootdir", folder, *words, folder]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SBR_")}
    return subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**kept, "PYTHONPATH": str(TESTS), **env})


def written(folder, workers):
    (folder / "conftest.py").write_text(COMMON.format(folder=str(folder), deadline=DEADLINE, workers=workers))
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "shares").mkdir()


def collected(folder):
    said, _ = pytest_of(folder, "--collect-only").communicate(timeout=DEADLINE)
    return set(re.findall(r"^test_\S+::\S+$", said, re.M))


class Shared:
    """What two workers did."""

    def __init__(self, folder):
        written(folder, WORKERS)
        self.collection = collected(folder)
        workers = [pytest_of(folder, SBR_SHARES=str(folder / "shares")) for _ in range(WORKERS)]
        self.said = [worker.communicate(timeout=DEADLINE)[0] for worker in workers]
        self.notes = [line.split(" ", 2) for line in (folder / "notes").read_text().splitlines()]

    def reported(self):
        """How often each test was reported, by both workers."""
        return collections.Counter(name for text in self.said
                                   for name in re.findall(r"^(?:PASSED|FAILED) (\S+::\S+)", text, re.M))

    def began(self):
        return [name for word, _, name in self.notes if word == "begin"]

    def worker_of(self):
        return {name: pid for word, pid, name in self.notes if word == "begin"}


@pytest.fixture(name="shared", scope="module")
def two_workers_share(tmp_path_factory):
    return Shared(tmp_path_factory.mktemp("shares"))


def test_the_collection_is_what_was_written(shared):
    assert len(shared.collection) == sum(text.count("def test_") for text in FILES.values()) + 5, shared.collection


def test_each_test_runs_exactly_once(shared):
    counts = collections.Counter(shared.began())
    assert dict(counts) == {name: 1 for name in shared.collection - NOT_RUN}, "\n".join(shared.said)


def test_each_test_is_reported_once(shared):
    assert dict(shared.reported()) == {name: 1 for name in shared.collection - NOT_RUN}, "\n".join(shared.said)
    assert sum(len(re.findall(r"\b1 skipped", text)) for text in shared.said) == len(NOT_RUN)


def test_both_workers_run_some(shared):
    assert len(set(shared.worker_of().values())) == WORKERS


def test_a_failure_is_the_status_of_its_worker_alone(shared):
    assert sorted("FAILED test_more.py::test_d" in text and "1 failed" in text for text in shared.said) == [False, True]


def test_what_must_be_alone_has_nobody_beside(shared):
    """Between its beginning and its end no other test begins or ends, and none has begun that has not ended."""
    running, wrong = set(), []
    for word, _, name in shared.notes:
        if word == "begin":
            wrong += [(name, sorted(running))] if running and ({name} | running) & ALONE else []
            running.add(name)
        else:
            running.discard(name)
    assert not wrong and not running


def test_what_belongs_together_runs_in_one_worker(shared):
    workers = shared.worker_of()
    groups = [[name for name in workers if name not in ALONE and part in name]
              for part in ("test_plain", "test_more", "-x]", "-y]", "-z]")]
    groups.append([name for name in workers if "test_group_one" in name or name.endswith("test_i")])
    assert [len(group) for group in groups] == [2, 2, 2, 2, 2, 3], workers
    assert not [group for group in groups if len({workers[name] for name in group}) != 1]


def test_what_must_be_alone_can_come_later(tmp_path):
    """It is left by those who run beside others, and they say so; a worker who would find nothing need not come."""
    written(tmp_path, 1)
    shares, ran = tmp_path / "shares", []
    for later in ({"SBR_LATER": "1"}, {}):
        said, _ = pytest_of(tmp_path, SBR_SHARES=str(shares), **later).communicate(timeout=DEADLINE)
        assert (shares / "later").exists() and (shares / "taken").exists(), said
        ran.append({line.split(" ", 2)[2] for line in (tmp_path / "notes").read_text().splitlines()})
        (tmp_path / "notes").unlink()
    assert ran == [collected(tmp_path) - NOT_RUN - ALONE, ALONE]
