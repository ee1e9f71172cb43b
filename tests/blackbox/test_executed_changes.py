"""What git, an editor or another tool executes does not become real unless it is named: by every way to apply."""
import json
import os
import pty
import subprocess

import pytest

import gateway
import mcp_client
import support
import trees
from sessions import Session
from support import sandbox_run

# What a program leaves behind: the first is ordinary, all others act as soon as the user does something.
PLANT = r"""echo 2 > plain
git config core.fsmonitor "touch $PWD/../ran; false" 2>/dev/null || printf '[core]\n\tfsmonitor = "touch RAN; false"\n' >> .git/config
mkdir -p .git/hooks .vscode sub/.GIT/hooks deep; printf '#!/bin/sh\n' | tee .git/hooks/pre-commit sub/.GIT/hooks/x .envrc deep/.npmrc .vscode/tasks.json >/dev/null
rm -f .gitattributes; chmod +x script; mv moved .mcp.json; ln -s ../plain .git/refs/link
echo new > both; chmod +x both; mv notes tool; chmod +x tool; echo new > made; chmod +x made
rm -rf gone; mkdir -p .git/objects/ab; echo data > .git/objects/ab/cd"""
MARKED = {".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", "sub/.GIT/hooks/x", ".envrc", "deep/.npmrc",
          ".gitattributes", "script", "both", "tool", ".mcp.json", ".git/refs/link", "gone/.npmrc"}


