"""Sessions, cells, files, workspaces and batches over HTTP."""
import concurrent.futures
import contextlib
import json
import os
import subprocess

import jsonschema
import pytest

import engine
import gateway
import sessions
import support


CELLS_AT_ONCE = 64  # of a tenant: OFFLOAD_TENANT_MAX


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        running.secret = running.token("me", "--sessions", "1")
        running.other = running.token("other")
        yield running


@pytest.fixture(name="session")
def _session(http):
    made = http.ask("POST", "/v1/sessions", {"language": "python", "idle_ms": 60000}, token=http.secret)
    assert made.status == 201 and made.headers["Location"] == f"/v1/sessions/{made.json()['id']}", made.body
    yield made.headers["Location"]
    assert http.ask("DELETE", made.headers["Location"], token=http.secret).status in (200, 404)


def test_cells_keep_their_variables(http, session):
    def cell(code, **headers):
        return http.ask("POST", session + "/cells", {"code": code}, token=http.secret, **headers)

    assert cell("x = 41").json()["outcome"] == "exited"
    done = cell("print('hello')\nx + 1").json()
    assert (done["stdout"], done["cell"], done["display"][0]["text/plain"]) == ("hello\n", 2, "42")
    events = [json.loads(line) for line in cell("print(x)", Accept="application/x-ndjson").body.splitlines()]
    assert [event["type"] for event in events] == ["start", "stdout", "end"] and events[-1]["result"]["cell"] == 3
    other = http.ask("POST", session + "/cells", {"code": "y=2; echo $y", "language": "bash"}, token=http.secret).json()
    assert (other["stdout"], other["language"]["name"], other["cell"]) == ("2\n", "bash", 4)
    wide = [http.ask("POST", session + "/cells", {"code": "list(range(30))", "width": width}, token=http.secret)
            for width in (40, 19, 1001, "40", -1)]
    assert [reply.status for reply in wide] == [200, 422, 422, 422, 422] and "`width`" in wide[1].json()["detail"]
    assert max(map(len, wide[0].json()["display"][0]["text/plain"].split("\n"))) <= 40
    none = http.ask("POST", session + "/cells", {"code": "1", "language": "nothing"}, token=http.secret)
    assert none.status in (404, 422), none.body
    assert http.ask("GET", session + "/vars", token=http.secret).json()["data"]["vars"][0]["name"] == "x"
    rows = http.ask("GET", "/v1/sessions", token=http.secret).json()["sessions"]
    assert [row["id"] for row in rows] == [session.rsplit("/", 1)[1]] and rows[0]["cells"] == 5


def test_a_session_is_a_program_of_its_own(http, session):
    """A fork of the gateway would have the locks of its threads.  What a cell says becomes no tree in either of both."""
    (about,) = http.folder.glob("state/sessions/*/session.json")
    supervisor = json.loads(about.read_text())["pid"]
    assert os.path.basename(os.readlink(f"/proc/{supervisor}/exe")) in ("sandbox-run", "sandbox-run-full")
    assert sorted(os.listdir(f"/proc/{supervisor}/task")) == [str(supervisor)]
    before = sessions.peak_mib(http.process.pid)
    code = sessions.CHANNEL + "display(1, b'{\"a\":[' + b'{},' * 5000000 + b'{}]}')"
    done = http.ask("POST", session + "/cells", {"code": code}, token=http.secret).json()
    assert (done["outcome"], done["display"], done["display_dropped"]) == ("exited", [], 1), done
    assert sessions.peak_mib(http.process.pid) < before + 32 and sessions.peak_mib(supervisor) < 64


def test_waiting_cells_of_one_tenant_leave_room_for_others(http, session):
    """Each has a thread of the gateway; one cell too many is refused, also as a stream."""
    with contextlib.ExitStack() as stack:
        for number in range(CELLS_AT_ONCE):
            connection = stack.enter_context(contextlib.closing(http.connect(tcp=True)))
            connection.request("POST", session + "/cells", json.dumps({"code": f"import time; time.sleep(600 + {number})"}),
                               {"Authorization": f"Bearer {http.secret}", "Content-Type": "application/json"})

        def refusals():
            return [http.ask("POST", session + "/cells", {"code": "1"}, token=http.secret, Accept=kind)
                    for kind in ("application/json", "text/event-stream", "application/x-ndjson")]

        found = []
        assert engine.within(support.DEADLINE, lambda: found.append(refusals()) or {r.status for r in found[-1]} == {429}), [
            r.body for r in found[-1]]
        assert http.ask("GET", "/v1/changes", token=http.other).status == 200
    assert engine.within(support.DEADLINE, lambda: http.ask("GET", "/v1/changes", token=http.secret).status == 200)


