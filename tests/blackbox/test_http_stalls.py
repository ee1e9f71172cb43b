"""Clients, the gateway and its fronts stand still: what waits for them is sent later, whole and in order, and nothing
spins meanwhile."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
from http.client import HTTPException

import pytest

import gateway
import support
from test_http_plain import answer, connected, request, run, runs, stdout, until

FRAME = 32768 - 16   # of a reply's body in one frame
CHANNEL_FRAMES = 10  # more than the channel between the gateway and a front takes
BUSY_S = 0.15        # of CPU in a second, also on a machine that has much else to do


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        running.secret = running.token("me")
        yield running


def stat_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()


@contextlib.contextmanager
def stopped(*pids):
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        until(lambda: all(stat_of(pid)[0] == "T" for pid in pids))
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def front_at_tcp(http):
    """The gateway starts the one at the unix socket first."""
    return max(gateway.fronts(http))


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def cpu_in_a_second(http, pid):
    before = sum(map(int, stat_of(pid)[11:13]))
    http.run({"language": "bash", "code": "sleep 1"})
    return (sum(map(int, stat_of(pid)[11:13])) - before) / os.sysconf("SC_CLK_TCK")


def kept(http, code):
    """The id of a run that is over."""
    reply = http.ask("POST", "/v1/executions", {"language": "bash", "code": code}, token=http.secret,
                     Prefer="respond-async").json()
    until(lambda: http.ask("GET", f"/v1/executions/{reply['id']}", token=http.secret).json()["status"] == "done")
    return reply["id"]


@contextlib.contextmanager
def narrow(http):
    """A connection whose client has little room for replies."""
    host, port = http.address.rsplit(":", 1)
    with contextlib.closing(socket.socket()) as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(support.DEADLINE)
        peer.connect((host, int(port)))
        with peer.makefile("rb") as answers:
            yield peer, answers


def test_a_reply_of_which_the_socket_takes_a_part(http):
    """The gateway writes small replies to the connection; the rest of one that does not fit goes through the front."""
    ids = {letter: kept(http, f"head -c 8000 /dev/zero | tr '\\0' {letter}") for letter in "abc"}
    letters = "abcaabbcc" * 100
    with narrow(http) as (peer, answers):
        peer.sendall(b"".join(request(http, f"GET /v1/executions/{ids[letter]}") for letter in letters))
        with stopped(front_at_tcp(http)):  # what the gateway cannot write waits in its channel
            until(lambda: http.run({"language": "bash", "code": "echo 1"})["stdout"] == "1\n")
        for letter in letters:
            status, body = answer(answers)
            assert status == 200 and json.loads(body)["result"]["stdout"] == letter * 8000


@pytest.mark.parametrize("frames", range(1, CHANNEL_FRAMES))
def test_a_turn_that_is_admitted_when_the_channel_is_full(http, frames):
    """The front stands still; with one of these lengths the reply just fits into the channel, and the frame behind it,
    which lets libmicrohttpd read the next request, does not."""
    with connected(http) as (peer, answers):
        peer.sendall(run(http, f"sleep 0.3; head -c {frames * FRAME - 5000} /dev/zero | tr '\\0' x") +
                     request(http, "HEAD /version"))
        until(lambda: runs(http)[0]["status"] == "running")
        with stopped(front_at_tcp(http)):
            until(lambda: http.ask("GET", "/v1/executions?limit=1").status == 200)
            http.run({"language": "bash", "code": "sleep 0.5"})
        assert len(stdout(answer(answers))) == frames * FRAME - 5000
        assert answer(answers, with_body=False)[0] in (200, 405)


def test_a_socket_whose_token_was_revoked_keeps_no_front_busy(tmp_path):
    """The gateway has closed its end, and the client does not read what is still there for it."""
    code = "sleep 0.5; for i in {1..10}; do head -c 1000000 /dev/zero | tr '\\0' x; sleep 0.1; done"
    with gateway.Gateway(tmp_path / "g") as http:
        token = http.token("other")
        name = http.ask("POST", "/v1/executions", {"language": "bash", "code": code}, token=token,
                        Prefer="respond-async").json()["id"]
        with contextlib.closing(gateway.WebSocket(http, f"/v1/executions/{name}/socket", token=token,
                                                  Authorization=f"Bearer {token}")) as peer:
            assert peer.reply.status == 101
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            until(lambda: http.ask("GET", f"/v1/executions/{name}", token=token).json()["status"] == "done")
            files = open_files(http.process.pid)
            subprocess.run([support.SANDBOX_RUN, "token", "revoke", "other"], env=http.env, check=True, timeout=support.DEADLINE,
                           capture_output=True)
            until(lambda: open_files(http.process.pid) < files)
            assert cpu_in_a_second(http, front_at_tcp(http)) < BUSY_S
            assert any(event["type"] == "stdout" for event in peer.events())


def test_many_connections_while_a_front_stands_still(http):
    """They wait in the kernel, and none is lost."""
    host, port = http.address.rsplit(":", 1)
    with contextlib.ExitStack() as stack:
        with stopped(front_at_tcp(http)):
            peers = [stack.enter_context(socket.create_connection((host, int(port)), timeout=support.DEADLINE))
                     for _ in range(600)]
            for peer in peers:
                peer.sendall(request(http, "GET /healthz"))
            assert http.ask("GET", "/healthz").status == 200
        for i, peer in enumerate(peers):
            assert peer.recv(100).startswith(b"HTTP/1.1 200 "), i


def is_healthy(http):
    try:
        return http.ask("GET", "/healthz", tcp=True).status == 200
    except (OSError, HTTPException):
        return False


def test_a_front_without_file_descriptors_serves_those_it_has(tmp_path):
    """A connection that libmicrohttpd has takes one descriptor of the gateway and two of the front."""
    few = tmp_path / "few"
    few.write_text(f"#!/bin/sh\nulimit -n 64\nexec {gateway.PROGRAM} \"$@\"\n", encoding="ascii")
    few.chmod(0o700)
    http = gateway.Gateway(tmp_path / "g")
    http.program, http.secret = few, "none"
    with http:
        front = front_at_tcp(http)
        with contextlib.ExitStack() as stack:
            peers, lost = [], False
            while not lost:
                peer, answers = stack.enter_context(connected(http))
                try:
                    peer.sendall(request(http, "GET /healthz") + request(http, "HEAD /healthz"))
                    lost = not answer(answers) or not answer(answers, with_body=False)
                except OSError:
                    lost = True
                if not lost:
                    peers.append((peer, answers))
            for peer, answers in peers:
                peer.sendall(request(http, "GET /healthz"))
                assert answer(answers)[0] == 200
        until(lambda: is_healthy(http))
        assert front_at_tcp(http) == front


def test_connections_that_drop_a_body_take_no_place_of_others(tmp_path):
    """The refusal is out, and the rest of the body is read for a while: others wait, and are not turned away."""
    with gateway.Gateway(tmp_path / "g", ["--connections", "2"]) as http:
        http.secret = http.token("me")
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                peer, answers = stack.enter_context(connected(http))
                peer.sendall(b"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
                assert answer(answers)[0] == 401
            peer, answers = stack.enter_context(connected(http))
            peer.sendall(request(http, "HEAD /version"))
            assert answer(answers, with_body=False)[0] in (200, 405)


def test_nothing_is_done_behind_a_reply_that_ends_the_connection(http):
    """Two tokens can be read in two ways, and so can everything behind them."""
    before = len(runs(http))
    with connected(http) as (peer, answers):
        peer.sendall(request(http, "GET /version", "Authorization: Bearer other") + run(http, "echo 1"))
        assert answer(answers)[0] == 400 and answer(answers) is None
    assert len(runs(http)) == before


def test_a_request_in_two_parts_behind_a_long_one(http):
    """The time for the rest of a request is over when the rest is there, also while an earlier one is answered."""
    odd = run(http, "echo 2", chunked=True)
    with connected(http) as (peer, answers):
        peer.sendall(run(http, "sleep 12; echo 1") + odd[:20])
        until(lambda: runs(http)[0]["status"] == "running")
        peer.sendall(odd[20:])
        assert stdout(answer(answers)) == "1\n" and stdout(answer(answers)) == "2\n"


def test_a_client_that_never_reads_is_dropped(tmp_path):
    with gateway.Gateway(tmp_path / "g", env={"SANDBOX_RUN_TEST_UNREAD": "1000"}, hooks=True) as http:
        http.secret = http.token("me")
        front = front_at_tcp(http)
        files = open_files(front)
        with narrow(http) as (peer, _):
            peer.sendall(run(http, "head -c 9000000 /dev/zero | tr '\\0' x; sleep 2"))
            until(lambda: open_files(front) > files)
            until(lambda: open_files(front) == files)
            assert runs(http)[0]["outcome"] == "exited"


def test_a_silent_client_is_asked_whether_it_is_there(http):
    """A machine that is gone sends no end: the kernel's timer 2 is the one that asks."""
    with connected(http) as (peer, answers):
        peer.sendall(request(http, "GET /healthz"))
        assert answer(answers)[0] == 200
        ends = [f"{port:04X}" for port in (peer.getpeername()[1], peer.getsockname()[1])]
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        assert [row[5][:2] for row in rows if [row[1][-4:], row[2][-4:]] == ends] == ["02"]
