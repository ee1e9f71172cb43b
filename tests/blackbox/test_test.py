"""test: a project's own tests, case by case, whatever runs them."""
import json
import pathlib
import re
import signal
import xml.etree.ElementTree as tree

import pytest

import support
from support import sandbox_run
from waiting import read_line, started

PROJECTS = {
    "pytest": ({"pkg/tests/test_a.py": "import pytest\n\ndef test_good():\n    pass\n\ndef test_bad():\n    assert 1 == 2\n"
                                   "\n@pytest.mark.skip(reason='later')\ndef test_late():\n    pass\n"},
               {"pkg.tests.test_a::test_good": "passed", "pkg.tests.test_a::test_bad": "failed",
                "pkg.tests.test_a::test_late": "skipped"}),
    "unittest": ({"test_u.py": "import unittest\n\nclass A(unittest.TestCase):\n    def test_good(self):\n"
                               "        pass\n    def test_bad(self):\n        self.assertEqual(1, 2)\n"
                               "    def test_broken(self):\n        raise ValueError('x')\n"},
                 {"test_u.A.test_good": "passed", "test_u.A.test_bad": "failed", "test_u.A.test_broken": "error"}),
    "node": ({"a.test.js": "const { test, describe, it } = require('node:test'); const assert = require('assert');\n"
                           "test('good', () => {});\n"
                           "describe('group', () => { it('bad', () => assert.strictEqual(1, 2)); it.skip('late'); });\n"},
             {"good": "passed", "group::bad": "failed", "group::late": "skipped"}),
    "bats": ({"a.bats": '@test "good" {\n  true\n}\n\n@test "bad" {\n  [ 1 = 2 ]\n}\n\n@test "late" {\n  skip why\n}\n'},
             {"good": "passed", "bad": "failed", "late": "skipped"}),
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


def go_library(caller):
    """Options that show `go test` the compiled standard library that the language's preparation left, if it did: to
    compile what `testing` imports takes half a minute.  `make check-suites SUITES=go` does without."""
    flags = re.findall(r"^(GOFLAGS|CGO_ENABLED)=\"?([^\"\n]*)", (support.REPO / "languages/drivers/go-env.sh").read_text(), re.M)
    variables = [("GOCACHE", "/library"), ("GODEBUG", "goindex=0"), *flags]
    made = [tree.parent for tree in pathlib.Path(support.cache_of(caller)).glob("prepared/*/tree/std")]
    return ["--volume", f"{made[0]}/cache:/library", *(word for pair in variables for word in ("--env", "=".join(pair)))] \
        if made else []


def test_go_has_its_cases(root, folder):
    path = project(folder, {"go.mod": "module ex\n\ngo 1.19\n", "a_test.go": (
        "package ex\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n"
        "func TestBad(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Fatalf(\"got %d\", 3) }) }\n"
        "func TestLate(t *testing.T) { t.Skip(\"why\") }\n")})
    found = json.loads(sandbox_run("test", "--json", *go_library(root), path, caller=root, timeout=300).stdout)
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


FLAKY = {"test_f.py": (
    "import os, unittest\n\nclass A(unittest.TestCase):\n    def test_good(self):\n        pass\n"
    "    def test_bad(self):\n        self.fail('x')\n"
    "    def test_now_and_then(self):\n        self.assertEqual(os.getenv('ROUND', 'x'), 'x')\n")}


def test_several_runs_name_the_flaky_ones_and_the_failed_run_again(root, folder):
    """What the code cannot see twice in the same way: a byte of /dev/urandom, in enough runs."""
    files = {name: text.replace("os.getenv('ROUND', 'x'), 'x'", "os.urandom(1)[0] % 2, 0") for name, text in FLAKY.items()}
    path = project(folder, files)
    found = json.loads(sandbox_run("test", "--json", "--repeat", "12", path, caller=root).stdout)
    cases = {one["name"]: (one["runs"], one["failures"]) for one in found["cases"]}
    assert found["repeat"] == 12 and cases["test_f.A.test_good"] == (12, 0) and cases["test_f.A.test_bad"] == (12, 12)
    assert (found["flaky"] == ["test_f.A.test_now_and_then"]) == (0 < cases["test_f.A.test_now_and_then"][1] < 12)
    again = json.loads(sandbox_run("test", "--json", "--failed", path, caller=root).stdout)
    assert {"test_f.A.test_bad"} <= {one["name"] for one in again["cases"]} <= {
        "test_f.A.test_bad", "test_f.A.test_now_and_then"}
    text = project(folder, {"test_f.py": files["test_f.py"].replace("self.fail('x')", "pass").replace("% 2", "* 0")})
    assert sandbox_run("test", "--failed", text, caller=root).returncode == 0
    done = sandbox_run("test", "--failed", text, caller=root)
    assert done.returncode == 127 and b"no case of this project failed last time" in done.stderr


def test_the_output_fits_and_the_rest_is_kept(root, folder):
    text = "import unittest\n\nclass A(unittest.TestCase):\n    pass\n\nfor i in range(300):\n" \
           "    setattr(A, f'test_{i}', lambda self, i=i: self.assertNotEqual(i, 150))\n"
    path = project(folder, {"test_m.py": text})
    done = sandbox_run("test", "--verbose", "--max-chars", "900", path, caller=root)
    shown = (done.stdout + done.stderr).decode()
    assert len(shown) <= 900 and done.returncode == 1
    assert shown.index("failed  test_m.A.test_150") < shown.index("passed  ")
    assert "unittest: 299 passed, 1 failed" in shown
    number = shown.split("`sandbox-run output ")[1].split("`")[0]
    kept = sandbox_run("output", number, caller=root).stdout.decode()
    left_out = int(shown.split("... ")[1].split(" ")[0])
    notice = len(shown.split("\n... ")[1].split("\n")[0]) + len("\n... \n")
    kept += sandbox_run("output", "--stderr", number, caller=root).stdout.decode()  # what --verbose logs
    assert len(shown) - notice + left_out == len(kept)
    assert sandbox_run("output", "rm", number, caller=root).returncode == 0


@pytest.mark.container
def test_a_change_runs_the_tests_again(root, folder):
    path = project(folder, {"test_w.py": "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n"
                                         "        pass\n"})
    with started("test", "--watch", path, caller=root) as run:
        assert read_line(run.stdout, 60).startswith(b"unittest: 1 passed, 0 failed")
        assert b"waiting for changes" in read_line(run.stderr)
        with open(f"{path}/test_w.py", "a", encoding="ascii") as file:
            file.write("    def test_b(self):\n        pass\n")
        assert read_line(run.stdout, 60).startswith(b"unittest: 2 passed, 0 failed")
        run.send_signal(signal.SIGINT)
        assert run.wait(20) == 130


def test_a_file_with_tests_and_no_main_is_run_as_tests(root, folder):
    tests = FLAKY["test_f.py"] + "\n" + "# more than is read at once\n" * 2000
    path = project(folder, {"a.py": tests, "b.py": tests + "print('main')\n"})
    done = sandbox_run(f"{path}/a.py", caller=root)
    assert b"has tests and no main; running them as tests" in done.stderr and done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith(b"unittest: 2 passed, 1 failed")
    assert sandbox_run(f"{path}/b.py", caller=root).stdout == b"main\n"


NODE_TESTS = """const assert = require('node:assert');
test('adds', () => { assert.equal(1 + 2, 3); });
describe('more', () => { it('is wrong', () => { assert.equal(1 + 1, 3); }); });
"""


def test_a_javascript_file_with_tests_needs_no_import(root, folder):
    """Runners of tests bring these functions; a function of the program's own stays that."""
    own = "const test = (name) => console.log(name);\n" + "test('mine');\n"
    path = project(folder, {"a.js": NODE_TESTS, "b.mjs": NODE_TESTS.replace("const assert = require('node:assert')",
                                                                          "import assert from 'node:assert'"), "c.js": own})
    for name in ("a.js", "b.mjs"):
        done = sandbox_run(f"{path}/{name}", caller=root)
        assert b"has tests and no main; running them as tests" in done.stderr and done.returncode == 1, done
        assert b"# pass 1\n# fail 1\n" in done.stdout and b"not ok 1 - is wrong" in done.stdout
    assert sandbox_run("test", f"{path}/a.js", caller=root).stdout.splitlines()[-1].startswith(b"node: 1 passed, 1 failed")
    done = sandbox_run(f"{path}/c.js", caller=root)
    assert (done.stdout, done.stderr) == (b"mine\n", b"")


@pytest.mark.parametrize("files, words, message", [
    ({"Makefile": "all:\ntest:\n\ttrue\n"}, ("--coverage",), "make does not say how much of the code ran"),
    ({"notes.txt": ""}, ("--repeat", "0"), "--repeat '0' is no number of runs"),
    ({"notes.txt": ""}, ("--max-chars", "10"), "--max-chars '10' is no number of characters; give 200 or more"),
    ({"notes.txt": ""}, (), "there is no sign of tests here"),
    ({"notes.txt": ""}, ("--runner", "tester"), "there is no test runner 'tester'"),
    ({"notes.txt": ""}, ("--format", "html"), "--format 'html' is none of text, json, junit and tap"),
])
def test_what_cannot_be_done_is_refused(root, folder, files, words, message):
    done = sandbox_run("test", *words, project(folder, files), caller=root)
    assert done.returncode in (125, 127) and message in done.stderr.decode()


@pytest.mark.parametrize("command, words, package", [
    ("test", ("--runner", "vitest"), "vitest"), ("test", ("--runner", "jest"), "jest"), ("verify", ("--project",), "typescript")])
def test_a_tool_of_node_that_is_missing_is_named_at_once(root, folder, command, words, package):
    """Without a question to the registry, which waits for more than a minute where there is no network."""
    path = project(folder, {"a.test.js": "test('a', () => {});\n", "tsconfig.json": "{}", "b.ts": "export const x = 1;\n"})
    done = sandbox_run(command, *words, path, caller=root, timeout=60)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 1 and f"is not installed; add {package} to devDependencies" in said and "registry" not in said, said
