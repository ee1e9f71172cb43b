"""64 clients against each count at once: never more than the bound, exactly as many as it allows, and all is given back.

SBR_RACES is the number of rounds; 100 by hand: `SBR_RACES=100 python3 tests/run.py --suite blackbox -k test_http_races`.
"""
import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import select
import threading

import pytest

import engine
import gateway
import support
from test_http_grants import BOX, configured
from test_http_mcp import LEGACY, Agent, tool_call

ROUNDS = int(os.environ.get("SBR_RACES", "2"))
CLIENTS = 64
SOON = 60  # the gateway has 64 requests before it on a machine that others use, too
KEPT_MAX = 4096  # results of all tenants
KEPT_BATCH = 256
AGENTS = 64  # of one tenant, by http.share: a quarter of 256
HOLDS = {"args": ["sh", "-c", "read a"], "limits": {"memory": "32m", "timeout": "600s"}}
WAITS = {"args": ["sleep", "600"], "limits": {"memory": "32m", "timeout": "600s"}}
SMALL = {"language": "bash", "limits": {"memory": "64m"}}


class Client:
    """A connection that is kept from round to round, unless its request has to be left."""

    def __init__(self, server, token):
        self.server, self.token, self.connection = server, token, None

    def send(self, method, path, body=None, **headers):
        self.connection = self.connection or self.server.connect(tcp=True)
        self.connection.request(method, path, body if isinstance(body, (bytes, type(None))) else json.dumps(body), {
            "Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()}})

    def ask(self, method, path, body=None, **headers):
        self.send(method, path, body, **headers)
        return gateway.Reply(self.connection.getresponse())

    def leave(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Crowd:
    """All ask at the same time; somebody else looks meanwhile."""

    def __init__(self, server, stack, *options, name="crowd"):
        self.server, self.stack, self.name = server, stack, name
        self.token = server.token(name, "--tenant", name, *options)
        self.look = server.token(name + "-look", "--tenant", name)  # has no bound of its own
        self.pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(CLIENTS))
        self.clients = [Client(server, self.token) for _ in range(CLIENTS)]
        stack.callback(self.leave)

    def leave(self):
        for client in self.clients:
            client.leave()

    def all(self, do):
        """What each has got."""
        barrier = threading.Barrier(CLIENTS)

        def one(n):
            barrier.wait(support.DEADLINE)
            return do(self.clients[n], n)

        return list(self.pool.map(one, range(CLIENTS)))

    def own(self, name):
        """A number of the tenant."""
        text = self.server.ask("GET", "/metrics", token=self.look).body.decode()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"sandbox_run_tenant_{name} "))

    def cancel_all(self):
        for row in self.server.ask("GET", "/v1/executions?limit=500", token=self.look).json()["executions"]:
            if row["status"] not in ("done", "failed"):
                self.server.ask("DELETE", f"/v1/executions/{row['id']}", token=self.look)

    @contextlib.contextmanager
    def watched(self, number, most):
        """Looks all the time that the number is not above its bound."""
        seen, over = [], threading.Event()

        def look():
            while not over.is_set():
                seen.append(number())

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            looking = pool.submit(look)
            try:
                yield
            finally:
                over.set()
                looking.result(support.DEADLINE)
        assert max(seen) <= most, (max(seen), most)


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory):
    top = tmp_path_factory.mktemp("races")
    with gateway.Gateway(top / "g", ["--dialect", "e2b,judge0,go-judge,piston"], env=configured(top, "http: {share: 25}\n")) as running:
        yield running


@pytest.fixture(name="stack")
def _stack():
    with contextlib.ExitStack() as stack:
        yield stack


def replied(statuses, good, n, refused=(429,)):
    """Exactly so many have it, and every other one was refused for that reason."""
    assert sum(status == good for status in statuses) == n and set(statuses) <= {good, *refused}, sorted(statuses)


def await_shares(server, crowd):
    """Tenants are counted once a second; then no request has more memory than its share."""
    large = {**HOLDS, "args": ["true"], "limits": {"memory": "100g"}}
    assert engine.within(SOON, lambda: server.ask("POST", "/v1/executions", large, token=crowd.look).status == 403)


