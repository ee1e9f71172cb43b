"""The kernels of Go and Rust, in a session: a program that grows with each cell."""
import json
import pathlib
import re
import socket

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


def skip_unprepared(language, caller):
    if language == "go":  # making it takes minutes; the whole suite has it
        ready = list(pathlib.Path(support.cache_of(caller)).glob("prepared/*/tree/std/fmt.a"))
        machine_gives.skip_if(None if ready else "Go's library is not prepared")


@pytest.mark.parametrize("language", list(CELLS))
def test_earlier_cells_run_again_without_output(folder, root, language):
    machine_gives.skip_if(None if language in toolchains.names() else f"{language} is not installed")
    skip_unprepared(language, root)
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


# Cells, then what :vars shows: (name, type, value); and what begins with these words: (code, matches).
NAMES = {
    "go": (['import "strings"\nx := 5; words := []string{"a", "b"}\nvar total = map[string]int{"b": 2, "a": 1}',
            "type point struct { X, y int }\np := &point{1, 2}\nfunc polar() {}\nx = 6", "for i := 0; i < 2; i++ {\n\tinner := i\n\t_ = inner\n}",
            "x := undefined", "strings.ToUpper(words[0])"],
           [("x", "int", "6"), ("words", "[]string", '["a" "b"]'), ("total", "map[string]int", 'map["a":1 "b":2]'),
            ("p", "*point", "&{X:1 y:2}")],
           [("é; po", ["point", "polar"]), ("strings.ToU", ["ToUpper", "ToUpperSpecial"]), ("wo", ["words"]), ("fallt", ["fallthrough"]),
            ("strin", ["string", "strings"]), ("x.", []), ("", [])]),
    "rust": (['use std::collections::HashMap;\nlet x = 5; let mut words = vec!["a", "b"];\nlet (one, two): (i32, char) = (1, \'c\');',
              'struct Bare;\nlet bare = Bare;\nlet moved = String::from("m");\nlet long = vec![7; 1000000];\nfn polar() {}', "let taken = moved;",
              "let r = &mut words; r.push(\"c\"); words.len()", "let x = undefined;"],
             [("x", "i32", "5"), ("one", "i32", "1"), ("two", "char", "'c'"), ("bare", "Bare", "(cannot be shown)"),
              ("long", "Vec<i32>", None), ("taken", "String", '"m"'), ("words", "Vec<&str>", '["a", "b", "c"]')],
             [("é; po", ["polar"]), ("HashM", ["HashMap"]), ("wo", ["words"]), ("printl", ["println!"]), ("x.", []), ("", [])]),
}


@pytest.mark.parametrize("language", list(NAMES))
def test_names_and_values_are_known(folder, root, language):
    machine_gives.skip_if(None if language in toolchains.names() else f"{language} is not installed")
    skip_unprepared(language, root)
    cells, variables, begun = NAMES[language]
    session = Session(sessions.own_state(folder, root), "--timeout", "100s", lang=language, caller=root)
    try:
        assert session.json("vars", session.id)["data"]["vars"] == []
        for code in cells:
            result = session.cell(code)
            assert result["success"] == ("undefined" not in code), result["stderr"]
        seen = {one["name"]: one for one in session.json("vars", session.id)["data"]["vars"]}
        assert set(seen) == {name for name, _, _ in variables}
        for name, kind, value in variables:
            assert seen[name]["type"] == kind and value in (None, seen[name]["value"]), seen[name]
            assert len(seen[name]["value"]) <= 80 and seen[name]["size"] >= 0
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(session.state / "sessions" / session.id / "socket"))
            lines = client.makefile("rb")
            for code, matches in begun:
                client.sendall(json.dumps({"op": "complete", "code": code, "cursor": len(code.encode())}).encode() + b"\n")
                data = json.loads(lines.readline())["answer"]["data"]
                word = re.search(r"\w*$", code, re.ASCII).group()
                assert data == {"matches": matches, "start": len(code.encode()) - len(word)}, code
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
