"""test: a project's own tests, case by case, whatever runs them."""
import json
import xml.etree.ElementTree as tree

import pytest

from support import sandbox_run

PROJECTS = {
    "pytest": ({"tests/test_a.py": "import pytest\n\ndef test_good():\n    pass\n\ndef test_bad():\n    assert 1 == 2\n"
                                   "\n@pytest.mark.skip(reason='later')\ndef test_late():\n    pass\n"},
               {"tests.test_a::test_good": "passed", "tests.test_a::test_bad": "failed",
                "tests.test_a::test_late": "skipped"}),
    "unittest": ({"test_u.py": "import unittest\n\nclass A(unittest.TestCase):\n    def test_good(self):\n"
                               "        pass\n    def test_bad(self):\n        self.assertEqual(1, 2)\n"
                               "    def test_broken(self):\n        raise ValueError('x')\n"},
                 {"test_u.A.test_good": "passed", "test_u.A.test_bad": "failed", "test_u.A.test_broken": "error"}),
    "node": ({"a.test.js": "const { test, describe, it } = require('node:test'); const assert = require('assert');\n"
                           "test('good', () => {});\n"
                           "describe('group', () => { it('bad', () => assert.strictEqual(1, 2)); it.skip('late'); });\n"},
             {"good": "passed", "group::bad": "failed", "group::late": "skipped"}),
    "cargo": ({"Cargo.toml": "[package]\nname = \"t\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
               "src/lib.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn good() {}\n    #[test]\n    fn bad() {\n"
                             "        assert_eq!(1, 2);\n    }\n    #[test]\n    #[ignore]\n    fn late() {}\n}\n"},
              {"tests::good": "passed", "tests::bad": "failed", "tests::late": "skipped"}),
}


def project(folder, files):
    for name, text in files.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder / "project")


@pytest.mark.parametrize("runner", PROJECTS)
def test_each_case_of_the_runner_is_a_case(root, folder, runner):
    files, wanted = PROJECTS[runner]
    path = project(folder, files)
    before = sorted(str(one) for one in (folder / "project").rglob("*"))
    done = sandbox_run("test", "--json", path, caller=root)
    found = json.loads(done.stdout)
    assert found["runner"] == runner and {one["name"]: one["outcome"] for one in found["cases"]} == wanted
    bad = next(one for one in found["cases"] if one["outcome"] == "failed")
    assert "1" in bad["message"] and done.returncode == 1
    assert found["summary"]["passed"] == 1 and found["summary"]["failed"] == 1 and found["outcome"] == "exited"
    assert sorted(str(one) for one in (folder / "project").rglob("*")) == before


def test_go_has_its_cases(root, folder):
    path = project(folder, {"go.mod": "module ex\n\ngo 1.19\n", "a_test.go": (
        "package ex\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n"
        "func TestBad(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Fatalf(\"got %d\", 3) }) }\n"
        "func TestLate(t *testing.T) { t.Skip(\"why\") }\n")})
    found = json.loads(sandbox_run("test", "--json", path, caller=root, timeout=300).stdout)
    cases = {one["name"]: one for one in found["cases"]}
    assert {name: one["outcome"] for name, one in cases.items()} == {
        "ex::TestGood": "passed", "ex::TestBad/sub": "failed", "ex::TestBad": "failed", "ex::TestLate": "skipped"}
    assert (cases["ex::TestBad/sub"]["file"], cases["ex::TestBad/sub"]["line"]) == ("a_test.go", 6)


def test_the_report_has_other_forms(root, folder):
    path = project(folder, PROJECTS["unittest"][0])
    text = sandbox_run("test", path, caller=root).stdout.decode()
    assert text.startswith("failed  test_u.A.test_bad  ") and text.splitlines()[-1].startswith(
        "unittest: 1 passed, 2 failed, 0 skipped in ")
    suite = tree.fromstring(sandbox_run("test", "--format", "junit", path, caller=root).stdout)
    assert suite.get("tests") == "3" and suite.get("errors") == "1"
    tap = sandbox_run("test", "--format", "tap", path, caller=root).stdout.decode()
    assert tap.startswith("TAP version 13\n1..3\n") and tap.count("not ok ") == 2


def test_a_runner_that_ends_early_is_told(root, folder):
    path = project(folder, {"test_a.py": "import os, pytest\n\ndef test_end():\n    os._exit(7)\n"})
    done = sandbox_run("test", "--json", path, caller=root)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["cases"] == [] and found["exit_code"] == 7
    hang = project(folder, {"test_a.py": "import time, pytest\n\ndef test_end():\n    time.sleep(60)\n"})
    assert json.loads(sandbox_run("test", "--json", "--timeout", "2s", hang, caller=root).stdout)["outcome"] == "timeout"


def test_a_hostile_report_is_an_error_of_one_sentence(root, folder):
    path = project(folder, {"test_a.py": (
        "import os, pytest\n\ndef test_x():\n    open('/work/.sandbox-run-report', 'w').write('<a><b></a>')\n"
        "    os._exit(0)\n")})
    done = sandbox_run("test", path, caller=root)
    assert done.returncode == 125 and b"the runner's report is broken at line 1" in done.stderr


@pytest.mark.parametrize("files, words, message", [
    ({"notes.txt": ""}, (), "there is no sign of tests here"),
    ({"notes.txt": ""}, ("--runner", "tester"), "there is no test runner 'tester'"),
    ({"notes.txt": ""}, ("--format", "html"), "--format 'html' is none of text, json, junit and tap"),
])
def test_what_cannot_be_done_is_refused(root, folder, files, words, message):
    done = sandbox_run("test", *words, project(folder, files), caller=root)
    assert done.returncode in (125, 127) and message in done.stderr.decode()
