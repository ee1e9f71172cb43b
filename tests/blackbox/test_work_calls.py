"""verify, compare and profile: the same by the command, by the library and over HTTP; and what hostile bodies get."""
import contextlib
import json
import re

import jsonschema
import pytest

import engine
import gateway
import support
from support import sandbox_run
from test_library import compiled, run

# `verify` fails twice, for an example and a call; the second file is only seen by the first.
CODE = 'import b\n\ndef f(x):\n    """\n    >>> f(2)\n    5\n    """\n    return b.twice(x)\n'
FILES = {"a.py": CODE, "b.py": "def twice(x):\n    return 2 * x\n", "test_b.py":
         "import unittest\nimport b\n\nclass B(unittest.TestCase):\n    def test_twice(self):\n        self.assertEqual(b.twice(2), 5)\n"}


@pytest.fixture(scope="module", name="http")
def service(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("work") / "g") as running:
        running.secret = running.token("work", "--network", "none")
        yield running


@pytest.fixture(scope="module", name="library")
def library_program(session_folder):
    tool = compiled("library_work.c", session_folder / "library-work")

    def call(*words):
        done = run(tool, *(word if isinstance(word, str) else json.dumps(word) for word in words))
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)
    return call


def files_of(names, **more):
    return {"files": [{"path": name, "content": FILES[name]} for name in names], **more}


def valid(name, found):
    jsonschema.validate(found, json.loads((support.REPO / f"data/schemas/{name}.json").read_text()))
    return found


def timeless(found):
    """Without what differs from run to run."""
    if isinstance(found, list):
        return [timeless(one) for one in found]
    if isinstance(found, dict):
        return {key: timeless(value) for key, value in found.items() if key not in ("time_ms", "output")}
    return re.sub(r"in \d+\.\d+s|0x[0-9a-f]+", "", found) if isinstance(found, str) else found


def asked(http, path, body, **rest):
    reply = http.ask("POST", path, body, token=http.secret, **rest)
    assert reply.status == 200, reply.body
    return reply.json()


def test_a_verdict_is_the_same_by_each_way(http, library, folder):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    by_command = json.loads(sandbox_run("verify", "--json", *FILES, cwd=folder).stdout)
    valid("verify", by_command)
    assert [(one["check"], one["file"], one["outcome"]) for one in by_command["checks"]] == [
        ("syntax", "a.py", "passed"), ("syntax", "b.py", "passed"), ("syntax", "test_b.py", "passed"),
        ("tests", None, "failed")]
    body = files_of(FILES)
    assert timeless(library("verify", body)) == timeless(by_command) == timeless(asked(http, "/v1/verify", body))
    call = "f(2) == 4"
    by_command = json.loads(sandbox_run("verify", "--json", "--call", call, "--skip", "tests", "-l", "python", "-c",
                                        FILES["b.py"].replace("twice", "f"), cwd=folder).stdout)
    body = {"language": "python", "code": FILES["b.py"].replace("twice", "f")}
    assert [one["check"] for one in by_command["checks"]] == ["syntax", "calls"] and by_command["verdict"] == "passed"
    assert timeless(library("verify", body, call)) == timeless(by_command)
    assert timeless(asked(http, "/v1/verify", {**body, "calls": [call], "skip": ["tests"]})) == timeless(by_command)


def test_paths_choose_among_the_files(http):
    found = asked(http, "/v1/verify", files_of(FILES, paths=["a.py"], skip=["tests"], calls=["f(1) == 2"]))
    assert [(one["check"], one["file"], one["outcome"]) for one in found["checks"]] == [
        ("syntax", "a.py", "passed"), ("examples", "a.py", "failed"), ("calls", "a.py", "passed")]
    assert found["reasons"] == ["examples of a.py: 1 of 1 failed: a.f line 5"] or "examples of a.py" in found["reasons"][0]


