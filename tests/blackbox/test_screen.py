"""At a terminal: what a user sees and types, with the screen of an emulator compared."""
import json
import os
import re
import select
import shlex
import signal
import time

import pytest

import support
from screen import screen_of, shown
from waiting import Inside

CTRL_C, CTRL_D, CTRL_Z, CTRL_BACKSLASH, ESC = "\x03", "\x04", "\x1a", "\x1c", "\x1b"


@pytest.mark.core
def test_a_prompt_is_shown_and_answered(caller):
    code = "import sys\nname = input('name? ')\nprint('hi', name, sys.stdin.isatty())"
    with shown("run", "-q", "-l", "python", "-c", code, caller=caller) as screen:
        screen.wait("name?")
        screen.wait(screen.is_raw)
        screen.type("Adx\x7fa\r")
        assert screen.end() == 0
        assert screen.text == "name? Ada\nhi Ada True"
        assert screen.settings_are_as_before()


def test_lines_appear_when_they_are_printed(any_caller):
    with shown("exec", "-q", "--", "sh", "-c", "echo one; read x; echo two; read x",
               caller=any_caller) as screen:
        screen.wait(lambda: screen.text == "one")
        screen.type("\r")
        screen.wait(lambda: screen.text == "one\n\ntwo")
        screen.type(CTRL_D)
        assert screen.end() == 1


def test_a_shell_edits_its_line_and_controls_jobs(caller):
    with shown("exec", "-q", "--", "bash", "--norc", caller=caller) as screen:
        screen.wait("$")
        screen.type("echo worl\x01\x1b[C\x1b[C\x1b[C\x1b[C\x1b[Chello \x05d\r")  # home, right, end
        screen.wait("\nhello world")
        # Not `sh -c`: a child that is stopped between vfork and exec keeps its parent from stopping.
        screen.type("echo rea''dy; cat\r")
        screen.wait("\nready")
        screen.type("first\r")
        screen.wait("\nfirst\nfirst")
        screen.type(CTRL_Z)
        screen.wait("Stopped")
        screen.type("jobs; kill %1; echo $((40 + 2))\r")
        screen.wait("\n42")
        screen.type("echo agai''n; cat\r")
        screen.wait("\nagain")
        screen.type("second\r")
        screen.wait("\nsecond\nsecond")
        screen.type(CTRL_C)
        screen.wait(lambda: "^C" in screen.text and screen.text.endswith("$"))
        for n in range(2, 5):  # at a prompt they are the shell's
            screen.type(CTRL_C)
            screen.wait(lambda n=n: screen.text.count("^C") == n and screen.text.endswith("$"))
        screen.type("echo st\"\"ill\r")
        screen.wait("\nstill")
        screen.type("exit 7\r")
        assert screen.end() == 7
        assert screen.settings_are_as_before()


def test_an_editor_draws_a_screen_and_gives_it_back(caller):
    if not support.have("vim"):
        pytest.skip("needs vim")
    with shown("exec", "-q", "--", "sh", "-c", "vim -u NONE file; echo back; cat file",
               caller=caller) as screen:
        screen.wait(lambda: screen.lines[1:3] == ["~", "~"])
        screen.type("ihello" + ESC + "yyp")
        screen.wait(lambda: screen.lines[:2] == ["hello", "hello"])
        screen.resize(12, 40)
        # The emulator itself drops its first lines: when they are back, the editor has seen the new size.
        screen.wait(lambda: screen.lines[:2] == ["hello", "hello"] and screen.lines[9] == "~")
        screen.type(":set columns? lines?\r")
        screen.wait("lines=12")
        screen.type("\r:wq\r")
        assert screen.end() == 0
        assert screen.text.endswith("back\nhello\nhello")
        assert not {25 << 5} - screen.screen.mode  # the cursor is visible


def test_curses_with_colours_and_size(any_caller):
    code = """
import curses
def main(window):
    curses.init_pair(1, curses.COLOR_RED, -1)
    window.addstr(3, 5, f'{curses.LINES}x{curses.COLS}', curses.color_pair(1))
    window.border()
    while True:
        window.refresh()
        key = window.getch()
        if key == curses.KEY_RESIZE:
            window.clear(); window.addstr(1, 1, '%dx%d' % window.getmaxyx())
        elif key == curses.KEY_UP:
            window.addstr(5, 5, 'up')
        elif key == ord('q'):
            return
curses.wrapper(lambda w: (curses.use_default_colors(), main(w)))
"""
    with shown("run", "-q", "-l", "python", "-c", code, caller=any_caller) as screen:
        screen.wait(lambda: "24x80" in screen.lines[3])
        assert screen.screen.buffer[3][5].fg == "red"
        screen.wait(lambda: screen.screen.buffer[0][0].data in ("┌", "l"))
        screen.type(ESC + "OA")
        screen.wait(lambda: "up" in screen.lines[5])
        screen.resize(30, 100)
        screen.wait(lambda: "30x100" in screen.lines[1])
        screen.type("q")
        assert screen.end() == 0
        assert screen.settings_are_as_before()


