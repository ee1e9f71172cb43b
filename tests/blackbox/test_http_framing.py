"""Requests that can be read in more than one way, at every place of a connection, plain and under TLS: 400, and the end."""
import contextlib
import re
import socket
import ssl
import subprocess
import warnings

import pytest

import gateway
import support

MARK = b'{"status":"ok"}'
SECOND = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
OPTIONS = b"OPTIONS /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"  # libmicrohttpd reads the connection from here on


def head(*lines, line=b"POST /v1/executions HTTP/1.1"):
    return b"\r\n".join([line, b"Host: localhost", *lines, b"", b""])


CHUNKED = head(b"Transfer-Encoding: chunked", b"Content-Type: application/json")
BAD = {
    "folded length": head(b"Content-Length:", b" %d" % len(SECOND)),
    "folded": head(b"A: b", b"\tc"),
    "folded first": head(b" A: b"),
    "no name": head(b": b"),
    "space before the colon": head(b"Content-Length : 4"),
    "no colon": head(b"Content-Length"),
    "bare LF": head(b"A: b\nContent-Length: 4"),
    "bare LF at the end": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    "bare CR": head(b"A: b\rContent-Length: 4"),
    "two CR": head(b"A: b\r"),
    "NUL": head(b"A: b\0c"),
    "control": head(b"A: \x0b"),
    "two lengths": head(b"Content-Length: 4", b"Content-Length: 4"),
    "length and encoding": head(b"Content-Length: 4", b"Transfer-Encoding: chunked"),
    "encoding of 1.0": head(b"Transfer-Encoding: chunked", line=b"POST /v1/executions HTTP/1.0"),
    "encoding list": head(b"Transfer-Encoding: identity, chunked"),
    "signed length": head(b"Content-Length: +4"),
    "version": head(line=b"GET /healthz HTTP/1.2"),
    "two spaces": head(line=b"GET  /healthz HTTP/1.1"),
    "no version": b"GET /healthz\r\n\r\n",
}
BAD_BODIES = {
    "chunk extension": CHUNKED + b"2;a=b\r\n{}\r\n0\r\n\r\n",
    "chunk size": CHUNKED + b"+2\r\n{}\r\n0\r\n\r\n",
    "chunk longer than it says": CHUNKED + b"1\r\n{}\r\n0\r\n\r\n",
    "chunk with LF": CHUNKED + b"2\n{}\r\n0\r\n\r\n",
    "trailer": CHUNKED + b"2\r\n{}\r\n0\r\nContent-Length: 7\r\n\r\n",
}
LARGE = head(b"A: " + b"b" * 20000, line=b"GET /healthz HTTP/1.1")
MANY = head(*[b"A:"] * 1000, line=b"GET /healthz HTTP/1.1")
PARAMETERS = head(line=b"GET /healthz?" + b"&".join([b"a"] * 2000) + b" HTTP/1.1")
COOKIES = head(b"Cookie: " + b"a=b;" * 2000, line=b"GET /healthz HTTP/1.1")


