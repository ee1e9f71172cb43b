"""The prompt: `sandbox-run repl`, at a terminal and without one."""
import json
import re
import stat

import pytest

import support
from screen import screen_of, shown
from support import sandbox_run

CTRL_C, CTRL_D, CTRL_E, CTRL_G, CTRL_R = "\x03", "\x04", "\x05", "\x07", "\x12"
UP = "\x1b[A"
PASTE, PASTED = "\x1b[200~", "\x1b[201~"


@pytest.fixture(name="own")
def own_state(folder):
    return {"SANDBOX_RUN_STATE": str(folder / "state")}


def piped(own, caller, text, *words):
    return sandbox_run("repl", *words, stdin=text.encode(), env=own, caller=caller)


def test_without_a_terminal_cells_come_from_stdin(own, root):
    done = piped(own, root, "def twice(x):\n    return 2 * x\n\nprint('é')\ntwice(21)\n'text'\n")
    assert (done.stdout.decode(), done.stderr, done.returncode) == ("é\n42\n'text'\n", b"", 0)


def test_an_error_is_the_status_and_the_next_cell_runs(own, root):
    done = piped(own, root, "x = 1\n1 / 0\nx\n:nonsense\ny", "python")
    assert done.stdout == b"1\n" and done.returncode == 1
    text = done.stderr.decode()
    assert 'File "cell-2", line 1' in text and "ZeroDivisionError" in text
    assert "there is no ':nonsense'" in text and "NameError" in text
    assert piped(own, root, "exit(7)\nprint('never')\n").returncode == 7


def test_lines_with_a_colon_are_for_the_prompt(own, root, folder):
    (folder / "part.py").write_text("loaded = 5\n")
    notebook, script = folder / "work.ipynb", folder / "work.py"
    done = piped(own, root, f"a = 6\n:load {folder}/part.py\na * 7\nbad\n:vars\n:metrics\n:limits\n"
                 f":save {notebook}\n:save {script}\n:quit\nprint('never')\n", "--memory", "300m")
    out = done.stdout.decode()
    assert re.search(r"^a +int +\d+  6$", out, re.M) and re.search(r"^loaded +int +\d+  5$", out, re.M)
    assert re.search(r"^cell 4 +\d+\.\d ms, CPU \d+\.\d ms, memory ", out, re.M)
    assert re.search(r"^--memory +300m ", out, re.M) and "never" not in out
    assert script.read_text() == "a = 6\nloaded = 5\n\na * 7\n"
    cells = json.loads(notebook.read_text())["cells"]
    assert [cell["source"] for cell in cells] == ["a = 6", "loaded = 5\n", "a * 7", "bad"]
    assert cells[2]["outputs"][0]["data"]["text/plain"] == "42"


@pytest.mark.parametrize("language, text, out", [
    ("bash", "x=5\ncd /tmp\nfor i in 1 2; do\necho $i $x\ndone\npwd\n", "1 5\n2 5\n/tmp\n"),
    ("javascript", "const x = 1\nconst x = [1, 2]\nx.map((n) =>\n  n * 2)\n", "[ 2, 4 ]\n"),
    ("sql", "CREATE TABLE t (a);\nINSERT INTO t\nVALUES (1);\nSELECT * FROM t;\n", "a\n-\n1\n"),
    ("ruby", "x = [1, 2]\nx.map do |v|\n  v * 2\nend\n", "[1, 2]\n[2, 4]\n"),
])
def test_every_kernel_stays_between_cells(own, root, language, text, out):
    done = piped(own, root, text, language)
    assert (done.stdout.decode(), done.stderr.decode()) == (out, "")


def test_a_picture_becomes_a_file(own, root):
    code = "class P:\n    def _repr_png_(self): return b'png'\n    def __repr__(self): return 'P'\n\nP()\n"
    done = piped({**own, "TMPDIR": "/tmp"}, root, code)
    shown_text, path = re.match(r"(P)\n\[image/png, 3: (/tmp/\S+)\]\n", done.stdout.decode()).groups()
    try:
        assert shown_text == "P" and open(path, "rb").read() == b"png"
    finally:
        support.os.unlink(path)
        support.os.rmdir(support.os.path.dirname(path))


class Prompt:
    """What is typed waits for the prompt before it, and for the one behind it."""

    def __init__(self, screen):
        self.screen, self.seen = screen, 0
        self.wait()

    def wait(self):
        self.seen += 1
        self.screen.wait(lambda: self.screen.text.count("python>") == self.seen and self.screen.text.endswith("python>"))

    def type(self, text):
        self.screen.type(text)
        self.wait()


