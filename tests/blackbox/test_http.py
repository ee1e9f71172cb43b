"""The HTTP gateway end to end: runs, streams, what is refused, what is left."""
import json
import os
import re
import subprocess

import jsonschema
import pytest
import yaml

import engine
import gateway
import support

LOOP = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(1)"


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        yield running


def test_says_what_it_is(http):
    assert http.ask("GET", "/healthz").json() == {"status": "ok"}
    assert http.ask("GET", "/readyz").json() == {"status": "ready"}
    assert http.ask("GET", "/version").json()["api"] == "v1"
    languages = {row["name"]: row for row in http.ask("GET", "/v1/languages").json()["languages"]}
    assert languages["python"]["installed"] and languages["python"]["sessions"]
    assert not any("/" in text for row in languages.values() for text in row["versions"])


def test_the_page_and_the_alerts(http):
    page = http.ask("GET", "/docs", tcp=True)
    assert page.status == 200 and b"POST /v1/executions" in page.body and b"<script" not in page.body
    assert not re.search(rb"(src|href)=.?https?:", page.body)
    metrics = http.ask("GET", "/metrics").body.decode()
    rules = yaml.safe_load((support.REPO / "data/prometheus/sandbox-run.rules.yml").read_text())
    for rule in rules["groups"][0]["rules"]:
        for name in re.findall(r"sandbox_run_\w+", rule["expr"]):
            assert f"\n{name}" in "\n" + metrics or f"TYPE {name} " in metrics, name


def test_result_is_that_of_the_command_line(http):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)"
    over_http = http.run({"language": "python", "code": code, "limits": {"memory": "256m"}})
    here = support.python(code, "--memory", "256m")
    assert set(over_http) == {key for key in here if not key.startswith("_")}
    for field in ("outcome", "exit_code", "signal", "stdout", "stderr", "limits", "language", "success", "diagnosis"):
        assert over_http[field] == here[field], field


@pytest.mark.parametrize("body, outcome", [
    ({"language": "bash", "code": "sleep 60", "limits": {"timeout": "300ms", "grace": "0s"}}, "timeout"),
    ({"language": "bash", "code": "kill -9 $$"}, "signaled"),
    ({"command": True, "args": ["false"]}, "exited"),
])
def test_a_run_that_ends_badly_is_still_200(http, body, outcome):
    assert http.run(body)["outcome"] == outcome


@pytest.mark.parametrize("field, body", [
    ("project", {"project": "/etc"}), ("volumes", {"volumes": ["/etc:/mnt"]}), ("program", {"program": "main.py"}),
    ("language_file", {"language_file": "/etc/passwd"}), ("template", {"template": "/etc/passwd"}),
    ("image", {"image": "/srv"}), ("image", {"image": "oci:/srv/layout"}), ("image", {"image": "docker-archive:/x.tar"}),
    ("policy", {"policy": "/etc/passwd"}), ("outputs", {"outputs": ["*.txt:/tmp"]}),
    ("backend", {"backend": "oci:/bin/true"}), ("backend", {"backend": "auto"}),
])
def test_paths_of_the_host_do_not_cross(http, field, body):
    reply = http.ask("POST", "/v1/executions", {"language": "python", "code": "pass", **body})
    assert reply.status == 422 and reply.headers["Content-Type"] == "application/problem+json"
    assert reply.json()["errors"][0]["pointer"] == f"#/{field}"


@pytest.mark.parametrize("body, status, word", [
    (b"{", 400, "JSON"), (b"[]", 400, "object"), (b"[" * 100, 400, "32 levels"),
    ({"language": "pythn", "code": "1"}, 422, "python"), ({"languge": "python"}, 422, "language"),
    ({"language": "python", "code": "1", "limits": {"memory": "x"}}, 422, "memory"),
])
def test_problems_say_what_to_do(http, body, status, word):
    reply = http.ask("POST", "/v1/executions", body, Content_Type="application/json")
    problem = reply.json()
    assert reply.status == status == problem["status"] and word in problem["detail"], problem
    assert problem["code"] and problem["type"].startswith("urn:sandbox-run:problem:")


def events_of(reply):
    return [json.loads(line) for line in reply.body.decode().splitlines()]


def test_streams_events_and_resumes_by_number(http):
    body = {"language": "bash", "code": "echo one; echo two >&2; exit 4"}
    reply = http.ask("POST", "/v1/executions", body, Accept="application/x-ndjson")
    events = events_of(reply)
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert (events[0]["type"], events[-1]["type"]) == ("start", "end")
    assert events[-1]["result"]["exit_code"] == 4
    where = reply.headers["Location"]
    again = events_of(http.ask("GET", where + "/events", Accept="application/x-ndjson", Last_Event_ID="1"))
    assert again == events[2:]
    sse = http.ask("GET", where + "/events", Accept="text/event-stream").body.decode()
    assert "event: stdout\ndata: " in sse and f"id: {events[-1]['seq']}\n" in sse
    assert http.ask("GET", where).json()["result"]["id"] == where.rsplit("/", 1)[1]


