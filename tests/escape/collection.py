"""Trees that programs leave for the supervisor to take out, by --output and --diff."""
import base64
import itertools
import os
import pathlib
import shutil
import tempfile

import pytest

import support
from stages import give

_numbers = itertools.count()

# Where the hostile trees are made: beside the program's own file.
THERE = {"bash": "mkdir t; cd t; ", "python": "import os\nos.mkdir('t')\nos.chdir('t')\n"}
FOR_ALL = "t/**:{out}"


class Place:
    """For one caller: a project, a directory for what comes out, and the state of his own."""

    def __init__(self, folder, caller):
        self.caller = caller
        self.folder = folder
        self.project, self.out, self.state = folder / "project", folder / "out", folder / "state"
        for directory in (folder, self.project, self.out, self.state):
            directory.mkdir(mode=0o755)
            give(directory, caller)
        self.state.chmod(0o700)

    def put(self, name, text="text\n"):
        path = self.project / name
        path.write_text(text)
        return give(path, self.caller)

    def run(self, lang, code, *options, **kwargs):
        env = {"SANDBOX_RUN_STATE": str(self.state), **kwargs.pop("env", {})}
        result = support.result_of("run", *options, "--lang", lang, "--code", code, caller=self.caller,
                                   env=env, **kwargs)
        assert "error" not in result, result["error"]
        return result

    def outputs(self, lang, code, *options, pattern=FOR_ALL, **kwargs):
        return self.run(lang, THERE[lang] + code, "--output", pattern.format(out=self.out), *options, **kwargs)

    def changes(self, lang, code, *options, **kwargs):
        return self.run(lang, code, "--project", self.project, "--diff", *options, **kwargs)

    def found(self):
        """Everything that came out, by its path."""
        return {os.fsencode(path.relative_to(self.out)): path for path in self.out.rglob("*")
                if not path.is_dir() or path.is_symlink()}

    def content(self):
        """All bytes that anything of this caller's holds now."""
        return b"\n".join(path.read_bytes() for root in (self.out, self.state) for path in root.rglob("*")
                          if path.is_file() and not path.is_symlink())

    def leavings(self):
        staging = self.state / "staging"
        return list(staging.iterdir()) if staging.exists() else []


@pytest.fixture
def place(room, caller):
    yield from _make_place(room / f"collection-{next(_numbers)}", caller)


@pytest.fixture
def place_in_memory(caller):
    """For very many names: a disk that others use as well would make minutes of them."""
    shared_memory = pathlib.Path("/dev/shm")
    folder = shared_memory if os.path.ismount(shared_memory) else None
    with tempfile.TemporaryDirectory(prefix="sandbox-run-escape.", dir=folder) as room:
        os.chmod(room, 0o755)
        yield from _make_place(pathlib.Path(room) / "collection", caller)


def _make_place(folder, caller):
    place = Place(folder, caller)
    yield place
    assert not place.leavings()
    for top, directories, _ in os.walk(folder):
        for name in directories:
            path = os.path.join(top, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder)


def by_path(result):
    return {path_of(file): file for file in result["files"]}


def path_of(entry):
    """As bytes, also of a name that is no text."""
    if "path_base64" in entry:
        return base64.b64decode(entry["path_base64"])
    return entry["path"].encode()


def skipped(result):
    return {path: file["skipped"] for path, file in by_path(result).items() if file["skipped"]}


# Nothing of it can be read by its owner.
LOCKED = ("mkdir -p d/deep; echo one > d/deep/file; echo two > file; echo three > d/file; "
          "chmod 0 file d/file d/deep/file d/deep d; ")

MANY = "import os\nos.mkdir('d')\nfor i in range({n}):\n    os.close(os.open(f'd/{{i}}', os.O_CREAT | os.O_WRONLY))"