def test_an_interrupt_is_the_programs_and_two_end_the_run(caller):
    # Short sleeps: Python hears of a signal that comes just before one only at its end.
    code = ("import time\n"
            "try:\n    print('ready')\n    while True: time.sleep(0.1)\n"
            "except KeyboardInterrupt:\n    print('caught')\n"
            "import signal; signal.signal(2, signal.SIG_IGN); print('deaf'); time.sleep(1000)")
    with shown("run", "-l", "python", "-c", code, caller=caller) as screen:
        screen.wait("ready")
        screen.type(CTRL_C)
        screen.wait("caught\ndeaf")
        screen.type(CTRL_C)
        began = time.monotonic()
        assert screen.end() == 143
        assert time.monotonic() - began < 10
        assert "\n── cancelled" in screen.text, screen.text  # on a line of its own
        assert screen.settings_are_as_before()


def test_three_quits_end_a_program_that_takes_every_key(any_caller):
    code = ("import tty, time\ntty.setraw(0)\nprint('deaf', flush=True)\n"
            "import signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True: time.sleep(1000)")
    with shown("run", "-q", "--grace", "100ms", "-l", "python", "-c", code, caller=any_caller) as screen:
        screen.wait("deaf")
        screen.type(CTRL_C + CTRL_C + CTRL_Z + CTRL_BACKSLASH * 3)
        assert screen.end() == 143
        assert screen.settings_are_as_before()


def shell_env(caller):
    return support.surroundings(caller, {"TERM": "xterm", "PS1": "% "})


HOLD = "stty -echo -icanon; printf '\\033[?1049h\\033[?25l\\033[?1000h\\033[2;5rready'; sleep 1000"