def test_a_queued_run_takes_stdin_and_a_cancel(http):
    reply = http.ask("POST", "/v1/executions", {"language": "bash", "code": "read a; echo got $a; cat"},
                     Prefer="respond-async")
    where = reply.headers["Location"]
    assert reply.status == 202 and reply.json()["status"] in ("queued", "running")
    assert http.ask("POST", where + "/stdin", b"word\n").json() == {"taken": 5, "open": True}
    assert http.ask("POST", where + "/stdin?close=1", b"rest").json() == {"taken": 4, "open": False}
    events = events_of(http.ask("GET", where + "/events", Accept="application/x-ndjson"))
    assert events[-1]["result"]["stdout"] == "got word\nrest"
    assert http.ask("POST", where + "/stdin", b"x").status == 409

    where = http.ask("POST", "/v1/executions", {"language": "python", "code": LOOP},
                     Prefer="respond-async").headers["Location"]
    assert http.ask("DELETE", where).status == 202
    assert events_of(http.ask("GET", where + "/events", Accept="application/x-ndjson"))[-1]["result"]["outcome"] == "cancelled"
    ids = [row["id"] for row in http.ask("GET", "/v1/executions?limit=2").json()["executions"]]
    assert ids[0] == where.rsplit("/", 1)[1] and len(ids) == 2


def test_an_idempotency_key_runs_once(http):
    body = {"language": "bash", "code": "echo $RANDOM$RANDOM$RANDOM"}
    first, second = (http.run(body, Idempotency_Key="key-1") for _ in range(2))
    assert first == second
    other = http.ask("POST", "/v1/executions", {"language": "bash", "code": ":"}, Idempotency_Key="key-1")
    assert other.status == 422 and other.json()["code"] == "idempotency_key"


def test_a_client_that_leaves_cancels_its_run(http):
    before = http.metric("sandbox_run_client_cancelled_total")
    connection = http.connect()
    connection.request("POST", "/v1/executions", json.dumps({"language": "python", "code": LOOP}),
                       {"Content-Type": "application/json"})
    assert engine.within(20, lambda: http.metric("sandbox_run_active_sandboxes") == 1)
    connection.close()
    assert engine.within(20, lambda: http.metric("sandbox_run_active_sandboxes") == 0)
    assert http.metric("sandbox_run_client_cancelled_total") == before + 1
    assert gateway.children_are_gone(http)


def test_the_document_is_true(http):
    document = http.ask("GET", "/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    routes = subprocess.run([gateway.PROGRAM, "--routes"], capture_output=True, check=True, text=True).stdout.splitlines()
    described = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert described == {route.replace("...", "") for route in routes}
    named = set(json.dumps(document).split('"$ref": "#/components/schemas/')[1:])
    for reference in named:
        words = reference.split('"')[0].split("/")
        at = document["components"]["schemas"]
        for word in words:
            at = at[word]
    for name in ("request", "result", "event"):
        assert {f"{name}_{part}" for part in support.schema(name).get("$defs", {})} == \
            {part for part in document["components"]["schemas"] if part.startswith(f"{name}_")}
    reply = http.run({"language": "bash", "code": "echo $((1 + 1))"})
    jsonschema.validate(reply, {"$ref": "#/components/schemas/result", "components": document["components"]})


def test_a_killed_gateway_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), gateway.Gateway(tmp_path / "g") as http:
        where = http.ask("POST", "/v1/executions", {"language": "python", "code": LOOP}, Prefer="respond-async").headers["Location"]
        assert engine.within(20, lambda: http.ask("GET", where).json()["status"] == "running")
        assert engine.within(20, lambda: gateway.runs_of(http))
        inside = gateway.runs_of(http)
        http.process.kill()
        http.process.wait()
        assert engine.within(20, lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inside))
        raise ZeroDivisionError  # the block's own end would ask why the gateway died
    with gateway.Gateway(tmp_path / "g") as http:  # at the same socket
        assert http.run({"language": "bash", "code": "echo $((2 + 2))"})["stdout"] == "4\n"


def test_gives_the_only_place_of_an_engine_back(tmp_path):
    """The engine gets it after the reply; also when the version of the tool has to be asked in a sandbox of its own."""
    with engine.Engine(tmp_path / "engine", options=["--slots", "1"]) as warm:
        with gateway.Gateway(tmp_path / "g", env=warm.variables()) as http:
            for number in range(4):
                request = {"language": ("python", "bash")[number % 2], "code": f"print({number})" if number % 2 == 0 else "echo 1"}
                assert http.run(request)["exit_code"] == 0
            assert sum(warm.status()[f"{way}_total"] for way in ("parked", "forked", "cold")) >= 4
            assert engine.within(support.DEADLINE, lambda: warm.status()["running"] == 0), warm.status()
