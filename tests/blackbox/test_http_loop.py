"""The gateway's loop from outside: whatever clients do, it waits in epoll_wait and nowhere else."""
import contextlib
import os
import re
import signal
import subprocess

import pytest

import gateway
import support
from test_http_plain import until

pytestmark = pytest.mark.skipif(not support.have("strace"), reason="needs strace")

# Calls that wait for something else than the loop's events; not all exist on each architecture.
WAITING = ("poll", "ppoll", "select", "pselect6", "wait4", "waitid", "sync", "syncfs", "flock",
           "nanosleep", "clock_nanosleep", "pause", "rt_sigtimedwait", "connect")
# The same calls when they return at once: a look without a timeout, a child that is only asked or whose pidfd was ready
# in the loop, a unix socket that does not block.
AT_ONCE = re.compile(r"p?poll\(.*, (?:0|\{tv_sec=0, tv_nsec=0\}.*)\) += |wait(?:4|id)\(.*WNOHANG|waitid\(P_PIDFD, .*\) += (?:0|-1 ECHILD)|flock\(.*LOCK_NB"
                     r"|connect\(.*(?:AF_UNIX.*= 0|EAGAIN|EINPROGRESS|ENOENT|ECONNREFUSED)")
SMALL = {"language": "bash", "code": "echo a; cat"}


@pytest.fixture(name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g", ["--dialect", "judge0,piston,go-judge"]) as running:
        running.secret = running.token("me", "--sessions", "2")
        yield running


@contextlib.contextmanager
def traced(pid, path):
    """The calls of one thread, as lines of a file; of the others none."""
    words = ["strace", "-p", str(pid), "-o", str(path), "-s", "64", "-e", "signal=none",
             "-e", "trace=" + ",".join(f"?{name}" for name in WAITING)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
        assert b"attached" in tracer.stderr.readline()
        try:
            yield
        finally:
            tracer.terminate()
            tracer.wait(support.DEADLINE)


def waits(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines()
            if "(" in line and not line.startswith(("---", "+++", "strace:")) and not AT_ONCE.search(line)]


def use(http):
    """One of each kind of work: runs, asynchronous ones, sessions and their cells, files, changes, builds, dialects."""
    def ask(method, path, body=None, **headers):
        reply = http.ask(method, path, body, token=http.secret, **headers)
        assert reply.status < 500, (method, path, reply.status, reply.body)
        return reply

    assert ask("POST", "/v1/executions", SMALL).json()["stdout"] == "a\n"
    accepted = ask("POST", "/v1/executions", SMALL, Prefer="respond-async").json()["id"]
    until(lambda: ask("GET", f"/v1/executions/{accepted}").json()["status"] == "done")
    ask("POST", "/v1/executions", {"language": "bash", "code": "seq 200000"}, Accept="text/event-stream")
    batch = ask("POST", "/v1/batch", {"requests": [SMALL, SMALL]})
    assert len(batch.json()["results"]) == 2
    session = ask("POST", "/v1/sessions", {"language": "bash"}).headers["Location"]
    assert ask("POST", session + "/cells", {"code": "x=1; echo $x"}).json()["stdout"] == "1\n"
    ask("POST", session + "/cells", {"code": "echo $x"}, Accept="application/x-ndjson")
    fork = ask("POST", session + "/fork").headers["Location"]
    ask("GET", "/v1/sessions")
    ask("PUT", "/v1/workspaces/a/files/b", b"c", Content_Type="application/octet-stream")
    ask("GET", "/v1/workspaces/a/files/b")
    ask("DELETE", session)
    ask("DELETE", fork)
    ask("POST", "/v1/tests", {"language": "bash", "code": "true"})
    ask("POST", "/v1/builds", {"language": "bash", "code": "true"})
    for path in ("/v1/languages", "/metrics", "/healthz", "/readyz", "/v1/changes", "/v1/workspaces", "/about", "/languages",
                 "/api/v2/runtimes"):
        ask("GET", path)
    ask("POST", "/submissions?wait=true", {"source_code": "echo a", "language_id": 46})
    ask("POST", "/api/v2/execute", {"language": "bash", "version": "*", "files": [{"content": "echo a"}]})
    ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}},
        Accept="application/json, text/event-stream")


def leave(http):
    """Clients that go, a token that is revoked while its run goes on, and a front that is killed."""
    name = "gone"
    token = http.token(name)
    connection = http.connect(tcp=True)
    with contextlib.closing(connection):
        connection.request("POST", "/v1/executions", '{"language": "bash", "code": "sleep 100"}',
                           {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        until(lambda: gateway.runs_of(http))
        subprocess.run([support.SANDBOX_RUN, "token", "revoke", name], env=http.env, check=True, capture_output=True,
                       timeout=support.DEADLINE)
        with contextlib.suppress(OSError, ValueError, gateway.http.client.HTTPException):
            connection.getresponse().read()
    before = gateway.fronts(http)
    os.kill(max(before), signal.SIGKILL)
    until(lambda: len(gateway.fronts(http)) == 2 and max(gateway.fronts(http)) not in before)

    def is_served():
        with contextlib.suppress(OSError, gateway.http.client.HTTPException):
            return http.ask("GET", "/healthz", tcp=True).status == 200
        return False

    until(is_served)


def test_the_loop_waits_for_its_events_alone(http, tmp_path):
    seen = tmp_path / "calls"
    with traced(http.process.pid, seen):
        use(http)
        leave(http)
    assert seen.read_text(encoding="utf-8"), "the loop was not traced: it asks a front and a child now and then"
    assert not waits(seen), waits(seen)[:20]


def test_a_call_that_waits_is_seen(tmp_path):
    """The same look at a process that does wait: poll with a timeout, a child, disks that are synced."""
    code = ("import os, select\nread, write = os.pipe()\nprint('go', flush=True)\ninput()\n"
            "p = select.poll(); p.register(read); p.poll(10)\nos.sync()\n"
            "pid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)\n"
            "p.poll(0)\n")
    seen = tmp_path / "calls"
    with subprocess.Popen(["/usr/bin/python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"go\n"
        with traced(process.pid, seen):
            process.communicate(b"\n", timeout=support.DEADLINE)
    found = waits(seen)
    assert [sum(call in line for line in found) for call in ("poll(", "sync(", "wait4(")] == [1, 1, 1], found
