"""Two tenants, and one of them takes whatever it can: the other's runs are all answered, and nothing of it is lost.

SBR_HOSTILE is the part of the whole attack that is made; 1 by hand: `SBR_HOSTILE=1 python3 tests/run.py --suite blackbox
-k test_http_hostile`.  The ratio of the medians is printed, and no time is asserted.
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import resource
import socket
import statistics
import subprocess
import threading
import time

import pytest

import engine
import gateway
import support
from test_http_grants import configured
from test_http_mcp import LEGACY, Agent

PART = float(os.environ.get("SBR_HOSTILE", "0.02"))
RUNS = 12  # of the calm one, before and at least so many during the attack
CALM = "127.0.0.2"  # its clients are another machine's
SMALL = {"memory": "32m"}
SLEEPS = {"args": ["sh", "-c", "read a"], "limits": {**SMALL, "timeout": "600s"}}
PIPELINE = 100
REFUSED = b"GET /v1/executions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer srt_none\r\n\r\n"
CONFIG = "audit: true\nhttp: {memory: 24g}\n"


def part_of(whole, least):
    return max(least, round(whole * PART))


class Calm:
    """Asks for small runs and wants each answer."""

    def __init__(self, server):
        self.server, self.token = server, server.token("calm")
        self.number, self.took = 0, []

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.server.address, timeout=support.DEADLINE, source_address=(CALM, 0))
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if body else None, {
                "Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers})
            return gateway.Reply(connection.getresponse())

    def run(self):
        self.number += 1
        begin = time.monotonic()
        reply = self.ask("POST", "/v1/executions", {"language": "bash", "code": f"echo {self.number}", "limits": SMALL})
        self.took.append(time.monotonic() - begin)
        assert reply.status == 200 and reply.json()["stdout"] == f"{self.number}\n", (self.number, reply.status, reply.body)

    def median(self):
        took, self.took = self.took, []
        return statistics.median(took)


class Hostile:
    """Takes places of every kind; each part counts the statuses that it got."""

    def __init__(self, server, stack):
        self.server, self.stack, self.got, self.asleep, self.lock = server, stack, {}, [], threading.Lock()
        self.token = server.token("hostile", "--tenant", "hostile", "--rate", "1000000")
        self.agent = Agent(server, "crowd", "--tenant", "hostile", "--rate", "1000000")

    def count(self, what, status):
        with self.lock:
            self.got.setdefault(what, {}).setdefault(status, 0)
            self.got[what][status] += 1

    def times(self, what, n, ask):
        begin = time.monotonic()
        for number in range(n):
            try:
                self.count(what, ask(number))
            except (OSError, http.client.HTTPException):
                self.count(what, "cut off")  # by its own flood of connections
        self.got[what]["s"] = round(time.monotonic() - begin, 1)

    def post(self, path, body, **headers):
        return self.server.ask("POST", path, body, token=self.token, **headers).status

    def sleep(self, _):
        reply = self.server.ask("POST", "/v1/executions", SLEEPS, token=self.token,
                                Prefer="respond-async")
        self.asleep += [reply.headers["Location"]] if reply.status == 202 else []
        return reply.status

    def sleeps(self):
        self.times("sleeps", part_of(40, 16), self.sleep)

    def sessions(self):
        self.times("sessions", part_of(23, 3), lambda _: self.post(
            "/v1/sessions", {"language": "bash", "limits": {"memory": "1g"}}))

    def batches(self):
        body = {"requests": [{"language": "bash", "code": ":", "image": "no-such-image"}]}
        self.times("batches", part_of(4096, 64), lambda _: self.post("/v1/batch", body))

    def connections(self):
        host, port = self.server.address.rsplit(":", 1)

        def connect(_):
            peer = socket.create_connection((host, int(port)), timeout=support.DEADLINE)
            self.stack.callback(peer.close)
            with contextlib.suppress(OSError):  # it may be closed already
                peer.sendall(b"GET /healthz HTTP/1.1\r\n")
            return "open"

        self.times("connections", part_of(2048, 300), connect)

    def agents(self):
        self.times("agents", part_of(256, 20), lambda _: self.agent.legacy("initialize", {
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}).status)

    def refusals(self):
        n = part_of(26000, 500)

        self.times("refusals", n // PIPELINE, lambda _: self.server.raw(REFUSED * PIPELINE).count(b" 401 "))

    def all(self):
        return self.sleeps, self.sessions, self.agents, self.refusals, self.batches, self.connections


@pytest.fixture(name="many_files", autouse=True)
def _many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def audited(server, *words):
    done = subprocess.run([support.SANDBOX_RUN, "audit", *words], env=server.env, capture_output=True, check=True,
                          timeout=support.DEADLINE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_one_tenant_takes_all_it_can_and_the_other_has_each_answer(tmp_path):
    env = configured(tmp_path, CONFIG)
    with gateway.Gateway(tmp_path / "g", ["--connections", "256", "--running", "16"], env=env) as server, contextlib.ExitStack() as stack:
        calm = Calm(server)
        hostile = Hostile(server, stack)
        kept = calm.ask("POST", "/v1/executions", {"language": "bash", "code": "echo kept", "limits": SMALL},
                        Prefer="respond-async").headers["Location"]
        session = calm.ask("POST", "/v1/sessions", {"language": "bash", "limits": {"memory": "64m"}}).headers["Location"]
        assert calm.ask("POST", session + "/cells", {"code": "a=7"}).status == 200
        for _ in range(RUNS):
            calm.run()
        before = calm.median()
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            attack = [pool.submit(one) for one in hostile.all()]
            while len(calm.took) < RUNS or not all(one.done() for one in attack):
                calm.run()
            for one in attack:
                one.result()
        during = calm.median()
        print(f"median before {before * 1000:.1f} ms, during {during * 1000:.1f} ms: {during / before:.2f} x; {hostile.got}")
        got = hostile.got
        assert got["sleeps"].get(202) and got["sleeps"].get(429) and got["agents"].get(200), got
        assert server.metric("sandbox_run_active_sandboxes") >= got["sleeps"][202], "they still run"
        calm.run()
        assert engine.within(support.DEADLINE, lambda: calm.ask("GET", kept).json()["status"] == "done")
        assert calm.ask("GET", kept).json()["result"]["stdout"] == "kept\n"
        cell = calm.ask("POST", session + "/cells", {"code": "echo $a"})
        assert cell.status == 200 and cell.json()["stdout"] == "7\n", cell.body
        assert calm.ask("DELETE", session).status == 200
        listed = server.ask("GET", "/v1/sessions", token=hostile.token).json()["sessions"]
        for where in hostile.asleep + [f"/v1/sessions/{one['id']}" for one in listed]:
            server.ask("DELETE", where, token=hostile.token)
    assert audited(server, "verify", "--json")[0]["refused"]["lines"] >= 1
    rows = audited(server, "export")
    assert sum(row.get("outcome") == "exited" for row in rows) >= calm.number, rows[:3]