def key_pair(folder):
    """Of a certificate for localhost."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
                    certificate, "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True, timeout=support.DEADLINE)
    return certificate, key


@pytest.fixture(scope="module", name="plain")
def _plain(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        yield running


@pytest.fixture(scope="module", name="secure")
def _secure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("https")
    certificate, key = key_pair(folder)
    with gateway.Gateway(folder / "g", ("--tls-cert", certificate, "--tls-key", key)) as running:
        yield running


def dial(http, tls, lowest=None, highest=None):
    host, port = http.address.rsplit(":", 1)
    peer = socket.create_connection((host, int(port)), timeout=support.DEADLINE)
    if not tls:
        return peer
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if highest:
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():  # of old versions
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version, context.maximum_version = lowest, highest
    return context.wrap_socket(peer)


def exchange(http, tls, *pieces):
    """All that comes back until the end; a piece is sent when the reply to the one before is there."""
    answer = b""
    with contextlib.closing(dial(http, tls)) as peer:
        for i, piece in enumerate(pieces):
            peer.sendall(piece)
            while i + 1 < len(pieces) and answer.count(b"\r\n\r\n") <= i:
                answer += peer.recv(65536)
        with contextlib.suppress(ConnectionResetError):
            while piece := peer.recv(65536):
                answer += piece
    return answer


def heads_of(answer):
    return re.findall(rb"HTTP/1\.1 \d\d\d ", answer)


@pytest.mark.parametrize("way", ("plain", "turned", "pipelined", "tls", "tls pipelined"))
def test_nothing_behind_a_second_reading_is_a_request(plain, secure, way):
    """Neither as the first request of a connection, nor behind one that libmicrohttpd has read, nor in the same bytes."""
    tls = way.startswith("tls")
    http = secure if tls else plain
    faults = []
    for name, bad in {**BAD, **BAD_BODIES}.items():
        before = [OPTIONS] if way == "turned" else [OPTIONS + bad + SECOND] if "pipelined" in way else []
        answer = exchange(http, tls, *(before if "pipelined" in way else [*before, bad + SECOND]))
        heads = heads_of(answer)
        expected = 1 + (way == "turned" or "pipelined" in way)
        refusals = (b" 400 ", b" 401 ") if name in BAD_BODIES else (b" 400 ",)  # a refusal may come before the body
        if MARK in answer or len(heads) != expected or not any(code in heads[-1] for code in refusals) or b"onnection: close" not in answer:
            faults.append((name, answer[-400:]))
    assert not faults, faults


@pytest.mark.parametrize("tls", (False, True))
def test_a_head_that_is_too_large_has_one_reply(plain, secure, tls):
    http = secure if tls else plain
    for name, text in {"large": LARGE, "many": MANY, "parameters": PARAMETERS, "cookies": COOKIES}.items():
        for before in ([], [OPTIONS]):
            answer = exchange(http, tls, *before, text + SECOND)
            heads = heads_of(answer)
            assert MARK not in answer and len(heads) == 1 + len(before), (name, heads)
            assert heads[-1].split()[1] in (b"400", b"431"), (name, heads)


@pytest.mark.parametrize("tls", (False, True))
def test_what_has_one_reading_is_read(plain, secure, tls):
    """Byte by byte, pipelined, with bodies of both kinds, and a request for an upgrade that is not one."""
    http = secure if tls else plain
    with contextlib.closing(dial(http, tls)) as peer:
        last = head(b"Connection: close", line=b"GET /healthz HTTP/1.1")
        peer.sendall(SECOND + OPTIONS + SECOND + head(b"Content-Length: 3", line=b"POST /none HTTP/1.1") + b"\r\n\r")
        for byte in head(b"Transfer-Encoding: chunked", line=b"POST /none HTTP/1.1") + b"2\r\n{}\r\n0\r\n\r\n" + SECOND + last:
            peer.sendall(bytes([byte]))
        answer = b""
        while piece := peer.recv(65536):
            answer += piece
    assert [line.split()[1] for line in heads_of(answer)][:3] == [b"200", b"405", b"200"], answer
    answer = exchange(http, tls, head(b"Connection: Upgrade", b"Upgrade: h2c", line=b"GET /healthz HTTP/1.1"))
    assert heads_of(answer) and MARK in answer and b"onnection: close" in answer


@pytest.mark.parametrize("version", ("TLSv1", "TLSv1_1", "TLSv1_2", "TLSv1_3"))
def test_versions_of_tls(secure, version):
    """The first two were retired by RFC 8996."""
    number = getattr(ssl.TLSVersion, version)
    if version in ("TLSv1", "TLSv1_1"):
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            dial(secure, True, number, number).close()
        return
    with contextlib.closing(dial(secure, True, number, number)) as peer:
        peer.sendall(head(b"Connection: close", line=b"GET /healthz HTTP/1.1"))
        answer = b""
        while piece := peer.recv(65536):
            answer += piece
        assert MARK in answer