def test_files_of_a_session(http, session):
    path = session + "/files/dir/a%20b.bin"
    assert http.ask("PUT", path, b"\0bytes\xff", token=http.secret).status == 200
    assert http.ask("GET", path, token=http.secret).body == b"\0bytes\xff"
    assert [row["path"] for row in http.ask("GET", session + "/files", token=http.secret).json()["files"]] == ["dir/a b.bin"]
    assert http.ask("GET", session + "/files/none", token=http.secret).status == 404
    assert http.ask("GET", session + "/files/..%2f..%2fetc%2fpasswd", token=http.secret).status in (404, 422)
    assert http.ask("DELETE", path, token=http.other).status == 404
    assert http.ask("DELETE", path, token=http.secret).status == 200
    assert http.ask("GET", path, token=http.secret).status == http.ask("DELETE", path, token=http.secret).status == 404
    assert http.ask("DELETE", session + "/files/..%2fx", token=http.secret).status == 422


def test_a_fork_is_a_session_of_its_own(http):
    bold = http.token("bold", "--tenant", "bold", "--sessions", "2")
    first = http.ask("POST", "/v1/sessions", {"language": "python", "idle_ms": 60000}, token=bold).headers["Location"]
    http.ask("POST", first + "/cells", {"code": "x = 20"}, token=bold)
    made = http.ask("POST", first + "/fork", token=bold)
    second = made.headers["Location"]
    assert made.status == 201 and second != first and made.json()["of"] == first.rsplit("/", 1)[1], made.body
    http.ask("POST", first + "/cells", {"code": "x = 1"}, token=bold)
    assert http.ask("POST", second + "/cells", {"code": "print(x)"}, token=bold).json()["stdout"] == "20\n"
    assert http.ask("POST", first + "/fork", token=bold).status == 429
    assert http.ask("POST", first + "/fork", token=http.other).status == 404
    assert {http.ask("DELETE", where, token=bold).status for where in (first, second)} == {200}


def test_a_spare_session_works_in_the_name_of_its_new_tenant(tmp_path):
    """The first tenant's session leaves a spare one; who takes it waits in a line of its own."""
    with engine.Engine(tmp_path / "e", caller=support.Callers.ROOT) as warm, \
            gateway.Gateway(tmp_path / "g", env=warm.variables()) as http:
        made = {}
        for name, startup in (("first", "cold"), ("second", "parked")):
            token = http.token(name, "--tenant", name)
            reply = http.ask("POST", "/v1/sessions", {"language": "python"}, token=token)
            assert reply.json()["startup"] == startup, reply.body
            made[name] = token, reply.headers["Location"]
            assert engine.within(30, lambda: any((tmp_path / "g/state/spares").glob("*/socket")))
        for name, (token, where) in made.items():
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                cell = pool.submit(http.ask, "POST", where + "/cells", {"code": "import time; time.sleep(60)"}, token=token)
                assert engine.within(30, lambda: any(row["running"] for row in warm.status()["callers"]))
                assert [row["name"] for row in warm.status()["callers"] if row["running"]] == [name]
                http.ask("POST", where + "/interrupt", token=token)
                assert cell.result(30).json()["outcome"] != "exited"
            assert http.ask("DELETE", where, token=token).status == 200


def test_a_session_belongs_to_its_tenant(http, session):
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/vars"), ("GET", "/files"), ("POST", "/interrupt"),
                         ("GET", "/files/x"), ("PUT", "/files/x")):
        body = b"" if method in ("PUT", "POST") else None
        assert http.ask(method, session + path, body, token=http.other).status == 404, (method, path)
    assert http.ask("POST", session + "/cells", {"code": "1"}, token=http.other).status == 404
    assert http.ask("GET", "/v1/sessions", token=http.other).json() == {"sessions": []}
    own = http.ask("GET", "/v1/sessions").json()["sessions"][0]["id"]  # the local user knows them all
    assert http.ask("GET", f"/v1/sessions/{own}", token=http.other).status == 404
    second = http.ask("POST", "/v1/sessions", {"language": "python"}, token=http.secret)
    assert second.status == 429 and "sessions" in second.json()["detail"]


