"""--policy FILE: a policy of one's own is checked as the shipped ones are, and holds inside."""
import json
import os
import shutil
import subprocess

import pytest

import machine_gives
import support
from support import result_of, sandbox_run

HEAD = 'name: {name}\nabout: "a test"\nextends: default\nproc: masked\nsyscalls:\n'
REFUSES = HEAD + "  refuse:\n    - group: places to meet\n      errno: EPERM\n      calls: [{calls}]\n"
PROGRAM = "import socket\ntry:\n    socket.socket()\n    print('made')\nexcept OSError as fault:\n    print(fault.errno)\n"


@pytest.fixture
def write(folder):
    def one(text, **words):
        path = folder / "own.yaml"
        path.write_text(text.format(**words))
        return path
    return one


def test_it_refuses_a_call_inside_and_says_so(caller, write):
    path = write(REFUSES, name="meetless", calls="socket")
    result = result_of("run", "--policy", path, "--lang", "python", "--code", PROGRAM, caller=caller)
    assert result["stdout"] == "1\n" and result["policy"] == "meetless"
    denial, = [one for one in result["denials"] if one["kind"] == "syscall"]
    assert denial["rule"] == "meetless.yaml: places to meet" and denial["remedy"] == "--policy default"
    assert "the rules of a shipped policy" not in result["isolation"]["missing"]
    assert result_of("run", "--lang", "python", "--code", PROGRAM, caller=caller)["stdout"] == "made\n"


def test_one_that_may_allow_more_is_named_in_the_isolation(any_caller, write):
    path = write(HEAD + "  allow:\n    - group: more\n      calls: [syslog]\n", name="wider")
    plan = json.loads(sandbox_run("plan", "--json", "--policy", path, "--lang", "sh", "--code", "true",
                                  caller=any_caller).stdout)
    assert "the rules of a shipped policy" in plan["isolation"]["missing"]


DEBUGGED = "int main(void)\n{\n    volatile int x = 41;\n    x++;\n    return x;\n}\n"
STEPS = ("set disable-randomization off", "break 5", "run", "print x")


@pytest.mark.container
def test_debuggers_run_with_the_policy_of_the_manual(any_caller, folder):
    machine_gives.skip_if(next((f"{name} is not installed" for name in ("gdb", "strace", "gcc") if not shutil.which(name)), None))
    manual = (support.REPO / "docs/policies.md").read_text()
    (folder / "debug.yaml").write_text(manual.partition("```yaml debug.yaml\n")[2].partition("```")[0])
    (folder / "a.c").write_text(DEBUGGED)
    subprocess.run(["gcc", "-g", "-O0", "-o", folder / "a.out", folder / "a.c"], check=True)

    def inside(*words, policy=True):
        options = ("--policy", folder / "debug.yaml") if policy else ()
        return sandbox_run("exec", "--volume", f"{folder}:/src", *options, "--", *words, caller=any_caller)

    gdb = ("gdb", "-nx", "-batch", *(word for step in STEPS for word in ("-ex", step)), "/src/a.out")
    assert b"$1 = 42" in inside(*gdb).stdout
    assert b"$1 = 42" not in inside(*gdb, policy=False).stdout, "the default policy has none"
    assert b"exited with 42" in inside("strace", "/src/a.out").stderr
    assert b"Operation not permitted" in inside("strace", "-p", "1").stderr, "init is nobody's to look into"


@pytest.mark.parametrize("text, words, sentence", [
    (REFUSES, {"name": "one", "calls": "sockett"}, "own.yaml:9: no architecture has a system call 'sockett'"),
    (REFUSES, {"name": "one", "calls": "socket, socket"}, "'socket' is named twice"),
    (REFUSES, {"name": "strict", "calls": "socket"}, "own.yaml:1: 'strict' is the name of another policy"),
    (REFUSES.replace("default", "strict"), {"name": "one", "calls": "socket"}, "own.yaml:3: 'strict' cannot be extended"),
    (REFUSES.replace("default", "nosockets"), {"name": "one", "calls": "bind"}, "'nosockets' cannot be extended"),
    ("internal: true\n" + REFUSES, {"name": "one", "calls": "socket"}, "own.yaml:1: only shipped policies can be internal"),
    (REFUSES.replace("about", "abuot"), {"name": "one", "calls": "socket"}, "did you mean 'about'?"),
    (HEAD.replace("extends: default\n", "") + "  unknown: PASS\n", {"name": "one"}, "own.yaml:"),
])
def test_a_broken_one_gets_its_line_and_no_run(any_caller, write, text, words, sentence):
    done = sandbox_run("exec", "--policy", write(text, **words), "--", "echo", "ran", caller=any_caller)
    assert (done.returncode, done.stdout) == (125, b"") and sentence in done.stderr.decode(), done.stderr


def test_a_policy_that_is_not_there_is_no_policy(any_caller, folder):
    done = sandbox_run("exec", "--policy", folder / "none.yaml", "--", "echo", "ran", caller=any_caller)
    assert (done.returncode, done.stdout) == (125, b"") and b"cannot be opened" in done.stderr


def test_the_configuration_can_name_one(any_caller, folder):
    home = folder / "sandbox-run"
    home.mkdir()
    (home / "config.yaml").write_text("policy: ./own.yaml\n")
    (home / "own.yaml").write_text(REFUSES.format(name="meetless", calls="socket"))
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(support.ORDINARY_UID if any_caller == "user" else 0), folder], check=True)
    env = {"XDG_CONFIG_HOME": str(folder)}
    result = result_of("exec", "--", "true", caller=any_caller, env=env, cwd=folder)
    assert result["policy"] == "meetless" and result["success"]
