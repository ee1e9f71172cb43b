"""`sandbox-run agent --ask`: the person at the terminal allows a host, and the program in the sandbox cannot."""
import contextlib
import os
import subprocess

import pytest

import screen
import support
from network_lab import PORTS
from support import sandbox_run

# Each line names a host to talk to.
TALK = f"""talk() {{
  exec 3<>/dev/tcp/$1/{PORTS["ECHO"]} && echo hello >&3 && read -r back <&3 && echo "$1: said $back"
}} 2>/dev/null
n=0; while read -r host; do (talk "$host") || echo "$host: no way"; done
"""
QUESTION = "sandbox-run asks"


@contextlib.contextmanager
def asking(lab, folder, *before, caller=None, without=None, hooks=False, **size):
    project = folder / "project"
    project.mkdir()
    if caller == support.Callers.USER and os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(support.ORDINARY_UID), folder], check=True)
    line = support.command("agent", "--ask", "--project", project, "--", "bash", "-c",
                           "\n".join((*before, "echo ready", TALK)), caller=caller, hooks=hooks)
    own = {"SANDBOX_RUN_CACHE": support.cache_of(caller), "SANDBOX_RUN_STATE": str(folder / "state"),
           "TERM": "xterm-256color"}
    if without:
        own["SANDBOX_RUN_TEST_WITHOUT"] = without
    with screen.screen_of(*lab.host.enter(), *line, env=support.environment(own), **size) as terminal:
        terminal.wait("ready")
        terminal.wait(terminal.is_raw)
        yield terminal


def letters(terminal, keys):
    """Types what opens a question, and waits for the letters that allow it."""
    shown = b"allow it for this run"
    before = terminal.bytes.count(shown)
    for key in keys:
        terminal.type(key)
        terminal.wait(QUESTION)
    terminal.wait(lambda: terminal.bytes.count(shown) > before)
    return next(line.split()[1] for line in terminal.lines if line.startswith("  type "))


def answer(terminal, keys):
    """Types, and waits until the screen is the program's again."""
    left = b"\x1b[?1049l"
    before = terminal.bytes.count(left)
    terminal.type(keys)
    terminal.wait(lambda: terminal.bytes.count(left) > before)


def refused(terminal, host):
    """The program tries, and the person is told."""
    terminal.type(f"{host}\r")
    terminal.wait(f"{host}: no way")
    terminal.wait(f"sandbox-run refused {host} - Ctrl-] decides")


def test_the_person_decides_about_each_host(lab, folder, any_caller):
    with asking(lab, folder, caller=any_caller) as terminal:
        terminal.type("\x1dx\r")  # nothing was refused yet: all keys are the program's
        terminal.wait("^]x")
        refused(terminal, "web.example.org")
        assert letters(terminal, "\x1d") and "web.example.org  (every port)" in terminal.text
        terminal.resize(20, 60)
        os.killpg(terminal.process.pid, 28)  # SIGWINCH, which a terminal sends
        terminal.wait(lambda: terminal.text.count(QUESTION) == 1)
        answer(terminal, letters(terminal, "0"))  # a wrong key changes the letters
        terminal.type("web.example.org\r")
        terminal.wait("web.example.org: said hello")
        refused(terminal, "other.example.org")
        letters(terminal, "\x1d")
        answer(terminal, "n")
        terminal.type("other.example.org\r")  # goes to the program: the question is gone
        terminal.wait(lambda: terminal.bytes.count(b"other.example.org: no way") == 2)
        granted = sandbox_run("agent", "--grant", "web.example.net", caller=any_caller,
                              env={"SANDBOX_RUN_STATE": str(folder / "state")})
        assert granted.stdout == b"allowed web.example.net\n", granted.stderr
        terminal.type("web.example.net\r")
        terminal.wait("web.example.net: said hello")
        terminal.type("loop.example.org\r\x04")
        terminal.end()
        assert terminal.settings_are_as_before()
        assert b"other.example.org - Ctrl-]" not in terminal.bytes.split(b"other.example.org: no way")[2]
        left = terminal.bytes.split(b"loop.example.org: no way")[-1]
        assert b"--allow-host other.example.org" in left, left
        assert b"--allow-host web.example.org" not in left, "it was allowed"


def overdraws(terminal):
    """A question is open, and the program draws another one over it."""
    letters(terminal, "\x1d")
    while terminal.feed(0.2):
        if "pypi.org" in terminal.text:
            return True
    return "pypi.org" in terminal.text


def is_pasted(terminal):
    """Text with the key in it, as a clipboard or an answer of a terminal may have."""
    terminal.type("\x1dyy\r")
    terminal.wait(lambda: "^]yy" in terminal.text or QUESTION in terminal.text)
    return QUESTION in terminal.text


def is_foretold(terminal):
    """The program has told the person which keys to type, one after the other."""
    letters(terminal, "\x1dyy")
    terminal.type("\x1b")
    terminal.wait(lambda: b"\x1b[?1049l" in terminal.bytes)
    terminal.type("\x15web.example.org\r")  # where the question was gone already, Esc went to the program
    terminal.wait(lambda: "said hello" in terminal.text or terminal.bytes.count(b": no way") == 2)
    return "said hello" in terminal.text


DRAWS = "(while sleep 0.01; do printf '\\033[5;5Hallow pypi.org? type yy\\033[8m'; done) &"


@pytest.mark.parametrize("attack, without, before", [(overdraws, "ask-hold", (DRAWS,)), (is_pasted, "ask-alone", ()),
                                                     (is_foretold, "ask-letters", ())])
@pytest.mark.parametrize("open_to_it", [False, True])
def test_the_program_cannot_answer(lab, folder, attack, without, before, open_to_it):
    with asking(lab, folder, *before, hooks=open_to_it, without=open_to_it and without) as terminal:
        terminal.type("web.example.org\r")
        terminal.wait(lambda: b"Ctrl-] decides" in terminal.bytes)
        assert attack(terminal) == open_to_it


@pytest.mark.parametrize("words, said", [((), b"--ask needs a terminal"),
                                         (("--network", "none"), b"--ask needs a terminal")])
def test_without_a_terminal_nobody_can_be_asked(folder, words, said):
    done = sandbox_run("agent", "--ask", *words, "--project", folder, "--", "true")
    assert done.returncode == 125 and said in done.stderr
