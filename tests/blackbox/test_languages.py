"""Every language proves itself with the selftest of its own file, on the real interpreter."""
import glob
import os
import pathlib
import re
import sys

import pytest

import support
from support import result_of
import yaml_text

LANGUAGES = [yaml_text.load(path.read_text())
             for path in sorted(pathlib.Path(support.REPO, "languages").glob("*.yaml"))]
assert LANGUAGES


def installed(language):
    if not any(glob.glob(os.path.expanduser(pattern)) for pattern in language["binaries"]):
        pytest.skip(f"{language['name']} is not installed: apt-get install {language['package']}")


def check(language, result):
    test = language["selftest"]
    assert (result["outcome"], result["exit_code"]) == ("exited", test.get("exit", 0)), result
    assert result["stdout"] == test["stdout"]
    if language["literal"] not in ("sql", "postgres"):  # they end by an error, and say so
        assert result["stderr"] == ""


PARTS = ("prepare", "install", "compile", "check", "warm", "session", "profile")


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language["name"])
def test_each_part_has_the_drivers_that_its_words_name(language):
    own = {part: set(language.get(part, {}).get("drivers", ())) for part in PARTS}
    common = set(language.get("drivers", ())).difference(*own.values())
    for part in ("run", *PARTS):
        lists = [language["run"]] if part == "run" else [language.get(part, {}).get(key, ()) for key in
                                                         ("run", "compile", "env")]
        words = " ".join(sum(map(list, lists), []) + language.get("env", []))
        named = set(re.findall(r"\$\{(?:driver|live)\}/([\w.-]+)", words))
        assert named <= common | own.get(part, set()), part


def test_a_run_of_python_gets_two_drivers_and_bytecode_of_one(caller):
    code = "import os, sys; print(sorted(os.listdir('/driver')), os.listdir('/driver/__pycache__'))\n"
    said = result_of("run", "--lang", "python", "--code", code, "--env", "PYTHONVERBOSE=1", caller=caller)
    assert "['__pycache__', 'python-bulk.py', 'sitecustomize.py']" in said["stdout"]
    bytecode = re.search(r"sitecustomize\.[\w-]+\.pyc", said["stdout"])[0]
    if f".{sys.implementation.cache_tag}." in bytecode:
        assert f"code object from '/driver/__pycache__/{bytecode}'" in said["stderr"]
    # A Python that has no bytecode of this form compiles the source.
    said = result_of("run", "--lang", "python", "--code", code, "--env", "PYTHONVERBOSE=1", "--env",
                     "PYTHONOPTIMIZE=1", caller=caller)
    assert "code object from /driver/sitecustomize.py" in said["stderr"]


# On emulated hosts, where making others ready would take too long.
CORE = ("python", "bash", "sh", "c")
PARAMETERS = [pytest.param(language, id=language["name"],
                           marks=[pytest.mark.core] if language["name"] in CORE else [])
              for language in LANGUAGES]


@pytest.fixture(params=PARAMETERS)
def language(request):
    installed(request.param)
    return request.param


def passes_selftest(language, name, caller):
    test = language["selftest"]
    check(language, result_of("run", "--lang", name, "--code", test["code"], stdin=test.get("stdin", "").encode(),
                              caller=caller))


def test_a_language_passes_its_selftest(caller, language):
    passes_selftest(language, language["name"], caller)


def test_a_language_passes_its_selftest_by_each_of_its_other_names(any_caller, language):
    for name in language.get("aliases", []):
        passes_selftest(language, name, any_caller)


def test_a_language_is_known_by_its_extension_and_its_first_line(any_caller, language, folder):
    test = language["selftest"]
    stdin = test.get("stdin", "").encode()
    source = pathlib.Path(language["source"])
    for extension in language.get("extensions", []):
        if extension == ".cjs":
            continue  # the selftest is an ES module
        path = folder / f"{source.stem}{extension}"
        path.write_text(test["code"])
        result = result_of("run", path, stdin=stdin, caller=any_caller)
        assert (result["outcome"], result["exit_code"]) == ("exited", test.get("exit", 0)), result
    for shebang in language.get("shebangs", []):
        for line in (f"#!/usr/bin/env {shebang}", f"#! /bin/{shebang} "):
            path = folder / ("program.ts" if language["name"] == "typescript" else "program")
            path.write_text(f"{line}\n{test['code']}")
            result = result_of("run", path, stdin=stdin, caller=any_caller)
            assert result["exit_code"] == test.get("exit", 0), (line, result)


def test_a_language_is_known_by_the_main_file_of_a_directory(any_caller, language, folder):
    test = language["selftest"]
    if not language.get("extensions"):
        return  # its files are another's by their names: this one is asked for
    suffix = pathlib.Path(language["source"]).suffix  # what the selftest is written for
    for number, main in enumerate(name for name in language["mains"]
                                  if "*" not in name and name.endswith(suffix)):
        project = folder / f"project-{number}"
        (project / main).parent.mkdir(parents=True)
        (project / main).write_text(test["code"])
        result = result_of("run", project, stdin=test.get("stdin", "").encode(), caller=any_caller)
        assert result["exit_code"] == test.get("exit", 0), result
