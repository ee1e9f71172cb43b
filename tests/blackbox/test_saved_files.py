"""Files of the host that are written on behalf of a run: a link of the program, or of a project that was only cloned,
leads none of them to another file of the caller."""
import json
import os
import shutil
import subprocess

import pytest

import sessions
import support
from sessions import Session
from support import sandbox_run

SECRET = "the caller's own\n"
PLANT = "import os\nos.symlink({target!r}, '/data/{name}')"
# Exchanges the directory of the notebook for a link, and back, while the notebook is written.
SWAP = """import os, threading
def swap():
    while True:
        try:
            os.rename('/data/in', '/data/was'); os.symlink({outside!r}, '/data/in')
            os.unlink('/data/in'); os.rename('/data/was', '/data/in')
        except OSError:
            pass
if os.fork() == 0:
    os.setsid()
    swap()
"""


class Place:
    """A volume that the program writes to, and a file beside it that it must not reach."""

    def __init__(self, folder, caller):
        self.folder, self.caller = folder, caller
        self.state = sessions.own_state(folder, caller)
        self.outside = folder / "outside"
        self.volume, self.secret = folder / "volume", self.outside / "secret"
        for path in (self.volume, self.outside):
            path.mkdir()
        self.secret.write_text(SECRET)
        self.give()
        self.env = {"SANDBOX_RUN_STATE": str(self.state)}
        self.degraded = ["--allow-degraded"] if caller == support.Callers.USER else []

    def give(self):
        if self.folder.stat().st_uid:
            subprocess.run(["chown", "-R", str(support.ORDINARY_UID), self.folder], check=True)

    def run(self, *words, **kwargs):
        return sandbox_run(*words, caller=self.caller, env=self.env, **kwargs)

    def held(self):
        return self.secret.read_text() == SECRET and os.listdir(self.outside) == ["secret"]


@pytest.fixture
def place(folder, caller):
    return Place(folder, caller)


@pytest.fixture
def session(place):
    one = Session(place.state, "--volume", f"{place.volume}:/data:rw", *place.degraded, caller=place.caller)
    yield one
    one.close()


def test_a_session_leads_no_file_elsewhere(place, session):
    made = session.cell("import os\nopen('/work/new', 'w').write('the program\\'s')\n"
                        + f"os.symlink({str(place.secret)!r}, '/data/file')\n"
                        + f"os.symlink({str(place.outside)!r}, '/data/dir')\nos.mkfifo('/data/pipe')")
    assert made["success"], made
    for name in ("file", "dir/secret", "dir/new", "pipe", "plain"):
        for words in (("get", session.id, "new"), ("export", session.id)):
            done = session.run(*words, str(place.volume / name))
            assert done.returncode == 126 and b"rw volume" in done.stderr, (name, words, done)
    assert place.held() and not (place.volume / "plain").exists()
    # A link of the user's own, and a name above which there is one, are the user's to follow.
    (place.folder / "mine").symlink_to(place.outside)
    (place.folder / "also").symlink_to("outside/copy")
    place.give()
    for path in ("mine/copy", "also"):
        assert session.run("get", session.id, "new", str(place.folder / path)).returncode == 0
    assert (place.outside / "copy").read_text() == "the program's" and (place.folder / "also").is_symlink()


def test_another_session_and_a_workspace_see_the_links_of_the_first(place, session):
    session.cell(PLANT.format(target=str(place.secret), name="file"))
    other = Session(place.state, *place.degraded, caller=place.caller)
    other.cell("open('/work/new', 'w').write('1')")
    done = other.run("get", other.id, "new", str(place.volume / "file"))
    other.close()
    assert done.returncode == 126 and b"rw volume" in done.stderr, done
    assert place.run("run", "--workspace", "w", *place.degraded, "--lang", "bash", "--code", "echo 1 > x").returncode == 0
    for words in (("cp", "w:x", str(place.volume / "file")), ("export", "w", str(place.volume / "file"))):
        done = place.run("workspace", *words)
        assert done.returncode == 126 and b"rw volume" in done.stderr, (words, done)
    assert place.held()


def test_a_prompt_saves_nothing_there(place, session):
    session.cell(PLANT.format(target=str(place.secret), name="file"))
    done = place.run("session", "attach", session.id, stdin=f"1\n:save {place.volume}/file\n".encode())
    assert b"rw volume" in done.stderr + done.stdout and place.held(), done


def notebook(*sources):
    return json.dumps({"cells": [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [],
                                  "source": source} for source in sources],
                       "metadata": {"kernelspec": {"display_name": "it", "name": "python"}},
                       "nbformat": 4, "nbformat_minor": 2})


def test_a_notebook_in_its_own_volume_is_written_where_it_was(place):
    """The name is given back before the last look at the file, and leads elsewhere at every other moment."""
    (place.outside / "work.ipynb").write_text(text := notebook(SWAP.format(outside=str(place.outside)), "1 + 1"))
    place.secret.unlink()
    for _ in range(4):
        shutil.rmtree(place.volume)
        (place.volume / "in").mkdir(parents=True)
        (place.volume / "in/work.ipynb").write_text(text)
        place.give()
        done = place.run(place.volume / "in/work.ipynb", "--update", "--volume", f"{place.volume}:/data:rw", *place.degraded)
        assert (place.outside / "work.ipynb").read_text() == text, done
        assert os.listdir(place.outside) == ["work.ipynb"]
        where = [path for path in place.volume.rglob("work.ipynb") if not path.parent.is_symlink()]
        assert done.returncode == 0 and len(where) == 1 and where[0].read_text() != text, done


