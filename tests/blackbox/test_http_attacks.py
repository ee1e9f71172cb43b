"""What somebody who has read the source would try, with a token of their own: frames, numbers, keys, ids, headers, paths."""
import base64
import concurrent.futures
import contextlib
import itertools
import json
import os
import re
import socket
import subprocess

import pytest

import engine
import gateway
import support

MAKES = {"files": [{"path": "Makefile", "content": "all:\n\t@echo made > out.txt\n"}]}
READS = {"args": ["sh", "-c", "read a; echo got $a"], "limits": {"timeout": "10m"}}
HELD_KIB = 16384
SLOW_S = 20
UNKNOWN = "0123456789abcdef0123456789abcdef"
TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        running.mine, running.other = running.token("mine"), running.token("other")
        yield running


def start(http, body=READS, token=None):
    reply = http.ask("POST", "/v1/executions", body, token=token or http.mine, Prefer="respond-async")
    assert reply.status == 202, reply.body
    return reply.headers["Location"]


@pytest.fixture(name="where")
def _where(http):
    """A run that waits for stdin: no attack may reach it."""
    where = start(http)
    yield where
    assert http.ask("POST", where + "/stdin?close=1", b"stdin\n", token=http.mine).status == 202
    assert engine.within(SLOW_S, lambda: http.ask("GET", where, token=http.mine).json()["status"] == "done")
    assert http.ask("GET", where, token=http.mine).json()["result"]["stdout"] == "got stdin\n"


def frame(opcode, data=b"", fin=True, rsv=0, masked=True, length=None, sized=None):
    """`length` is what the frame says, `sized` how many bytes say it."""
    said = len(data) if length is None else length
    sized = sized if sized is not None else 0 if said < 126 else 2 if said < 65536 else 8
    small = said if sized == 0 else {2: 126, 8: 127}[sized]
    mask = os.urandom(4) if masked else b""
    head = bytes([fin << 7 | rsv << 4 | opcode, masked << 7 | small]) + (said.to_bytes(sized, "big") if sized else b"")
    return head + mask + (bytes(a ^ b for a, b in zip(data, itertools.cycle(mask))) if masked else data)


