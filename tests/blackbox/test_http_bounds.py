"""What one client or program can make the gateway hold, and how long others wait for it meanwhile."""
import base64
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import socket

import pytest

import engine
import gateway
import support

LARGE = 15_900_000  # just below --max-body
HELD_KIB = 112 << 10  # two bodies, their text as it grows, and what all requests share


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g", ["--dialect", "piston"]) as running:
        yield running


def objects(prefix=b'{"a":['):
    return prefix + b"{}," * (LARGE // 3) + b"{}]}"


def files(n, **file):
    return json.dumps({"args": ["true"], "files": [{"path": f"f{i}", **file} for i in range(n)]}).encode()


BODIES = {
    "objects": ("/v1/executions", objects(), 400),
    "objects for an agent": ("/mcp", objects(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":['), 400),
    "objects of a dialect": ("/api/v2/execute", objects(), 400),
    "escapes": ("/v1/executions", b'{"args": ["true"], "x": "' + b"\\n" * (LARGE // 2) + b'"}', 422),
    "files": ("/v1/executions", files(20000, content="x"), 422),
    "depth": ("/v1/executions", b'{"a":' * (LARGE // 5), 400),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_large_body_is_read_beside_the_loop(http, name):
    """It took up to 80 times its size, and seconds of all clients."""
    path, body, status = BODIES[name]
    with gateway.others(http) as worst:
        reply = http.ask("POST", path, body, Content_Type="application/json")
    assert reply.status == status, reply.body[:300]
    assert http.memory_kib("VmHWM") < HELD_KIB and worst[0] < gateway.WAIT_S, (http.memory_kib("VmHWM"), worst)


def test_large_bodies_are_carried_out(http):
    """Of several clients at once, with the bytes that were sent; a client may leave meanwhile."""
    data = os.urandom(3 << 20)
    body = json.dumps({"args": ["sha256sum", "a"], "files": [{"path": "a", "content": base64.b64encode(data).decode(), "encoding": "base64"}]})
    gone = http.connect()
    gone.request("POST", "/v1/executions", body, {"Content-Type": "application/json"})
    gone.close()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda _: http.ask("POST", "/v1/executions", body.encode(), Content_Type="application/json",
                                                   Idempotency_Key="one"), range(3)))
    sums = {reply.json()["stdout"].split()[0] for reply in replies if reply.status == 200}
    assert len(sums) == 1 and all(reply.status in (200, 409) for reply in replies), [reply.body[:300] for reply in replies]


def test_large_output_is_written_beside_the_loop(http):
    """By our own route, and by a dialect, which reads the result and writes another."""
    noise = "head -c 8000000 /dev/zero | tr '\\0' '\\1'"
    with gateway.others(http) as worst:
        assert len(http.run({"args": ["sh", "-c", noise]})["stdout"]) >= 8000000
        ran = http.ask("POST", "/api/v2/execute", {"language": "bash", "version": "*", "files": [{"content": noise}]})
    assert ran.status == 200 and len(ran.json()["run"]["stdout"]) == 8000000
    assert worst[0] < gateway.WAIT_S, worst


FLOOD = "import sys\nfor i in range(9000):\n    sys.stdout.write(f'{i:06}' + 'x' * 993 + '\\n')\n"  # 9 MB: more than waits for a reader


def run_that_goes_on(http):
    where = http.ask("POST", "/v1/executions", {"language": "python", "code": FLOOD}, Prefer="respond-async").headers["Location"]
    with contextlib.closing(http.connect()) as connection:
        connection.request("GET", f"{where}/events", headers={"Accept": "application/x-ndjson"})
        reply = connection.getresponse()
        assert engine.within(support.DEADLINE, lambda: http.ask("GET", where).json()["status"] == "done")
        return [json.loads(line) for line in reply.read().splitlines()]


def run_by_socket(http):
    where = http.ask("POST", "/v1/executions", {"language": "python", "code": "input()\n" + FLOOD}, Prefer="respond-async").headers["Location"]
    web = gateway.WebSocket(http, f"{where}/socket")
    web.send({"type": "stdin", "data": "go\n"})
    assert engine.within(support.DEADLINE, lambda: http.ask("GET", where).json()["status"] == "done")
    with contextlib.closing(web):
        return list(web.events())


@pytest.mark.parametrize("road", (run_that_goes_on, run_by_socket))
def test_a_slow_reader_is_told_what_it_missed(http, road):
    """The program does not wait for it, the gateway keeps a part, and every event is there or counted as lost."""
    before, expected = http.memory_kib("VmHWM"), 0
    events = road(http)
    for event in events:
        if event["type"] == "lost":
            expected += event["events"]
        else:
            assert event["seq"] == expected, (expected, str(event)[:300])
            expected += 1
    assert any(event["type"] == "lost" for event in events)
    assert events[-1]["type"] == "end" and events[-1]["result"]["outcome"] == "exited", str(events[-1])[-600:]
    assert http.memory_kib("VmHWM") <= max(before, HELD_KIB) + (32 << 10), http.memory_kib("VmHWM")  # its output, the record


def begin_stream(http, body, path="/v1/executions"):
    """A streamed run or cell whose client reads its head only."""
    connection = http.connect()
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
    return connection, connection.getresponse()


@contextlib.contextmanager
def session_of(http):
    made = http.ask("POST", "/v1/sessions", {"language": "python"})
    assert made.status == 201, made.body
    try:
        yield made.headers["Location"]
    finally:
        http.ask("DELETE", made.headers["Location"])


def read_late(http, body, path):
    """All events, which the client begins to read when the program could have written everything many times."""
    connection, reply = begin_stream(http, body, path)
    with contextlib.closing(connection):
        http.run({"args": ["sleep", "1"]})
        assert http.ask("GET", reply.headers["Location"]).json()["status"] != "done"
        events = [json.loads(line) for line in reply.read().splitlines()]
    assert not any(event["type"] == "lost" for event in events)
    assert [event["seq"] for event in events] == list(range(len(events)))
    return events


def written_in(events):
    return "".join(event.get("data", "") for event in events if event["type"] == "stdout")


def test_a_streamed_run_waits_for_its_client(http):
    """Its client takes every byte, however late it reads: the program waits meanwhile, as it would for a pipe."""
    events = read_late(http, {"language": "python", "code": FLOOD, "limits": {"wall_ms": 60000}}, "/v1/executions")
    assert written_in(events) == events[-1]["result"]["stdout"] and len(written_in(events)) == 9_000_000


def test_a_streamed_cell_waits_for_its_client(http):
    with session_of(http) as where:
        events = read_late(http, {"code": FLOOD, "timeout_ms": 60000}, f"{where}/cells")
        assert len(written_in(events)) == 9_000_000, str(events[-1])[-300:]
        after = http.ask("POST", f"{where}/cells", {"code": "1 + 1"}).json()
        assert after["outcome"] == "exited" and http.ask("GET", where).json()["state"] == "ready", after


def test_a_streamed_cell_goes_on_without_its_client(http):
    with session_of(http) as where:
        connection, reply = begin_stream(http, {"code": FLOOD + "done = 1", "timeout_ms": 60000}, f"{where}/cells")
        http.run({"args": ["true"]})
        connection.close()
        assert engine.within(support.DEADLINE, lambda: http.ask("GET", reply.headers["Location"]).json()["status"] == "done")
        assert http.ask("POST", f"{where}/cells", {"code": "done"}).json()["outcome"] == "exited"


def test_a_streamed_run_that_waits_is_still_ended(http):
    """By its time limit, and by a word of its client."""
    flood = {"language": "python", "code": FLOOD, "limits": {"wall_ms": 1000}}
    connection, reply = begin_stream(http, flood)
    with contextlib.closing(connection):
        where = reply.headers["Location"]
        assert engine.within(support.DEADLINE, lambda: http.ask("GET", where).json()["status"] == "done")
        assert http.ask("GET", where).json()["outcome"] == "timeout"
    connection, reply = begin_stream(http, {**flood, "limits": {"wall_ms": 600_000}})
    with contextlib.closing(connection):
        where = reply.headers["Location"]
        http.ask("DELETE", where)
        assert engine.within(support.DEADLINE, lambda: http.ask("GET", where).json()["status"] == "done")


OUTPUT = 60_000_000
STREAMS = {
    "text": f"head -c {OUTPUT} /dev/zero | tr '\\0' x",
    "escapes": f"head -c {OUTPUT} /dev/zero | tr '\\0' '\\n'",
    "bytes": f"head -c {OUTPUT} /dev/zero",
}


def large(name):
    return {"args": ["sh", "-c", STREAMS[name]], "limits": {"output_bytes": OUTPUT + 1, "wall_ms": 120_000}}


def read_all(http, method, path, body, **headers):
    """How many bytes a reply has, without keeping them."""
    with contextlib.closing(http.connect()) as connection:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json", **headers})
        reply, n = connection.getresponse(), 0
        while piece := reply.read(1 << 20):
            n += len(piece)
        assert reply.status in (200, 202), (reply.status, n)
        return n, reply.headers


def waited_for(http, name):
    return read_all(http, "POST", "/v1/executions", large(name))[0]


def streamed_whole(http, name):
    return read_all(http, "POST", "/v1/executions", large(name), Accept="text/event-stream")[0]


def asked_for_later(http, name):
    """Of more than 64 MiB as JSON, which is not put on record."""
    where = read_all(http, "POST", "/v1/executions", large(name), Prefer="respond-async")[1]["Location"]
    assert engine.within(support.DEADLINE, lambda: http.ask("GET", "/v1/executions").json()["executions"][0]["status"] == "done")
    return read_all(http, "GET", where, None)[0]


def in_a_batch(http, name):
    return read_all(http, "POST", "/v1/batch", {"requests": [large(name)]})[0]


ROADS = [(road, name) for road in (waited_for, streamed_whole, asked_for_later, in_a_batch) for name in STREAMS
         if (road, name) != (asked_for_later, "text")]


@pytest.mark.parametrize("road, name", ROADS)
def test_a_large_result_takes_no_more_than_its_output(tmp_path, road, name):
    """What the program was granted once, and what the gateway has without it: no copy as JSON, however it is asked for."""
    with gateway.Gateway(tmp_path / "g") as http:
        assert road(http, name) > OUTPUT
        assert http.memory_kib("VmHWM") < (OUTPUT >> 10) + (32 << 10), http.memory_kib("VmHWM")


def test_a_front_that_hangs_is_replaced(tmp_path):
    """Its clients are dropped; others are served by the next one, and the loop goes on meanwhile."""
    with gateway.Gateway(tmp_path / "g", env={"SANDBOX_RUN_TEST_ANSWER": "1"}, hooks=True) as http:
        before = gateway.fronts(http)
        with contextlib.closing(http.connect()) as client:
            client.request("GET", "/healthz")
            assert client.getresponse().read()
            for pid in before:
                os.kill(pid, signal.SIGSTOP)
            client.request("GET", "/healthz")
            with pytest.raises(OSError):
                client.getresponse()
        assert engine.within(support.DEADLINE, lambda: len(set(gateway.fronts(http)) - set(before)) == 2)
        assert http.ask("GET", "/healthz").status == 200 and http.ask("GET", "/healthz", tcp=True).status == 200
        assert not set(before) & set(gateway.fronts(http))


SHOUT = "head -c 50000000 /dev/zero | tr '\\0' 'x'"


def test_a_result_is_held_once(tmp_path):
    """The event of the end, a description and a batch point at it; a run whose result and event were counted was forgotten."""
    body = {"args": ["sh", "-c", SHOUT], "limits": {"output_bytes": 60_000_000}}
    with gateway.Gateway(tmp_path / "g") as http, contextlib.closing(http.connect()) as connection:
        connection.request("POST", "/v1/executions", json.dumps(body), {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
        reply, last = connection.getresponse(), b""
        for line in reply:
            last = line
        end = json.loads(last)
        assert end["type"] == "end" and end["result"]["stdout"] == "x" * 50000000
        assert http.ask("GET", reply.headers["Location"]).json()["result"] == end["result"]
        batch = http.ask("POST", "/v1/batch", {"requests": [body]}).json()["results"]
        assert [one["stdout"] for one in batch] == ["x" * 50000000]
        # Two results of 48 MiB, and, while the second is written, its output; each was there twice more.
        assert http.memory_kib("VmHWM") < 232 << 10, http.memory_kib("VmHWM")


@pytest.mark.parametrize("tcp", (False, True))
def test_requests_before_the_end_of_a_client_are_answered(http, tcp):
    """More of them than the channel to the gateway holds at once."""
    data = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000
    with contextlib.closing(http.connect(tcp)) as client:
        client.connect()
        client.sock.sendall(data)
        client.sock.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := client.sock.recv(65536):
            answer += piece
    assert answer.count(b"HTTP/1.1 200") == 2000


def test_the_gateway_ends_while_a_thread_has_a_result(tmp_path):
    """What the thread uses is not freed under it."""
    noise = "head -c 9500000 /dev/zero | tr '\\0' '\\1'"
    for _ in range(3):
        with gateway.Gateway(tmp_path / "g") as http:
            http.ask("POST", "/v1/executions", {"args": ["sh", "-c", noise]}, Prefer="respond-async")
            tasks = pathlib.Path(f"/proc/{http.process.pid}/task")
            assert engine.within(support.DEADLINE, lambda: len(list(tasks.iterdir())) > 1)
            http.process.send_signal(signal.SIGTERM)
            http.process.send_signal(signal.SIGINT)  # at once, without a wait for what runs
            http.process.wait(support.DEADLINE)