def test_lines_are_edited_and_blocks_asked_for(own, root, folder):
    with shown("repl", "python", caller=root, env=own) as screen:
        prompt = Prompt(screen)
        prompt.type("x = 4\x7f41\r")
        screen.type("def f():\r")
        screen.wait("   ...>")
        screen.type("return x + 1\r")  # the indent is there already
        screen.wait(lambda: screen.text.endswith("   ...>"))
        prompt.type("\r")
        prompt.type("f()\r")
        assert "\n42\n" in screen.text
        prompt.type(UP + UP + UP + UP + "\r")  # the oldest
        assert screen.text.count("> x = 41") == 2
        screen.type("unfinished")
        screen.wait("unfinished")
        prompt.type(CTRL_C)
        screen.type(CTRL_D)
        assert screen.end() == 0 and screen.settings_are_as_before()
    history = folder / "state/history/python"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "x = 41" in history.read_text().replace("\\040", " ")


def test_a_cell_without_output_leaves_no_line_behind_a_value(own, root):
    with shown("repl", "python", caller=root, env=own) as screen:
        prompt = Prompt(screen)
        for line in ("6 * 7", "x = 5", "x", "print('open', end='')", "y = 6"):
            prompt.type(line + "\r")
        assert "python> 6 * 7\n42\npython> x = 5\npython> x\n5\npython> print('open', end='')\nopen\npython> y = 6\npython>" \
            in screen.text
        screen.type(CTRL_D)
        screen.end()


def test_a_cell_is_interrupted_and_the_names_stay(own, root):
    with shown("repl", caller=root, env=own) as screen:
        prompt = Prompt(screen)
        screen.type("import time; x = 5; print('beg' + 'un'); time.sleep(1000)\r")
        screen.wait("begun")
        prompt.type(CTRL_C)
        assert "KeyboardInterrupt" in screen.text
        prompt.type("x * 2\r")
        assert "\n10\n" in screen.text
        screen.type(":quit\r")
        screen.end()


def test_a_cell_is_recalled_edited_and_run_as_a_whole(own, root):
    with shown("repl", caller=root, env=own) as screen:
        prompt = Prompt(screen)
        screen.type(f"{PASTE}def f(x):\n    y = x\n    return y + 1\n{PASTED}")
        screen.wait("return y + 1")
        prompt.type("\r")
        prompt.type("f(1)\r")
        screen.type(UP + UP + UP + CTRL_E + " * 20")  # its second line
        screen.wait("   ...>     y = x * 20\n   ...>     return y + 1")
        screen.type("\x1b\r")  # Alt-Enter: as it stands
        prompt.wait()
        prompt.type("f(2)\r")
        assert "\n41\n" in screen.text
        screen.resize(12, 30)
        screen.type("'" + "é漢" * 12 + "'[-1]\r")  # more than a row, in a small window
        screen.wait(lambda: re.search(r"'\[-1]\n'漢 ?'\npython>$", screen.text))
        screen.type(CTRL_D)
        assert screen.end() == 0


def test_the_search_shows_what_it_finds_and_always_comes_back(own, root):
    with shown("repl", caller=root, env=own) as screen:
        prompt = Prompt(screen)
        for line in ("alpha = 5", "beta = alpha + 1", "gamma = 0"):
            prompt.type(line + "\r")
        screen.type(CTRL_R + "alpha")
        screen.wait("search: alpha\n> beta = alpha + 1\n  alpha = 5")
        prompt.type(CTRL_C)
        prompt.type("beta\r")
        assert "\n6\n" in screen.text
        screen.type("7*7" + CTRL_R + "zzz")
        screen.wait("nothing has it")
        screen.type(CTRL_G)
        screen.wait("python> 7*7")
        prompt.type("\r")
        assert "\n49\n" in screen.text
        screen.type(CTRL_R + "beta =")
        screen.wait("> beta = alpha + 1")
        screen.type("\r")
        screen.wait(lambda: screen.text.endswith("python> beta = alpha + 1"))
        prompt.type(CTRL_C)
        screen.type(CTRL_D)
        assert screen.end() == 0 and screen.settings_are_as_before()


def test_what_a_word_can_become_is_a_menu(own, root):
    with shown("repl", caller=root, env={**own, "NO_COLOR": "1"}) as screen:
        prompt = Prompt(screen)
        prompt.type("number, numeral = 1, 2\r")
        screen.type("num\t")
        screen.wait(lambda: "\nnumber " in screen.text and " numeral" in screen.text)
        screen.type("\t\t")
        screen.wait("python> numeral\n")
        screen.type("\r")
        screen.wait(lambda: screen.text.endswith("python> numeral"))
        prompt.type("\r")
        assert screen.text.endswith("\n2\npython>")
        screen.type(":li\t")
        screen.wait(":limits")
        prompt.type("\r")
        screen.type(CTRL_D)
        assert screen.end() == 0
        assert not re.search(rb"\x1b\[\d+m", screen.bytes.replace(b"\x1b[7m", b"").replace(b"\x1b[0m", b"")), "no colour"


