"""A first hour at a terminal: from a first program to a kept change that becomes real and is taken back."""
import os

import pytest

import support
from screen import screen_of

pytestmark = pytest.mark.group("screens")


@pytest.fixture
def shell(folder, caller):
    """A shell at a terminal, in a directory of the caller's own, with the tool on its path."""
    support.command("run", caller=caller)  # skips where the machine gives too little
    home = folder / "home"
    home.mkdir()
    tools = folder / "tools"
    tools.mkdir()
    (tools / "sandbox-run").symlink_to(support.visible_program())
    folder.chmod(0o755)
    if caller == support.Callers.USER:
        file = home / ".config/sandbox-run/config.yaml"
        file.parent.mkdir(parents=True)
        file.write_text("require: process\n")
        for path in (home, *home.rglob("*")) if os.geteuid() == 0 else ():
            os.chown(path, support.ORDINARY_UID, support.ORDINARY_UID)
    env = support.surroundings(caller, {"TERM": "xterm-256color", "PS1": "% ", "HOME": str(home), "NO_COLOR": "1",
                                        "PATH": f"{tools}:/usr/bin:/bin", "SANDBOX_RUN_STATE": str(home / "state")})
    words = [*support.as_caller(caller), "env", "-C", home, "bash", "--norc", "-i"]
    with screen_of(*words, env=env, rows=40, columns=160) as screen:
        screen.wait("%")
        yield screen


def typed(screen, line, *texts):
    """Types the line on an empty screen and waits for each text, then for the prompt."""
    screen.type("clear\r")
    screen.wait(lambda: screen.text == "%")
    screen.type(line + "\r")
    for text in texts:
        screen.wait(text)
    screen.wait(lambda: screen.text.endswith("\n%"))


def test_a_first_hour(shell):
    typed(shell, "sandbox-run -l python -c 'print(6 * 7)'", "── python code ──\n42\n", "── exited 0 · python 3.")
    typed(shell, "echo 'import sys; print(\"hello\", *sys.argv[1:])' > hello.py")
    typed(shell, "sandbox-run hello.py Ada", "\nhello Ada\n")
    typed(shell, "sandbox-run -l pyhton -c 1", "did you mean 'python'")
    typed(shell, "sandbox-run --timeout 300ms exec -- sleep 5", "timeout", "--timeout 600ms would allow more")
    typed(shell, "sandbox-run exec -- cat hello.py", "--project .")
    typed(shell, "sandbox-run exec --project . -- cat hello.py", 'print("hello"')
    typed(shell, "mkdir logs; echo old > logs/a.log; echo level=debug > logs/conf")
    typed(shell, "sandbox-run --project logs --diff --keep -l sh -c 'rm a.log; sed -i s/debug/info/ conf'",
          "+level=info", "would delete 1 file", "kept as ")
    kept = shell.text.split("kept as ")[1].split(":")[0]
    typed(shell, "ls logs", "a.log  conf")
    shell.type(f"clear; sandbox-run apply {kept}\r")
    shell.wait("[y/N]")
    shell.type("y\r")
    shell.wait(lambda: "takes it back" in shell.text and shell.text.endswith("\n%"))
    typed(shell, "ls logs; cat logs/conf", "conf\nlevel=info")
    typed(shell, f"sandbox-run undo {kept} --yes; ls logs", "a.log  conf")
    shell.type("exit\r")
    assert shell.end() == 0 and shell.settings_are_as_before()