def test_a_notebook_that_became_a_link(place):
    text = notebook("import os\nos.rename('/data/work.ipynb', '/data/old')\n"
                    f"os.symlink({str(place.outside / 'work.ipynb')!r}, '/data/work.ipynb')")
    (place.volume / "work.ipynb").write_text(text)
    (place.outside / "work.ipynb").write_text(text)
    place.give()
    done = place.run(place.volume / "work.ipynb", "--update", "--volume", f"{place.volume}:/data:rw", *place.degraded)
    assert done.returncode == 125 and (place.outside / "work.ipynb").read_text() == text, done


FILES = {
    "diff": ("run", "--diff={}", "--lang", "bash", "--code", ":"),
    "svg": ("profile", "--repeat", "1", "--warm-up", "0", "--svg", "{}", "--lang", "bash", "--code", ":"),
    "stacks": ("profile", "--repeat", "1", "--warm-up", "0", "--functions", "--stacks", "{}", "--lang", "python", "--code",
               "x = 1"),
    "results": ("batch", "--results", "{}", "-"),
}


@pytest.mark.parametrize("kind", FILES)
def test_no_file_of_a_run_follows_a_link_of_its_project_or_volume(place, kind):
    (place.volume / "file").symlink_to(place.secret)
    (place.volume / "dir").symlink_to(place.outside)
    place.give()
    for given, said in ((("--project", str(place.volume)), b"is not followed"),
                        (("--volume", f"{place.volume}:/data:rw"), b"rw volume")):
        for name in ("file", "dir/secret", "dir/new"):
            words = [word.format(place.volume / name) for word in FILES[kind]]
            done = place.run(words[0], *given, *place.degraded, *words[1:], stdin=b"")
            assert done.returncode == 126 and said in done.stderr, (given, name, done)
    assert place.held()
    if kind == "diff":
        words = [word.format(place.volume / "plain") for word in FILES[kind]]
        done = place.run(words[0], "--project", str(place.volume), *place.degraded, *words[1:])
        assert done.returncode == 0 and (place.volume / "plain").is_file(), done


def test_outputs_and_artifacts_follow_no_link_of_the_project(place):
    (place.volume / "out").symlink_to(place.outside)
    (place.volume / "Makefile").write_text("all:\n\tmkdir -p build; echo 1 > build/new\n")
    place.give()
    for where, cwd in ((place.volume / "out", None), ("out", place.volume), ("out/deeper", place.volume)):
        done = place.run("run", "--project", str(place.volume), "--output", f"/tmp/new:{where}", *place.degraded, "--lang", "bash",
                         "--code", "echo 1 > /tmp/new", cwd=cwd)
        assert done.returncode == 125 and b"goes through a link of" in done.stderr, (where, done)
        done = place.run("build", "--artifacts", str(where), *place.degraded, ".", cwd=place.volume)
        assert done.returncode == 126 and b"is not followed" in done.stderr, (where, done)
    assert place.held()


def test_verify_writes_through_no_link_of_the_project(place):
    (place.volume / ".git").mkdir()
    (place.volume / "a.py").symlink_to(place.secret)
    (place.volume / "d").symlink_to(place.outside)
    place.give()
    for name in ("a.py", "d/a.py"):
        done = place.run("verify", "--lang", "python", "--code", "x = 1\n", "--yes", "--write", str(place.volume / name))
        assert done.returncode in (125, 126) and b"is not followed" in done.stderr and place.held(), (name, done)


def test_what_is_replaced_keeps_its_permissions_and_gains_none(place):
    path = place.folder / "kept"
    path.write_text("old")
    place.give()
    path.chmod(0o4710)
    done = place.run("run", f"--diff={path}", "--project", str(place.volume), *place.degraded, "--lang", "bash", "--code", ":>x")
    assert done.returncode == 0 and path.stat().st_mode & 0o7777 == 0o710, done
    assert b"x" in path.read_bytes() and sorted(os.listdir(place.folder)) == ["kept", "outside", "state", "volume"]
    os.chown(path, 12345, 12345) if place.caller == support.Callers.ROOT else None
    done = place.run("run", f"--diff={path}", "--project", str(place.volume), *place.degraded, "--lang", "bash", "--code", ":")
    assert done.returncode == 0 and (place.caller != support.Callers.ROOT or path.stat().st_uid == 12345)


def test_a_pipe_and_stdout_still_take_a_diff(place):
    words = ("run", "--project", str(place.volume), *place.degraded, "--lang", "bash", "--code", "echo 1 > x")
    done = place.run(*words[:1], "--diff=/dev/stdout", *words[1:])
    assert done.returncode == 0 and b"+1" in done.stdout, done
    assert place.run(*words[:1], "--diff=/dev/null", *words[1:]).returncode == 0
    done = place.run(*words[:1], f"--diff={place.outside}", *words[1:])
    assert done.returncode == 125 and b"is a directory" in done.stderr
