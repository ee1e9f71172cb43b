"""verify: one verdict from syntax, tools, tests, examples and calls; and as a hook of git."""
import json
import os
import subprocess

import jsonschema
import pytest

import support
from support import sandbox_run
from test_stream import validator

WORDS_OF_GIT = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")


def verdict_of(*words, **more):
    done = sandbox_run("verify", "--json", *words, **more)
    found = json.loads(done.stdout)
    validator("verify").validate(found)
    assert done.returncode == (0 if found["verdict"] == "passed" else 1)
    return found


def outcomes(found):
    return [(one["check"], one["file"], one["outcome"]) for one in found["checks"]]


def git(folder, *words, **env):
    program = {"PATH": f"{support.BUILD}:{os.environ['PATH']}"}
    return subprocess.run(["git", *WORDS_OF_GIT, *words], cwd=folder, env={**os.environ, **program, **env}, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


@pytest.fixture(name="repo")
def repository(folder):
    assert git(folder, "init", "-q", ".").returncode == 0
    return folder


@pytest.mark.container
def test_a_hook_checks_what_is_staged_and_blocks(any_caller, repo):
    assert sandbox_run("verify", "--install-hook", caller=any_caller, cwd=repo).returncode == 0
    assert b"is there already" in sandbox_run("verify", "--install-hook", caller=any_caller, cwd=repo).stdout
    (repo / "good.py").write_text("x = 1\n")
    (repo / "bad.py").write_text("x = (\n")
    git(repo, "add", ".")
    (repo / "bad.py").write_text("x = 2\n")  # the working file is good, the staged one is not
    blocked = git(repo, "commit", "-m", "one")
    assert blocked.returncode == 1 and b"failed  syntax   bad.py: SyntaxError" in blocked.stdout
    assert b"failed: 1 of 3" in blocked.stdout and b"passed  syntax   good.py" in blocked.stdout
    git(repo, "add", ".")
    (repo / "bad.py").write_text("x = (\n")  # and now the other way
    assert git(repo, "commit", "-m", "one").returncode == 0


def test_what_git_does_not_track_is_not_there(any_caller, repo):
    (repo / "test_a.py").write_text("import unittest\nimport other\n\nclass A(unittest.TestCase):\n"
                                    "    def test_a(self):\n        self.assertEqual(other.f(), 1)\n")
    (repo / "other.py").write_text("def f():\n    return 1\n")
    git(repo, "add", "test_a.py")
    found = verdict_of("--staged", caller=any_caller, cwd=repo)
    assert outcomes(found) == [("syntax", "test_a.py", "passed"), ("tests", None, "failed")]
    assert found["reasons"][0].startswith("tests by unittest: 1 of 1 failed")
    git(repo, "add", "other.py")
    (repo / "other.py").write_text("def f():\n    return 2\n")
    assert verdict_of("--staged", caller=any_caller, cwd=repo)["verdict"] == "passed"
    assert verdict_of("test_a.py", caller=any_caller, cwd=repo)["verdict"] == "failed"


@pytest.mark.container
def test_a_push_is_checked_commit_by_commit(any_caller, repo):
    (repo / ".git/hooks/pre-push").parent.mkdir(exist_ok=True)
    (repo / ".git/hooks/pre-push").write_text("#!/bin/sh\n")
    foreign = sandbox_run("verify", "--install-hook", "pre-push", caller=any_caller, cwd=repo)
    assert foreign.returncode == 125 and b"add the line `sandbox-run verify" in foreign.stderr
    assert (repo / ".git/hooks/pre-push").read_text() == "#!/bin/sh\n"
    (repo / ".git/hooks/pre-push").unlink()
    assert sandbox_run("verify", "--install-hook", "pre-push", caller=any_caller, cwd=repo).returncode == 0
    git(repo, "init", "-q", "--bare", "there.git")
    for text, status in (("x = 1\n", 0), ("x = (\n", 1)):
        (repo / "a.py").write_text(text)
        git(repo, "add", "a.py")
        git(repo, "commit", "-m", "one")
        (repo / "a.py").write_text("x = 3\n")
        assert git(repo, "push", "there.git", "HEAD:refs/heads/main").returncode == status


def test_a_directory_is_a_project(any_caller, folder):
    (folder / "one").mkdir()
    (folder / "one/test_a.py").write_text("import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n")
    named = verdict_of("one", caller=any_caller, cwd=folder)
    assert outcomes(named) == outcomes(verdict_of(caller=any_caller, cwd=folder / "one")) and named["verdict"] == "passed"


ADDS = 'def f(a, b):\n    """Adds.\n\n    >>> f(1, 2)\n    %s\n    """\n    return a + b\n\nif __name__ == "__main__":\n    boom\n'


def test_code_is_held_against_calls_and_examples(any_caller, folder):
    found = verdict_of("-l", "python", "--call", "f(2, 3) == 5", "--call", "f('==', '') == '=='", stdin=(ADDS % 3).encode(),
                       caller=any_caller, cwd=folder)
    assert outcomes(found) == [(one, "main.py", "passed") for one in ("syntax", "examples", "calls")]
    found = verdict_of("-l", "python", "--call", "f(2, 3) == 6", "--call", "g()", "-c", ADDS % 4, caller=any_caller, cwd=folder)
    assert [one["outcome"] for one in found["checks"]] == ["passed", "failed", "failed"]
    assert [one["message"] for one in found["checks"][2]["cases"]] == ["f(2, 3) is 5", "NameError: name 'g' is not defined"]
    assert "Expected:\n    4\nGot:\n    3" in found["checks"][1]["cases"][0]["message"]
    script = "/**\n * f(2) // => [4]\n * f(3); //=> [7]\n */\nconst f = (x) => [x * 2];\n"
    found = verdict_of("-l", "javascript", "-c", script, "--call", "f(1) == [2]", "--call", "f(1)[0] === 3",
                       caller=any_caller, cwd=folder)
    assert [[case["outcome"] for case in one["cases"]] for one in found["checks"]] == [[], ["passed", "failed"],
                                                                                        ["passed", "failed"]]
    found = verdict_of("-l", "ruby", "-c", "def f(x) = [x * 2]", "--call", "f(1) == [2]", "--call", "f(1) == [3]",
                       caller=any_caller, cwd=folder)
    assert [case["message"] for case in found["checks"][1]["cases"]] == [None, "f(1) is [2]"]


RUST = "/// ```\n/// assert_eq!(code::f(2), %d);\n/// ```\npub fn f(n: i32) -> i32 {\n    n * 2\n}\n"
GO = ("package calc\n\nimport \"fmt\"\n\nfunc f(n int64) []int64 { return []int64{n} }\n\n"
      "func ExampleF() {\n\tfmt.Println(f(1))\n\t// Output: [1]\n}\n")


@pytest.mark.container
def test_compiled_code_is_held_against_them_too(root, folder):
    """Each is compiled and linked: seconds, with any compiler."""
    found = verdict_of("-l", "rust", "-c", RUST % 5, caller=root, cwd=folder)
    assert [(one["check"], one["outcome"]) for one in found["checks"]] == [("syntax", "passed"), ("examples", "failed")]
    (folder / "calc.go").write_text(GO)
    found = verdict_of("--call", "f(2) == []int64{2}", "--call", "f(2)[0] == 3", "--call", "f(2)[1] == 2", "calc.go",
                       caller=root, cwd=folder, timeout=300)
    assert [(one["check"], one["outcome"]) for one in found["checks"]] == [
        ("syntax", "passed"), ("examples", "passed"), ("calls", "failed")]
    assert [case["message"] for case in found["checks"][2]["cases"]] == [
        None, "f(2)[0] is 2", "panic: runtime error: index out of range [1] with length 1"]


@pytest.mark.container
def test_golden_cases_of_the_project_are_one_check(root, repo):
    (repo / "golden/good").mkdir(parents=True)
    (repo / "golden/command").write_text("cat a.txt")
    (repo / "a.txt").write_text("A\n")
    (repo / "golden/good/stdout").write_text("A\n")
    assert ("golden", None, "passed") in outcomes(verdict_of(caller=root, cwd=repo))
    (repo / "golden/good/stdout").write_text("B\n")
    found = verdict_of(caller=root, cwd=repo)
    assert ("golden", None, "failed") in outcomes(found) and found["reasons"] == ["golden: 1 of 1 failed: good"]
    assert ("golden", None, "failed") not in outcomes(verdict_of("--skip", "golden", caller=root, cwd=repo))


def test_code_is_written_only_when_it_passes(any_caller, folder):
    words = ("-l", "python", "--write", "out.py")
    refused = sandbox_run("verify", *words, "-c", "x = 1", caller=any_caller, cwd=folder)
    assert refused.returncode == 125 and b"--yes answers it" in refused.stderr
    folder.chmod(0o777)
    assert verdict_of(*words, "--yes", "-c", "x = (", caller=any_caller, cwd=folder)["written"] is None
    assert not (folder / "out.py").exists()
    assert verdict_of(*words, "--yes", "-c", "x = 1\n", caller=any_caller, cwd=folder)["written"] == "out.py"
    assert (folder / "out.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("tool, configured", [("ruff", "ruff.toml"), ("flake8", ".flake8")])
def test_tools_run_where_the_project_configures_them(any_caller, repo, tool, configured):
    (repo / configured).write_text("")
    (repo / f"{tool}.py").write_text("import sys\nprint('F401 in', sys.argv[-1])\nsys.exit(1)\n")  # stands for the package
    (repo / "a.py").write_text("import os\n")
    (repo / "a.txt").write_text("")
    found = verdict_of("a.py", caller=any_caller, cwd=repo)
    assert outcomes(found) == [("syntax", "a.py", "passed"), ("lint", None, "failed")]
    assert found["reasons"] == [f"lint by {tool}: F401 in a.py"]
    assert verdict_of("--skip", "lint", "a.py", caller=any_caller, cwd=repo)["verdict"] == "passed"


@pytest.mark.parametrize("words, message", [
    (("--staged", "a.py"), "give one of files, --code, --staged and --commit"),
    (("--skip", "all"), "there is no check 'all' to skip; give syntax, types, lint"),
    (("-c", "x"), "--code needs --lang NAME"),
    (("--staged",), "in no git repository"),
    (("--write", "a.py", "--yes"), "--write needs code"),
    (("-l", "bash", "-c", "f() { :; }", "--call", "f"), "calls cannot be checked in bash; they can in python"),
    (("--install-hook", "pre-merge"), "--install-hook takes pre-commit or pre-push"),
])
def test_what_cannot_be_done_is_refused(any_caller, folder, words, message):
    done = sandbox_run("verify", *words, caller=any_caller, cwd=folder)
    assert done.returncode == 125 and message in done.stderr.decode()


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(json.loads((support.REPO / "data/schemas/verify.json").read_text()))
