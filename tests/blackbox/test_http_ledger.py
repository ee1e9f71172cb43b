"""What a token holds at once: counted under one lock whoever asks at once, and given back when it ends or the token does."""
import concurrent.futures
import contextlib
import http.client as http_client
import json
import subprocess
import threading

import pytest

import engine
import gateway
import support
from test_http_grants import BASH, SMALL, configured, sandbox, session, together
from test_http_mcp import Agent, iter_until, tool_call

SLEEPS = {"args": ["sh", "-c", "read a"], "limits": {"memory": "32m"}}
SOON = 20  # the gateway looks every second; others may use the machine meanwhile


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("ledger") / "g", ["--dialect", "e2b"]) as running:
        yield running


def statuses(replies):
    return sorted(reply.status for reply in replies)


def revoke(http, name):
    subprocess.run([support.SANDBOX_RUN, "token", "revoke", name], env=http.env, check=True, capture_output=True,
                   timeout=support.DEADLINE)


def test_as_many_sessions_as_the_token_allows(http):
    """B4: of 32 creates at once exactly one has its session; forks and agents count among them."""
    token = http.token("single", "--sessions", "1")
    replies = together(32, lambda n: http.ask("POST", "/v1/sessions", SMALL, token=token))
    rows = http.ask("GET", "/v1/sessions", token=token).json()["sessions"]
    assert statuses(replies) == [201] + [429] * 31 and len(rows) == 1, (statuses(replies), rows)
    where = f"/v1/sessions/{rows[0]['id']}"
    assert statuses(together(8, lambda n: http.ask("POST", where + "/fork", token=token))) == [429] * 8
    assert http.ask("DELETE", where, token=token).status == 200
    assert engine.within(SOON, lambda: http.ask("POST", "/v1/sessions", SMALL, token=token).status == 201)
    http.ask("DELETE", "/v1/sessions/" + http.ask("GET", "/v1/sessions", token=token).json()["sessions"][0]["id"], token=token)


def test_agents_at_once_have_one_session(http):
    """B4: a tool that makes a session takes its place before."""
    agent = Agent(http, "agents", "--sessions", "1")
    call = tool_call("create_session", {"language": "bash", "memory_mb": 64})
    replies = together(8, lambda n: agent.modern("tools/call", call))
    made = [reply.json()["result"] for reply in replies if reply.status == 200 and not reply.json()["result"]["isError"]]
    assert len(made) == 1 == len(http.ask("GET", "/v1/sessions", token=agent.token).json()["sessions"])
    agent.data("close_session", session_id=made[0]["structuredContent"]["session_id"])


def test_a_session_that_ends_by_itself_counts_no_more(http):
    """B4: its program ended it, or its time did."""
    token = http.token("mortal", "--sessions", "1")
    for body in ({**SMALL, "idle_ms": 100}, {**SMALL, "age_ms": 100}):
        assert engine.within(SOON, lambda body=body: http.ask("POST", "/v1/sessions", body, token=token).status == 201)
    assert engine.within(SOON, lambda: http.ask("POST", "/v1/sessions", SMALL, token=token).status == 201)
    row, = http.ask("GET", "/v1/sessions", token=token).json()["sessions"]
    http.ask("DELETE", f"/v1/sessions/{row['id']}", token=token)


def test_sandboxes_and_sessions_are_counted_together(http):
    """h5, B12."""
    token = http.token("either", "--sessions", "1")
    with session(http, token):
        assert sandbox(http, token).status == 429
    assert engine.within(SOON, lambda: http.ask("GET", "/v1/sessions", token=token).json()["sessions"] == [])
    made = sandbox(http, token)
    assert made.status == 201, made.body
    assert http.ask("POST", "/v1/sessions", SMALL, token=token).status == 429
    box = made.json()["sandboxID"]
    http.ask("DELETE", f"/sandboxes/{box}", tcp=True, X_API_Key=token)
    assert engine.within(SOON, lambda: http.ask("POST", "/v1/sessions", SMALL, token=token).status == 201)
    row, = http.ask("GET", "/v1/sessions", token=token).json()["sessions"]
    http.ask("DELETE", f"/v1/sessions/{row['id']}", token=token)


def test_sessions_end_with_their_token(http):
    """B5: also those of an agent, and the one of another token of the tenant stays."""
    http.token("ends", "--tenant", "shared")
    token, other = http.token("leaves", "--tenant", "shared"), http.token("stays", "--tenant", "shared")
    agent = Agent(http, "leaves-too", "--tenant", "shared")
    made = [http.ask("POST", "/v1/sessions", SMALL, token=one) for one in (token, token, other)]
    assert statuses(made) == [201] * 3
    agent.data("create_session", language="bash", memory_mb=64)
    kept = made[2].headers["Location"].rsplit("/", 1)[1]
    revoke(http, "leaves")
    revoke(http, "leaves-too")
    assert engine.within(SOON, lambda: [row["id"] for row in http.ask("GET", "/v1/sessions", token=other).json()["sessions"]] == [kept])
    assert http.ask("POST", f"/v1/sessions/{kept}/cells", {"code": "echo 1"}, token=other).status == 200
    http.ask("DELETE", f"/v1/sessions/{kept}", token=other)


