"""What users of other tools type without thinking, and what it does here."""
import json
import shutil

import pytest

from support import WAITED, sandbox_run

SHOW = "import os, sys; print(sys.argv[1:], os.environ.get('FOO'), os.environ.get('BAR'))\n"


@pytest.fixture(name="program")
def a_program(folder):
    (folder / "hello.py").write_text(SHOW)
    return folder


def say(*words, **kwargs):
    done = sandbox_run(*words, **kwargs)
    return done.returncode, done.stdout.decode(), WAITED.sub("", done.stderr.decode())


@pytest.mark.parametrize("options", [["--memory", "256m"], ["--json"], ["--timeout=9s", "-qm", "64m"]])
def test_options_may_stand_before_the_command(any_caller, options):
    status, out, said = say(*options, "exec", "--", "echo", "hi", caller=any_caller)
    assert (status, said) == (0, "")
    assert (json.loads(out)["stdout"] if "--json" in options else out) == "hi\n"


def test_commands_of_the_full_program_take_options_before_them_too(folder):
    (folder / "plan").write_text("a file of that name is not meant")
    status, out, _ = say("--lang", "sh", "--code", "ls", "plan", "--json", cwd=folder)
    assert status == 0 and json.loads(out)["argv"]


def test_an_option_that_the_command_does_not_have_is_refused():
    status, _, said = say("--memory", "1g", "doctor")
    assert status == 125 and "there is no option '--memory'" in said
    status, _, said = say("--memory", "1g", "exce")
    assert status == 127 and "did you mean `sandbox-run exec`?" in said


def test_words_behind_the_file_are_arguments_and_options_stay_ours(any_caller, program):
    status, out, _ = say("hello.py", "first", "--timeout", "9s", "second", "--", "--json", "-",
                         cwd=program, caller=any_caller)
    assert (status, out) == (0, "['first', 'second', '--json', '-'] None None\n")


def test_an_option_behind_the_file_that_is_not_ours_is_not_lost_silently(program):
    status, out, said = say("hello.py", "--fast", cwd=program)
    assert (status, out) == (125, "")
    assert "'--fast'" in said and "what is for the program comes after --" in said


def test_variables_are_handed_on_by_name_and_read_from_files(any_caller, program):
    env = {"FOO": "ours", "BAR": "too"}
    run = ["hello.py"]
    assert "'ours' None" not in say("-e", "FOO", *run, cwd=program, caller=any_caller)[1]
    assert say("-e", "FOO", "-e", "NOT_SET", *run, cwd=program, caller=any_caller,
               env=env)[1] == "[] ours None\n"
    (program / "vars").write_text("# a comment\n\nFOO=a 'b' c\r\nBAR\n")
    assert say("--env-file", "vars", *run, cwd=program, caller=any_caller,
               env=env)[1] == "[] a 'b' c too\n"
    assert say("-e", "FOO=over", "--env-file", "vars", *run, cwd=program, caller=any_caller,
               env=env)[1] == "[] over too\n"


@pytest.mark.parametrize("text, said", [("=x\n", "'vars' line 1: "), ("A=1\n\nB C=2\n", "'vars' line 3: "),
                                        ("A=\0", "has a zero byte")])
def test_a_bad_line_of_an_env_file_is_named(program, text, said):
    (program / "vars").write_text(text)
    status, out, errors = say("--env-file", "vars", "hello.py", cwd=program)
    assert (status, out) == (125, "") and said in errors


def test_a_missing_env_file_is_named(program):
    status, _, said = say("--env-file", "nosuch", "hello.py", cwd=program)
    assert status == 127 and "'nosuch'" in said


def test_time_limits_can_be_switched_off(any_caller):
    words = ["--json", "--timeout", "none", "--cpu-time", "none", "exec", "--", "echo", "hi"]
    limits = json.loads(say(*words, caller=any_caller)[1])["limits"]
    assert (limits["wall_ms"], limits["cpu_ms"]) == (None, None)
    for given in ({"timeout": "none"}, {"wall_ms": None}):
        request = json.dumps({"args": ["true"], "limits": given}).encode()
        result = json.loads(say("--json", "--request", "-", stdin=request, caller=any_caller)[1])
        assert (result["outcome"], result["limits"]["wall_ms"]) == ("exited", None)


