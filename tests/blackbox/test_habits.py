"""What users of other tools type without thinking, and what it does here."""
import json

import pytest

from support import sandbox_run

SHOW = "import os, sys; print(sys.argv[1:], os.environ.get('FOO'), os.environ.get('BAR'))\n"


@pytest.fixture(name="program")
def a_program(folder):
    (folder / "hello.py").write_text(SHOW)
    return folder


def say(*words, **kwargs):
    done = sandbox_run(*words, **kwargs)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


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
