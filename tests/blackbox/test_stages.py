"""How the stages of one job follow one another; what each of them is, is in test_language_programs.py."""
import json
import os
import subprocess

import pytest
import yaml

import support
from support import command, environment, result_of

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


@pytest.fixture
def staged(folder, caller):
    """Options for a run, with a store of its own."""
    path = folder / "staged.yaml"
    path.write_text(yaml.safe_dump(STAGED))
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    if caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(cache, support.ORDINARY_UID, support.ORDINARY_UID)

    def run(*words, code="text\n"):
        return result_of("run", "--language-file", path, "--lang", "staged", "--code", code, *words, caller=caller,
                         env={"SANDBOX_RUN_CACHE": str(cache)})

    run.words = ["run", "--json", "--language-file", path, "--lang", "staged", "--code", "text\n"]
    run.cache = cache
    return run


def names(result):
    return [stage["name"] for stage in result["stages"]]


def test_what_is_kept_is_not_made_again(staged):
    first, second, other = staged(), staged(), staged(code="other\n")
    assert (names(first), first["cached"]) == (["prepare", "compile", "run"], False)
    assert (names(second), second["cached"]) == (["run"], True)
    assert (names(other), other["cached"]) == (["compile", "run"], False)
    assert first["stdout"] == second["stdout"] == "prepared\ntext\n"
    assert first["stages"][1]["stdout"] == "compiled\n"


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