def agent_call(client, arguments):
    agent = Agent.__new__(Agent)
    agent.last = 0
    call = tool_call("run_code", arguments)
    headers = agent.headers("tools/call", call)
    client.send("POST", "/mcp", agent.body("tools/call", call), **headers)


JUDGED = {"source_code": "sleep 600", "language_id": 46, "wall_time_limit": 600, "memory_limit": 32768}
COMMANDS = {"cmd": [{"args": ["/bin/sleep", "600"], "clockLimit": 600 * 10**9, "cpuLimit": 600 * 10**9, "memoryLimit": 32 << 20,
                     "procLimit": 5, "files": [{"content": ""}, {"name": "stdout", "max": 9}, {"name": "stderr", "max": 9}]}]}
DOORS = (
    lambda client: client.send("POST", "/v1/executions", HOLDS, Prefer="respond-async"),
    lambda client: client.send("POST", "/v1/executions", WAITS),
    lambda client: client.send("POST", "/v1/executions", HOLDS, Accept="application/x-ndjson"),
    lambda client: client.send("POST", "/v1/batch", {"requests": [WAITS]}),
    lambda client: client.send("POST", "/v1/batch", {"requests": [WAITS]}, Prefer="respond-async"),
    lambda client: client.send("POST", "/v1/execute", {"command": "sleep 600", "config": {"timeout": 600000}}),
    lambda client: client.send("POST", "/v1/builds", {"files": [{"path": "Makefile", "content": "all:\n\tsleep 600\n"}]}),
    lambda client: client.send("POST", "/v1/profiles", {**WAITS, "repeat": 1, "warm_up": 0}),
    lambda client: client.send("POST", "/submissions", JUDGED),
    lambda client: client.send("POST", "/submissions?wait=true", JUDGED),
    lambda client: client.send("POST", "/run", COMMANDS),
    lambda client: agent_call(client, {"language": "bash", "code": "sleep 600", "timeout_seconds": 300}),
)


def test_runs_by_every_door(server, stack):
    """Each counts among the same few, whichever door comes first."""
    crowd = Crowd(server, stack, "--concurrency", "5", name="runs")
    for _ in range(ROUNDS):
        before = crowd.own("refused_total")
        with crowd.watched(lambda: crowd.own("running"), 5):
            crowd.all(lambda client, n: DOORS[n % len(DOORS)](client))
            assert engine.within(SOON, lambda b=before: crowd.own("running") + crowd.own("refused_total") - b >= CLIENTS)
            assert crowd.own("running") == 5
        crowd.leave()
        crowd.cancel_all()
        assert engine.within(SOON, lambda: crowd.own("running") == 0 or crowd.cancel_all()), crowd.own("running")
    assert gateway.children_are_gone(server)


def test_jobs(server, stack):
    """Accepted ones that go on alone: nothing is accepted beyond the bound, and each that is has its end."""
    crowd = Crowd(server, stack, "--concurrency", "4", name="jobs")
    for _ in range(ROUNDS):
        with crowd.watched(lambda: crowd.own("running"), 4):
            replies = crowd.all(lambda client, n: client.ask("POST", "/v1/executions", HOLDS, Prefer="respond-async"))
        replied([reply.status for reply in replies], 202, 4)
        for where in (reply.headers["Location"] for reply in replies if reply.status == 202):
            assert crowd.clients[0].ask("DELETE", where).status == 202
            assert engine.within(SOON, lambda where=where: crowd.clients[0].ask("GET", where).json()["status"] == "done")
        assert engine.within(SOON, lambda: crowd.own("running") == 0)


@pytest.mark.parametrize("options, settings, exact", [(("--running", "20"), "http: {share: 50}\n", True),
                                                      ((), "http: {memory: 640m, share: 50}\n", False)], ids=("runs", "memory"))
