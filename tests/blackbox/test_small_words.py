"""Small things that a person met in the first hour: each command is quiet when asked to be, help is by task and readable,
and what was ignored in silence is said."""
import json
import os
import re
import subprocess

import pytest

import support
from screen import screen_of, shown
from support import sandbox_run
from test_wrong_inputs import commands
from waiting import read_line, started

PROJECT_FILES = {"test_a.py": "def test_one():\n    assert 1 == 1\n"}


def test_every_command_can_be_quiet():
    lacking = [name for name in commands() if name != "docker"
               and "--quiet" not in sandbox_run(name, "--help").stdout.decode()]
    assert not lacking


@pytest.mark.parametrize("words", [["changes", "list"], ["audit"], ["output", "list"]])
def test_quiet_leaves_out_what_is_only_said(any_caller, words, folder):
    os.chmod(folder, 0o777)
    env = {"SANDBOX_RUN_STATE": str(folder / "state")}
    said = sandbox_run(*words, caller=any_caller, env=env)
    quiet = sandbox_run(*words, "--quiet", caller=any_caller, env=env)
    assert said.stderr and (quiet.returncode, quiet.stderr, quiet.stdout) == (said.returncode, b"", said.stdout)


def test_quiet_still_has_errors():
    done = sandbox_run("changes", "show", "--quiet", "nothing-of-that-name")
    assert done.returncode and done.stderr.count(b"\n") == 1


def test_help_has_each_command_once_under_a_task():
    text = sandbox_run("help").stdout.decode()
    listed = re.findall(r"^  ([a-z]+) +\S", text[text.index("\nRun:"):text.index("\nLanguages:")], re.MULTILINE)
    assert sorted(listed) == sorted(commands())
    assert "\nMore:\n" not in text  # a new command needs a task of cmd_help.c


def test_a_page_at_a_terminal_has_no_markdown():
    with shown("help", "workspaces", env={"PAGER": "cat"}, columns=70, rows=600) as screen:
        assert screen.end() == 0
        assert not re.search(r"^(#|```|\|)|\]\(", screen.text, re.MULTILINE)
        prose = [line for line in screen.lines if not line.startswith("    ")]
        assert max(map(len, prose)) <= 70 and b"\x1b[1m" in screen.bytes
    assert sandbox_run("help", "workspaces").stdout.startswith(b"# ")  # a pipe has the page itself


def test_an_audit_that_is_off_says_so(any_caller):
    done = sandbox_run("audit", caller=any_caller, env={"XDG_CONFIG_HOME": "/nowhere"})
    assert done.stdout == b"" and b"`audit: true`" in done.stderr


def test_a_key_at_the_wrong_level_is_told_where_it_belongs(folder):
    (folder / "sandbox-run").mkdir()
    (folder / "sandbox-run/config.yaml").write_text("memory: 1g\n")
    done = sandbox_run("config", env={"XDG_CONFIG_HOME": str(folder)})
    assert b"Unexpected key: memory; it belongs below 'limits:'" in done.stderr, done.stderr


@pytest.mark.parametrize("words, said", [
    (["config", "sett", "x"], "'x' is one word too many"), (["config", "sett"], "there is no file or directory 'sett'"),
    (["--json", "--text", "-l", "python", "-c", "1"], "--text and --json exclude one another")])
def test_words_that_were_ignored_are_refused(words, said):
    done = sandbox_run(*words)
    assert done.returncode in (125, 127) and said in (done.stderr + done.stdout).decode()


def test_php_without_its_opening_is_told_so(any_caller):
    done = sandbox_run("-l", "php", "-c", "echo 1;", caller=any_caller)
    assert done.stdout == b"echo 1;" and b"without '<?php' php prints the text" in done.stderr
    assert b"prints the text" not in sandbox_run("-l", "php", "-c", "<?php echo 1;", caller=any_caller).stderr


def test_what_a_program_imports_is_said_at_a_terminal(any_caller):
    code = ("-l", "python", "-c", "import subprocess, socket")
    assert b"the program uses " in sandbox_run("--text", *code, caller=any_caller).stderr
    assert b"the program uses " not in sandbox_run(*code, caller=any_caller).stderr


def test_profile_gives_the_program_what_is_on_stdin(any_caller, folder):
    (folder / "p.py").write_text("n = int(input())\nprint(n * n)")
    done = sandbox_run("profile", "--repeat", "1", "--warm-up", "0", "--json", "p.py", caller=any_caller, stdin=b"6\n",
                       cwd=folder)
    assert done.returncode == 0, done.stderr
    assert '"failed": 0' in json.dumps(json.loads(done.stdout)) or b"Error" not in done.stderr


def test_profile_says_that_it_reads_a_stdin_that_does_not_end(any_caller, folder):
    (folder / "p.py").write_text("print(input())")
    with started("profile", "--repeat", "1", "--warm-up", "0", "p.py", caller=any_caller, cwd=folder, stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert b"reading what the runs get on stdin" in read_line(process.stderr)
        process.communicate(b"6\n", timeout=support.DEADLINE)
        assert process.returncode == 0


@pytest.mark.container
def test_test_and_verify_mean_the_same_project(any_caller, folder):
    below = folder / "project/src"
    below.mkdir(parents=True)
    (folder / "project/.git").mkdir()
    for name, text in PROJECT_FILES.items():
        (folder / "project" / name).write_text(text)
    os.chmod(folder, 0o755)
    done = sandbox_run("test", caller=any_caller, cwd=below, env={"HOME": str(folder)})
    assert b"the project is the repository around this directory" in done.stderr, done.stderr
    assert done.returncode == 0 and b"1 passed" in done.stdout + done.stderr, done.stdout


QUESTION = "the checks passed; write 'out.py'? [y/N]"


@pytest.mark.parametrize("answer, written", [("y", True), ("n", False)])
def test_verify_asks_at_the_terminal_though_the_code_is_on_stdin(any_caller, folder, answer, written):
    os.chmod(folder, 0o777)
    tool = " ".join(support.command("verify", "-l", "python", "--write", "out.py", "--skip", "types", "--skip", "lint",
                                    caller=any_caller))
    line = ["sh", "-c", f"cd {folder} && echo 'x = 1' | {tool}"]
    with screen_of(*line, env={**support.surroundings(any_caller), "TERM": "xterm"}) as screen:
        screen.wait(QUESTION)
        assert "passed:" in screen.text[:screen.text.index(QUESTION)]  # the report comes first
        screen.type(f"{answer}\n")
        assert screen.end() == 0
    assert (folder / "out.py").exists() == written
