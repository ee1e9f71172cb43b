"""How the prompt looks at a terminal: colours while typing, values, long output, pictures."""
import base64
import json
import re
import shutil

import pytest

from screen import shown
from support import sandbox_run


@pytest.fixture(name="own")
def own_state(folder):
    return {"SANDBOX_RUN_STATE": str(folder / "state"), "TMPDIR": "/tmp", "NO_COLOR": ""}


def colors(screen, text):
    """The colours of the last line that has this text, as (text, colour) of its pieces."""
    row = max(y for y, line in enumerate(screen.lines) if text in line)
    column = screen.lines[row].index(text)
    pieces = []
    for x in range(column, column + len(text)):
        cell = screen.screen.buffer[row][x]
        if pieces and pieces[-1][1] == cell.fg:
            pieces[-1][0] += cell.data
        else:
            pieces.append([cell.data, cell.fg])
    return [(piece.strip(), color) for piece, color in pieces if piece.strip()]


def ready(screen, times):
    screen.wait(lambda: screen.text.count("python>") == times and screen.text.endswith("python>"))


def test_what_is_typed_and_shown_has_colours(own, root):
    with shown("repl", caller=root, env=own) as screen:
        ready(screen, 1)
        screen.type("for x in 'ab': 12 # n")
        screen.wait(lambda: b"# n\x1b[0m" in screen.bytes)
        pieces = colors(screen, "for x in 'ab': 12 # n")
        assert pieces[:-1] == [("for", "magenta"), ("x", "default"), ("in", "magenta"), ("'ab'", "green"),
                               (":", "default"), ("12", "cyan")]
        assert pieces[-1][0] == "# n" and pieces[-1][1] != "default"
        screen.type("\x01\x0b['a', 1]\r")  # the line is replaced
        ready(screen, 2)
        assert "python> ['a', 1]\n['a', 1]\n" in screen.text
        assert [piece for piece in colors(screen, "['a', 1]") if piece[1] != "default"] == [("'a'", "green"), ("1", "cyan")]
        screen.type("\x04")
        assert screen.end() == 0
    with shown("repl", caller=root, env={**own, "NO_COLOR": "1"}) as screen:
        ready(screen, 1)
        screen.type("'ab'\r")
        ready(screen, 2)
        assert b"\x1b[32m" not in screen.bytes
        screen.type("['x' * 9] * 5\r")
        ready(screen, 3)
        assert ", ".join(["'xxxxxxxxx'"] * 5) in screen.text
        screen.resize(24, 40)
        screen.type("['x' * 9] * 5\r")
        ready(screen, 4)
        assert ",\n ".join(["'xxxxxxxxx'"] * 5) in screen.text, "a value fits the terminal as it is now"
        screen.type("\x04")
        screen.end()


def test_the_end_can_be_typed_while_a_cell_runs(own, root):
    with shown("repl", caller=root, env=own) as screen:
        ready(screen, 1)
        screen.type("import time; print('be' 'gun', flush=True); time.sleep(0.3)\r")
        screen.wait("begun")
        screen.wait(lambda: not screen.is_raw())
        screen.type("\x04")
        assert screen.end() == 0


def test_long_output_has_head_tail_and_a_file(own, root):
    with shown("repl", caller=root, env=own) as screen:
        ready(screen, 1)
        screen.type("for i in range(1000): print('line', i)\r")
        screen.type("\r")
        screen.wait(lambda: "line 999" in screen.text and screen.text.endswith("python>"))
        seen = screen.bytes.decode()
        assert "line 199\r\n" in seen and "line 200\r\n" not in seen and "line 979\r\n" not in seen
        assert "line 980\r\n" in seen
        path = re.search(r"of 1000 lines some are left out; all of them: (/tmp/sandbox-run-repl\.\S+/output-1\.txt)\]",
                         screen.text.replace("\n", "")).group(1)
        try:
            with open(path, encoding="ascii") as file:
                assert file.read() == "".join(f"line {i}\n" for i in range(1000))
        finally:
            shutil.rmtree(path.rpartition("/")[0])
        screen.type("print('short')\r")
        screen.wait("\nshort")
        screen.type("\x04")
        assert screen.end() == 0