def test_a_comparison_and_a_profile_are_the_same_by_each_way(http, library, folder):
    names = {"one.py": "print(input())", "two.py": "print(input().upper())"}
    pair = []
    for name, text in names.items():
        (folder / name).write_text(text)
        pair.append({"language": "python", "files": [{"path": name, "content": text}], "stdin": "b\n"})
    (folder / "in.txt").write_text("b\n")
    words = ("compare", "--json", "--repeat", "2", "--warm-up", "0", "--input", "in.txt")
    found = [json.loads(sandbox_run(*words, *names, cwd=folder).stdout), library("compare", *pair),
             asked(http, "/v1/comparisons", {"a": pair[0], "b": pair[1], "repeat": 2, "warm_up": 0,
                                             "inputs": [{"name": "in.txt", "content": "Ygo=", "encoding": "base64"}]})]
    for one in found:
        valid("comparison", one)
        assert (one["same_output"], one["difference"], one["a"]["program"], one["b"]["program"], one["a"]["wall_ms"]["runs"]) == (
            False, found[0]["difference"], "one.py", "two.py", 2) and one["verdict"].startswith("different output, ")
    assert [one["first_different_input"] for one in found] == ["in.txt", "", "in.txt"]
    found = [json.loads(sandbox_run("profile", "--json", "--repeat", "2", "--input", "in.txt", "one.py", cwd=folder).stdout),
             library("profile", pair[0]), asked(http, "/v1/profiles", {**pair[0], "repeat": 2})]
    for one in found:
        valid("profile", one)
        assert (one["program"], one["language"], one["runs"], one["succeeded"]) == ("one.py", "python", 2, 2)
    busy = {"language": "python", "code": "def slow():\n    return sum(i * i for i in range(2000000))\nslow()"}
    found = valid("profile", asked(http, "/v1/profiles", {**busy, "repeat": 1, "warm_up": 0, "functions": True}))
    assert any("slow" in one["function"] and one["total_ms"] > 0 for one in found["functions"]), found["functions"]


def test_a_comparison_says_why_nothing_was_compared(http):
    good = {"language": "c", "code": "int main(void) { return 0; }"}
    reply = http.ask("POST", "/v1/comparisons", {"a": good, "b": {"language": "c", "code": "int main(void) { x"}},
                     token=http.secret)
    assert reply.status == 422 and "cannot be compiled: " in reply.json()["detail"], reply.body


@pytest.mark.parametrize("path, body, field", [
    ("/v1/verify", {"project": "/etc"}, "project"),
    ("/v1/verify", {"language": "python", "code": "1", "calls": "f() == 1"}, "calls"),
    ("/v1/verify", {"language": "python", "code": "1", "calls": ["f()\0 == 1"]}, "calls"),
    ("/v1/verify", files_of(FILES, paths=["../../etc/passwd"]), "paths"),
    ("/v1/verify", files_of(FILES, paths=["c.py"]), "paths"),
    ("/v1/verify", files_of(FILES, skip=[1]), "skip"),
    ("/v1/comparisons", {"a": {"args": ["true"]}}, "b"),
    ("/v1/comparisons", {"a": {"args": ["true"]}, "b": {"args": ["true"]}, "language": "c"}, "language"),
    ("/v1/comparisons", {"a": {"args": ["true"]}, "b": {"args": ["true"], "volumes": ["/:/x"]}}, "b/volumes"),
    ("/v1/comparisons", {"a": {"args": ["true"]}, "b": {"args": ["true"]}, "inputs": [{"path": "/etc/passwd"}]}, "inputs"),
    ("/v1/comparisons", {"a": {"args": ["true"]}, "b": {"args": ["true"]}, "repeat": 10 ** 6}, "repeat"),
    ("/v1/profiles", {"args": ["true"], "repeat": 0}, "repeat"),
    ("/v1/profiles", {"args": ["true"], "warm_up": -1}, "warm_up"),
    ("/v1/profiles", {"args": ["true"], "functions": "all"}, "functions"),
    ("/v1/profiles", {"project": "/etc", "args": ["true"]}, "project")])
def test_hostile_bodies_are_refused_with_their_field(http, path, body, field):
    wrong = http.ask("POST", path, body, token=http.secret)
    assert wrong.status == 422 and wrong.json()["errors"][0]["pointer"] == f"#/{field}", wrong.body


@pytest.mark.parametrize("body, message", [
    ({"files": [{"path": "-x.py", "content": ""}]}, "would be an option for the checkers"),
    ({"language": "python", "code": "1", "skip": ["all"]}, "there is no check 'all' to skip"),
    ({"language": "bash", "code": ":", "calls": ["f"]}, "calls cannot be checked in bash"),
    ({"language": "python", "code": "1", "keep": True}, "checks leave nothing to keep"),
    ({"workspace": "w"}, "what a workspace has is not looked at"), ({"args": ["true"]}, "checks take no arguments"),
    ({}, "there is no code to check")])
def test_what_cannot_be_verified_is_refused(http, body, message):
    wrong = http.ask("POST", "/v1/verify", body, token=http.secret)
    assert wrong.status in (400, 422, 501) and message in wrong.json()["detail"], wrong.body