class Place:
    def __init__(self, folder, caller):
        self.folder, self.caller, self.tree = folder, caller, folder / "project"
        self.env = {"SANDBOX_RUN_STATE": str(folder / "state")}
        (self.tree / ".git/refs").mkdir(parents=True)
        (self.tree / ".git/objects").mkdir()
        (self.tree / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (self.tree / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
        (self.tree / "gone").mkdir()
        for name in ("plain", ".gitattributes", "script", "both", "notes", "moved", "gone/.npmrc", "gone/other"):
            (self.tree / name).write_text("1\n" if name == "plain" else f"1 of {name}\n")
        (folder / "state").mkdir(0o700)
        trees.give(folder, caller)
        self.degraded = ["--allow-degraded"] if caller == support.Callers.USER else []

    def run(self, *words, **kwargs):
        return sandbox_run(*words, caller=self.caller, env=self.env, **kwargs)

    def kept(self):
        done = self.run("run", "--project", str(self.tree), "--keep", "--json", *self.degraded, "--lang", "bash", "--code", PLANT)
        self.result = json.loads(done.stdout)
        assert self.result["changes_id"], done
        return self.result["changes_id"]

    def real(self):
        """Which of the marked changes became real."""
        found = {name for name in MARKED - {".gitattributes", ".git/config", "gone/.npmrc", "script", "both"}
                 if os.path.lexists(self.tree / name)}
        found |= {name for name in ("script", "both") if (self.tree / name).stat().st_mode & 0o111}
        found |= {name for name in (".gitattributes", "gone/.npmrc") if not (self.tree / name).exists()}
        return found | ({".git/config"} if "fsmonitor" in (self.tree / ".git/config").read_text() else set())

    def assert_ordinary(self):
        """All that nobody executes is real, and nothing else."""
        assert self.real() == set() and (self.tree / "both").read_text() == "1 of both\n"
        assert (self.tree / "notes").exists() and (self.tree / "made").stat().st_mode & 0o111
        assert (self.tree / "plain").read_text() == "2\n" and (self.tree / ".git/objects/ab/cd").exists()
        assert not (self.tree / "gone/other").exists()


@pytest.fixture
def place(folder, caller):
    return Place(folder, caller)


@pytest.fixture
def one(folder, any_caller):
    return Place(folder, any_caller)


def test_yes_leaves_out_what_others_execute(place):
    kept = place.kept()
    assert {change["path"] for change in place.result["changes"] if "executes" in change} == MARKED
    assert {change["path"]: change["mark"] for change in place.result["changes"] if "mark" in change} == {"made": "new executable file"}
    done = place.run("apply", kept, "--yes", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0 and {one["path"] for one in report["left_out"]} == MARKED, done
    assert {one["executes"] for one in report["left_out"]} >= {
        "git hook", "git configuration", "editor settings", "file that becomes executable"}
    place.assert_ordinary()
    # Those that are named follow, and a directory above them does not name them.
    assert place.run("apply", kept, "deep", "--yes").returncode == 0 and "deep/.npmrc" not in place.real()
    done = place.run("apply", kept, "--yes", "--also", ".vscode", "--also", "deep/.npmrc")
    assert done.returncode == 0 and place.real() == {".vscode/tasks.json", "deep/.npmrc"}, done
    assert b"git hook" in done.stderr and b"left out" in done.stderr
    assert place.run("apply", kept, ".git/hooks/pre-commit", "--yes").returncode == 0
    assert ".git/hooks/pre-commit" in place.real()
    assert place.run("apply", kept, "--yes", "--also", "script", "--also", "both", "tool").returncode == 0
    assert place.real() >= {"script", "both", "tool"} and (place.tree / "both").read_text() == "new\n"
    assert place.run("undo", kept, "--yes").returncode == 0 and place.real() == set()
    assert (place.tree / "plain").read_text() == "1\n" and (place.tree / "gone/other").exists()


def test_all_ways_to_look_mark_them(one):
    done = one.run("run", "--project", str(one.tree), "--keep", "--diff", "--text", *one.degraded, "--lang", "bash", "--code", PLANT)
    assert b"others execute what follows (git hook): .git/hooks/pre-commit" in done.stderr + done.stdout, done
    assert b"others execute .git/config (git configuration)" in done.stderr, done
    shown = one.run("changes", "show").stdout
    assert b"(git hook: others execute it)" in shown and shown.count(b"others execute it") == len(MARKED), shown
    assert b"made  4 bytes  (new executable file)" in shown, shown
    assert b"+#!/bin/sh" in one.run("changes", "diff").stdout


def answer(place, words, answers):
    """Runs at a terminal; returns what it showed."""
    main, side = pty.openpty()
    with subprocess.Popen(support.command(*words, caller=place.caller), stdin=side, stdout=side, stderr=side,
                          env=support.surroundings(place.caller, place.env)) as process:
        os.close(side)
        os.write(main, answers.encode())
        shown = b""
        while True:
            try:
                shown += os.read(main, 4096)
            except OSError:
                break
    os.close(main)
    return shown, process.returncode


def test_at_a_terminal_they_are_a_question_of_their_own(one):
    kept = one.kept()
    shown, status = answer(one, ("apply", kept), "y\nn\n")
    assert status == 0 and b"apply these too" in shown, shown
    one.assert_ordinary()
    shown, status = answer(one, ("apply", kept), "y\ny\n")
    assert status == 0 and one.real() == MARKED, shown


def test_a_session_leaves_them_out(one):
    session = Session(one.folder / "state", "--project", str(one.tree), *one.degraded, lang="bash", caller=one.caller)
    session.cell(PLANT)
    report = session.json("apply", session.id, "--yes")
    assert {left["path"] for left in report["left_out"]} == MARKED
    one.assert_ordinary()
    again = session.json("apply", session.id, ".vscode", "--yes")
    session.close()
    assert "left_out" not in again and one.real() == {".vscode/tasks.json"}, again


def test_an_agent_that_is_saved_and_applied_leaves_them_out(one):
    """By the library, which the command calls."""
    kept = one.kept()
    library = f"""import ctypes
lib = ctypes.CDLL({str(support.BUILD / "src/libsandboxrun.so")!r})
report = ctypes.c_char_p()
assert lib.sbr_changes_apply({kept.encode()!r}, None, None, ctypes.byref(report), None) == 0
print(report.value.decode())"""
    done = subprocess.run(["/usr/bin/python3", "-c", library], env=support.surroundings(one.caller, one.env), capture_output=True,
                          check=False)
    assert done.returncode == 0 and {left["path"] for left in json.loads(done.stdout)["left_out"]} == MARKED, done
    one.assert_ordinary()