def test_an_interrupt_while_the_kernel_completes_ends_the_line(own, root):
    slow = "import time\nclass Slow:\n    def __dir__(self): time.sleep(1); return ['attribute']\n\nslow = Slow()\n"
    with shown("repl", caller=root, env=own) as screen:
        prompt = Prompt(screen)
        screen.type(PASTE + slow + PASTED)
        screen.wait("slow = Slow()")
        prompt.type("\r")
        screen.type("slow.attr\t")
        screen.wait("> slow.attr")
        prompt.type(CTRL_C)
        prompt.type("6 * 7\r")
        assert "\npython> 6 * 7\n42\n" in screen.text
        screen.type(CTRL_D)
        assert screen.end() == 0


def test_the_kernel_completes_and_pasted_lines_are_one_cell(own, root):
    with shown("repl", caller=root, env=own) as screen:
        prompt = Prompt(screen)
        prompt.type("number = 21\r")
        screen.type("numb\t")
        screen.wait("\npython> number")
        prompt.type(" * 2\r")
        assert "\n42\n" in screen.text
        screen.type(f"{PASTE}for i in range(2):\n    y = i\n\nprint('one', y)\n{PASTED}")
        screen.wait("print('one', y)")
        prompt.type("\r")
        assert "\none 1\n" in screen.text
        screen.type(CTRL_D)
        assert screen.end() == 0


@pytest.mark.skipif(not support.have("strace"), reason="needs strace")
def test_the_terminal_echoes_nothing_once_a_prompt_is_shown(own, root, folder):
    """A key that comes between a prompt and the editor's mode would be shown twice: by the terminal and by the editor."""
    trace = ["strace", "-f", "-e", "trace=ioctl,write", "-e", "signal=none", "-o", str(folder / "trace")]
    env = {**support.surroundings(root, own), "TERM": "xterm-256color"}
    with screen_of(*trace, *support.command("repl", "python", caller=root), env=env) as screen:
        prompt = Prompt(screen)
        prompt.type("6 * 7\r")
        screen.type(CTRL_D)
        screen.end()
    mode, prompts = None, []
    for line in (folder / "trace").read_text().splitlines():
        if "TCSETS" in line:
            mode = line
        elif "write(1, " in line and "python> " in line:
            prompts.append("ICANON" not in mode and "|ECHO|" not in mode)
    assert len(prompts) > 2 and all(prompts)


def test_a_terminal_that_can_only_print_has_a_prompt(own, root):
    env = {**support.surroundings(root, own), "TERM": "dumb"}
    with screen_of(*support.command("repl", "python", caller=root), env=env) as screen:
        screen.wait("python>")
        screen.type("if True:\r    print(6 * 7)\r\r")
        screen.wait(lambda: "...>" in screen.text and "42\npython>" in screen.text)
        screen.type("\x03")
        screen.wait(lambda: screen.text.count("python>") == 3)
        screen.type(CTRL_D)
        assert screen.end() == 0
        assert b"\x1b" not in screen.bytes


@pytest.mark.skipif(not support.have("strace"), reason="needs strace")
def test_an_interrupt_between_the_prompt_and_the_wait_counts(own, root):
    """strace holds the program when it has written the prompt, so the interrupt comes before it waits for a line."""
    trace = ["strace", "-e", "trace=write", "-e", "signal=none", "-e", "inject=write:delay_exit=300000", "-o", "/dev/null"]
    env = {**support.surroundings(root, own), "TERM": "dumb"}
    with screen_of(*trace, *support.command("repl", "python", caller=root), env=env) as screen:
        screen.wait("python>")
        for n in range(2, 5):
            screen.type("\x03")
            screen.wait(lambda n=n: screen.text.count("python>") == n)
        screen.type(CTRL_D)
        assert screen.end() == 0


def test_history_is_of_the_language_and_stays(own, root, folder):
    for language, first in (("bash", "echo one"), ("lua", "print('two')")):
        if support.have({"lua": "lua5.4"}.get(language, language)):
            with shown("repl", language, caller=root, env=own) as screen:
                screen.wait(f"{language}>")
                screen.type(first + "\r")
                screen.wait(lambda: screen.text.count(f"{language}>") == 2)
                screen.type(CTRL_D)
                assert screen.end() == 0
    assert "two" not in (folder / "state/history/bash").read_text()
    with shown("repl", "bash", caller=root, env=own) as screen:
        screen.wait("bash>")
        screen.type(":lang python\r")
        screen.wait("python>")
        screen.type(UP)  # a line of bash is none of Python's
        screen.type(":lang\r")
        screen.wait(lambda: screen.text.endswith("bash>"))
        screen.type(UP + UP)
        screen.wait("bash> echo one")
        screen.type("\r")
        screen.wait("\none\n")
        screen.type(CTRL_D)
        screen.end()