def test_a_client_that_leaves_interrupts_its_cell(http, session):
    connection = http.connect(tcp=True)
    connection.request("POST", session + "/cells", json.dumps({"code": "import time\ntime.sleep(1000)"}),
                       {"Content-Type": "application/json", "Authorization": f"Bearer {http.secret}"})
    assert engine.within(20, lambda: http.ask("GET", session, token=http.secret).json()["state"] == "busy")
    connection.close()
    assert engine.within(20, lambda: http.ask("GET", session, token=http.secret).json()["state"] == "ready")


def test_workspaces_are_the_tenants(http):
    where = "/v1/workspaces/data"
    assert http.ask("PUT", where + "/files/in/a.txt", b"one\n", token=http.secret).status == 204
    assert http.ask("GET", where + "/files/in/a.txt", token=http.secret).body == b"one\n"
    result = http.run({"language": "bash", "code": "cat in/a.txt; echo two > b", "workspace": "data", "keep_output": True},
                      token=http.secret)
    assert result["stdout"] == "one\n"
    kept = http.ask("GET", f"/v1/executions/{result['id']}/output/stdout", token=http.secret)
    assert kept.status == 200 and kept.body == b"one\n"
    files = {row["path"] for row in http.ask("GET", where + "/files", token=http.secret).json()["files"]}
    assert files == {"in", "in/a.txt", "b", "main.bash"}
    assert http.ask("GET", where + "/files/in/a.txt", token=http.other).status == 404
    assert http.ask("GET", where + "/files/..%2fx", token=http.secret).status == 422
    assert [row["name"] for row in http.ask("GET", "/v1/workspaces", token=http.secret).json()["workspaces"]] == ["data"]
    assert http.ask("DELETE", where + "/files/b", token=http.secret).status == 204
    assert http.ask("DELETE", where, token=http.other).status == 404
    assert http.ask("DELETE", where, token=http.secret).status == 204


def test_a_batch_has_all_results(http):
    bodies = [{"language": "bash", "code": f"exit {n}"} for n in range(3)]
    results = http.ask("POST", "/v1/batch", {"requests": bodies}).json()["results"]
    assert [result["exit_code"] for result in results] == [0, 1, 2]
    wrong = http.ask("POST", "/v1/batch", {"requests": [bodies[0], {"language": "bash", "volumes": ["/:/x"]}]})
    assert wrong.status == 422 and wrong.json()["errors"][0]["pointer"] == "#/requests/1/volumes"


