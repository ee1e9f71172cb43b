"""Requests that the front reads itself, without libmicrohttpd: their order, their mix with others, and their ends."""
import concurrent.futures
import contextlib
import json
import pathlib
import signal
import socket

import pytest

import engine
import gateway
import support

LARGE = 300_000


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        running.secret = running.token("me")
        yield running


def request(http, line, *headers, body=b""):
    names = ["Host: localhost", f"Authorization: Bearer {http.secret}", *headers]
    if body and not any(name.startswith("Transfer-Encoding") for name in names):
        names.append(f"Content-Length: {len(body)}")
    return "\r\n".join([f"{line} HTTP/1.1", *names, "", ""]).encode() + body


def run(http, code, *headers, chunked=False):
    """A request that prints what tells it from others."""
    body = json.dumps({"language": "bash", "code": code}).encode()
    headers = ("Content-Type: application/json", *headers)
    if chunked:
        return request(http, "POST /v1/executions", *headers, "Transfer-Encoding: chunked",
                       body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    return request(http, "POST /v1/executions", *headers, body=body)


@contextlib.contextmanager
def connected(http):
    host, port = http.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=support.DEADLINE) as peer, peer.makefile("rb") as answers:
        yield peer, answers


def answer(answers, with_body=True):
    """Status and body of the next reply; None at the end."""
    line = answers.readline()
    if not line:
        return None
    headers = {}
    while (header := answers.readline()) not in (b"\r\n", b""):
        name, _, value = header.decode().partition(":")
        headers[name.lower()] = value.strip()
    status, body = int(line.split()[1]), b""
    if not with_body:
        return status, body
    if headers.get("transfer-encoding") == "chunked":
        while size := int(answers.readline(), 16):
            body += answers.read(size)
            assert answers.read(2) == b"\r\n"
        assert answers.readline() == b"\r\n"
    else:
        body = answers.read(int(headers.get("content-length", 0)))
    return status, body


def runs(http):
    return http.ask("GET", "/v1/executions", token=http.secret).json()["executions"]


def until(condition):
    assert engine.within(support.DEADLINE, condition)


def stdout(reply):
    assert reply and reply[0] == 200, reply
    return json.loads(reply[1])["stdout"]


def test_requests_that_come_together_are_answered_in_order(http):
    with connected(http) as (peer, answers):
        peer.sendall(b"".join(run(http, f"sleep 0.{9 - i}; echo {i}") for i in range(5)))
        assert [stdout(answer(answers)) for _ in range(5)] == [f"{i}\n" for i in range(5)]


KINDS = {
    "plain": lambda http, i: run(http, f"echo {i}"),
    "chunks": lambda http, i: run(http, f"echo {i}", chunked=True),
    "asked": lambda http, i: run(http, f"echo {i}", "Expect: 100-continue"),
    "long": lambda http, i: run(http, f"echo {i} #" + "x" * 5000),
    "large": lambda http, i: run(http, f"echo {i}; head -c {LARGE} /dev/zero | tr '\\0' {i}"),
}


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_the_two_readers_of_a_connection_keep_its_order(http, first, second):
    """What is behind an odd request is read by libmicrohttpd, when all replies before it are out."""
    with connected(http) as (peer, answers):
        peer.sendall(KINDS[first](http, 1) + KINDS["plain"](http, 2) + KINDS[second](http, 3) + KINDS["plain"](http, 4))
        for i in range(1, 5):
            reply = answer(answers)
            while reply and reply[0] == 100:
                reply = answer(answers)
            assert stdout(reply).startswith(f"{i}\n")


def test_replies_without_a_body(http):
    with connected(http) as (peer, answers):
        peer.sendall(request(http, "GET /version") + request(http, "HEAD /version") + request(http, "GET /version"))
        whole = answer(answers)
        assert whole[0] == 200 and answer(answers, with_body=False)[0] in (200, 405) and answer(answers) == whole


def test_a_request_that_comes_byte_by_byte(http):
    with connected(http) as (peer, answers):
        for _ in range(2):
            for byte in run(http, "echo hello"):
                peer.sendall(bytes([byte]))
            assert stdout(answer(answers)) == "hello\n"