@contextlib.contextmanager
def open_socket(http, where):
    host, port = http.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=SLOW_S) as peer:
        key = base64.b64encode(os.urandom(16)).decode()
        peer.sendall(f"GET {where}/socket HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {http.mine}\r\nUpgrade: websocket\r\n"
                     f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = peer.recv(1)
            assert piece, answer
            answer += piece
        assert b" 101 " in answer.split(b"\r\n")[0], answer
        yield peer


def closing_code(peer):
    """Of the gateway's closing frame, once the connection is over; None: there was none."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := peer.recv(65536):
            data += piece
    at, code = 0, None
    while at + 2 <= len(data):
        length, size = data[at + 1] & 127, 2
        if length >= 126:
            size += 2 if length == 126 else 8
            length = int.from_bytes(data[at + 2:at + size], "big")
        if data[at] & 15 == CLOSE:
            code = int.from_bytes(data[at + size:at + size + 2], "big") if len(data) >= at + size + 2 else None
        at += size + length
    return code


STDIN = json.dumps({"type": "stdin", "data": "attack\n"}).encode()
FRAMES = {
    "no mask": (frame(TEXT, STDIN, masked=False), {1002}),
    "a reserved bit": (frame(TEXT, STDIN, rsv=4), {1002}),
    "all reserved bits": (frame(TEXT, STDIN, rsv=7), {1002}),
    "a reserved opcode": (frame(3, STDIN), {1002}),
    "a reserved control opcode": (frame(11, b""), {1002, None}),
    "a ping in pieces": (frame(PING, b"x", fin=False), {1002, None}),
    "a long ping": (frame(PING, b"x" * 126), {1002, None}),
    "a continuation of nothing": (frame(0, STDIN), {1002}),
    "a start in a message": (frame(TEXT, b"{", fin=False) + frame(TEXT, STDIN), {1002}),
    "more than a message may have": (frame(BINARY, b"x", length=(1 << 20) + 1), {1009}),
    "a length of 64 bits": (frame(BINARY, b"x", length=1 << 62), {1009}),
    "a negative length": (frame(BINARY, b"x", length=(1 << 64) - 1), {1002, None}),
    "a length with too many bytes": (frame(BINARY, STDIN, sized=2), {1002, None}),
    "a length with far too many bytes": (frame(BINARY, STDIN, sized=8), {1002, None}),
    "no UTF-8": (frame(TEXT, b"\xff"), {1007}),
    "overlong UTF-8": (frame(TEXT, b"\xc0\xae"), {1007}),
    "a surrogate in UTF-8": (frame(TEXT, b"\xed\xa0\x80"), {1007}),
    "half a character": (frame(TEXT, b"{\"a\":\"\xe2\x82"), {1007}),
    "half a character in a piece": (frame(TEXT, b"\xe2", fin=False) + frame(0, b"\x28\xa1"), {1007}),
    "a close code that is none": (frame(CLOSE, (999).to_bytes(2, "big")), {1002}),
    "a close code that is never sent": (frame(CLOSE, (1006).to_bytes(2, "big")), {1002}),
    "a close reason without UTF-8": (frame(CLOSE, (1000).to_bytes(2, "big") + b"\xff"), {1007}),
    "a close of its own": (frame(CLOSE, (1000).to_bytes(2, "big") + b"bye"), {1000}),
    "more pieces than a message may have": (frame(BINARY, b"x", fin=False) + frame(0, b"x", fin=False) * 2000, {1009}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_wrong_frame_ends_the_connection_and_reaches_no_program(http, where, name):
    data, codes = FRAMES[name]
    with open_socket(http, where) as peer:
        peer.sendall(data)
        with contextlib.suppress(OSError):
            peer.sendall(frame(TEXT, STDIN))
            peer.shutdown(socket.SHUT_WR)
        assert closing_code(peer) in codes | {None}


def test_a_client_that_closes_one_half_is_gone(http, where):
    with open_socket(http, where) as peer:
        peer.shutdown(socket.SHUT_WR)
        assert closing_code(peer) is None
    assert http.ask("GET", where, token=http.mine).json()["status"] == "running"


def memory_kib(http):
    total = 0
    for pid in gateway.fronts(http):
        with open(f"/proc/{pid}/status", encoding="ascii") as lines:
            total += int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
    return total


@pytest.mark.parametrize("piece", (frame(PING, b"x" * 100), frame(PING)), ids=("long", "empty"))
def test_pings_whose_answers_nobody_reads_are_not_read(http, where, piece):
    before, block = memory_kib(http), piece * (60000 // len(piece))
    with open_socket(http, where) as peer:
        peer.settimeout(2)
        with contextlib.suppress(TimeoutError):  # the kernel's buffers hold some megabytes
            for _ in range(1000):
                peer.sendall(block)
        assert memory_kib(http) - before < HELD_KIB


def test_a_goodbye_that_is_not_answered_ends_the_connection(http):
    with open_socket(http, start(http, {"args": ["true"]})) as peer:
        data = b""
        while piece := peer.recv(65536):
            data += piece
        assert data
    assert http.ask("GET", "/version", token=http.mine).status == 200


@pytest.mark.parametrize("number, status", [
    ("-1", 400), ("abc", 400), ("1e9", 400), ("0x1", 400), ("1 2", 400), ("99999999999999999999999999", 400),
    ("18446744073709551615", 200), ("18446744073709551614", 200), ("1000000", 200), ("0", 200)])
def test_numbers_of_events_that_were_never_sent(http, number, status):
    done = http.ask("POST", "/v1/executions", {"args": ["echo", "out"]}, token=http.mine, Accept="application/x-ndjson")
    path = done.headers["Location"] + "/events"
    reply = http.ask("GET", path, token=http.mine, Accept="application/x-ndjson", Last_Event_ID=number)
    assert reply.status == status, reply.body
    assert status != 200 or len(reply.body.splitlines()) == (len(done.body.splitlines()) - 1 - int(number) if int(number) < 99 else 0)
    assert http.ask("GET", path, token=http.other, Last_Event_ID=number).status == 404


def test_a_key_belongs_to_its_tenant(http):
    body = {"language": "bash", "code": "echo $RANDOM$RANDOM$RANDOM"}
    mine = http.ask("POST", "/v1/executions", body, token=http.mine, Idempotency_Key="shared")
    other = http.ask("POST", "/v1/executions", body, token=http.other, Idempotency_Key="shared")
    assert mine.status == other.status == 200 and mine.json()["id"] != other.json()["id"]
    assert "Idempotent-Replayed" not in other.headers and mine.json()["stdout"] != other.json()["stdout"]
    changed = http.ask("POST", "/v1/executions", {**body, "code": ":"}, token=http.mine, Idempotency_Key="shared")
    assert changed.status == 422
    for key, status in (("k" * 63, 200), ("k" * 64, 400), ("k" * 4000, 400), ("", 400)):
        assert http.ask("POST", "/v1/executions", body, token=http.mine, Idempotency_Key=key).status == status, key


def test_a_key_whose_run_has_not_ended(http):
    token, rows = http.token("keys"), []

    def ask():
        return http.ask("POST", "/v1/executions", {"args": ["sleep", "60"]}, token=token, Idempotency_Key="long")

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask)
        assert engine.within(SLOW_S, lambda: rows.extend(http.ask("GET", "/v1/executions", token=token).json()["executions"]) or rows)
        assert ask().status == 409
        assert http.ask("DELETE", "/v1/executions/" + rows[0]["id"], token=token).status == 202
        assert first.result(SLOW_S).json()["outcome"] == "cancelled"


MAKES_ITS_OWN = ["PUT", "/v1/workspaces/{name}/files/{path...}"]
BODIES = {"/cells": {"code": "1"}, "/rollback": {"cell": 1}, "/apply": {}, "/undo": {}}


def test_ids_of_another_tenant_are_ids_of_nothing(http):
    """On every route that there is, with the same words."""
    session = http.ask("POST", "/v1/sessions", {"language": "bash", "idle_ms": 60000}, token=http.mine).json()["id"]
    built = http.ask("POST", "/v1/builds", MAKES, token=http.mine).json()
    done = http.run({"args": ["echo", "1"], "keep_output": True}, token=http.mine)
    assert http.ask("PUT", "/v1/workspaces/shared/files/a", b"1", token=http.mine).status == 204
    many = http.ask("POST", "/v1/batch", {"requests": [{"args": ["true"]}]}, token=http.mine, Prefer="respond-async")
    ids = {"executions": done["id"], "sessions": session, "changes": built["changes_id"], "workspaces": "shared",
           "batch": many.headers["Location"].rsplit("/", 1)[1]}
    routes = subprocess.run([gateway.PROGRAM, "--routes"], capture_output=True, check=True, text=True).stdout.splitlines()
    seen = set()
    for method, path in sorted((route.split(" ") for route in routes if "{" in route), key=lambda route: route == MAKES_ITS_OWN):
        noun = path.split("/")[2]
        body = next((value for end, value in BODIES.items() if path.endswith(end)), None)
        if method in ("POST", "PUT") and body is None:
            body = b""
        replies = []
        for one, token in ((ids[noun], http.other), (UNKNOWN if noun != "workspaces" else "absent", http.other)):
            place = re.sub(r"\{(id|name)\}", one, path).replace("{stream}", "stdout").replace("{path...}", "a")
            reply = http.ask(method, place, body, token=token)
            replies.append((reply.status, re.sub(re.escape(one), "", reply.body.decode())))
        assert replies[0] == replies[1] and replies[0][0] == (204 if [method, path] == MAKES_ITS_OWN else 404), (method, path, replies)
        seen.add(noun)
    assert seen == set(ids)
    assert http.ask("GET", "/v1/workspaces/shared/files/a", token=http.mine).body == b"1"
    assert http.ask("GET", f"/v1/changes/{ids['changes']}", token=http.mine).status == 200
    assert http.ask("DELETE", f"/v1/sessions/{session}", token=http.mine).status == 200
    for name, token in (("shared", http.mine), ("shared", http.other), ("absent", http.other)):
        assert http.ask("DELETE", f"/v1/workspaces/{name}", token=token).status == 204


def with_header(*lines, method="GET", path="/version", body=b""):
    return b"\r\n".join([f"{method} {path} HTTP/1.1".encode(), b"Host: localhost", *lines, b"", b""]) + body


HEADERS = {
    "a folded length": with_header(b"Content-Length:", b" 4", method="POST", body=b"abcd"),
    "a folded encoding": with_header(b"X: y", b" Transfer-Encoding: chunked", method="POST", body=b"0\r\n\r\n"),
    "a line feed alone": with_header(b"X: y\nTransfer-Encoding: chunked", method="POST", body=b"0\r\n\r\n"),
    "a carriage return alone": with_header(b"X: y\rTransfer-Encoding: chunked", b"Content-Length: 5", method="POST", body=b"0\r\n\r\n"),
    "an encoding in capitals and a length": with_header(b"TRANSFER-ENCODING: CHUNKED", b"content-length: 5", method="POST", body=b"0\r\n\r\n"),
    "an encoding twice": with_header(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", method="POST", body=b"0\r\n\r\n"),
    "an encoding with a tab": with_header(b"Transfer-Encoding: \tchunked,", method="POST", body=b"0\r\n\r\n"),
    "a length in hexadecimal": with_header(b"Content-Length: 0x4", method="POST", body=b"abcd"),
    "a chunk without bounds": with_header(b"Transfer-Encoding: chunked", method="POST", body=b"ffffffffffffffff1\r\nx\r\n0\r\n\r\n"),
    "a negative chunk": with_header(b"Transfer-Encoding: chunked", method="POST", body=b"-1\r\nx\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_what_is_behind_a_wrong_header_is_no_request(http, name):
    """A proxy in front may have read it another way."""
    answer = http.raw(HEADERS[name] + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b'{"status":"ok"}' not in answer, answer
    assert all(part[:1] in b"45" for part in answer.split(b"HTTP/1.1 ")[1:]), answer


@pytest.mark.parametrize("host, status", [
    ("LOCALHOST", 200), ("LocalHost:80", 200), ("127.0.0.1:", 200), ("localhost.", 421), ("127.1", 421), ("0.0.0.0", 421),
    ("[::1]", 200), ("[::1]evil.example", 421), ("[::1]:80@evil.example", 421), ("[::1", 421), ("[::ffff:127.0.0.1]", 421),
    ("localhost:evil.example", 421), ("localhost@evil.example", 421), ("evil.example:127.0.0.1", 421),
    ("127.0.0.1.nip.example", 421), ("localhost,evil.example", 421), ("localhost evil.example", 421)])
def test_names_of_hosts(http, host, status):
    assert http.ask("GET", "/version", token=http.mine, Host=host).status == status


@pytest.mark.parametrize("path", [
    "..%2fa", "%2e%2e/a", "%2e%2e%2fa", "a/../../b", "%2fetc%2fpasswd", "/etc/passwd", "a%00b", "a%0ab", "%252e%252e%252fa",
    "%c0%ae%c0%ae%c0%afa", "%ff", "a/%ed%a0%80", "./a", "a//b", "a/."])
def test_paths_that_lead_elsewhere(http, path):
    """Refused, or a name like others, which is not there: never a file, and never half a name."""
    where = "/v1/workspaces/paths/files/"
    assert http.ask("PUT", where + "a", b"1", token=http.mine).status == 204
    session = http.ask("POST", "/v1/sessions", {"language": "bash", "idle_ms": 60000}, token=http.mine).headers["Location"]
    for place in (where, session + "/files/"):
        for method in ("GET", "DELETE"):
            assert http.ask(method, place + path, token=http.mine).status in (404, 422), (method, place)
        wrote = http.ask("PUT", place + path, b"2", token=http.mine)
        assert wrote.status in (404, 422) or path == "%252e%252e%252fa", (place, wrote.status, wrote.body)
    files = {row["path"] for row in http.ask("GET", where[:-1], token=http.mine).json()["files"]}
    assert files <= {"a", "%2e%2e%2fa"}, files
    assert http.ask("DELETE", session, token=http.mine).status == 200
    assert http.ask("DELETE", "/v1/workspaces/paths", token=http.mine).status == 204


@pytest.mark.parametrize("body", [
    b"[" * 100000, b'{"a":' * 100000, b'{"limits":{"memory":' + b"9" * 100000 + b"}}", b'{"limits":{"memory":1e999999}}',
    b'{"args":["true"],"args":["false"]}', b'{"args":["\\ud800"]}', b'{"args":["\\udc00\\ud800"]}', b'{"args":["\xed\xa0\x80"]}',
    b'{"args":["\xc0\xaf"]}', b'\xef\xbb\xbf{"args":["true"]}', b'{"args":["true"]}{}', b'{"args":["true"],}', b'{"args":[NaN]}',
    b'"' + b"\\" * 99999, b"\0", b""])
def test_json_that_is_none(http, body):
    for path in ("/v1/executions", "/v1/batch", "/v1/builds", "/mcp"):
        reply = http.ask("POST", path, body, token=http.mine, Content_Type="application/json",
                         Accept="application/json, text/event-stream")
        assert reply.status in (400, 422), (path, reply.body)


def test_a_token_that_is_revoked_ends_what_it_has_open(http):
    """A stream, a WebSocket, a run that is waited for or goes on by itself; not what another token has started."""
    token, heir = http.token("leaves"), http.token("heir", "--tenant", "leaves")
    where, theirs = start(http, token=token), start(http, token=heir)
    names = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    stream, waits, idle, kept = (http.connect(tcp=True) for _ in range(4))
    stream.request("GET", where + "/events", headers={**names, "Accept": "text/event-stream"})
    events = stream.getresponse()
    assert events.status == 200 and events.readline()
    waits.request("POST", "/v1/executions", json.dumps({"args": ["sleep", "600"]}), names)
    idle.request("GET", "/version", headers=names)
    assert json.loads(idle.getresponse().read())["api"] == "v1"
    mine = start(http)
    kept.request("GET", mine + "/events", headers={**names, "Authorization": f"Bearer {http.mine}", "Accept": "text/event-stream"})
    assert kept.getresponse().status == 200
    web = gateway.WebSocket(http, where + "/socket", token="", Authorization=f"Bearer {token}")
    assert web.reply.status == 101
    subprocess.run([support.SANDBOX_RUN, "token", "revoke", "leaves"], env=http.env, check=True, capture_output=True)
    list(web.events())
    assert web.closed[0] == 1008 and "revoked" in web.closed[1], web.closed
    with contextlib.suppress(OSError):
        web.send({"type": "stdin", "data": "late\n"})
    web.close()
    with contextlib.suppress(Exception):
        while events.readline():
            pass
    with pytest.raises((OSError, gateway.http.client.HTTPException)):
        waits.getresponse()
    idle.request("GET", "/version", headers=names)
    assert idle.getresponse().status == 401
    assert http.ask("POST", mine + "/stdin?close=1", b"x\n", token=http.mine).status == 202
    assert engine.within(support.DEADLINE, lambda: http.ask("GET", where, token=heir).json()["status"] == "done")
    assert http.ask("GET", where, token=heir).json()["outcome"] == "cancelled"
    assert http.ask("GET", theirs, token=heir).json()["status"] == "running"
    assert http.ask("DELETE", theirs, token=heir).status == 202
    for connection in (stream, waits, idle, kept):
        connection.close()


IDS = {
    "above": "..%2f..%2fetc%2fpasswd", "encoded above": "%2e%2e", "a NUL": UNKNOWN[:31] + "%00", "a NUL behind": UNKNOWN + "%00",
    "a line": UNKNOWN[:8] + "%0d%0aX-Mine:%20yes", "very long": "a" * 3000, "longer than a line may be": "a" * 20000,
    "no text": "%ff%fe", "half of a character": "%c3", "a star": "*", "capitals": UNKNOWN.upper(), "blanks": "%20" + UNKNOWN,
    "a query in it": UNKNOWN + "%3Fx=1", "a bad escape": "%zz", "an escape without end": "abc%2", "two": f"{UNKNOWN},{UNKNOWN}",
    "negative": "-1", "large": "9" * 400, "an object": "%7B%22id%22%3A1%7D", "full stops": "....%2f%2f",
}
# Routes of the dialects; each in a gateway that speaks all of them.
DIALECTS = {
    "judge0": ["GET /submissions/{id}", "DELETE /submissions/{id}", "GET /submissions/batch?tokens={id}", "GET /languages/{id}"],
    "go-judge": ["GET /file/{id}", "DELETE /file/{id}"],
    "piston": ["GET /api/v2/runtimes/{id}", "DELETE /api/v2/packages/{id}"],
    "e2b": ["GET /sandboxes/{id}", "DELETE /sandboxes/{id}", "POST /sandboxes/{id}/timeout", "POST /sandboxes/{id}/pause",
            "POST /sandboxes/{id}/connect", "GET /sandboxes/{id}/metrics", "GET /sandboxes/{id}/logs"],
}


@pytest.mark.parametrize("dialect", ["", *DIALECTS])
def test_an_id_is_an_id_or_nothing(dialect, tmp_path, http):
    """No id leads to a file, to another's, into a header, or to an error of ours."""
    routes = DIALECTS.get(dialect) or [route for route in subprocess.run(
        [gateway.PROGRAM, "--routes"], capture_output=True, check=True, text=True).stdout.splitlines() if "{" in route]
    with contextlib.ExitStack() as ends:
        if dialect:
            http = ends.enter_context(gateway.Gateway(tmp_path / "g", ["--dialect", dialect]))
            http.mine = http.token("mine")
        for route in routes:
            method, path = route.split(" ")
            for name, one in IDS.items():
                place = re.sub(r"\{(id|name|stream)\}", lambda _, one=one: one, path).replace("{path...}", one)
                reply = http.ask(method, place, b"{}" if method in ("POST", "PUT") else None, token=http.mine,
                                 **({"Content-Type": "application/json"} if method == "POST" else {}))
                allowed = {400, 404, 405, 410, 411, 413, 414, 415, 422, 431}
                if "/workspaces/" in path or "batch?" in path:  # whose names the caller chooses; a list with nothing in it
                    allowed |= {200, 204}
                assert reply.status in allowed, (route, name, reply.status, reply.body)
                assert "X-Mine" not in reply.headers and b"root:x:0" not in reply.body, (route, name)
        assert http.ask("GET", "/healthz").status == 200