def test_tls_by_files(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    with gateway.Gateway(tmp_path / "g", ("--tls-cert", certificate, "--tls-key", key)) as http:
        port = http.address.rsplit(":", 1)[1]
        done = subprocess.run(["curl", "-sS", "--cacert", certificate, f"https://localhost:{port}/healthz"],
                              capture_output=True, timeout=support.DEADLINE, check=True)
        assert json.loads(done.stdout) == {"status": "ok"}
        for kind in ((), ("-H", "Transfer-Encoding: chunked")):  # a reply before the body goes the same way
            token = f"Authorization: Bearer {http.token('tls' + str(len(kind)))}"
            done = subprocess.run(["curl", "-sS", "--cacert", certificate, "-H", token, "-H", "Content-Type: application/json",
                                   "-H", "Expect:", *kind, "--data-binary", "@-", f"https://localhost:{port}/v1/executions"],
                                  input=b" " * (40 << 20), capture_output=True, timeout=support.DEADLINE, check=True)
            assert json.loads(done.stdout)["status"] == 413
    reply = subprocess.run([gateway.PROGRAM, "--listen", "0.0.0.0:0", "--socket", tmp_path / "g" / "x.sock"],
                           capture_output=True, text=True, env=support.surroundings(None), timeout=30)
    assert reply.returncode == 125 and "--tls-cert" in reply.stderr


def listens(connection):
    try:
        connection.connect()
    except OSError:
        return False
    return True


def test_serve_starts_engine_and_a_gateway_that_uses_it(tmp_path):
    with engine.Engine(tmp_path / "e", options=("--http", "127.0.0.1:0", "--park-min", "1")) as warm:
        socket = warm.folder / "http.sock"
        connection = gateway.UnixConnection(socket)
        assert engine.within(30, lambda: listens(connection))

        def startup():
            connection.request("POST", "/v1/executions", json.dumps({"language": "bash", "code": "echo hi"}),
                               {"Content-Type": "application/json"})
            result = json.loads(connection.getresponse().read())
            assert result["stdout"] == "hi\n", result
            return result["startup"]

        assert engine.within(30, lambda: startup() == "parked")
        assert any("bash" in str(pool) for pool in warm.status()["pools"])
        connection.close()


def test_tests_builds_and_golden_cases_take_files_of_the_body(http):
    files = [{"path": "Makefile", "content": "all:\n\t@echo made > out.txt; echo 'a.c:1:2: warning: odd' >&2\n"}]
    reply = http.ask("POST", "/v1/builds", {"files": files}, token=http.secret)
    built = reply.json()
    assert reply.status == 200 and (built["tool"], built["success"]) == ("make", True), built
    assert [one["path"] for one in built["artifacts"]] == ["out.txt"] and built["messages"][0]["line"] == 1
    assert http.ask("GET", f"/v1/changes/{built['changes_id']}", token=http.secret).status == 200
    assert http.ask("GET", f"/v1/changes/{built['changes_id']}", token=http.other).status == 404
    put = http.ask("PUT", "/v1/workspaces/made/files/old.txt", b"old", token=http.secret)
    assert put.status == 204, put.body
    again = http.ask("POST", "/v1/builds", {"files": files, "workspace": "made", "tool": "make"}, token=http.secret).json()
    assert [one["path"] for one in again.get("artifacts", [])] == ["out.txt"], again
    assert http.ask("DELETE", "/v1/workspaces/made", token=http.secret).status == 204
    files = [{"path": "pkg/tests/test_a.py", "content": "import unittest\n\nclass A(unittest.TestCase):\n"
              "    def test_good(self):\n        pass\n    def test_bad(self):\n        self.fail('x')\n"},
             {"path": "pkg/__init__.py", "content": ""}, {"path": "pkg/tests/__init__.py", "content": ""}]
    tested = http.ask("POST", "/v1/tests", {"files": files, "repeat": 2}, token=http.secret).json()
    jsonschema.validate(tested, json.loads((support.REPO / "data/schemas/test.json").read_text()))
    assert {one["name"]: (one["outcome"], one["runs"]) for one in tested["cases"]} == {
        "pkg.tests.test_a.A.test_good": ("passed", 2), "pkg.tests.test_a.A.test_bad": ("failed", 2)}, tested
    assert tested["runner"] == "unittest" and tested["outcome"] == "exited" and tested["files"] == []
    cases = [{"name": "good", "command": "cat a.txt; echo x > b.txt", "stdout": "A", "tree": {"b.txt": "x\n"}},
             {"name": "bad", "command": "exit 3", "stdout": ""}]
    report = http.ask("POST", "/v1/golden", {"files": [{"path": "a.txt", "content": "A"}], "cases": cases}, token=http.secret).json()
    assert [(one["name"], one["outcome"]) for one in report["cases"]] == [("good", "passed"), ("bad", "failed")], report


@pytest.mark.parametrize("path, body, field", [
    ("/v1/tests", {"repeat": 0}, "repeat"), ("/v1/tests", {"project": "/etc"}, "project"),
    ("/v1/builds", {"tool": 1}, "tool"), ("/v1/builds", {"project": "/etc"}, "project"),
    ("/v1/golden", {"files": [{"path": "a", "content": ""}]}, "cases"), ("/v1/golden", {"cases": [], "volumes": ["/:/x"]}, "volumes")])
def test_paths_of_the_host_build_nothing(http, path, body, field):
    wrong = http.ask("POST", path, body, token=http.secret)
    assert wrong.status == 422 and wrong.json()["errors"][0]["pointer"] == f"#/{field}"


def test_a_package_that_cannot_be_installed_is_the_requests_fault(http):
    """Not the machine's, which would be 501."""
    reply = http.ask("POST", "/v1/sessions", {"language": "python", "deps": ["no-such-package-of-sandbox-run"]},
                     token=http.token("installs", "--packages"))
    assert reply.status == 422 and reply.json()["code"] == "invalid", reply.body
    assert "no-such-package-of-sandbox-run" in reply.json()["detail"]
