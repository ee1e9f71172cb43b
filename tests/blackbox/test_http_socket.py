"""WebSockets: stdin, terminals, who may open one."""
import base64
import hashlib

import pytest

import engine
import gateway


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        running.secret = running.token("me")
        yield running


def start(http, body, token=None):
    reply = http.ask("POST", "/v1/executions", body, token=token, Prefer="respond-async")
    assert reply.status == 202, reply.body
    return reply.headers["Location"]


def text_of(events):
    return "".join(event["data"] for event in events if event["type"] == "stdout")


def test_stdin_goes_in_and_events_come_out(http):
    where = start(http, {"language": "bash", "code": "read a; echo got $a; cat"})
    web = gateway.WebSocket(http, where + "/socket")
    assert web.reply.status == 101
    proof = base64.b64encode(hashlib.sha1((web.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    assert web.reply.headers["Sec-WebSocket-Accept"] == proof
    web.send(b"word\n")
    web.send({"type": "stdin", "data": "more"})
    web.send({"type": "close_stdin"})
    events = list(web.events())
    web.close()
    assert text_of(events) == "got word\nmore" and events[-1]["result"]["outcome"] == "exited"
    assert [event["seq"] for event in events] == list(range(len(events)))


def test_a_terminal_with_its_size(http):
    # A handler would not do: a signal before input() reads is handled when it has read.
    code = ("import os, signal\n"
            "def show(word): os.write(1, ' '.join(map(str, (word, *os.get_terminal_size()))).encode() + b'\\n')\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})\nshow(f'tty {os.isatty(0)}')\n"
            "signal.sigwait({signal.SIGWINCH})\nshow('now')\ninput()")
    where = start(http, {"language": "python", "code": code, "tty": {"rows": 20, "columns": 70}})
    web = gateway.WebSocket(http, where + "/socket")
    events, seen = [], ""
    orders = {"tty True 70 20": {"type": "resize", "rows": 33, "columns": 99}, "now 99 33": b"\n"}
    for event in web.events():
        events.append(event)
        seen = text_of(events)
        for words in [words for words in orders if words in seen]:  # which may come in pieces
            web.send(orders.pop(words))
    web.close()
    assert events[-1]["result"]["exit_code"] == 0 and not orders, seen


def test_signals_and_cancel(http):
    where = start(http, {"language": "bash", "code": "trap 'echo caught; exit 5' INT; echo begun; while :; do sleep 0.1; done"})
    web = gateway.WebSocket(http, where + "/socket")
    for event in web.events():
        if event["type"] == "stdout" and "begun" in event["data"]:
            web.send({"type": "signal", "number": 2})
    web.close()
    assert http.ask("GET", where).json()["result"]["exit_code"] == 5
    web = gateway.WebSocket(http, start(http, {"language": "bash", "code": "sleep 100"}) + "/socket")
    web.send({"type": "cancel"})
    assert list(web.events())[-1]["result"]["outcome"] == "cancelled"
    web.close()


def test_who_may_open_one(http):
    where = start(http, {"language": "bash", "code": "cat"}, token=http.secret)
    other = http.token("other")
    for headers, status in (({}, 401), ({"Sec_WebSocket_Protocol": f"sandbox-run, bearer.{other}"}, 404),
                            ({"Sec_WebSocket_Protocol": f"sandbox-run, bearer.{http.secret}"}, 101),
                            ({"Authorization": f"Bearer {http.secret}"}, 101),
                            ({"Authorization": f"Bearer {http.secret}", "Origin": "https://evil.example"}, 403),
                            ({"Authorization": f"Bearer {http.secret}", "Sec_WebSocket_Version": "8"}, 426)):
        web = gateway.WebSocket(http, where + "/socket", token="", **headers)
        assert web.reply.status == status, headers
        web.close()
    assert http.ask("DELETE", where, token=http.secret).status == 202


def test_one_that_leaves_ends_nothing_and_leaks_nothing(http):
    where = start(http, {"language": "bash", "code": "read a"})
    for _ in range(20):
        gateway.WebSocket(http, where + "/socket").close()
    assert engine.within(20, lambda: http.metric("sandbox_run_http_connections") == 1)
    assert http.ask("GET", where).json()["status"] == "running"
    assert http.ask("POST", where + "/stdin?close=1", b"").status == 202