def test_a_killed_tool_leaves_the_terminal_as_it_was(caller):
    with shown("exec", "-q", "--", "sh", "-c", HOLD, caller=caller) as screen:
        screen.wait("ready")
        screen.wait(screen.is_raw)
        os.kill(tool_of(screen), signal.SIGKILL)
        screen.end()
        screen.wait(screen.settings_are_as_before)
        for undone in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[r"):
            screen.wait(lambda undone=undone: undone in screen.bytes)


def tool_of(screen):
    """The tool itself: for another user a program stands before it."""
    pid = screen.process.pid
    while True:
        name = open(f"/proc/{pid}/comm").read().strip()
        if name == "sandbox-run":
            return pid
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
        assert children, name
        pid = int(children[0])


# Sees its own pause; the limit on its time is shorter than that.
TICKS = ("import time\nlast, gap = time.monotonic(), 0\nprint('ready', flush=True)\n"
         "while gap < 2:\n    time.sleep(.01)\n    now = time.monotonic()\n"
         "    gap, last = now - last, now\nprint('seen', flush=True)")


@pytest.mark.parametrize("options", [(), ("--no-tty",)], ids=["terminal", "pipes"])
def test_a_stopped_run_stands_still_and_its_clock_too(any_caller, options, folder):
    """In a shell with job control, as a user has it."""
    tool = support.command("run", "-l", "python", "-c", TICKS, "--timeout", "4s", "--text", *options,
                           caller=any_caller)
    with screen_of("bash", "--norc", "-i", env=shell_env(any_caller)) as screen:
        screen.wait("%")
        script = folder / "go"
        script.write_text("exec " + " ".join("'%s'" % word.replace("'", "'\\''") for word in tool))
        screen.type(f"bash {script}\r")
        screen.wait("ready")
        screen.type(CTRL_Z)
        screen.wait("Stopped")
        select.select([], [], [], 4.2)  # the time itself is what is tried here
        screen.type("fg\r")
        screen.wait("seen")
        screen.wait(lambda: "exited 0" in screen.text and screen.text.endswith("%"))
        screen.type("exit\r")
        screen.end()


def test_a_stop_while_it_compiles_stands_still_and_its_clock_too(any_caller, folder):
    inside = Inside()
    child = f"child = subprocess.Popen(['sh', '-c', 'sleep 1000; :', '{inside.mark}'])"
    ticks = TICKS.replace("while", child + "\nwhile", 1)
    compiler = ["${binary}", "-c", f"import subprocess\n{ticks}\nchild.kill()\nopen('/build/made', 'w')"]
    language = {"name": "slow", "about": "compiles slowly", "extensions": [".slow"], "mains": ["main.slow"],
                "binaries": ["/usr/bin/python3"], "package": "python3", "source": "main.slow",
                "compile": {"run": compiler, "limits": ["timeout=4s"]},
                "run": ["${binary}", "-c", "print('made', __import__('os').path.exists('/build/made'))"],
                "selftest": {"code": "x", "stdout": "made True\n", "exit": 0}}
    (folder / "slow.yaml").write_text(json.dumps(language))
    tool = support.command("run", "--language-file", folder / "slow.yaml", "-l", "slow", "-c", inside.mark, "--text",
                           caller=any_caller)
    with screen_of("bash", "--norc", "-i", env=shell_env(any_caller)) as screen:
        screen.wait("%")
        script = folder / "go"
        script.write_text("exec " + shlex.join(map(str, tool)))
        screen.type(f"bash {script}\r")
        inside.find(2)  # it ticks, and has a child
        screen.type(CTRL_Z)
        screen.wait("Stopped")
        select.select([], [], [], 4.2)  # the time itself is what is tried here
        screen.type("fg\r")
        screen.wait("made True")
        screen.wait(lambda: "exited 0" in screen.text and screen.text.endswith("%"))
        compiled, total = (float(value) / (1 if unit == "s" else 1000)
                           for value, unit in re.findall(r"(?:compiled|total) ([\d.]+) (m?s)", screen.text))
        assert compiled < 4.2 and total - compiled < 4.2, screen.text  # the pause is not in them
        screen.type("exit\r")
        screen.end()
    inside.close()


def test_a_tool_that_is_stopped_does_not_stop_the_time_limit(caller):
    inside = Inside()
    with shown("exec", "-q", "--timeout", "500ms", "--grace", "0ms", "--", "sh", "-c",
               "echo ready; exec sleep 1000", inside.mark, caller=caller) as screen:
        screen.wait("ready")
        tool = tool_of(screen)
        os.kill(tool, signal.SIGSTOP)
        inside.find(0)  # that has not ended yet
        assert inside.all_end(), "the time limit waits for the tool"
        os.kill(tool, signal.SIGCONT)
        assert screen.end() == 124
    inside.close()


def test_a_job_in_the_background_does_not_take_the_terminal(any_caller, folder):
    tool = support.command("exec", "-q", "--", "sh", "-c",
                           "echo ready; read -r line; echo got $line", caller=any_caller)
    with screen_of("bash", "--norc", "-i", env=shell_env(any_caller)) as screen:
        screen.wait("%")
        script = folder / "go"
        script.write_text("exec " + " ".join("'%s'" % word.replace("'", "'\\''") for word in tool))
        screen.type(f"bash {script} &\r")
        screen.wait("ready")
        screen.type("echo st''ill here\r")
        screen.wait("\nstill here")
        screen.type("fg\r")
        screen.wait(lambda: screen.text.endswith(f"fg\nbash {script}") and screen.is_raw())
        screen.type("word\r")
        screen.wait(lambda: "got word" in screen.text and screen.text.endswith("%"))
        screen.type("exit\r")
        screen.end()


HOSTILE = [("\\033]0;title\\007", b"\x1b]"), ("\\033]52;c;YQ==\\007", b"\x1b]"),
           ("\\033[6n", b"[6n"), ("\\033[c", b"\x1b[c"), ("\\033[5i", b"[5i"),
           ("\\033P+q\\033\\\\", b"\x1bP"), ("\\033[21t", b"21t"), ("\\033c", b"\x1bc"),
           ("\\033[3J", b"[3J"), ("\\033[?2048h", b"2048"), ("\\033[>4;2m", b"[>4")]


def test_hostile_sequences_do_not_reach_the_terminal(any_caller):
    parts = "".join(part for part, _ in HOSTILE)
    line = ("exec", "-q", "--", "printf", f"begin{parts}end\\n")
    with shown(*line, caller=any_caller) as screen:
        assert screen.end() == 0
        assert screen.text == "beginend"
        assert not [name for _, name in HOSTILE if name in screen.bytes]
    with shown("exec", "--raw", *line[1:], caller=any_caller) as screen:
        screen.end()
        assert not [name for _, name in HOSTILE if name not in screen.bytes]


def test_a_program_that_is_typed_ends_with_one_key(any_caller):
    with shown("run", "-q", "-l", "python", "-", caller=any_caller) as screen:
        screen.wait(lambda: True)
        screen.type("print(40 + 2)\r" + CTRL_D)
        assert screen.end() == 0
        assert screen.lines[1] == "42"


def test_without_a_terminal_by_choice(any_caller):
    with shown("exec", "-q", "--no-tty", "--", "sh", "-c", "test -t 1 || echo none",
               caller=any_caller) as screen:
        assert screen.end() == 0
        assert screen.text == "none"


def test_what_went_wrong_is_explained_at_a_terminal_too(folder, root):
    """A terminal has both streams in one, with escape sequences in between."""
    (folder / "zero.py").write_text("def half(n):\n    return n / 0\n\nprint('\\x1b[31mred\\x1b[0m')\nhalf(1)\n")
    with shown(str(folder / "zero.py"), caller=root, rows=30, columns=160) as screen:
        assert screen.end() == 1
        assert "at zero.py:2" in screen.lines and "hint Check that the divisor" in screen.text
    with shown("exec", "--volume", f"{folder}:/data", "--", "sh", "-c", "echo x >/data/new", caller=root, columns=160) as screen:
        assert screen.end() == 2
        assert f"--volume {folder}:/data:rw would allow it" in screen.text
