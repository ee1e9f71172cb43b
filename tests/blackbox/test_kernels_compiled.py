"""The kernels of Go and Rust, in a session: a program that grows with each cell."""
import pathlib

import pytest

import machine_gives
import sessions
import support
import toolchains
from sessions import Session
from support import sandbox_run

# Each cell: its code, and what it shows, prints, or the type of its error.
CELLS = {
    "go": [
        ('import "fmt"\nx := 5\nfmt.Println("once")', None, "once\n"),
        ("x + 1", "6", ""),
        ("func twice(n int) int {\n\treturn 2 * n\n}", None, ""),
        ('import "strings"', None, ""),
        ('y := strings.Repeat("ü", twice(1))\ny', '"üü"', ""),
        ("\npanic(y)", "panic", ""),
        ("func twice(n int) int { return 3 * n }\nx = x + 1\ntwice(x)", "18", ""),
        ("x := undefined", "CompileError", ""),
        ("x", "6", ""),
    ],
    "rust": [
        ('let x = 5; println!("once");', None, "once\n"),
        ("x + 1", "6", ""),
        ("#[derive(Debug)]\nstruct P { a: i32 }\nfn twice(n: i32) -> i32 {\n    2 * n\n}", None, ""),
        ("let p = P { a: twice(x) };\np", "P { a: 10 }", ""),
        ('\npanic!("no")', "panic", ""),
        ("p.a", "10", ""),
    ],
}
LOOPS = {"go": 'fmt.Println("in")\nfor {\n}', "rust": "loop {}"}


@pytest.mark.parametrize("language", list(CELLS))
def test_earlier_cells_run_again_without_output(folder, root, language):
    machine_gives.skip_if(None if language in toolchains.names() else f"{language} is not installed")
    if language == "go":  # making it takes minutes; the whole suite has it
        ready = list(pathlib.Path(support.cache_of(root)).glob("prepared/*/tree/std/fmt.a"))
        machine_gives.skip_if(None if ready else "Go's library is not prepared")
    session = Session(sessions.own_state(folder, root), "--timeout", "60s", lang=language, caller=root)
    try:
        for number, (code, value, out) in enumerate(CELLS[language], 1):
            result = session.cell(code)
            assert result["session"] == "kept" and result["stdout"] == out, result["stderr"]
            if value in ("panic", "CompileError"):
                assert not result["success"] and f"cell-{number}:{2 if value == 'panic' else 1}" in result["stderr"]
            else:
                assert result["success"], result["stderr"]
                assert [one["text/plain"] for one in result["display"]] == ([value] if value else [])
        late = session.cell(LOOPS[language], "--timeout", "4s")
        assert (late["outcome"], late["session"]) == ("timeout", "kept")
        assert session.cell("twice(1)")["success"]
    finally:
        session.close()


def test_the_prompt_says_what_stays_takes_back_and_forks(folder, root):
    env = {"SANDBOX_RUN_STATE": str(folder / "state")}
    done = sandbox_run("repl", "lua", stdin=b":help\n:undo\n", env=env, caller=root)
    assert b"local variables end with their cell" in done.stdout and b":allow " in done.stdout
    assert b"there is no cell to take back" in done.stderr
    done = sandbox_run("repl", stdin=b"x = [1]\nopen('a', 'w').write('abc')\nx.append(2)\n:undo\nx\n:files\n:fork\n"
                       b":dep\n:allow example.org\n", env=env, caller=root)
    lines = done.stdout.decode().splitlines()
    assert lines[:3] == ["3", "cell 3 is taken back", "[1]"] and lines[3].split() == ["3", "a"]
    assert b"name one: `:dep NAME`" in done.stderr
    fork = lines[4].split()[1]
    try:
        again = sandbox_run("session", "exec", fork, "--code", "x", env=env, caller=root)
        assert again.stdout == b"[1]\n"
    finally:
        sandbox_run("session", "close", fork, env=env, caller=root)
