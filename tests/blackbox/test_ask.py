"""`sandbox-run agent --ask`: the person at the terminal allows a host, and the program in the sandbox cannot."""
import contextlib
import os
import re
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
def asking(lab, folder, *before, caller=None, without=None, hooks=False, ask=True, **size):
    project = folder / "project"
    project.mkdir(exist_ok=True)
    if caller == support.Callers.USER and os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(support.ORDINARY_UID), folder], check=True)
    line = support.command("agent", *(["--ask"] if ask else []), "--project", project, "--", "bash", "-c",
                           "\n".join((*before, "echo ready", TALK)), caller=caller, hooks=hooks)
    own = {"SANDBOX_RUN_CACHE": support.cache_of(caller), "SANDBOX_RUN_STATE": str(folder / "state"),
           "XDG_CONFIG_HOME": str(folder / "config"), "TERM": "xterm-256color"}
    if without:
        own["SANDBOX_RUN_TEST_WITHOUT"] = without
    with screen.screen_of(*lab.host.enter(), *line, env=support.environment(own), **size) as terminal:
        terminal.wait("ready")
        terminal.wait(terminal.is_raw)
        yield terminal


def letters(terminal, keys):
    """Types what opens a question, and waits for the letters that allow it."""
    shown = b"for this run\r\n"
    before = terminal.bytes.count(shown)
    for key in keys:
        terminal.type(key)
        terminal.wait(QUESTION)
    terminal.wait(lambda: terminal.bytes.count(shown) > before)
    return next(line.split()[1] for line in terminal.lines if line.startswith("  type "))[:2]


def answer(terminal, keys):
    """Types, and waits until the screen is the program's again."""
    left = b"\x1b[?1049l"
    before = terminal.bytes.count(left)
    terminal.type(keys)
    terminal.wait(lambda: terminal.bytes.count(left) > before)


def tries(terminal, host, port=PORTS["ECHO"]):
    """The program tries, its connection waits, and the person is told."""
    before = terminal.bytes.count(b"it waits for")
    terminal.type(f"{host}\r")
    terminal.wait(lambda: terminal.bytes.count(b"it waits for") > before)
    terminal.wait(f"sandbox-run: it waits for {host}:{port} - Ctrl-] de")


def test_a_connection_waits_until_the_person_decides(lab, folder, any_caller):
    with asking(lab, folder, caller=any_caller) as terminal:
        terminal.type("\x1dx\r")  # nothing waits yet: all keys are the program's
        terminal.wait("^]x")
        tries(terminal, "web.example.org")
        assert letters(terminal, "\x1d") and f"web.example.org:{PORTS['ECHO']}" in terminal.text
        terminal.resize(20, 70)
        os.killpg(terminal.process.pid, 28)  # SIGWINCH, which a terminal sends
        terminal.wait(lambda: terminal.text.count(QUESTION) == 1)
        new = letters(terminal, "0")  # a wrong key changes the letters, and says so
        terminal.wait("That was another key")
        answer(terminal, new + "1")
        terminal.wait("web.example.org: said hello")  # that very connection
        tries(terminal, "web.example.org")  # once was once
        answer(terminal, letters(terminal, "\x1d") + "2")
        terminal.wait(lambda: terminal.bytes.count(b"web.example.org: said hello") == 2)
        terminal.type("web.example.org\r")
        terminal.wait(lambda: terminal.bytes.count(b"web.example.org: said hello") == 3)
        tries(terminal, "other.example.org")
        letters(terminal, "\x1d")
        answer(terminal, "n")
        terminal.wait("other.example.org: no way")
        terminal.type("other.example.org\r")  # at once
        terminal.wait(lambda: terminal.bytes.count(b"other.example.org: no way") == 2)
        tries(terminal, "web.example.net")
        granted = sandbox_run("agent", "--grant", "web.example.net", caller=any_caller,
                              env={"SANDBOX_RUN_STATE": str(folder / "state")})
        assert granted.stdout == b"allowed web.example.net\n", granted.stderr
        terminal.wait("web.example.net: said hello")
        tries(terminal, "loop.example.org")
        letters(terminal, "\x1d")
        answer(terminal, "q")
        terminal.wait("loop.example.org: no way")
        terminal.type("alike.example.org\r")  # nothing is asked any more
        terminal.wait("alike.example.org: no way")
        terminal.type("\x04")
        terminal.end()
        assert terminal.settings_are_as_before()
        drawn = re.sub(rb"\x1b\[\?1049h.*?\x1b\[\?1049l", b"", terminal.bytes, flags=re.S)
        assert b"\x1b[1;1H" not in drawn and b"\x1b[2J" not in drawn, "nothing is drawn over what the program wrote"
        left = terminal.bytes.split(b"other.example.org: no way")[-1]
        assert f"--allow-host other.example.org:{PORTS['ECHO']}".encode() in left, left
        assert b"--allow-host web.example.org" not in left, "it was allowed"


def test_what_is_allowed_always_is_kept_in_the_agents_hosts(lab, folder, any_caller):
    with asking(lab, folder, caller=any_caller) as terminal:
        tries(terminal, "web.example.org")
        answer(terminal, letters(terminal, "\x1d") + "3")
        terminal.wait("web.example.org: said hello")
        terminal.type("\x04")
        terminal.end()
    assert (folder / "config/sandbox-run/agent-hosts").read_text() == f"web.example.org:{PORTS['ECHO']}\n"
    with asking(lab, folder, caller=any_caller) as terminal:
        terminal.type("web.example.org\r")
        terminal.wait("web.example.org: said hello")


def test_nothing_outside_hears_of_a_name_that_nobody_allowed(lab, folder, any_caller):
    with asking(lab, folder, caller=any_caller) as terminal:
        tries(terminal, "secret-words.attacker.example.org")
        letters(terminal, "\x1d")
        answer(terminal, "n")
        terminal.wait("secret-words.attacker.example.org: no way")
    assert not [name for name in lab.log("dns") if "secret-words" in str(name)]


def test_an_agent_that_began_without_a_network_is_given_one(lab, folder, any_caller):
    with asking(lab, folder, caller=any_caller, ask=False) as terminal:
        terminal.type("web.example.org\r")
        terminal.wait("web.example.org: no way")  # at once: nobody is asked
        granted = sandbox_run("agent", "--grant", "web.example.org", caller=any_caller,
                              env={"SANDBOX_RUN_STATE": str(folder / "state")})
        assert granted.returncode == 0, granted.stderr
        terminal.type("web.example.org\r")
        terminal.wait("web.example.org: said hello")


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
    terminal.type("\x1d")
    terminal.wait(QUESTION)
    for key in "yy2":
        terminal.type(key)
        terminal.feed(0.05)
    terminal.wait(lambda: "for this run" in terminal.text or "said hello" in terminal.text)
    if terminal.bytes.count(b"\x1b[?1049h") > terminal.bytes.count(b"\x1b[?1049l"):
        answer(terminal, "n")
    terminal.wait(lambda: "said hello" in terminal.text or "no way" in terminal.text)
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