@pytest.mark.parametrize("option", ["memory", "pids", "disk", "grace"])
def test_what_keeps_the_machine_safe_cannot_be_switched_off(option):
    status, _, said = say("exec", f"--{option}", "none", "--", "true")
    assert status == 125 and f"--{option} 'none'" in said and "or none" not in said


# exec: tools, packages, and the directory that is not inside


def test_exec_finds_toolchains_that_lie_elsewhere(any_caller):
    """As `languages` does, and only when the command is not where commands are."""
    listed = json.loads(sandbox_run("languages", "go", "--json", caller=any_caller).stdout)["languages"][0]
    if not listed["installed"] or shutil.which("go", path="/usr/local/bin:/usr/bin:/bin"):
        pytest.skip("no Go outside of the usual directories")
    status, out, said = say("exec", "--", "go", "version", caller=any_caller)
    assert (status, said) == (0, "") and out.startswith(f"go version go{listed['versions'][0]['version']} ")
    assert say("exec", "--", "sh", "-c", "command -v go", caller=any_caller)[0] != 0
    status, out, _ = say("exec", "--lang", "go", "--", "sh", "-c", "command -v go", caller=any_caller)
    assert status == 0 and out.endswith("/go\n")


def test_exec_brings_the_packages_of_a_language(any_caller, folder):
    (folder / "check.py").write_text("import six; print(six.__version__)\n")
    status, out, said = say("exec", "--lang", "python", "--dep", "six@1.16.0", "--project", folder, "--",
                            "python3", "check.py", caller=any_caller, timeout=300)
    if "refused" in said or "index" in said.lower():
        pytest.skip("no registry can be reached")
    assert (status, out, said) == (0, "1.16.0\n", "")
    request = json.dumps({"language": "python", "command": True, "args": ["sh", "-c", "echo $PATH"]}).encode()
    status, out, _ = say("--request", "-", stdin=request, caller=any_caller)
    assert status == 0 and out.startswith("/usr/")


def test_packages_without_a_language_are_refused():
    status, _, said = say("exec", "--dep", "six", "--", "true")
    assert status == 125 and "--dep needs --lang NAME" in said


def test_a_command_that_misses_the_callers_files_is_told_that_they_are_not_inside(any_caller, program):
    hint = "your directory has 'hello.py' but is not inside; --project . brings it in"
    status, _, said = say("exec", "--", "cat", "hello.py", cwd=program, caller=any_caller)
    assert status == 1 and hint in said
    status, out, said = say("exec", "--project", ".", "--", "cat", "hello.py", cwd=program, caller=any_caller)
    assert (status, out, said) == (0, SHOW, "")
    status, _, said = say("exec", "./hello.py", cwd=program, caller=any_caller)
    assert status == 127 and "is not inside: --project . brings it in" in said
    for words in (["exec", "-q", "cat", "hello.py"], ["exec", "cat", "other.py"], ["exec", "echo", "hello.py"]):
        assert "not inside" not in say(*words, cwd=program, caller=any_caller)[2], words


# Packages that a file names by itself

SCRIPT = """#!/usr/bin/env python3
# /// script
# requires-python = ">=3.9"
# dependencies = [
#   "six == 1.16.0",  # the last of its kind
# ]
# ///
import six
print(six.__version__)
"""


def test_the_block_of_a_python_script_names_its_packages(any_caller, folder):
    (folder / "job.py").write_text(SCRIPT)
    status, out, said = say("job.py", cwd=folder, caller=any_caller, timeout=300)
    assert (status, out, said) == (0, "1.16.0\n", "")
    status, _, said = say("-l", "python", "-", stdin=SCRIPT.replace('1.16.0"', '1.16.0; x"').encode(), caller=any_caller)
    assert status == 125 and "has a condition" in said


def test_the_package_json_beside_a_program_counts(any_caller, folder):
    (folder / "package.json").write_text('{"dependencies": {"left-pad": "1.3.0"}}')
    (folder / "app.js").write_text("console.log(require('left-pad')('x', 3))")
    (folder / "plain.js").write_text("console.log(process.cwd())")
    status, out, said = say("app.js", cwd=folder, caller=any_caller, timeout=300)
    assert (status, out, said) == (0, "  x\n", "")
    result = json.loads(say("--json", str(folder / "plain.js"), caller=any_caller)[1])
    assert result["stdout"] == "/work\n" and [stage["name"] for stage in result["stages"]] == ["run"]
