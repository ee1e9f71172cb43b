"""What one client or program can make the gateway hold, and how long others wait for it meanwhile."""
import base64
import concurrent.futures
import contextlib
import json
import os
import signal
import time

import pytest

import engine
import gateway
import support

LARGE = 15_900_000  # just below --max-body
HELD_KIB = 112 << 10  # two bodies, their text as it grows, and what all requests share
WAIT_S = 4  # beside other tests on a busy machine; alone it is a tenth of a second, and it was six


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


@contextlib.contextmanager
def others(http):
    """Somebody else asks all the time; the longest time that an answer took is in the list at the end."""
    worst, over = [0.0], []

    def look():
        with contextlib.closing(http.connect()) as connection:
            while not over:
                begin = time.monotonic()
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                worst[0] = max(worst[0], time.monotonic() - begin)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        try:
            yield worst
        finally:
            over.append(True)
            looking.result()


@pytest.mark.parametrize("name", BODIES)
def test_a_large_body_is_read_beside_the_loop(http, name):
    """It took up to 80 times its size, and seconds of all clients."""
    path, body, status = BODIES[name]
    with others(http) as worst:
        reply = http.ask("POST", path, body, Content_Type="application/json")
    assert reply.status == status, reply.body[:300]
    assert http.memory_kib("VmHWM") < HELD_KIB and worst[0] < WAIT_S, (http.memory_kib("VmHWM"), worst)


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
    with others(http) as worst:
        assert len(http.run({"args": ["sh", "-c", noise]})["stdout"]) >= 8000000
        ran = http.ask("POST", "/api/v2/execute", {"language": "bash", "version": "*", "files": [{"content": noise}]})
    assert ran.status == 200 and len(ran.json()["run"]["stdout"]) == 8000000
    assert worst[0] < 2 * WAIT_S, worst


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