@contextlib.contextmanager
def streamed_cell(http, token, where):
    connection = http.connect(tcp=True)
    with contextlib.closing(connection):
        connection.request("POST", where + "/cells", json.dumps({"code": "echo begun; sleep 1000", "timeout_ms": 1000000}),
                           {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "text/event-stream"})
        reply = connection.getresponse()
        iter_until(reply, "begun")
        yield reply


def test_a_streamed_cell_ends_with_its_token(http):
    """B9, h11: another token of the tenant has made the session."""
    wide, token = http.token("owner", "--tenant", "cells"), http.token("guest", "--tenant", "cells")
    with session(http, wide) as where, streamed_cell(http, token, where) as reply:
        revoke(http, "guest")
        with contextlib.suppress(http_client.IncompleteRead):  # it may break off
            reply.read()
        assert engine.within(SOON, lambda: http.ask("GET", where, token=wide).json()["state"] == "ready")


def test_sessions_and_their_cells_end_when_the_token_expires(http):
    """B5, B9."""
    look = http.token("expiry-look", "--tenant", "expiry")
    token = http.token("expires", "--tenant", "expiry", "--expires", "5s")
    where = http.ask("POST", "/v1/sessions", SMALL, token=token).headers["Location"]
    with streamed_cell(http, token, where) as reply, contextlib.suppress(http_client.IncompleteRead):
        reply.read()
    assert engine.within(SOON, lambda: http.ask("GET", "/v1/sessions", token=look).json()["sessions"] == [])


def test_a_session_that_is_made_while_its_token_is_revoked_ends(http):
    """B5: whichever comes first."""
    look, token = http.token("late-look", "--tenant", "late"), http.token("late")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        making = [pool.submit(http.ask, "POST", "/v1/sessions", SMALL, token=token) for _ in range(6)]
        concurrent.futures.wait(making, return_when=concurrent.futures.FIRST_COMPLETED)
        revoke(http, "late")
    assert {201} <= {one.result().status for one in making} <= {201, 401}
    assert engine.within(SOON, lambda: http.ask("GET", "/v1/sessions", token=look).json()["sessions"] == [])
    assert gateway.children_are_gone(http)


@pytest.mark.parametrize("initialized", (False, True))
def test_a_call_of_an_agent_ends_with_its_token(http, initialized):
    """B9, h11."""
    name = f"caller-{initialized}"
    agent = Agent(http, name)
    version = {}
    if initialized:
        agent.initialize()
        version = {"version": "2025-11-25"}
    call = tool_call("run_code", {"language": "bash", "code": "echo begun; sleep 250", "timeout_seconds": 300})
    with agent.begun("tools/call", call, {"progressToken": 1}, **version) as connection:
        iter_until(connection.getresponse(), "begun")
        revoke(http, name)
        assert gateway.children_are_gone(http)


def test_a_run_ends_with_its_token(http):
    token, look = http.token("run-away", "--tenant", "away"), http.token("look-away", "--tenant", "away")
    first = http.ask("POST", "/v1/executions", SLEEPS, token=token, Prefer="respond-async")
    revoke(http, "run-away")
    assert engine.within(SOON, lambda: http.ask("GET", first.headers["Location"], token=look).json()["status"] in ("done", "failed"))


WORK = (("/v1/profiles", {**BASH, "repeat": 20, "warm_up": 0}, 20), ("/v1/profiles", {**BASH, "repeat": 2, "warm_up": 2}, 4),
        ("/v1/comparisons", {"a": BASH, "b": BASH, "repeat": 2, "warm_up": 0, "inputs": [{"content": "1"}, {"content": "2"}]}, 8),
        ("/v1/golden", {"cases": [{"name": str(n), "command": "true", "stdout": ""} for n in range(5)]}, 5),
        ("/v1/tests", {"files": [{"path": "Makefile", "content": "test:\n\ttrue\n"}], "repeat": 3}, 3),
        ("/v1/batch", {"requests": [BASH] * 3}, 3))


@pytest.mark.parametrize("path, body, starts", WORK, ids=[f"{path[4:]}-{starts}" for path, _, starts in WORK])
def test_work_counts_with_all_its_runs(http, path, body, starts):
    """B11, h4: one start too few is refused, and starts nothing."""
    token = http.token(f"less{path[4:]}{starts}", "--rate", str(starts - 1))
    reply = http.ask("POST", path, body, token=token)
    assert reply.status == 429 and reply.json()["code"] == "rate", reply.body
    token = http.token(f"just{path[4:]}{starts}", "--rate", str(starts))
    assert http.ask("POST", path, body, token=token).status != 429
    assert http.ask("POST", "/v1/executions", BASH, token=token).status == 429


def test_what_starts_a_sandbox_counts_for_the_rate(http):
    """B6, B11: restarts, files of workspaces, readyz."""
    token = http.token("ready", "--rate", "2")
    assert [http.ask("GET", "/readyz", token=token).status for _ in range(3)] == [200, 200, 429]
    token = http.token("files", "--rate", "2")
    assert [http.ask("PUT", "/v1/workspaces/w/files/a", b"x", token=token).status for _ in range(3)] == [204, 204, 429]
    token = http.token("restarts", "--rate", "3")
    with session(http, token) as where:
        assert [http.ask("POST", where + "/restart", token=token).status for _ in range(3)] == [200, 200, 429]


