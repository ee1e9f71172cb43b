"""How the stages of one job follow one another; what each of them is, is in test_language_programs.py."""
import contextlib
import json
import os
import pathlib
import subprocess

import pytest
import yaml

import support
from support import command, environment, result_of
from waiting import wait_until

# A language whose stages say what they do: its tool is the shell.
STAGED = {
    "name": "staged", "about": "stages", "extensions": [".staged"], "mains": ["main.staged"],
    "binaries": ["/usr/bin/sh"], "package": "dash", "source": "main.staged",
    "prepare": {"run": ["${binary}", "-c", "echo prepared >$1/file", "-", "${prepared}"]},
    "install": {"run": ["${binary}", "-c", "sleep 0.3; to=$1; shift; echo \"$@\" >$to/names", "-", "${deps}"],
                "manifests": [{"file": "needs.txt", "when": "^[a-z]"}]},
    "compile": {"run": ["${binary}", "-c", "cat $1/file >$2/out; cat /dev/null $4 $3 >>$2/out; echo compiled",
                        "-", "${prepared}", "${build}", "${source}", "${deps}/names"]},
    "run": ["/usr/bin/cat", "${build}/out"],
    "selftest": {"code": "x", "stdout": "prepared\nx", "exit": 0},
}


# The same language can do without its prepare stage.
LATER = {**STAGED, "prepare": {**STAGED["prepare"], "optional": True},
         "compile": {**STAGED["compile"], "env": ["PREPARED=${prepared}"],
                     "run": ["${binary}", "-c", "{ [ -z \"$PREPARED\" ] || cat $PREPARED/file; cat /dev/null $3 $2; } >$1/out",
                             "-", "${build}", "${source}", "${deps}/names"]}}


def runner_of(language, folder, caller):
    """Runs with the language, with a store of its own."""
    path = folder / "staged.yaml"
    path.write_text(yaml.safe_dump(language))
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    if caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(cache, support.ORDINARY_UID, support.ORDINARY_UID)

    def run(*words, code="text\n", **env):
        env = {"SANDBOX_RUN_NO_BACKGROUND": None, **env}
        return result_of("run", "--language-file", path, "--lang", "staged", "--code", code, *words, caller=caller,
                         env={"SANDBOX_RUN_CACHE": str(cache), **env})

    run.words = ["run", "--json", "--language-file", path, "--lang", "staged", "--code", "text\n"]
    run.cache = cache
    return run


@pytest.fixture
def staged(folder, caller):
    return runner_of(STAGED, folder, caller)


@pytest.fixture
def later(folder, caller):
    return runner_of(LATER, folder, caller)


def names(result):
    return [stage["name"] for stage in result["stages"]]


def test_what_is_kept_is_not_made_again(staged):
    first, second, other = staged(), staged(), staged(code="other\n")
    assert (names(first), first["cached"]) == (["prepare", "compile", "run"], False)
    assert (names(second), second["cached"]) == (["run"], True)
    assert (names(other), other["cached"]) == (["compile", "run"], False)
    assert first["stdout"] == second["stdout"] == "prepared\ntext\n"
    assert first["stages"][1]["stdout"] == "compiled\n"


def makers(run):
    """Processes that make something ready for the store of this test."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"--prepare" in words and str(run.cache.parent).encode() in words:
                found.append(pid)
    return found


def test_a_first_program_does_not_wait_for_what_it_can_do_without(later):
    first = later()
    assert (names(first), first["stdout"]) == (["compile", "run"], "text\n")
    assert wait_until(lambda: os.path.isdir(later.cache / "prepared") and os.listdir(later.cache / "prepared"), 30)
    assert wait_until(lambda: not makers(later), 30)
    other = later(code="other\n")
    assert (names(other), other["stdout"]) == (["compile", "run"], "prepared\nother\n")


def test_a_first_installer_waits_for_it(later):
    first = later("--dep", "alpha")
    assert names(first) == ["prepare", "dependencies", "compile", "run"]
    assert first["stdout"] == "prepared\nalpha\ntext\n" and not makers(later)


def test_nothing_goes_on_after_the_answer_where_that_is_not_wanted(later):
    quiet = later(SANDBOX_RUN_NO_BACKGROUND="1")
    assert names(quiet) == ["compile", "run"] and not makers(later)
    assert names(later(code="other\n", SANDBOX_RUN_NO_BACKGROUND="1")) == ["compile", "run"]
    assert not os.path.isdir(later.cache / "prepared") or not os.listdir(later.cache / "prepared")


def test_dependencies_are_a_part_of_the_key(staged):
    one, two = staged("--dep", "alpha"), staged("--dep", "alpha", "--dep", "beta@2")
    assert "dependencies" in names(one) and "dependencies" in names(two)
    assert (one["stdout"], two["stdout"]) == ("prepared\nalpha\ntext\n", "prepared\nalpha beta@2\ntext\n")
    assert names(staged("--dep", "alpha")) == ["run"]


def test_two_installs_of_the_same_set_at_once_make_one_layer(staged, caller):
    staged()  # prepared
    words = command(*staged.words, "--dep", "gamma", caller=caller)
    runs = [subprocess.Popen(words, stdout=subprocess.PIPE, env=environment({"SANDBOX_RUN_CACHE": str(staged.cache)}))
            for _ in range(4)]
    results = [json.loads(run.communicate(timeout=support.DEADLINE)[0]) for run in runs]
    assert all(result["stdout"] == "prepared\ngamma\ntext\n" for result in results)
    assert sum("dependencies" in names(result) for result in results) == 1
    assert len(list((staged.cache / "layer").iterdir())) == 1


def test_a_stage_has_its_own_limits(staged):
    result = staged("--compile-limit", "memory=300m", "--memory", "100m")
    limits = {stage["name"]: stage["limits"]["memory_bytes"] >> 20 for stage in result["stages"]}
    assert (limits["compile"], limits["run"]) == (300, 100)


def test_a_check_compiles_and_does_not_run(staged):
    result = staged("--check")
    assert (names(result), result["success"], result["stdout"]) == (["prepare", "compile"], True, "")
    assert names(staged("--check")) == ["compile"]  # a check is asked for, so one is made


def test_the_words_of_a_stage_are_shown_when_asked_for(staged, caller):
    words = [word for word in staged.words if word != "--json"]
    env = environment({"SANDBOX_RUN_CACHE": str(staged.cache)})
    quiet = subprocess.run(command(*words, caller=caller), capture_output=True, env=env, timeout=60, check=False)
    assert (quiet.stdout, quiet.stderr) == (b"prepared\ntext\n", b"")
    words[-1] = "loud\n"
    loud = subprocess.run(command(*words[:1], "--verbose", *words[1:], caller=caller), capture_output=True, env=env,
                          timeout=60, check=False)
    assert loud.stdout == b"prepared\nloud\n" and b"compiled\n" in loud.stderr
