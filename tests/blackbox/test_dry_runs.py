"""Runs over a project of the user's: a git checkout is not harmed by what is left out or put there, nothing is thrown
away in silence, and a person at a terminal decides at the end what becomes of the changes."""
import os
import subprocess

import pytest

import support
import trees
from screen import shown
from support import sandbox_run
from test_project import GIT, INSIDE

SECRET = "TOKEN=very-secret\n"
COMMIT = "echo more >> a.txt; git add -A; git commit -qm inside; git status --porcelain"


def git(place, *words, caller, check=True):
    """What git outside says, as the project's owner, who may look as often as he likes."""
    prefix = support.AS_ORDINARY if caller == support.Callers.USER and os.geteuid() == 0 else ()
    env = {**support.environment(), **GIT, "GIT_OPTIONAL_LOCKS": "1"}
    done = subprocess.run([*prefix, "git", "-C", place, *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout


@pytest.fixture(name="checkout")
def one_checkout(any_caller):
    """A commit with a secret in it, and another one beside it."""
    with trees.place_of(any_caller) as place:
        project = place / "project"
        project.mkdir()
        (project / "a.txt").write_text("text\n")
        (project / ".env").write_text(SECRET)
        trees.give(place, any_caller)
        git(project, "init", "-q", ".", caller=any_caller)
        git(project, "add", "-f", ".", caller=any_caller)
        git(project, "commit", "-qm", "one", caller=any_caller)
        (project / ".env.local").write_text(SECRET)
        (place / "work.py").write_text(f"import subprocess\nsubprocess.run({COMMIT!r}, shell=True, check=True)\n")
        trees.give(place, any_caller)
        yield project


def run(checkout, *words, caller):
    env = {"SANDBOX_RUN_STATE": str(checkout.parent / "state")}
    return sandbox_run(*words, caller=caller, env=env, cwd=checkout)


def the_id(done):
    return done.stderr.split(b"kept as ")[1][:12].decode()


@pytest.mark.container
def test_a_commit_inside_has_neither_the_secrets_nor_the_program(any_caller, checkout):
    done = run(checkout, "--project", ".", "--keep", *INSIDE, "../work.py", caller=any_caller)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr  # nothing is left uncommitted
    applied = run(checkout, "apply", the_id(done), "--yes", caller=any_caller)
    assert applied.returncode == 0, applied.stderr
    assert git(checkout, "show", "--format=%s", "--name-status", "HEAD", caller=any_caller) == "inside\n\nM\ta.txt\n"
    assert (checkout / ".env").read_text() == (checkout / ".env.local").read_text() == SECRET
    # The index outside knows nothing of what was done to it inside.
    assert git(checkout, "ls-files", "-v", caller=any_caller) == "H .env\nH a.txt\n"
    git(checkout, "fsck", "--strict", caller=any_caller)
    (checkout / ".env").write_text("TOKEN=changed\n")
    assert git(checkout, "status", "--porcelain", caller=any_caller) == " M .env\n?? .env.local\n"
    git(checkout, "stash", "-q", caller=any_caller)
    assert (checkout / ".env").read_text() == SECRET


@pytest.mark.container
def test_a_look_by_git_is_neither_a_change_nor_a_conflict(any_caller, checkout):
    times = iter((1_600_000_000, 1_600_000_001))

    def look():
        os.utime(checkout / "a.txt", (next(times),) * 2)  # git compares whole seconds, and writes its index anew
        git(checkout, "status", caller=any_caller)

    before = (checkout / ".git/index").read_bytes()
    looked = run(checkout, "exec", "--project", ".", "--diff", *INSIDE, "--", "git", "status", caller=any_caller)
    assert b"sandbox-run: no changes" in looked.stderr, looked.stderr
    done = run(checkout, "--project", ".", "--keep", *INSIDE, "../work.py", caller=any_caller)
    look()
    assert (checkout / ".git/index").read_bytes() != before
    assert run(checkout, "apply", the_id(done), "--yes", caller=any_caller).returncode == 0
    look()
    undone = run(checkout, "undo", the_id(done), "--yes", caller=any_caller)
    assert undone.returncode == 0, undone.stderr
    assert git(checkout, "log", "--format=%s", caller=any_caller) == "one\n"
    assert git(checkout, "status", "--porcelain", caller=any_caller) == "?? .env.local\n"


@pytest.mark.container
def test_what_really_changed_in_the_index_is_a_conflict(any_caller, checkout):
    done = run(checkout, "--project", ".", "--keep", *INSIDE, "../work.py", caller=any_caller)
    (checkout / "b.txt").write_text("b\n")
    git(checkout, "add", "b.txt", caller=any_caller)
    refused = run(checkout, "apply", the_id(done), "--yes", caller=any_caller)
    assert refused.returncode == 126 and b"conflict: .git/index" in refused.stderr


@pytest.mark.container
def test_lists_begin_with_the_users_own_files(any_caller, checkout):
    done = run(checkout, "--project", ".", "--keep", *INSIDE, "../work.py", caller=any_caller)
    listed = run(checkout, "changes", "show", the_id(done), caller=any_caller).stdout.decode().splitlines()
    assert listed[2].startswith("modified  a.txt") and listed[3].startswith("modified  .git  "), listed
    assert "objects" not in run(checkout, "changes", "diff", the_id(done), caller=any_caller).stdout.decode()


@pytest.mark.container
def test_the_projects_file_of_the_same_name_is_there(any_caller, checkout):
    (checkout / "work.py").write_text("the project's\n")
    (checkout.parent / "work.py").write_text("print(open('work.py').read())")
    done = run(checkout, "--project", ".", "../work.py", caller=any_caller)
    assert (done.returncode, done.stdout) == (0, b"the project's\n\n"), done.stderr
    assert b"the project has a 'work.py' of its own" in done.stderr
    refused = run(checkout, "--project", ".", "--file", "../work.py", "-l", "python", "-c", "1", caller=any_caller)
    assert refused.returncode == 125 and b"would hide the project's 'work.py'" in refused.stderr


def test_what_nobody_keeps_is_said_in_one_line(any_caller, checkout):
    done = run(checkout, "--project", ".", "-l", "sh", "-c", "echo 12345 > new; rm a.txt", caller=any_caller)
    assert b"not kept: would delete 1 file, 5 bytes; create 1, 6 bytes" in done.stderr, done.stderr
    assert done.stderr.count(b"\n") == 2, done.stderr  # what is left out, and this
    for words in (("-c", "cat a.txt"), ("-c", "echo 1 > new", "--quiet"), ("-c", "echo 1 > new", "--json")):
        quiet = run(checkout, "--project", ".", "-l", "sh", *words, caller=any_caller)
        assert b"not kept" not in quiet.stderr
    assert not (checkout / "new").exists() and (checkout / "a.txt").exists()


QUESTION = "apply, diff, pick, keep or drop?"


@pytest.mark.parametrize("answer, stays, kept", [("apply", "1\n2\n", True), ("drop", "text\n", False),
                                                 ("", "text\n", True), ("keep", "text\n", True)])
def test_at_a_terminal_a_dry_run_ends_with_a_question(any_caller, checkout, answer, stays, kept):
    env = {"SANDBOX_RUN_STATE": str(checkout.parent / "state")}
    with shown("--project", str(checkout), "-l", "sh", "-c", "printf '1\\n2\\n' > a.txt; exit 3", caller=any_caller,
               env=env) as screen:
        screen.wait(QUESTION)
        screen.type("what\n")
        screen.wait("answer with one of these words")
        screen.type("d\n")
        screen.wait("+2")
        screen.type(f"{answer}\n")
        assert screen.end() == 3  # the program's own
    assert (checkout / "a.txt").read_text() == stays
    assert (b"modify" in run(checkout, "changes", caller=any_caller).stdout) == (kept and answer != "apply")


def test_some_files_can_be_picked_and_ctrl_c_keeps(any_caller, checkout):
    env = {"SANDBOX_RUN_STATE": str(checkout.parent / "state")}
    with shown("agent", "--project", str(checkout), "--", "sh", "-c", "echo 1 > b.txt; echo 2 > c.txt",
               caller=any_caller, env=env) as screen:
        screen.wait(QUESTION)
        screen.type("pick\n")
        screen.wait("which?")
        screen.type("2\n")
        assert screen.end() == 0
    assert not (checkout / "b.txt").exists() and (checkout / "c.txt").read_text() == "2\n"
    with shown("agent", "--project", str(checkout), "--", "sh", "-c", "echo 1 > b.txt", caller=any_caller,
               env=env) as screen:
        screen.wait(QUESTION)
        screen.type("\x03")
        assert screen.end() == -2
    assert b"would create 1 file" in run(checkout, "changes", caller=any_caller).stdout


def test_an_agent_without_changes_keeps_nothing(any_caller, checkout):
    done = run(checkout, "agent", "--project", ".", "--", "true", caller=any_caller)
    assert done.returncode == 0 and b"kept as" not in done.stderr and b"it changed nothing" in done.stderr
    assert run(checkout, "changes", caller=any_caller).stdout == b""
