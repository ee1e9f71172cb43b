"""What went wrong in the user's program, by what the real tools were recorded to say of every mistake.

diagnosis_of reads the words and prints the diagnosis, without a sandbox and without a tool.  `make check-diagnosis`
records anew.
"""
import json
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import diagnosis_cases  # noqa: E402
import support  # noqa: E402

TABLES = diagnosis_cases.tables()


def asked(language, case, said):
    """The case as diagnosis_of takes it."""
    files = [{"path": path, "content": text} for path, text in case.get("files", {}).items()]
    request = {"language": language, **({"files": files} if files else {"code": case["code"]})}
    ending = {"ending": said["ending"]} if "ending" in said else {}
    texts = [said[stream] for stream in ("stderr", "stdout") if stream in said]
    return {"request": request, "texts": texts, "compile": said["stage"] != "run", **ending}


@pytest.fixture(scope="module", name="diagnosis_of")
def build_diagnosis_of():
    """Nobody but these tests needs the program, so it is made here."""
    target = "tests/golden/diagnosis_of"
    subprocess.run(["/usr/bin/ninja", "--quiet", "-C", support.BUILD, target], check=True, timeout=280)

    def run(cases):
        done = subprocess.run([support.BUILD / target], input=json.dumps(cases), capture_output=True, text=True,
                              timeout=60, check=True)
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("table", TABLES)
def test_each_recorded_mistake_is_explained(diagnosis_of, table):
    language, cases = TABLES[table]["language"], TABLES[table]["cases"]
    said = diagnosis_cases.recorded(table)
    wrong = []
    for case, found in zip(cases, diagnosis_of([asked(language, case, said[case["name"]]) for case in cases])):
        try:
            assert found, f"no diagnosis: {said[case['name']]}"
            diagnosis_cases.check(language, case, found)
        except AssertionError as problem:
            wrong.append(f"{case['name']}: {problem}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("table", TABLES)
def test_each_mistake_is_recorded_and_some_are_tried_live(table):
    cases = TABLES[table]["cases"]
    names = [case["name"] for case in cases]
    assert len(set(names)) == len(names), "two cases of one name"
    assert list(diagnosis_cases.recorded(table)) == names, "make check-diagnosis records anew"
    assert sum(case.get("live", False) for case in cases) >= diagnosis_cases.LIVE_CASES


# Language, program, what a compiler of an earlier version says of it, type, line.  An image may bring one.
EARLIER = [
    ("go", 'package main\n\nimport "os"\n\nfunc main() {}\n', './main.go:3:8: imported and not used: "os"', "UnusedImport", 3),
    ("go", 'package main\n\nimport a "os"\n\nfunc main() {}\n', './main.go:3:8: imported and not used: "os" as a', "UnusedImport", 3),
    ("go", "package main\n\nfunc main() {\n\tx := 1\n}\n", "./main.go:4:2: x declared but not used", "UnusedVariable", 4),
]


def test_the_words_of_earlier_compilers_are_understood(diagnosis_of):
    cases = [asked(language, {"code": code}, {"stdout": said, "stage": "compile"}) for language, code, said, *_ in EARLIER]
    found = [(one["type"], one["line"]) for one in diagnosis_of(cases)]
    assert found == [(kind, line) for *_, kind, line in EARLIER]