@pytest.mark.parametrize("terminal, begin, end", [
    ({"KITTY_WINDOW_ID": "1"}, b"\x1b_Ga=T,f=100,m=0;", b"\x1b\\"),
    ({"TERM_PROGRAM": "WezTerm"}, b"\x1b]1337;File=inline=1;size=16:", b"\x07"),
])
def test_a_terminal_with_pictures_shows_them(own, root, terminal, begin, end):
    png = b"\x89PNG\r\n\x1a\n12345678"
    with shown("repl", caller=root, env={**own, **terminal}) as screen:
        screen.wait("python>")
        screen.type(f"class P: _repr_png_ = lambda self: {png!r}\r\r")
        screen.type("P()\r")
        screen.wait(lambda: begin in screen.bytes)
        screen.wait(lambda: begin + base64.b64encode(png) + end in screen.bytes)
        screen.type("\x04")
        assert screen.end() == 0


PICTURE = "from PIL import Image\nImage.new('RGB', (8, 8), 'red')"


@pytest.mark.parametrize("way, begin", [("sixel", b"\x1bP"), ("blocks", b"38;5;196m")])
def test_chafa_draws_where_the_terminal_does_not(own, root, way, begin):
    with shown("--display", "-l", "python", "-c", PICTURE, caller=root,
               env={**own, "SANDBOX_RUN_PICTURES": way, "TERM": "xterm-256color"}) as screen:
        assert screen.end() == 0
        assert begin in screen.bytes and b"image/png" not in screen.bytes
        if way == "sixel":
            assert re.search(rb"\x1bP[0-9;]*q[!-~\r\n]*\x1b\\", screen.bytes)


def test_errors_and_wide_tables_at_a_terminal(own, root):
    with shown("--display", "-l", "python", "-c", "a = 1\na / 0\nb = 2", caller=root, env=own) as screen:
        assert screen.end() == 1
        assert "at cell-1:2\n    1 | a = 1\n>   2 | a / 0\n    3 | b = 2\n" in screen.text
    query = f"SELECT '{'a' * 200}' AS one, 2 AS two, 'c' AS three"
    with shown("--display", "-l", "sql", "-c", query, caller=root, env={**own, "NO_COLOR": "1"}) as screen:
        assert screen.end() == 0
        row = next(line for line in screen.lines if line.startswith("aaa"))
        assert row.rstrip().endswith("… |   2 | c") and len(row.rstrip()) <= 80
    whole = sandbox_run("--display", "-l", "sql", "-c", query, env=own, caller=root)
    assert "a" * 200 in whole.stdout.decode(), "nothing is cut without a terminal"


def test_display_of_a_program(own, root, folder):
    program = folder / "a.py"
    program.write_text("print('out')\n{'x': 1}\n")
    done = sandbox_run("--display", str(program), env=own, caller=root)
    assert done.stdout == b"out\n{'x': 1}\n" and done.returncode == 0
    result = json.loads(sandbox_run("--display", "--json", str(program), env=own, caller=root).stdout)
    assert (result["display"], result["stdout"], result["cell"]) == ([{"text/plain": "{'x': 1}"}], "out\n", 1)
    refused = sandbox_run("--display", str(program), "word", env=own, caller=root)
    assert refused.returncode == 125 and b"neither arguments nor stdin" in refused.stderr


def test_without_a_terminal_nothing_is_left_out(own, root):
    done = sandbox_run("repl", stdin=b"for i in range(1000): print(i)\n\n'a'\n", env=own, caller=root)
    assert done.stdout.decode() == "".join(f"{i}\n" for i in range(1000)) + "'a'\n"
