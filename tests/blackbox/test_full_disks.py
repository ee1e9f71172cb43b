"""A disk that is full: what was not saved is said once, in one sentence, and is no success."""
import contextlib
import json
import os
import subprocess

import pytest

from sessions import Session
from support import sandbox_run


@pytest.fixture
def disk(folder):
    """A small file system; only root can have it."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    path = folder / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=755", "tmpfs", path], check=True)
    yield path
    subprocess.run(["umount", path], check=True)


def fill(path):
    with open(path / "filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_kept_output_that_does_not_fit_is_not_called_whole(root, disk):
    env = {"SANDBOX_RUN_STATE": str(disk / "state")}
    words = ("run", "--keep-output", "--lang", "bash", "--code", "head -c 3000000 /dev/zero")
    done = sandbox_run(*words, caller=root, env=env)
    assert done.stderr.count(b"not kept in full") == 1 and b"all output is kept" not in done.stderr, done.stderr
    assert b"the beginning of the output is kept as" in done.stderr
    kept = json.loads(sandbox_run(*words[:2], "--json", *words[2:], caller=root, env=env).stdout)
    assert "not kept in full" in kept["explanation"]


def test_an_output_that_could_not_be_saved_is_a_failure(root, folder, disk):
    env = {"SANDBOX_RUN_STATE": str(folder / "state")}
    words = ("run", "--output", f"out/*:{disk}/o", "--lang", "bash", "--code",
             "mkdir out; echo 1 > out/a; head -c 900000 /dev/zero > out/b; echo 1 > out/c")
    done = sandbox_run(*words, caller=root, env=env)
    assert done.returncode == 126 and done.stderr.count(b"No space left on device") >= 1, done
    assert b"not all outputs were saved" in done.stderr and sorted(os.listdir(disk / "o")) == ["a", "c"]
    result = json.loads(sandbox_run("run", "--json", *words[1:], caller=root, env=env).stdout)
    assert not result["success"] and "not all outputs were saved" in result["explanation"]


def test_files_of_the_user_stay_as_they_were(root, folder, disk):
    (disk / "old").write_text("old")
    fill(disk)
    env = {"SANDBOX_RUN_STATE": str(folder / "state")}
    session = Session(folder / "state", caller=root)
    session.cell("open('big', 'w').write('x' * 300000)")
    for words in (("get", session.id, "big"), ("export", session.id)):
        done = session.run(*words, str(disk / "old"))
        assert done.returncode == 125 and b"No space left on device" in done.stderr, done
    session.close()
    done = sandbox_run("run", f"--diff={disk}/old", "--project", str(folder), "--lang", "bash", "--code", "seq 10000 > /work/x",
                       caller=root, env=env)
    assert done.returncode == 125 and b"No space left on device" in done.stderr, done
    assert (disk / "old").read_text() == "old" and sorted(os.listdir(disk)) == ["filler", "old"]


@pytest.mark.parametrize("kind", ["changes", "workspace"])
def test_a_full_state_keeps_nothing_and_says_so(root, folder, disk, kind):
    env = {"SANDBOX_RUN_STATE": str(disk / "state")}
    (folder / "tree").mkdir()
    given = ("--project", str(folder / "tree"), "--keep") if kind == "changes" else ("--workspace", "w")
    done = sandbox_run("run", *given, "--lang", "bash", "--code", "head -c 900000 /dev/urandom > /work/x", caller=root, env=env)
    assert done.returncode in (125, 126) and b"No space left on device" in done.stderr, done