def test_what_all_tenants_share(tmp_path, stack, options, settings, exact):
    """Two tenants with 64 clients each: neither has more than its half, and both together no more than there is."""
    with gateway.Gateway(tmp_path / "g", options, env=configured(tmp_path, settings)) as server:
        crowds = [Crowd(server, stack, name=name) for name in ("one", "two")]
        both = stack.enter_context(concurrent.futures.ThreadPoolExecutor(2))
        await_shares(server, crowds[0])

        def attack(crowd):
            with crowd.watched(lambda: crowd.own("running"), 10):
                return crowd.all(lambda client, n: client.ask("POST", "/v1/executions", HOLDS, Prefer="respond-async").status)

        for _ in range(ROUNDS):
            with crowds[0].watched(lambda: server.metric("sandbox_run_active_sandboxes"), 20):
                for statuses in both.map(attack, crowds):
                    assert set(statuses) <= {202, 429} and 1 <= statuses.count(202) <= 10, statuses
                    assert not exact or statuses.count(202) == 10, statuses  # memory may be another's, too
            for crowd in crowds:
                assert engine.within(SOON, lambda crowd=crowd: crowd.own("running") == 0 or crowd.cancel_all()), crowd.own("running")
                assert crowd.own("memory_bytes") == 0


def test_sessions(server, stack):
    """By all three doors that make one."""
    crowd = Crowd(server, stack, "--sessions", "2", name="sessions")

    def make(client, n):
        if n % 3 == 0:
            reply = client.ask("POST", "/v2/sandboxes", BOX, X_API_Key=crowd.token)
            assert reply.status in (201, 429), reply.body
            return reply.status
        if n % 3 == 1:
            agent = Agent.__new__(Agent)
            agent.last = 0
            call = tool_call("create_session", {"language": "bash", "memory_mb": 64})
            reply = client.ask("POST", "/mcp", agent.body("tools/call", call), **agent.headers("tools/call", call))
            result = reply.json().get("result", {})
            assert reply.status == 429 or not result["isError"] or result["content"][0]["text"].startswith("busy: "), reply.body
            return 429 if reply.status == 429 or result["isError"] else 201
        reply = client.ask("POST", "/v1/sessions", SMALL)
        assert reply.status in (201, 429), reply.body
        return reply.status

    for _ in range(ROUNDS):
        with crowd.watched(lambda: crowd.own("sessions"), 2):
            statuses = crowd.all(make)  # the calls that wait are bounded as well: one that has its place may find none there
            assert 1 <= statuses.count(201) <= 2 and set(statuses) == {201, 429}, sorted(statuses)
            assert crowd.own("sessions") == statuses.count(201)
        for row in server.ask("GET", "/v1/sessions", token=crowd.look).json()["sessions"]:
            server.ask("DELETE", f"/v1/sessions/{row['id']}", token=crowd.token)
        for row in server.ask("GET", "/v2/sandboxes", tcp=True, X_API_Key=crowd.token).json():
            server.ask("DELETE", f"/sandboxes/{row['sandboxID']}", tcp=True, X_API_Key=crowd.token)
        assert engine.within(SOON, lambda: crowd.own("sessions") == 0)
    assert gateway.children_are_gone(server)


def test_workspaces(server, stack):
    """By a file, by a run, and by an agent."""
    crowd = Crowd(server, stack, "--workspaces", "2", name="workspaces")

    def make(client, n):
        name = f"w{n}"
        if n % 2:
            return client.ask("PUT", f"/v1/workspaces/{name}/files/a", b"x").status
        return client.ask("POST", "/v1/executions", {**HOLDS, "args": ["true"], "workspace": name}).status

    def names():
        return [one["name"] for one in server.ask("GET", "/v1/workspaces", token=crowd.look).json()["workspaces"]]

    for _ in range(ROUNDS):
        with crowd.watched(lambda: len(names()), 2):
            statuses = crowd.all(make)
            assert sum(status < 300 for status in statuses) == 2 == len(names()), (sorted(statuses), names())
            assert set(statuses) <= {200, 204, 429}, statuses
        for name in names():
            assert server.ask("DELETE", f"/v1/workspaces/{name}", token=crowd.token).status == 204
        assert not names()


