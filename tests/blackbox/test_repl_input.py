"""What a person types for a cell, and what people type at the prompts that they know."""
import os
import re

import pytest

import machine_gives
import toolchains
from screen import shown
from support import sandbox_run

CTRL_C, CTRL_D = "\x03", "\x04"
# A cell that asks for a name and prints it between signs, and what is on the screen then.
ASKS = {
    "python": "name = input('who? '); print('<' + name + '>')",
    "javascript": "var name = prompt('who? '); console.log('<' + name + '>')",
    "ruby": "print 'who? '; name = gets; puts '<' + name.chomp + '>'",
    "bash": "read -rp 'who? ' name; echo \"<$name>\"",
}


@pytest.fixture(name="own")
def own_state(folder):
    return {"SANDBOX_RUN_STATE": str(folder / "state"), "NO_COLOR": "1"}


class Prompt:
    def __init__(self, screen, language):
        self.screen, self.prompt = screen, f"{language}>"
        screen.wait(lambda: screen.text.endswith(self.prompt), 120)

    def said(self, line):
        """What came between a line and the next prompt."""
        seen = self.screen.text.count(self.prompt)
        self.screen.type(line + "\r")
        self.screen.wait(lambda: self.screen.text.count(self.prompt) > seen and self.screen.text.endswith(self.prompt), 60)
        return self.screen.text.split(self.prompt)[-2].partition("\n")[2].rstrip("\n")


@pytest.mark.parametrize("language", list(ASKS))
def test_a_cell_asks_and_the_person_answers(own, root, language):
    machine_gives.skip_if(None if language in toolchains.names() else f"{language} is not installed")
    with shown("repl", language, "--timeout", "3s", caller=root, env=own, rows=50) as screen:
        prompt = Prompt(screen, language)
        screen.type(ASKS[language] + "\r")
        screen.wait("\nwho?")
        screen.type("Ada L\r")
        screen.wait(lambda: "\n<Ada L>" in screen.text and screen.text.endswith(prompt.prompt))
        screen.type(ASKS[language] + "\r")
        screen.wait(lambda: screen.text.count("\nwho?") == 2)
        screen.type(CTRL_C)  # given up; the next cell runs
        screen.wait(lambda: screen.text.endswith(prompt.prompt))
        screen.type(CTRL_D)
        assert screen.end() == 0 and screen.settings_are_as_before()


def test_input_of_python_ends_and_hides(own, root):
    with shown("repl", caller=root, env=own, rows=60) as screen:
        prompt = Prompt(screen, "python")
        screen.type("import sys, getpass; secret = getpass.getpass('key: ')\r")
        screen.wait("\nkey:")
        screen.type("s3cret\r")
        screen.wait(lambda: screen.text.endswith("python>"))
        assert "s3cret" not in screen.text and prompt.said("len(secret)") == "6"
        screen.type("print('g' + 'o'); lines = sys.stdin.readlines()\r")
        screen.wait("\ngo")
        screen.type("one\rtwo\r" + CTRL_D)
        screen.wait(lambda: screen.text.endswith("python>") and "two" in screen.text)
        assert prompt.said("lines") == "['one\\n', 'two\\n']"
        screen.type("input('more? ')\r")
        screen.wait("\nmore?")
        screen.type(CTRL_D)
        screen.wait(lambda: "EOFError" in screen.text and screen.text.endswith("python>"))
        screen.type("exit(7)\r")
        assert screen.end() == 7


def test_without_a_person_input_has_ended(own, root):
    done = sandbox_run("repl", stdin=b"input('who? ')\nprint('on')\n", env=own, caller=root)
    assert b"EOFError" in done.stderr and done.stdout.endswith(b"on\n") and done.returncode == 0


def test_lines_of_ipython_work_without_it(own, root):
    cells = ("x = 41", "!echo one; echo two", "lines = !echo three", "lines", "%pwd", "%timeit -n 2 -r 2 x + 1", "%time x + 1", "x?",
             "?len", "%%bash\necho four\n\n", "y = 7 % \\\n4", "y", "%nonsense", "5 %2")
    done = sandbox_run("repl", stdin="\n".join(cells).encode() + b"\n", env=own, caller=root)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert out.startswith("one\ntwo\n['three']\n'/work'\n"), out + err
    assert re.search(r"^[\d.]+ (ns|µs|ms) ± .* per loop \(best .*, 2 runs of 2 loops each\)$", out, re.M)
    assert re.search(r"^CPU time: .*, wall time: .*\n42$", out, re.M)
    assert re.search(r"^Type: +int\nValue: +41\n", out, re.M) and "Return the number of items in a container." in out
    assert out.endswith("four\n3\n1\n") and "there is no %nonsense here" in err


def test_a_session_without_a_network_gets_one_with_its_state(own, root):
    refused = "import socket; socket.create_connection(('192.0.2.1', 443), 9).makefile('rw').read()"
    with shown("repl", caller=root, env=own, rows=60, columns=120) as screen:
        prompt = Prompt(screen, "python")
        assert prompt.said("x = [41]") == ""
        assert "Error" in prompt.said(refused)  # nothing opens by itself
        said = prompt.said(":allow example.invalid:443")
        assert "goes on in a sandbox with a way out" in said and "example.invalid:443 can be reached" in said
        assert prompt.said("x[0] + 1") == "42"
        assert "Error" in prompt.said(refused)  # and no more than what was allowed
        assert "example.invalid:8443 can be reached" in prompt.said(":allow example.invalid:8443")
        assert prompt.said("x") == "[41]"
        screen.type(CTRL_D)
        assert screen.end() == 0
    assert b"no sessions" in sandbox_run("session", "list", env=own, caller=root).stdout.lower() \
        or not os.listdir(os.path.join(own["SANDBOX_RUN_STATE"], "sessions"))


def test_a_network_that_was_refused_stays_refused(own, root):
    done = sandbox_run("repl", "--network", "none", stdin=b":allow example.invalid:443\n", env=own, caller=root)
    assert b"no way out" in done.stderr


def test_long_output_goes_with_the_prompt(own, root, folder):
    with shown("repl", caller=root, env={**own, "TMPDIR": str(folder)}) as screen:
        prompt = Prompt(screen, "python")
        screen.type("for i in range(500): print(i)\r\r")
        screen.wait(lambda: "output-1.txt" in screen.text.replace("\n", "") and screen.text.endswith(prompt.prompt))
        assert [name for name in os.listdir(folder) if name.startswith("sandbox-run-repl")]
        screen.type("1 / 0\r")
        screen.wait("ZeroDivisionError")
        screen.type(CTRL_D)
        assert screen.end() == 0
    assert not [name for name in os.listdir(folder) if name.startswith("sandbox-run-repl")]


def test_psqls_own_commands_look_like_psqls(own, root):
    machine_gives.skip_if(None if "postgres" in toolchains.names() else "postgres is not installed")
    cells = "CREATE TABLE t (a int, b text);\nINSERT INTO t VALUES (1, 'x');\n\\d t\n\\x\nSELECT * FROM t;\n\\x\n\\timing\nSELECT a FROM t;\n"
    done = sandbox_run("repl", "postgres", "--timeout", "60s", stdin=cells.encode(), env=own, caller=root)
    out = done.stdout.decode()
    assert re.search(r' Table "public.t"\n Column \|  Type   \| Collation .*\n-+\+-+\+.*\n a +\| integer \|', out), out + done.stderr.decode()
    assert "Expanded display is on.\n-[ RECORD 1 ]\na | 1\nb | x\n\n" in out and "Expanded display is off.\nTiming is on.\na\n-\n1\nTime: " in out
    assert done.stderr == b""
