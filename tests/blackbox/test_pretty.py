"""What a program prints, at a terminal and in a pipe: documents laid out, traces in colour, and otherwise every byte."""
import json

import pytest

from screen import shown
from support import sandbox_run

DOCUMENT = {"name": "é", "items": [1, 2.50, {"deep": True}], "empty": {}, "none": None, "text": "x" * 60}
PRINTS = f"import json; print(json.dumps(json.loads({json.dumps(json.dumps(DOCUMENT))})))"
RED, BOLD_RED, YELLOW = b"\x1b[31m", b"\x1b[1;31m", b"\x1b[1;33m"


@pytest.fixture(name="at_terminal")
def _at_terminal(any_caller):
    def run(*words, **env):
        with shown(*words, caller=any_caller, env=env, rows=60, columns=120) as screen:
            screen.end()
            return screen
    return run


def test_a_document_is_laid_out_at_a_terminal_alone(any_caller, at_terminal):
    piped = sandbox_run("-l", "python", "-c", PRINTS, caller=any_caller)
    assert piped.stdout.decode() == json.dumps(DOCUMENT) + "\n", "bytes in pipes stay exact"
    screen = at_terminal("-l", "python", "-c", PRINTS)
    assert json.dumps(DOCUMENT, indent=2, ensure_ascii=True).replace("2.5,", "2.5,") in screen.text
    assert b"\x1b[34m\"name\"\x1b[0m: \x1b[32m" in screen.bytes
    assert b"\x1b[34m" not in at_terminal("-l", "python", "-c", PRINTS, NO_COLOR="1").bytes
    assert json.dumps(DOCUMENT)[:60] in at_terminal("--no-pretty", "-l", "python", "-c", PRINTS).text
    assert json.dumps(DOCUMENT)[:60] in at_terminal("--raw", "-l", "python", "-c", PRINTS).text
    asked = sandbox_run("--pretty", "-l", "python", "-c", PRINTS, caller=any_caller)
    assert asked.stdout.decode() == json.dumps(DOCUMENT, indent=2) + "\n"


@pytest.mark.parametrize("code, text", [
    ("print([1, 2, 3])", "[1, 2, 3]"),
    ("print('[1/3] one'); print('{' + 'x' * 90)", "[1/3] one\n{" + "x" * 90),
    ("print('{\"a\": 1}' * 20)", '{"a": 1}' * 10),
    ("print('[' + '1,' * 60 + ']')", "[" + "1," * 50),
    ("print('[' + '1,' * 60)", "[" + "1," * 50),
])
def test_what_is_no_document_stays_as_it_is(at_terminal, code, text):
    assert text in at_terminal("-l", "python", "-c", code, NO_COLOR="1").text


def test_what_comes_in_pieces_is_not_held_back(any_caller):
    code = "import sys, time\nprint('[', flush=True)\ninput()\nprint('1]')"
    with shown("-l", "python", "-c", code, caller=any_caller) as screen:
        screen.wait(lambda: any(line == "[" for line in screen.lines))  # the program waits for us
        screen.type("\r")
        assert screen.end() == 0 and "1]" in screen.text


def test_a_trace_and_the_line_that_failed_have_colours(any_caller, at_terminal):
    code = "def f():\n    return 1 / 0\nf()"
    screen = at_terminal("-l", "python", "-c", code)
    assert RED + b"Traceback (most recent call last):" in screen.bytes
    assert BOLD_RED + b"ZeroDivisionError: division by zero" in screen.bytes and YELLOW + b"    return 1 / 0" in screen.bytes
    plain = at_terminal("-l", "python", "-c", code, NO_COLOR="1")
    assert "ZeroDivisionError: division by zero" in plain.text and RED not in plain.bytes
    assert b"\x1b" not in sandbox_run("-l", "python", "-c", code, caller=any_caller).stderr
    own = at_terminal("-l", "python", "-c", "print('\\x1b[32mPanicError: mine\\x1b[0m'); print('no Error here: x')")
    assert BOLD_RED not in own.bytes, "a program's own colours stay"
