"""Tenants and strangers beside each other: what one of them takes displaces nothing of another."""
import contextlib
import http.client
import socket
import ssl
import subprocess

import pytest

import engine as engines
import gateway
import support
from waiting import wait_until

KEPT_MAX = 4096  # results of all tenants
BATCH = 256  # requests of one
PLACES = 16  # --connections
KEPT = "sandbox_run_kept_executions"
SOON_S = 5  # a client that is served at all is served at once


def flood(server, token):
    """Results that cost next to nothing: there is no such image."""
    batch = {"requests": [{"language": "bash", "code": ":", "image": "no-such-image"}] * BATCH}
    for _ in range(KEPT_MAX // BATCH + 2):
        assert server.ask("POST", "/v1/batch", batch, token=token).status == 200


def test_a_flood_of_results_displaces_none_of_another_tenant(tmp_path):
    with gateway.Gateway(tmp_path / "g") as server:
        mine, other = server.token("mine"), server.token("other", "--rate", "100000")
        place = server.ask("POST", "/v1/executions", {"language": "bash", "code": "echo mine"}, token=mine,
                           Prefer="respond-async").headers["Location"]
        assert wait_until(lambda: server.ask("GET", place, token=mine).json()["status"] == "done")
        flood(server, other)
        assert wait_until(lambda: server.metric(KEPT) <= KEPT_MAX)
        reply = server.ask("GET", place, token=mine)
        assert reply.status == 200 and reply.json()["result"]["stdout"] == "mine\n", reply.body
        assert server.metric(KEPT) == KEPT_MAX


HOLDS = {"args": ["sh", "-c", "read a"], "limits": {"memory": "32m"}}


def test_waiting_is_fair_by_tenant_and_says_its_position(tmp_path):
    """One tenant has six runs in the queue; the other's first waits for one turn, not for six, and both are told."""
    with engines.Engine(tmp_path / "e", options=["--warm", "", "--slots", "1", "--queue", "32", "--share", "100"]) as warm, \
         gateway.Gateway(tmp_path / "g", env=warm.variables()) as server:
        mine, other = server.token("mine"), server.token("other")

        def begin(token, **more):
            reply = server.ask("POST", "/v1/executions", {**HOLDS, **more}, token=token, Prefer="respond-async")
            assert reply.status == 202, reply.body
            return reply.headers["Location"]

        def about(place, token):
            row = server.ask("GET", place, token=token).json()
            return row["status"], row.get("position")

        def position(place, token, expected):
            assert wait_until(lambda: about(place, token) == ("queued", expected) or about(place, token)[0] == "done"), about(place, token)
            assert about(place, token) == ("queued", expected)

        first = begin(other)
        assert wait_until(lambda: about(first, other)[0] == "running")
        queue = [begin(other) for _ in range(6)]
        position(queue[5], other, 5)
        waits = begin(mine, args=["echo", "mine"])
        position(waits, mine, 1)  # one of the other's goes before
        position(queue[5], other, 6)
        server.ask("DELETE", first, token=other)
        assert wait_until(lambda: about(queue[0], other)[0] == "running"), about(queue[0], other)
        position(waits, mine, 0)
        server.ask("DELETE", queue[0], token=other)
        assert wait_until(lambda: about(waits, mine)[0] == "done"), about(waits, mine)
        events = server.ask("GET", waits + "/events", token=mine, Accept="application/x-ndjson").body.decode()
        assert '"type":"queue"' in events.replace(" ", ""), events
        assert [about(place, other)[0] for place in queue[2:]] == ["queued"] * 4
        for place in queue:
            server.ask("DELETE", place, token=other)


class Peers:
    """Connections that stay open, from addresses of this machine."""

    def __init__(self, server, stack):
        self.server, self.stack = server, stack

    def connect(self, source="127.0.0.1"):
        peer = http.client.HTTPConnection(self.server.address, timeout=SOON_S, source_address=(source, 0))
        self.stack.callback(peer.close)
        return peer

    def strangers(self, n, source="127.0.0.1"):
        """Those that ask what needs no token, and keep the connection."""
        peers = [self.connect(source) for _ in range(n)]
        for peer in peers:
            peer.request("GET", "/healthz")
        return peers


@pytest.fixture(name="crowd")
def _crowd(tmp_path, request):
    with gateway.Gateway(tmp_path / "g", ["--connections", PLACES, *getattr(request, "param", ())]) as server, \
         contextlib.ExitStack() as stack:
        server.secret = server.token("me")
        yield Peers(server, stack)


def status(peer, token=None):
    """Of the next request on this connection; None: it is over."""
    try:
        if token:
            peer.request("GET", "/version", headers={"Authorization": f"Bearer {token}"})
        reply = peer.getresponse()
        reply.read()
        return reply.status
    except (ConnectionError, http.client.NotConnected):
        return None


def test_strangers_keep_nobody_out(crowd):
    """One client without a token held all connections of the gateway, by asking for its health."""
    mine = crowd.connect()
    assert status(mine, crowd.server.secret) == 200
    mine.auto_open = 0  # it must not connect again
    crowd.strangers(3 * PLACES)
    assert status(crowd.connect(), crowd.server.secret) == 200
    assert status(mine, crowd.server.secret) == 200  # idle, and it stayed


def test_strangers_of_many_addresses_keep_nobody_out(crowd):
    for i in range(2, 7):
        crowd.strangers(PLACES, f"127.0.0.{i}")
    assert status(crowd.connect(), crowd.server.secret) == 200


def test_strangers_that_say_nothing_keep_nobody_out(crowd):
    host, port = crowd.server.address.rsplit(":", 1)
    for _ in range(2 * PLACES):
        peer = crowd.stack.enter_context(socket.create_connection((host, int(port)), timeout=SOON_S))
        peer.sendall(b"GET /healthz HTTP/1.1\r\n")
    assert status(crowd.connect(), crowd.server.secret) == 200


def test_strangers_by_tls_keep_nobody_out(tmp_path):
    """Another reader has these connections, and the gateway writes none of their replies itself."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    options = ["--connections", PLACES, "--tls-cert", certificate, "--tls-key", key]
    with gateway.Gateway(tmp_path / "g", options) as server, contextlib.ExitStack() as stack:
        secret, trusted = server.token("me"), ssl.create_default_context(cafile=certificate)
        trusted.check_hostname = False

        def connect():
            peer = http.client.HTTPSConnection(server.address, timeout=SOON_S, context=trusted)
            stack.callback(peer.close)
            return peer

        mine = connect()
        assert status(mine, secret) == 200
        mine.auto_open = 0
        for _ in range(3 * PLACES):
            stranger = connect()
            stranger.request("GET", "/healthz")
            assert status(stranger) == 200
        assert status(connect(), secret) == 200 and status(mine, secret) == 200


def test_a_stranger_gives_way_that_was_idle_for_longest(crowd):
    first, second = crowd.strangers(2)
    assert (status(first), status(second)) == (200, 200)
    first.request("GET", "/healthz")
    assert status(first) == 200
    for peer in crowd.strangers(PLACES // 2 - 1):
        assert status(peer) == 200
    first.request("GET", "/healthz")
    assert status(first) == 200 and not second.sock.recv(1)


@pytest.mark.parametrize("crowd", [["--connections-per-address", "4"]], indirect=True)
def test_one_address_has_so_many_connections(crowd):
    known = [crowd.connect() for _ in range(4)]
    assert [status(peer, crowd.server.secret) for peer in known] == [200] * 4
    assert status(crowd.connect(), crowd.server.secret) is None
    assert status(crowd.connect("127.0.0.2"), crowd.server.secret) == 200
    known.pop().close()
    assert wait_until(lambda: status(crowd.connect(), crowd.server.secret) == 200, support.DEADLINE)
    assert [status(peer, crowd.server.secret) for peer in known] == [200] * 3


def test_half_of_the_connections_are_of_one_address(crowd):
    for _ in range(PLACES // 2):
        assert status(crowd.connect(), crowd.server.secret) == 200
    assert status(crowd.connect(), crowd.server.secret) is None
    assert status(crowd.connect("127.0.0.2"), crowd.server.secret) == 200
