"""What went wrong in the user's program: some mistakes through the real tools.

All of them, by what the tools were recorded to say, are in tests/golden/test_recorded_diagnosis.py."""
import functools
import json

import pytest

import diagnosis_cases
import support
from support import result_of

LIVE = [pytest.param(table["language"], case, id=f"{name}: {case['name']}")
        for name, table in diagnosis_cases.tables().items() for case in table["cases"] if case.get("live")]


@functools.lru_cache(maxsize=None)
def installed_languages():
    found = json.loads(support.sandbox_run("languages", "--json", "--no-selftest").stdout)
    return {language["name"] for language in found["languages"] if language["installed"]}


@pytest.mark.parametrize("name, case", LIVE)
def test_a_mistake_is_explained(name, case, folder):
    if name not in installed_languages():
        pytest.skip(f"{name} is not installed")
    result = diagnosis_cases.run(name, case, folder)
    assert result["diagnosis"], (result["outcome"], result["stderr"], result["stages"])
    diagnosis_cases.check(name, case, result["diagnosis"])


def test_a_program_that_succeeds_has_no_diagnosis(any_caller):
    result = support.python("import sys\nsys.stderr.write('ValueError: not really\\n')", caller=any_caller)
    assert result["success"] and result["diagnosis"] is None


def test_a_program_that_fails_in_its_own_words_has_none_either(any_caller):
    result = support.python("import sys\nsys.exit('no such customer')", caller=any_caller)
    assert result["exit_code"] == 1 and result["diagnosis"] is None


def test_an_ordinary_user_gets_the_same(caller):
    found = support.python("def f():\n    return 1 / 0\n\nf()\n", caller=caller)["diagnosis"]
    assert (found["type"], found["file"], found["line"]) == ("ZeroDivisionError", "main.py", 2)


def test_a_line_of_a_harness_becomes_one_of_the_snippet(any_caller, folder):
    template = folder / "harness.py"
    template.write_text("import sys\n\ndef before():\n    pass\n\n{{code}}\n\nmain()\n")
    snippet = "def main():\n    total = 0\n    return totl\n"
    found = result_of("run", "--lang", "python", "--template", template, "--code", snippet,
                      caller=any_caller)["diagnosis"]
    assert (found["type"], found["line"]) == ("NameError", 3)
    assert [(frame["line"], frame["function"]) for frame in found["frames"]] == [(3, "main")]
    assert found["context"].split("\n") == ["    2 |     total = 0", ">   3 |     return totl"]


def test_hostile_output_costs_little(any_caller):
    code = ("import sys\nsys.stderr.write('Error: ' * 2000000)\n"
            "sys.stderr.write('\\n\\0\\xff  File \"x\", line 3' * 100000)\nsys.exit(1)")
    result = support.python(code, caller=any_caller)
    assert result["exit_code"] == 1
