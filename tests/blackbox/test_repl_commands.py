"""The lines with a colon at a real terminal, of every kernel; with wrong words, without a cell, after the session's end."""
import re

import pytest

import machine_gives
import sessions
import toolchains
from screen import shown
from sessions import Session
from support import sandbox_run
from waiting import read_line, started

CTRL_D = "\x04"
# A cell that declares x, what :vars calls it, a cell that changes it, and one that shows the first value and one more.
CELLS = {
    "python": ("x = 41", "x", "x = 7", "x + 1"),
    "javascript": ("let x = 41", "x", "x = 7", "x + 1"),
    "typescript": ("let x: number = 41", "x", "x = 7", "x + 1"),
    "bash": ("x=41", "x", "x=7", "echo $((x + 1))"),
    "zsh": ("x=41", "x", "x=7", "echo $((x + 1))"),
    "sh": ("x=41", "x", "x=7", "echo $((x + 1))"),
    "ruby": ("x = 41", "x", "x = 7", "x + 1"),
    "perl": ("my $x = 41;", "$x", "$x = 7;", "$x + 1"),
    "php": ("$x = 41;", "x", "$x = 7;", "$x + 1"),
    "lua": ("x = 41", "x", "x = 7", "x + 1"),
    "r": ("x <- 41", "x", "x <- 7", "x + 1"),
    "java": ("int x = 41;", "x", "x = 7;", "x + 1"),
    "sql": ("CREATE TABLE t AS SELECT 41 AS x;", "t", "UPDATE t SET x = 7;", "SELECT x + 1 FROM t;"),
    "postgres": ("CREATE TABLE t AS SELECT 41 AS x;", "t", "UPDATE t SET x = 7;", "SELECT x + 1 FROM t;"),
    "go": ("x := 41", "x", "x = 7", "x + 1"),
    "rust": ("let mut x = 41;", "x", "x = 7;", "x + 1"),
}


class Prompt:
    """Lines are typed one after the other; `said` is what came between a line and the next prompt."""

    def __init__(self, screen, language):
        self.screen, self.prompt, self.seen = screen, f"{language}>", 1
        self.wait()

    def wait(self):
        self.screen.wait(lambda: self.screen.text.count(self.prompt) == self.seen and self.screen.text.endswith(self.prompt), 120)

    def said(self, line):
        self.screen.type(line + "\r")
        self.seen += 1
        self.wait()
        said = self.screen.text.split(self.prompt)[-2].partition("\n")[2].rstrip("\n")
        return re.sub(r"^sandbox-run: (repl|session): ", "", said)


@pytest.fixture(name="own")
def own_state(folder):
    return {"SANDBOX_RUN_STATE": str(folder / "state"), "NO_COLOR": "1"}


@pytest.mark.parametrize("language", list(CELLS))
def test_every_line_with_a_colon_in_every_kernel(own, root, folder, language):
    machine_gives.skip_if(None if language in toolchains.names() else f"{language} is not installed")
    declares, name, changes, looks = CELLS[language]
    script = folder / "part"
    script.write_text(changes + "\n")
    with shown("repl", language, "--timeout", "60s", caller=root, env=own, rows=120, columns=100) as screen:
        prompt = Prompt(screen, language)
        assert prompt.said(":undo") == "there is no cell to take back"
        assert "session" in prompt.said(":metrics") and prompt.said(":files") == ""
        assert prompt.said(":vars") == "", "nothing is declared"
        prompt.said(declares)
        assert re.search(rf"^{re.escape(name)} +\S+ +\S+  .*(41\W?|x)$", prompt.said(":vars"), re.M), screen.text
        prompt.said(f":load {script}")
        assert prompt.said(":undo") == "cell 2 is taken back"
        assert "42" in prompt.said(looks)
        assert re.search(r"^cell \d+ +\d+\.\d ms, CPU", prompt.said(":metrics"), re.M)
        assert re.search(r"^--timeout +1m ", prompt.said(":limits"), re.M)
        assert prompt.said(f":save {folder}/saved  ") == f"2 cells saved to {folder}/saved"
        assert prompt.said(f":save {folder}/saved.md") == f"2 cells saved to {folder}/saved.md"
        assert ":undo" in prompt.said(":help")
        fork = re.match(r"session (\w+) goes on from here", prompt.said(":fork")).group(1)
        assert "42" in prompt.said(looks)
        screen.type(":quit\r")
        assert screen.end() == 0 and screen.settings_are_as_before()
    assert (folder / "saved").read_text().splitlines() == [declares, looks]
    try:
        again = sandbox_run("session", "exec", fork, "--code", looks, env=own, caller=root)
        assert b"42" in again.stdout, again.stderr
    finally:
        assert sandbox_run("session", "close", fork, env=own, caller=root).returncode == 0


WRONG = {
    ":vars all": "`:vars` takes no 'all'; give it alone",
    ":undo 2": "`:undo` takes no '2'; give it alone",
    ":quit now": "`:quit` takes no 'now'; give it alone",
    ":save": "name a file: `:save work.ipynb`",
    ":load": "name a file: `:load part.py`",
    ":load /nonexistent/file": "cannot read '/nonexistent/file'",
    ":save /nonexistent/file": "/nonexistent/file",
    ":dep": "name one: `:dep NAME`",
    ":allow": "name one: `:allow HOST`",
    ":allow a b": "a b",
    ":lang nolanguage": "nolanguage",
    ":": "there is no ':'",
    ": >f": "a blank before the colon makes the line a cell",
    ":Vars": "there is no ':Vars'",
}


def test_wrong_words_are_refused_in_one_sentence(own, root):
    done = sandbox_run("repl", "bash", stdin="".join(f"{line}\n" for line in WRONG).encode() + b" : > made; echo ok\n", env=own,
                       caller=root)
    said = done.stderr.decode().splitlines()
    assert len(said) == len(WRONG), done.stderr.decode()
    for line, (typed, words) in zip(said, WRONG.items()):
        assert line.startswith("sandbox-run: ") and words in line, typed
    assert done.stdout == b"ok\n" and done.returncode == 0


def test_a_prompt_of_a_session_that_was_there(own, root, folder):
    """`attach`: its cells and all others are saved, it is not closed, and its end is said."""
    session = Session(sessions.own_state(folder, root), caller=root)
    env = {**own, **session.env}
    try:
        session.cell("before = 1")
        with shown("session", "attach", session.id, caller=root, env=env, rows=60, columns=160) as screen:
            prompt = Prompt(screen, "python")
            assert f"`sandbox-run session rollback {session.id} N`" in prompt.said(":undo")
            prompt.said("x = 2")
            assert prompt.said(f":save {folder}/all.ipynb") == f"all cells of the session saved to {folder}/all.ipynb"
            assert prompt.said(":undo") == "cell 2 is taken back"
            with started("session", "exec", session.id, "--code", "import time; print('begun', flush=True); time.sleep(1000)",
                         env=session.env, caller=root) as cell:
                assert read_line(cell.stdout) == b"begun\n"
                for line in (":vars", ":fork"):
                    assert prompt.said(line) == "a cell runs; ask again when it has ended"
                session.run("interrupt", session.id)
                cell.wait()
            session.cell("import os; os._exit(3)")
            for line in ("x", ":vars", ":files", ":metrics", ":fork", ":lang bash"):
                assert "lost" in prompt.said(line), line
            assert "--memory" in prompt.said(":limits")
            screen.type(CTRL_D)
            screen.end()
        text = (folder / "all.ipynb").read_text()
        assert "before = 1" in text and "x = 2" in text
        assert session.listed()[session.id]["state"] == "lost"
    finally:
        session.close()