def test_thousands_of_calls_are_refused_or_made(http):
    body = {"language": "python", "code": "def f(): return 1", "calls": ["f() == 1"] * 3000}
    found = asked(http, "/v1/verify", body)
    assert found["checks"][-1]["outcome"] == "error" and "argument" in found["checks"][-1]["reason"], found["checks"][-1]["reason"]


def test_a_report_that_lies_is_only_its_own_check(http):
    """The tests write what the runner would have written; the verdict has it as cases, bounded, and stays JSON."""
    lie = ("import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n"
           "        import sys\n        sys.stderr.write('test_x (' + 'y' * 300000 + ') ... FAIL\\n\\x1b[2J\\x00\\xff' * 3)\n")
    reply = http.ask("POST", "/v1/verify", {"files": [{"path": "test_a.py", "content": lie}]}, token=http.secret)
    assert reply.status == 200 and len(reply.body) < 10 ** 6 and b"\x1b" not in reply.body
    assert valid("verify", reply.json())["checks"][0]["outcome"] == "passed"


TESTS_OF_NODE = [{"path": "package.json", "content": '{"scripts": {"test": "node --test"}}'},
                 {"path": "a.test.js", "content": "require('node:test').test('a', () => {});\n"}]


def test_languages_of_a_token_hold_for_what_is_found(http):
    """A token for Python runs no Node, by whatever the files make the work call."""
    token = http.token("snake", "--languages", "python", "--network", "none")
    body = {"language": "python", "files": [{"path": "a.py", "content": "x = 1\n"}, *TESTS_OF_NODE]}
    reply = http.ask("POST", "/v1/tests", body, token=token)
    assert reply.status == 403 and "'javascript' is not allowed" in reply.json()["detail"], reply.body
    reply = http.ask("POST", "/v1/verify", {**body, "paths": ["a.py"]}, token=token)
    last = reply.json()["checks"][-1]
    assert (last["check"], last["outcome"]) == ("tests", "error") and "'javascript' is not allowed" in last["reason"]
    golden = {"language": "python", "cases": [{"name": "a", "command": "true"}]}
    assert http.ask("POST", "/v1/golden", golden, token=token).status == 200


def test_ceilings_hold_for_each_check(http):
    token = http.token("small", "--limit", "memory=64m", "--network", "none")
    body = {"language": "python", "code": "def f(): return len(b'x' * (200 << 20))", "calls": ["f() == 200 << 20"]}
    found = http.ask("POST", "/v1/verify", body, token=token).json()
    assert [one["outcome"] for one in found["checks"]] == ["passed", "failed"] and found["verdict"] == "failed"
    assert http.ask("POST", "/v1/verify", {**body, "limits": {"memory": "1g"}}, token=token).status == 403


@pytest.mark.parametrize("path, body", [
    ("/v1/verify", {"language": "python", "code": "import time\ndef f(): time.sleep(60)", "calls": ["f()"]}),
    ("/v1/comparisons", {"a": {"args": ["sleep", "60"]}, "b": {"args": ["sleep", "60"]}}),
    ("/v1/profiles", {"args": ["sleep", "60"]})])
def test_a_client_that_leaves_ends_the_work(http, path, body):
    before = http.metric("sandbox_run_client_cancelled_total")
    with contextlib.closing(http.connect(tcp=True)) as connection:
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {http.secret}",
                                                             "Content-Type": "application/json"})
        assert engine.within(30, lambda: running(http) == 1)
    assert engine.within(30, lambda: running(http) == 0)
    assert http.metric("sandbox_run_client_cancelled_total") == before + 1


def running(http):
    return sum(one["status"] in ("queued", "running") for one in
               http.ask("GET", "/v1/executions", token=http.secret).json()["executions"])


def test_golden_cases_of_the_body_run_in_a_workspace(http):
    """What `verify` does not look for among a tenant's own files."""
    assert http.ask("PUT", "/v1/workspaces/golden-w/files/a.txt", b"hello\n", token=http.secret).status == 204
    cases = [{"name": name, "command": "cat a.txt", "stdout": text} for name, text in (("good", "hello\n"), ("bad", "other\n"))]
    found = asked(http, "/v1/golden", {"workspace": "golden-w", "cases": cases})
    assert {one["name"]: one["outcome"] for one in found["cases"]} == {"good": "passed", "bad": "failed"}
    assert http.ask("DELETE", "/v1/workspaces/golden-w", token=http.secret).status in (200, 204)