def test_what_starts_a_sandbox_counts_at_once(http):
    """B6: files of workspaces and restarts are runs among those of the tenant."""
    token = http.token("narrowly", "--concurrency", "1")
    with session(http, token) as where:
        first = http.ask("POST", "/v1/executions", SLEEPS, token=token, Prefer="respond-async")
        assert first.status == 202
        for method, path, body in (("PUT", "/v1/workspaces/w/files/a", b"x"), ("GET", "/v1/workspaces/w/files", None),
                                   ("GET", "/readyz", None), ("POST", where + "/restart", None), ("POST", where + "/rollback", {"cell": 1}),
                                   ("POST", where + "/cells", {"code": ":"}), ("POST", "/v1/builds", {"files": []})):
            reply = http.ask(method, path, body, token=token)
            assert reply.status == 429, (path, reply.status, reply.body)
        assert http.ask("DELETE", first.headers["Location"], token=token).status == 202


def test_many_clients_against_the_concurrency(http):
    """64 at once over executions, cells, workspaces and batches: never more than the token allows have a place."""
    token = http.token("crowded", "--concurrency", "3")
    replies = together(64, lambda n: http.ask("POST", "/v1/executions", SLEEPS, token=token, Prefer="respond-async"))
    begun = [reply.headers["Location"] for reply in replies if reply.status == 202]
    assert statuses(replies) == [202] * 3 + [429] * 61
    batches = together(8, lambda n: http.ask("POST", "/v1/batch", {"requests": [BASH, BASH]}, token=token))
    assert statuses(batches) == [429] * 8
    for where in begun:
        assert http.ask("DELETE", where, token=token).status == 202
    assert engine.within(SOON, lambda: http.ask("POST", "/v1/executions", BASH, token=token).status == 200)


def test_many_clients_against_the_rate(http):
    """64 at once: as many as the bucket has, and what it gains meanwhile, at most one in this time."""
    token = http.token("hurried", "--rate", "6")
    replies = together(64, lambda n: http.ask("POST", "/v1/executions", {"bad": n}, token=token))
    assert 6 <= sum(reply.status == 422 for reply in replies) <= 7, statuses(replies)


def test_one_tenant_leaves_room_for_another(tmp_path):
    """C3: a hostile one asks for all places with long sleeps, by two tokens; the other's run is answered beside them."""
    with gateway.Gateway(tmp_path / "g", ["--running", "8"]) as http:
        hostile = [http.token(name, "--tenant", "hostile") for name in ("one", "two")]
        calm = http.token("calm")
        assert engine.within(SOON, lambda: http.ask("POST", "/v1/executions", BASH, token=calm).status == 200)
        replies = together(24, lambda n: http.ask("POST", "/v1/executions", SLEEPS, token=hostile[n % 2], Prefer="respond-async"))
        begun = [reply.headers["Location"] for reply in replies if reply.status == 202]
        assert http.run({**BASH, "code": "echo here"}, token=calm)["stdout"] == "here\n"
        assert len(begun) == 4, statuses(replies)
        states = {http.ask("GET", where, token=hostile[0]).json()["status"] for where in begun}
        assert not states & {"done", "failed"}, "they still run"
        for where in begun:
            http.ask("DELETE", where, token=hostile[0])
        assert gateway.children_are_gone(http)


def test_a_share_is_no_limit_of_a_request(tmp_path):
    """Beside another tenant, what names no memory has what it has alone, and several have room."""
    env = configured(tmp_path, "http: {memory: 10g, share: 50}\n")
    with gateway.Gateway(tmp_path / "g", env=env) as http:
        agent = Agent(http, "several")
        http.token("neighbour")
        assert engine.within(SOON, lambda: http.ask("POST", "/v1/executions", {**BASH, "limits": {"memory": "6g"}},
                                                    token=agent.token).status == 403)
        agent = Agent(http, "several-again", "--tenant", "several")  # whose requests begin with the share
        made = [agent.data("create_session", language="bash")["session_id"] for _ in range(3)]
        for one in made:
            agent.data("close_session", session_id=one)
        assert http.ask("PUT", "/v1/workspaces/w/files/a", b"x", token=agent.token).status == 204


def test_tenants_at_once_do_not_mix(http):
    """Each of 12 has its own counts, and nobody's refusal is another's."""
    tokens = [http.token(f"tenant{n}", "--concurrency", "1", "--limit", "memory=64m") for n in range(12)]
    barrier = threading.Barrier(len(tokens))

    def one(token):
        barrier.wait(support.DEADLINE)
        return [http.ask("POST", "/v1/executions", BASH, token=token).status for _ in range(3)]

    with concurrent.futures.ThreadPoolExecutor(len(tokens)) as pool:
        assert list(pool.map(one, tokens)) == [[200] * 3] * len(tokens)