def test_kept_results(server, stack):
    """However fast they come: what goes is the oldest of who has most."""
    crowd = Crowd(server, stack, name="kept")
    mine = server.token("kept-mine")
    place = server.ask("POST", "/v1/executions", {**HOLDS, "args": ["echo", "mine"]}, token=mine, Prefer="respond-async").headers["Location"]
    assert engine.within(SOON, lambda: server.ask("GET", place, token=mine).json()["status"] == "done")
    batch = {"requests": [{"language": "bash", "code": ":", "image": "no-such-image"}] * KEPT_BATCH}
    for _ in range(ROUNDS):
        with crowd.watched(lambda: server.metric("sandbox_run_kept_executions"), KEPT_MAX + KEPT_BATCH):
            replied(crowd.all(lambda client, n: client.ask("POST", "/v1/batch", batch).status), 200, CLIENTS)
    assert server.ask("GET", place, token=mine).json()["result"]["stdout"] == "mine\n"


def test_agents(server, stack):
    """Each with a client that has not left, so that none gives way."""
    crowd = Crowd(server, stack, name="agents")
    server.token("another")
    await_shares(server, crowd)
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}

    def come(client, n):
        replies = []
        for turn in range(2):
            reply = client.ask("POST", f"/mcp?workspace=a{n}-{turn}", begin, Accept="application/json, text/event-stream",
                               MCP_Protocol_Version=LEGACY)
            replies.append((reply.status, f"/mcp?workspace=a{n}-{turn}", reply.headers["Mcp-Session-Id"]))
        return replies

    for _ in range(ROUNDS):
        came = [one for replies in crowd.all(come) for one in replies]
        replied([status for status, _, _ in came], 200, AGENTS)
        gone = [one for one in came if one[0] == 200]
        assert [server.ask("DELETE", path, token=crowd.token, Mcp_Session_Id=session).status for _, path, session in gone] == [204] * AGENTS


def test_rate(server, stack):
    """A bucket of 20 gains one in three seconds."""
    crowd = Crowd(server, stack, name="rate")
    for number in range(ROUNDS):
        token = server.token(f"rate{number}", "--rate", "20")
        for client in crowd.clients:
            client.token = token
        statuses = [reply.status for reply in crowd.all(lambda client, n: client.ask("POST", "/v1/executions", {"bad": n}))]
        assert 20 <= statuses.count(422) <= 22 and set(statuses) == {422, 429}, sorted(statuses)
        assert server.ask("POST", "/v1/executions", {"bad": 1}, token=crowd.look).status == 422


def test_connections(tmp_path, stack):
    """All show a token, so that none gives way: others are closed, or wait until one leaves."""
    with gateway.Gateway(tmp_path / "g", ["--connections", "24", "--connections-per-address", "16"]) as server:
        crowd = Crowd(server, stack, name="connections")

        def come(client, n):
            client.connection = http.client.HTTPConnection(server.address, timeout=SOON, source_address=(f"127.0.0.{2 + n % 2}", 0))
            with contextlib.suppress(OSError):  # it may be closed already
                client.send("GET", "/version")
            return client

        def served(left):
            """Takes those out that have their reply, or are closed."""
            ready, _, _ = select.select([client.connection.sock for client in left if client.connection.sock], [], [], 0)
            came = [client for client in left if client.connection.sock in ready]
            left -= set(came)
            return [client.connection.source_address for client in came if replies_well(client)]

        def replies_well(client):
            with contextlib.suppress(OSError, http.client.HTTPException):
                return gateway.Reply(client.connection.getresponse()).status == 200
            return False

        for _ in range(ROUNDS):
            with crowd.watched(lambda: server.metric("sandbox_run_http_connections"), 24 + 2):  # two at the unix socket
                left, good = set(crowd.all(come)), []
                assert engine.within(SOON, lambda: good.extend(served(left)) or len(good) >= 24), (len(good), len(left))
                assert len(good) == 24 and max(collections.Counter(good).values()) <= 16
            crowd.leave()
            assert engine.within(SOON, lambda: server.metric("sandbox_run_http_connections") <= 2)
