"""What the gateway does not let in: hosts, origins, framings, sizes, clients that dawdle."""
import contextlib
import json
import socket
import subprocess

import pytest

import gateway
import support


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    options = ("--max-body", "64k", "--allow-origin", "https://good.example", "--allow-host", "box.example")
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g", options) as running:
        running.secret, running.uploads = running.token("me"), running.token("uploads")
        yield running


@pytest.mark.parametrize("host, status", [
    ("localhost", 200), ("127.0.0.1:1", 200), ("[::1]:8710", 200), ("box.example", 200), ("evil.example", 421),
    ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421), ("", 421),
])
def test_host(http, host, status):
    assert http.ask("GET", "/version", token=http.secret, Host=host).status == status


@pytest.mark.parametrize("origin, status", [
    ("https://good.example", 200), ("https://evil.example", 403), ("null", 403), ("http://localhost", 403),
])
def test_origin(http, origin, status):
    reply = http.ask("GET", "/version", token=http.secret, Origin=origin)
    assert reply.status == status
    assert http.ask("GET", "/version", Origin=origin).status == status


def request(*headers, line="POST /v1/executions HTTP/1.1", body=b""):
    return "\r\n".join([line, "Host: localhost", *headers, "", ""]).encode() + body


SMUGGLING = {
    "length and encoding": request("Content-Length: 4", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "two lengths": request("Content-Length: 4", "Content-Length: 5", body=b"abcd"),
    "sign": request("Content-Length: +4", body=b"abcd"),
    "list of lengths": request("Content-Length: 4, 4", body=b"abcd"),
    "negative": request("Content-Length: -1"),
    "huge": request("Content-Length: 99999999999999999999"),
    "other encoding": request("Transfer-Encoding: gzip", body=b"x"),
    "encoding list": request("Transfer-Encoding: identity, chunked", body=b"0\r\n\r\n"),
    "space before colon": request("Content-Length : 4", body=b"abcd"),
    "absolute form": request(line="GET http://localhost/version HTTP/1.1"),
    "two hosts": request("Host: evil.example", line="GET /version HTTP/1.1"),
    "other version": request(line="GET /healthz HTTP/3.7"),
    "no version": b"GET /healthz\r\n\r\n",
    "rubbish": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    "bad chunk": request("Transfer-Encoding: chunked", body=b"zz\r\nabc\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize("name", SMUGGLING)
def test_a_framing_with_two_readings_ends_the_connection(http, name):
    """Nothing behind it is taken for a second request."""
    answer = http.raw(SMUGGLING[name] + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b'{"status":"ok"}' not in answer, answer
    assert answer == b"" or int(answer.split(b" ")[1]) in (400, 401, 413, 415, 505, 501), answer


def test_sizes(http):
    big = b"x" * 70000
    assert http.ask("POST", "/v1/executions", big, token=http.secret, Content_Type="application/json").status == 413
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(big), big) for _ in range(2)) + b"0\r\n\r\n"
    answer = http.raw(request("Transfer-Encoding: chunked", "Content-Type: application/json",
                              f"Authorization: Bearer {http.secret}", body=chunked))
    assert b" 413 " in answer.split(b"\r\n")[0]
    answer = http.raw(request("X: " + "y" * 40000, line="GET /healthz HTTP/1.1"))
    assert b'"ok"' not in answer
    assert http.ask("POST", "/v1/executions", b"{}", token=http.secret, Content_Type="text/plain").status == 415
    assert http.ask("GET", "/healthz").status == 200


def curl(http, path, *options, stdin=b""):
    """Status, and how many bytes of the body were sent."""
    done = subprocess.run(["curl", "-sS", "-o", "-", "-w", "\n%{http_code} %{size_upload}", "-H", f"Authorization: Bearer {http.uploads}",
                           "-H", "Content-Type: application/json", *options, f"http://{http.address}{path}"], input=stdin,
                          capture_output=True, timeout=support.DEADLINE)
    assert done.returncode == 0, done.stderr
    body, _, words = done.stdout.rpartition(b"\n")
    return int(words.split()[0]), int(words.split()[1]), body


HUGE = 40 << 20  # more than the kernel's buffers hold


@pytest.mark.parametrize("options", [
    ("-H", "Expect:"), ("-H", "Expect: 100-continue"), ("-H", "Expect:", "-H", "Transfer-Encoding: chunked"),
    ("-H", "Expect: 100-continue", "-H", "Transfer-Encoding: chunked"), ("-T", "-", "-X", "POST"), ("--http1.0", "-H", "Expect:")],
    ids=("length", "asked", "chunks", "asked chunks", "put", "old"))
def test_a_client_reads_why_its_body_is_too_large(http, options):
    upload = () if "-T" in options else ("--data-binary", "@-")
    status, sent, body = curl(http, "/v1/executions", *options, *upload, stdin=b" " * HUGE)
    assert status == 413 and b"--max-body" in body, body
    assert "chunked" in " ".join(options) or "100-continue" not in " ".join(options) or sent == 0, sent
    assert curl(http, "/v1/executions", *options, *upload, stdin=b'{"args": ["true"]}')[0] == 200


@pytest.mark.parametrize("chunked", (False, True))
@pytest.mark.parametrize("path, token, status", [("/v1/executions", True, 413), ("/v1/executions", False, 401), ("/none", True, 404)])
def test_a_refusal_comes_before_the_body(http, chunked, path, token, status):
    """http.client sends all of it before it reads."""
    body = (b" " * 65536 for _ in range(HUGE >> 16)) if chunked else b" " * HUGE
    names = {"Content-Type": "application/json", **({"Authorization": f"Bearer {http.secret}"} if token else {})}
    with contextlib.closing(http.connect(tcp=True)) as connection:
        connection.request("POST", path, body, names, encode_chunked=chunked)
        reply = connection.getresponse()
        assert reply.status == status and reply.headers["Connection"] == "close"
        assert json.loads(reply.read())["status"] == status
    host, port = http.address.rsplit(":", 1)
    size, part = ("Transfer-Encoding: chunked", b"20000\r\n" + b" " * 131072) if chunked else (f"Content-Length: {HUGE}", b" ")
    with socket.create_connection((host, int(port)), timeout=support.DEADLINE) as peer:  # the rest never comes
        line = f"POST {path} HTTP/1.1"
        peer.sendall(request(size, *(f"{name}: {value}" for name, value in names.items()), line=line, body=part))
        assert f" {status} ".encode() in peer.recv(65536).split(b"\r\n")[0]


def test_a_body_of_the_largest_size_is_taken(http):
    limit = 64 << 10
    for size, status in ((limit, 200), (limit + 1, 413)):
        body = b'{"args": ["true"]}'.ljust(size)
        for options in ((), ("-H", "Transfer-Encoding: chunked")):
            assert curl(http, "/v1/executions", "-H", "Expect:", *options, "--data-binary", "@-", stdin=body)[0] == status, size


CHUNKED = ("Transfer-Encoding: chunked", "Content-Type: application/json")
INCOMPLETE = {
    "no chunk": (CHUNKED, b""),
    "part of a size": (CHUNKED, b"1"),
    "part of a chunk": (CHUNKED, b"10\r\n{"),
    "between chunks": (CHUNKED, b"1\r\n{\r\n"),
    "no end of trailers": (CHUNKED, b"0\r\n"),
    "more than a frame": (CHUNKED, b"c000\r\n" + b" " * 40000),
    "short length": (("Content-Length: 9", "Content-Type: application/json"), b"{"),
    "long length": (("Content-Length: 60000", "Content-Type: application/json"), b"{"),
}


@pytest.mark.parametrize("name", INCOMPLETE)
@pytest.mark.parametrize("admitted", (False, True))
def test_a_body_that_can_never_be_complete_ends_the_connection(http, name, admitted):
    """The client sends no more, but still reads: there is no reply to half a request, and no wait for the rest.  Only
    a client without a token gets the reason."""
    headers, body = INCOMPLETE[name]
    token = f"Authorization: Bearer {http.secret if admitted else 'none'}"
    for _ in range(10):  # the end may come with the last bytes, or after they were read
        answer = http.raw(request(token, *headers, body=body), timeout=20)  # 60 s is how long a whole body may take
        assert answer == b"" or (not admitted and b" 401 " in answer.split(b"\r\n")[0]), answer
    assert http.ask("GET", "/v1/executions", token=http.secret).json()["executions"] == []


def test_a_slow_header_is_cut_off(http):
    """Byte by byte it would never end."""
    host, port = http.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=1) as peer:
        peer.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        for _ in range(40):
            try:
                if peer.recv(100) == b"":
                    return
            except TimeoutError:
                pass
            except OSError:  # our last byte was on its way when the other side closed
                return
            with contextlib.suppress(OSError):
                peer.sendall(b"y")
    raise AssertionError("the connection is still open")


def test_many_idle_connections_do_not_block(http):
    host, port = http.address.rsplit(":", 1)
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=5)).sendall(b"GET /")
        assert http.ask("GET", "/version", token=http.secret).status == 200


@pytest.mark.parametrize("path, status", [
    ("/v1/executions/..%2f..%2fversion", 404), ("/v1/executions/%00", 404), ("/v1/executions/%zz", 404),
    ("/../version", 404), ("//version", 404), ("/version/", 404),
])
def test_odd_paths(http, path, status):
    assert http.ask("GET", path).status == status
