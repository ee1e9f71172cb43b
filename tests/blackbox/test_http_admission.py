"""What the gateway reserves covers what runs: cells count as runs, and compilers, builds and tests take more than programs."""
import concurrent.futures
import contextlib
import json
import os
import tempfile

import pytest

import engine
import gateway
import support
from test_http_mcp import Agent, tool_call

HOLDS = {"args": ["sh", "-c", "read a"], "limits": {"memory": "64m"}}
C = {"language": "c", "code": "#include <stdio.h>\nint main(void) { return getchar() != 'x'; }\n"}
MAKES = {"files": [{"path": "Makefile", "content": "all:\n\t@echo made > out.txt\n"}]}
TESTS = {"files": [{"path": "test_a.py", "content": "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n"}]}
SLEEPS = "import time; time.sleep(60)"


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    """With room for two programs beside each other, and for one compiler alone."""
    folder = tmp_path_factory.mktemp("http")
    settings = folder / "config" / "sandbox-run"
    settings.mkdir(parents=True)
    (settings / "config.yaml").write_text("http: {memory: 2300m, share: 100}\n")
    (settings / "config.yaml").chmod(0o600)
    with gateway.Gateway(folder / "g", env={"XDG_CONFIG_HOME": str(folder / "config")}) as running:
        yield running


@contextlib.contextmanager
def held(http, body, token=None):
    """A run that waits for stdin."""
    reply = http.ask("POST", "/v1/executions", body, token=token, Prefer="respond-async")
    assert reply.status == 202, reply.body
    where = reply.headers["Location"]
    assert engine.within(support.DEADLINE, lambda: http.ask("GET", where, token=token).json()["status"] == "running")
    try:
        yield where
    finally:
        http.ask("DELETE", where, token=token)
        assert engine.within(support.DEADLINE, lambda: http.ask("GET", where, token=token).json()["status"] in ("done", "failed"))


@contextlib.contextmanager
def session(http, token):
    made = http.ask("POST", "/v1/sessions", {"language": "python", "idle_ms": 60000, "limits": {"memory": "128m"}}, token=token)
    assert made.status == 201, made.body
    yield made.headers["Location"]
    assert http.ask("DELETE", made.headers["Location"], token=token).status == 200


def cell(http, where, token, code="1", kind="application/json"):
    return http.ask("POST", where + "/cells", {"code": code}, token=token, Accept=kind)


def test_cells_count_for_the_rate(http):
    token = http.token("slow-cells", "--rate", "3")
    with session(http, token) as where:
        assert [cell(http, where, token, kind=kind).status for kind in ("application/json", "text/event-stream")] == [200, 200]
        refused = cell(http, where, token)
        assert refused.status == 429 and refused.json()["code"] == "rate" and int(refused.headers["Retry-After"]) >= 1


@pytest.mark.parametrize("kind", ("application/json", "application/x-ndjson"))
def test_cells_count_for_the_runs_at_once(http, kind):
    token = http.token("one-cell" + kind[-4:], "--concurrency", "1")
    with session(http, token) as where, concurrent.futures.ThreadPoolExecutor(1) as pool:
        long = pool.submit(cell, http, where, token, SLEEPS, kind)
        assert engine.within(support.DEADLINE, lambda: http.ask("GET", where, token=token).json()["state"] == "busy")
        for path, body in ((where + "/cells", {"code": "1"}), ("/v1/executions", HOLDS), ("/v1/builds", MAKES)):
            for accept in ("application/json", "text/event-stream"):
                refused = http.ask("POST", path, body, token=token, Accept=accept)
                assert refused.status == 429 and "runs of this tenant" in refused.json()["detail"], refused.body
        assert http.ask("POST", where + "/interrupt", token=token).status == 200
        assert long.result(support.DEADLINE).status == 200
        assert engine.within(support.DEADLINE, lambda: cell(http, where, token).status == 200)
        with held(http, HOLDS, token):
            assert cell(http, where, token).status == 429


def test_a_compiler_is_reserved_with_its_program(http):
    """2 GiB by the file of the language; its program has 512 MiB once it runs."""
    body = {**C, "code": C["code"] + f"/* {os.urandom(8).hex()} */"}
    with held(http, {**HOLDS, "limits": {"memory": "512m"}}):
        refused = http.ask("POST", "/v1/executions", body)
        assert refused.status == 429 and "memory" in refused.json()["detail"], refused.body
        assert http.run({**body, "compile_limits": {"memory": "1g"}, "stdin": "x"})["exit_code"] == 0
        batch = http.ask("POST", "/v1/batch", {"requests": [body, HOLDS]}).json()["results"]
        assert "memory" in batch[0]["error"]["message"] and batch[1]["outcome"] == "exited", batch
    with held(http, body):
        assert http.run({**HOLDS, "limits": {"memory": "512m"}})["outcome"] == "exited"


@pytest.mark.parametrize("path, body", [
    ("/v1/builds", MAKES), ("/v1/tests", TESTS), ("/v1/verify", TESTS), ("/v1/builds", {**MAKES, "limits": {"memory": "128m"}}),
    ("/v1/comparisons", {"a": {"args": ["true"]}, "b": C}), ("/v1/comparisons", {"a": C, "b": {"args": ["true"]}}),
    ("/v1/profiles", {**C, "repeat": 1})])
