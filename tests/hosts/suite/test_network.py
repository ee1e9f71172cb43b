"""In a guest: what is listed is reached, and nothing else, in whichever way the kernel has.

The machine's own addresses stand for the world (guest/functions, neighbours): one program inside tries
everything, and servers outside tell who came.
"""
import contextlib
import json
import os
import pathlib
import socket
import threading

import pytest

import support

pytestmark = pytest.mark.core

EXPECT = json.loads(os.environ["SBR_EXPECT"])
PROBE = pathlib.Path(__file__).with_name("probe.py")
NEAR4, NEAR6, NAME = "192.0.2.1", "2001:db8::1", "lab.example.org"
LISTED, UNLISTED = 7777, 7778
V6 = EXPECT["ipv6"]
OUTWARD = [NEAR4, NAME, *([NEAR6] if V6 else [])]
LOOPBACK = ["127.0.0.1", "localhost", *(["::1"] if V6 else [])]
INSIDE = ["inside 127.0.0.1 0", *(["inside ::1 0"] if V6 else [])]
RULES = [f"localhost:{LISTED}", f"{NEAR4}:{LISTED}", f"{NAME}:{LISTED}", f"[{NEAR6}]:{LISTED}"]
# The kernel's own way first; the others are what it would do without, by the test build.
OWN, *_ = EXPECT["network"]
WAYS = ("tproxy", "redirect", "ports")
ways = pytest.mark.parametrize("way", EXPECT["network"])
MISSING = {"tproxy": [], "redirect": ["UDP to ports that no rule names (the kernel lacks nft_tproxy)"],
           "ports": ["ports that no rule names (the kernel lacks nft_tproxy and nft_redir)"]}


class Server:
    """Sends back whatever comes, over TCP and UDP, and remembers where it came."""

    def __init__(self, address, port):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.seen = []
        self.stream = socket.socket(family, socket.SOCK_STREAM)
        self.datagrams = socket.socket(family, socket.SOCK_DGRAM)
        for sock in (self.stream, self.datagrams):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, port))
        self.stream.listen()
        self.threads = [threading.Thread(target=work) for work in (self.accept, self.answer)]
        for thread in self.threads:
            thread.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.stream.accept()
                self.seen.append("tcp")
                with connection, contextlib.suppress(OSError):
                    while data := connection.recv(1 << 12):
                        connection.sendall(data)

    def answer(self):
        while True:
            data, sender = self.datagrams.recvfrom(1 << 12)
            if data == b"end":
                return
            self.seen.append("udp")
            self.datagrams.sendto(data, sender)

    def end(self):
        with socket.socket(self.datagrams.family, socket.SOCK_DGRAM) as last:
            last.sendto(b"end", self.datagrams.getsockname())
        with contextlib.suppress(OSError):
            self.stream.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(support.DEADLINE)
        self.stream.close()
        self.datagrams.close()


@pytest.fixture(scope="module")
def servers():
    """One on each address, listed or not."""
    places = ["127.0.0.1", NEAR4, *(["::1", NEAR6] if V6 else [])]
    made = {(place, port): Server(place, port) for place in places for port in (LISTED, UNLISTED)}
    yield made
    for server in made.values():
        server.end()


def probe(tries, *options, way=OWN):
    """What became of each try, and the result."""
    left_out = WAYS[:WAYS.index(way)] if way != OWN else ()
    result = support.result_of(
        "run", "--allow-degraded", "--timeout", "60s", "--cpu-time", "60s", *options, "--lang", "python", PROBE,
        hooks=bool(left_out), env={"SANDBOX_RUN_TEST_WITHOUT": ",".join(left_out)} if left_out else None,
        stdin="\n".join(tries).encode())
    assert result["outcome"] == "exited", result
    said = result["stdout"].splitlines()
    assert len(said) == len(tries), result
    return dict(zip(tries, said)), result


def all_refused(said, tries):
    return [one for one in tries if not said[one].startswith("NOT ")] == []


@ways
def test_what_is_listed_is_reached_and_nothing_else(servers, way):
    for server in servers.values():
        server.seen.clear()
    good = [f"talk {place} {LISTED}" for place in (*LOOPBACK, *OUTWARD)]
    good += [f"udp {place} {LISTED}" for place in OUTWARD]
    good += INSIDE
    bad = [f"{how} {place} {UNLISTED}" for place in (*LOOPBACK, *OUTWARD) for how in ("talk", "udp")]
    bad += [f"talk 192.0.2.2 {LISTED}", f"udp 192.0.2.2 {LISTED}", f"talk other.example.org {LISTED}"]
    options = [word for rule in RULES for word in ("--allow-host", rule)]
    said, result = probe([*good, *bad], *options, way=way)
    assert {said[one] for one in good} == {"hello"}, said
    assert all_refused(said, bad), said
    assert not [place for place, server in servers.items() if place[1] == UNLISTED and server.seen]
    isolation = result["isolation"]
    assert f"egress-by-{way}" in isolation["mechanisms"], isolation
    assert sorted(isolation["missing"]) == sorted([*EXPECT["missing"], *MISSING[way]])
    denied = {(denial["kind"], denial["target"]) for denial in result["denials"]}
    assert denied >= {("name", "other.example.org"), ("connect", f"192.0.2.2:{LISTED}")}, denied


def test_loopback_alone_is_the_programs_own(servers):
    for server in servers.values():
        server.seen.clear()
    outside = [f"{how} {place} {LISTED}" for place in (*LOOPBACK, NEAR4) for how in ("talk", "udp")]
    said, _ = probe([*INSIDE, *outside], "--network", "localhost")
    assert {said[one] for one in INSIDE} == {"hello"}, said
    assert all_refused(said, outside), said
    assert not [place for place, server in servers.items() if server.seen]
