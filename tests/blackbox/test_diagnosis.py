"""What went wrong in the user's program: one small program per rule, run by the real tool."""
import functools
import json
import pathlib

import pytest
import yaml

import support
from support import result_of

CASES = pathlib.Path(__file__).resolve().parent / "diagnosis"
COMPILE_SLOWLY = 600  # seconds: the first run of a language prepares its toolchain


def cases():
    for path in sorted(CASES.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        for case in document["cases"]:
            yield pytest.param(document["language"], case, id=f"{path.stem}: {case['name']}")


@functools.lru_cache(maxsize=None)
def language_file(name):
    for path in pathlib.Path(support.REPO, "languages").glob("*.yaml"):
        language = yaml.safe_load(path.read_text())
        if language["name"] == name:
            return language
    raise AssertionError(f"no language {name}")


@functools.lru_cache(maxsize=None)
def installed_languages():
    found = json.loads(support.sandbox_run("languages", "--json", "--no-selftest").stdout)
    return {language["name"] for language in found["languages"] if language["installed"]}


def run(name, case, folder, *options):
    options = [*options, *case.get("options", [])]
    if "files" not in case:
        return result_of("run", "--lang", name, *options, "--code", case["code"],
                         timeout=COMPILE_SLOWLY), language_file(name)["source"]
    for path, text in case["files"].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    main = next(iter(case["files"]))
    return result_of("run", "--lang", name, *options, folder, timeout=COMPILE_SLOWLY), main


def check_place(case, found, main):
    assert found["file"] == case.get("file", main)
    for part in ("line", "column"):
        if part in case:
            assert found[part] == case[part], part
    if found["file"] and found["line"]:
        marked = [line for line in found["context"].split("\n") if line.startswith(">")]
        assert [int(line[1:5]) for line in marked] == [found["line"]]
    for frame in found["frames"]:
        assert not frame["file"].startswith(("/work/", "/driver/")), frame


def check_words(case, found):
    if "message" in case:
        assert case["message"] in found["message"]
    if "suggestion" in case:
        assert any(part in (found["suggestion"] or "") for part in case["suggestion"].split("|"))
    if "context" in case:
        assert found["context"] == case["context"]
    if "frames" in case:
        frames = [[frame["file"], frame["line"], frame["function"]] for frame in found["frames"]]
        assert frames[:len(case["frames"])] == case["frames"]
    assert found["link"].startswith("https://")


@pytest.mark.parametrize("name, case", list(cases()))
def test_a_mistake_is_explained(name, case, folder):
    if name not in installed_languages():
        pytest.skip(f"{name} is not installed")
    result, main = run(name, case, folder)
    found = result["diagnosis"]
    assert found, (result["outcome"], result["stderr"], result["stages"])
    assert found["type"] in case["type"].split("|"), found
    check_place(case, found, main)
    check_words(case, found)


def test_a_program_that_succeeds_has_no_diagnosis(caller):
    result = support.python("import sys\nsys.stderr.write('ValueError: not really\\n')", caller=caller)
    assert result["success"] and result["diagnosis"] is None


def test_a_program_that_fails_in_its_own_words_has_none_either(caller):
    result = support.python("import sys\nsys.exit('no such customer')", caller=caller)
    assert result["exit_code"] == 1 and result["diagnosis"] is None


def test_an_ordinary_user_gets_the_same(caller):
    found = support.python("def f():\n    return 1 / 0\n\nf()\n", caller=caller)["diagnosis"]
    assert (found["type"], found["file"], found["line"]) == ("ZeroDivisionError", "main.py", 2)


def test_a_line_of_a_harness_becomes_one_of_the_snippet(caller, folder):
    template = folder / "harness.py"
    template.write_text("import sys\n\ndef before():\n    pass\n\n{{code}}\n\nmain()\n")
    snippet = "def main():\n    total = 0\n    return totl\n"
    found = result_of("run", "--lang", "python", "--template", template, "--code", snippet,
                      caller=caller)["diagnosis"]
    assert (found["type"], found["line"]) == ("NameError", 3)
    assert [(frame["line"], frame["function"]) for frame in found["frames"]] == [(3, "main")]
    assert found["context"].split("\n") == ["    2 |     total = 0", ">   3 |     return totl"]


def test_hostile_output_costs_little(caller):
    code = ("import sys\nsys.stderr.write('Error: ' * 2000000)\n"
            "sys.stderr.write('\\n\\0\\xff  File \"x\", line 3' * 100000)\nsys.exit(1)")
    result = support.python(code, "--max-output", "64m", caller=caller)
    assert result["exit_code"] == 1
