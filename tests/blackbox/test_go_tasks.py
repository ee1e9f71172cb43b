"""Small tasks in Go with their tests, as benchmarks of models have them: with `testing`, and with testify of the registry.
A seeded failure is found by each way."""
import json
import os

import pytest

import registry_packages
from support import sandbox_run

TESTIFY = "github.com/stretchr/testify"
VERSION = "v1.9.0"
TASK = """
// HasCloseElements reports whether two numbers are closer to each other than the threshold.
func HasCloseElements(numbers []float64, threshold float64) bool {
	for i := range numbers {
		for j := i + 1; j < len(numbers); j++ {
			if d := numbers[i] - numbers[j]; d < threshold && -d < threshold {
				return true
			}
		}
	}
	return false
}
"""
PLAIN = """
func TestHasCloseElements(t *testing.T) {
	if HasCloseElements([]float64{1, 2, 3}, 0.5) {
		t.Error("none is close")
	}
	if !HasCloseElements([]float64{1, 2.8, 3}, 0.3) {
		t.Fatal("two are close")
	}
}
"""
ASSERTED = """
func TestHasCloseElements(t *testing.T) {
	assert := assert.New(t)
	assert.Equal(false, HasCloseElements([]float64{1, 2, 3}, 0.5))
	assert.Equal(true, HasCloseElements([]float64{1, 2.8, 3}, 0.3))
}
"""
SEEDED = TASK.replace("return true", "return i > 5")


def program(task, tests, *imports):
    return "package main\n\nimport (\n" + "".join(f'\t"{one}"\n' for one in imports) + ")\n" + task + tests


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name.replace('_dot_', '.')}").write_text(text)


@pytest.fixture(name="testify", scope="module")
def testify_in_reach(tmp_path_factory):
    """The registry's words are the reason to skip.  Its modules are not used: the installer fetches its own."""
    place = tmp_path_factory.mktemp("modules")
    registry_packages.fetch(["go", "mod", "download", f"{TESTIFY}@{VERSION}"], cwd=place,
                            env={**os.environ, "GOMODCACHE": str(place), "GOFLAGS": "-modcacherw"})
    return f"{TESTIFY}@{VERSION}"


@pytest.mark.parametrize("task, status", [(TASK, 0), (SEEDED, 1)], ids=["good", "seeded"])
def test_with_testing(any_caller, folder, task, status):
    """One file, its tests and no main: `run` says what it does, `test` has the case; the name need not end in _test.go."""
    write(folder, task_dot_go=program(task, PLAIN, "testing"))
    done = sandbox_run("run", folder / "task.go", caller=any_caller, timeout=300)
    assert done.returncode == status and b"has tests and no main; running them as tests" in done.stderr
    assert (b"--- FAIL: TestHasCloseElements" in done.stdout) == bool(status)
    found = json.loads(sandbox_run("test", "--json", folder / "task.go", caller=any_caller, timeout=300).stdout)
    case, = found["cases"]
    assert (case["name"].partition("::")[2], case["outcome"]) == ("TestHasCloseElements", "failed" if status else "passed")
    assert not status or ("two are close" in case["message"] and (case["file"], case["line"]) == ("task_test.go", 24))


def test_vet_knows_the_library_already(any_caller, folder):
    """`go test` asks it for what every imported package prints, and would look at a hundred of them each time."""
    assert sandbox_run("languages", "go", "--prepare", caller=any_caller, timeout=600).returncode == 0
    write(folder, go_dot_mod="module ex\n\ngo 1.19\n", a_test_dot_go=program("", PLAIN, "net/http", "testing").replace(
        "HasCloseElements([]float64{1, 2, 3}, 0.5)", "http.StatusOK == 0").replace("HasCloseElements([]float64{1, 2.8, 3}, 0.3)", "true"))
    flags = "GOFLAGS=-gcflags=all=-dwarf=false -buildvcs=false -x"
    found = json.loads(sandbox_run("test", "--json", "--env", flags, folder, caller=any_caller, timeout=300).stdout)
    assert found["summary"]["passed"] == 1, found["stdout"]
    # Of the package and of its test, unless the project's set-up has looked at them.
    assert "WORK=" in found["stdout"] and found["stdout"].count("/vet -") <= 2, found["stdout"]


def test_with_testify_and_no_sums(any_caller, folder, testify):
    """A go.mod that was neither tidied nor has a go.sum: what the installer has compared with the database of sums is used,
    and neither file changes."""
    tests = program("", ASSERTED, "testing", f"{TESTIFY}/assert")
    write(folder, go_dot_mod=f"module ex\n\ngo 1.19\n\nrequire {testify.replace('@', ' ')}\n",
          task_dot_go="package main\n" + SEEDED + "\nfunc main() {}\n", task_test_dot_go=tests)
    found = json.loads(sandbox_run("test", "--json", folder, caller=any_caller, timeout=600).stdout)
    assert [(one["name"], one["outcome"]) for one in found["cases"]] == [("ex::TestHasCloseElements", "failed")], found
    assert "Not equal" in found["cases"][0]["message"] and found["cases"][0]["file"] == "task_test.go"
    built = json.loads(sandbox_run("build", "--json", folder, caller=any_caller, timeout=600).stdout)
    changes = json.loads(sandbox_run("changes", "show", "--json", built["changes_id"], caller=any_caller).stdout)
    assert sandbox_run("changes", "drop", built["changes_id"], caller=any_caller).returncode == 0
    assert {one["path"] for one in changes["changes"]} <= {"bin", "bin/ex"}, changes


def test_with_testify_in_one_file(any_caller, folder, testify):
    write(folder, good_dot_go=program(TASK, ASSERTED, "testing", f"{TESTIFY}/assert"),
          seeded_dot_go=program(SEEDED, ASSERTED, "testing", f"{TESTIFY}/assert"))
    done = sandbox_run("run", "--dep", testify, folder / "good.go", caller=any_caller, timeout=600)
    assert done.returncode == 0 and b"--- PASS: TestHasCloseElements" in done.stdout, done.stderr
    found = json.loads(sandbox_run("test", "--json", "--dep", testify, folder / "seeded.go", caller=any_caller,
                                   timeout=600).stdout)
    assert [(one["outcome"], one["file"]) for one in found["cases"]] == [("failed", "seeded_test.go")]


@pytest.mark.parametrize("text, message, line", [
    (program(TASK, ASSERTED, "testing", f"{TESTIFY}/assert"), "no required module provides package", 5),
    (program(TASK, PLAIN.replace("t.Error", "x.Error"), "testing"), "undefined: x", 21),
    (program(TASK, PLAIN.replace('t.Error("none is close")', ""), "testing").replace(
        "if HasClose", "os.Exit(7)\n\tif HasClose").replace('"testing"', '"os"\n\t"testing"'), "FAIL", None)], ids=["import", "name", "exit"])
def test_a_package_that_cannot_run_is_a_case(any_caller, folder, text, message, line):
    """Not a list of events: what Go says about it, with its place."""
    write(folder, go_dot_mod="module ex\n\ngo 1.19\n", a_test_dot_go=text)
    done = sandbox_run("test", folder, caller=any_caller, timeout=300)
    assert done.returncode == 1 and message in done.stdout.decode() and b'"Action"' not in done.stdout, done.stdout
    shown = done.stdout.decode().splitlines()
    assert shown[0].startswith("error   ex") and (line is None or shown[0].endswith(f"a_test.go:{line}")), shown[0]
    assert shown[-1].startswith("go: 0 passed, 1 failed")