def test_work_on_code_is_reserved_with_its_own_limits(http, path, body):
    """Those of builds and tests are 4 GiB, also for installers when the program itself has less."""
    with held(http, {**HOLDS, "limits": {"memory": "512m"}}):
        refused = http.ask("POST", path, body)
        assert refused.status == 429 and "memory" in refused.json()["detail"], refused.body
        small = http.token("small" + path.replace("/", "-") + os.urandom(4).hex(), "--limit", "memory=256m")
        done = http.ask("POST", path, body, token=small)
        assert done.status == 200, done.body
    assert http.ask("POST", path, body).status == 200, "alone it has the machine to itself"


@pytest.mark.parametrize("tool, arguments", [("run_code", {"language": "c", "code": "int main(void) { return 0; }"}),
                                             ("run_code", {"language": "python", "code": "1", "packages": ["six"]}),
                                             ("verify_code", {"language": "python", "code": "x = 1"})])
def test_a_call_of_an_agent_is_reserved_with_its_stages(http, tool, arguments):
    def call(name, *options):
        agent = Agent(http, name + os.urandom(4).hex(), "--packages", *options)
        return agent.modern("tools/call", tool_call(tool, arguments))

    with held(http, {**HOLDS, "limits": {"memory": "512m"}}):
        refused = call("agent")
        assert refused.status == 429 and b"memory" in refused.body, refused.body
        assert call("small-agent", "--limit", "memory=256m").status == 200


def test_commands_in_a_workspace_are_reserved(http):
    where = "/v1/workspaces/commands"
    asks = [("PUT", "/files/a", b"1", 204), ("GET", "/files/a", None, 200), ("GET", "/files", None, 200), ("DELETE", "/files/a", None, 204)]
    with held(http, {**HOLDS, "limits": {"memory": "1000m"}}), held(http, {**HOLDS, "limits": {"memory": "1000m"}}):
        for method, path, body, _ in asks:
            refused = http.ask(method, where + path, body)
            assert refused.status == 429 and "memory" in refused.json()["detail"], (method, refused.body)
    for method, path, body, status in asks * 2:
        assert http.ask(method, where + path, body).status == status
    assert http.ask("DELETE", where).status == 204


def test_the_memory_of_a_build_is_reserved_while_it_runs(http):
    token = http.token("holds-build")
    body = {"files": [{"path": "Makefile", "content": "all:\n\tsleep 60\n"}]}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        build = pool.submit(http.ask, "POST", "/v1/builds", body, token=token)
        rows = []
        assert engine.within(support.DEADLINE, lambda: build.done() or rows.extend(
            http.ask("GET", "/v1/executions", token=token).json()["executions"]) or rows)
        refused = http.ask("POST", "/v1/executions", HOLDS)
        assert refused.status == 429 and "memory" in refused.json()["detail"], refused.body
        assert http.ask("DELETE", "/v1/executions/" + rows[0]["id"], token=token).status == 202
        build.result(support.DEADLINE)


def test_the_disk_of_work_on_code_is_reserved(tmp_path):
    """The state is in a file system that is not larger than the memory, because no limit of a run may be."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        room = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
        limits = {"memory": "64m", "disk": room * 6 // 10}
        large = {**HOLDS, "limits": limits, "workspace": "one"}
        program = {"args": ["true"], "limits": limits}
        works = [("/v1/builds", {**MAKES, "limits": limits}), ("/v1/builds", {**MAKES, "limits": limits, "workspace": "two"}),
                 ("/v1/tests", {**TESTS, "limits": limits, "workspace": "two"}),
                 ("/v1/profiles", {**program, "workspace": "two", "repeat": 1}),
                 ("/v1/comparisons", {"a": {"args": ["true"]}, "b": {**program, "workspace": "two"}})]
        with gateway.Gateway(tmp_path / "g", env={"SANDBOX_RUN_STATE": f"{place}/state"}) as http:
            with held(http, large):
                for path, body in works:
                    refused = http.ask("POST", path, body)
                    assert refused.status == 429 and "disk" in refused.json()["detail"], (path, refused.body)
                kept = http.ask("POST", "/v1/executions", {**program, "keep": True})
                assert kept.status == 429 and "disk" in kept.json()["detail"], kept.body
            twice = http.ask("POST", "/v1/builds", {**MAKES, "limits": limits, "twice": True})
            assert twice.status == 429 and "disk" in twice.json()["detail"], "both builds are kept while they are compared"
            done = http.ask("POST", "/v1/builds", {**MAKES, "limits": limits})
            assert done.status == 200 and done.json()["success"], done.body
            body = {"files": [{"path": "Makefile", "content": "all:\n\tsleep 60\n"}], "limits": limits}
            with contextlib.closing(http.connect()) as connection:
                connection.request("POST", "/v1/builds", json.dumps(body), {"Content-Type": "application/json"})
                assert engine.within(support.DEADLINE, lambda: http.ask("POST", "/v1/executions", large).status == 429)