def test_a_stream_and_what_comes_behind_it(http):
    with connected(http) as (peer, answers):
        peer.sendall(run(http, "for i in 1 2 3; do echo $i; done", "Accept: application/x-ndjson") + run(http, "echo 4"))
        status, body = answer(answers)
        events = [json.loads(line) for line in body.splitlines()]
        assert status == 200 and "".join(e["data"] for e in events if e["type"] == "stdout") == "1\n2\n3\n"
        assert stdout(answer(answers)) == "4\n"


def test_clients_that_do_not_read(http):
    """Replies wait in the gateway's channel and in the socket, whole and in order."""
    with connected(http) as (peer, answers):
        peer.sendall(b"".join(KINDS["large"](http, i) for i in range(1, 8)))
        until(lambda: runs(http)[0]["status"] == "done")
        for i in range(1, 8):
            assert stdout(answer(answers)) == f"{i}\n" + str(i) * LARGE


NULS = {"value": b"X: a\0b", "name": b"X\0: a", "host": b"Host: local\0host"}


@pytest.mark.parametrize("name", NULS)
def test_a_nul_in_a_header_is_refused(http, name):
    """libmicrohttpd would end the value there: another reader of the same bytes might not."""
    bad = request(http, "GET /version")[:-2] + NULS[name] + b"\r\n\r\n"
    with connected(http) as (peer, answers):
        peer.sendall(bad + request(http, "GET /version"))
        assert answer(answers)[0] == 400 and answer(answers) is None
    with connected(http) as (peer, answers):  # behind another one, which is answered
        peer.sendall(run(http, "sleep 0.2; echo 1") + bad)
        assert stdout(answer(answers)) == "1\n"
        assert answer(answers)[0] == 400 and answer(answers) is None


def test_a_client_that_leaves_takes_all_its_requests_along(http):
    """The first is cancelled, and those behind it never begin."""
    before = http.metric("sandbox_run_client_cancelled_total")
    with connected(http) as (peer, _):
        peer.sendall(run(http, "sleep 60") * 3)
        until(lambda: runs(http)[0]["status"] == "running")
        first = runs(http)[0]["id"]
    until(lambda: http.metric("sandbox_run_client_cancelled_total") > before)
    until(lambda: runs(http)[0]["status"] == "done")
    assert runs(http)[0]["id"] == first and http.metric("sandbox_run_client_cancelled_total") == before + 1


def test_many_connections_at_once(http):
    def work(number):
        with connected(http) as (peer, answers):
            for i in range(5):
                peer.sendall(run(http, f"echo {number}.{i}"))
                assert stdout(answer(answers)) == f"{number}.{i}\n"

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))


def test_an_idle_connection_ends(tmp_path):
    """Where the front does not wait for replies, the gateway knows which connection is idle."""
    with gateway.Gateway(tmp_path / "g", env={"SANDBOX_RUN_TEST_IDLE": "300"}, hooks=True) as http:
        http.secret = http.token("me")
        with connected(http) as (peer, answers):
            peer.sendall(run(http, "sleep 2; echo 1"))  # a run is not idle
            assert stdout(answer(answers)) == "1\n" and answer(answers) is None


def unread(peer):
    """Bytes of a client's that the front has not read."""
    ends = [f"{port:04X}" for port in (peer.getpeername()[1], peer.getsockname()[1])]
    for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        if [local.split(":")[1], remote.split(":")[1]] == ends:
            return int(queues.split(":")[1], 16)
    return 0


def test_an_end_that_waits_for_the_gateway_is_sent_later(http):
    """The gateway stands still; with some of these lengths the channel to it is full just behind the last piece of the
    body, so the frame that says where the body ends has to wait."""
    stopped = 0
    for size in range(90_000, 240_000, 4_000):
        with connected(http) as (peer, answers):
            peer.sendall(request(http, "POST /mcp", "Content-Type: application/json", f"Content-Length: {size}",
                                 "Expect: 100-continue", "Accept: application/json, text/event-stream"))
            assert answers.readline().split()[1] == b"100" and answers.readline() == b"\r\n"
            http.process.send_signal(signal.SIGSTOP)
            try:
                peer.sendall(b"[" * size)
                before = None
                while (left := unread(peer)) not in (0, before):
                    before = left
                stopped += left > 0
            finally:
                http.process.send_signal(signal.SIGCONT)
            assert answer(answers)[0] == 400, size
    assert stopped, "no body was too large for the channel"
