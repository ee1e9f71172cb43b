"""What callers that are several of one engine leave for each other: slots, memory, places to wait."""
import contextlib
import socket

import pytest

import engine as engines
import support

SOON = 30
LEASE, DONE = 1, 2
QUEUED, COLD, REFUSED = 1, 3, 4
GIB = 1 << 30


class Client:
    """Asks for a place only, for a caller."""

    def __init__(self, engine, layout, caller, share, memory=0):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(SOON)
        self.socket.connect(str(engine.socket))
        self.layout = layout
        request = bytearray(layout["request"])
        request[0:4] = layout["version"].to_bytes(4, "little")
        request[4:8] = LEASE.to_bytes(4, "little")
        for name, data in (("caller", caller.encode()), ("share", share.to_bytes(4, "little")),
                           ("memory", memory.to_bytes(8, "little"))):
            request[layout[name]:layout[name] + len(data)] = data
        self.socket.send(request)

    def answer(self):
        data = self.socket.recv(4096)
        reason = data[self.layout["reason"]:].split(b"\0")[0].decode()
        return int.from_bytes(data[4:8], "little"), reason

    def close(self):
        self.socket.close()


@pytest.fixture
def asked(place, layout):
    """Makes an engine and its clients; ends all."""
    with contextlib.ExitStack() as stack:
        engine = engines.Engine(place / "tenants", support.available_callers()[0],
                                ["--warm", "", "--slots", 8, "--queue", 6, "--run-memory", "8g"])
        stack.enter_context(engine)

        def ask(caller, share=50, memory=0):
            client = stack.enter_context(contextlib.closing(Client(engine, layout, caller, share, memory)))
            return client, client.answer()

        ask.engine = engine
        yield ask


def test_a_tenant_leaves_half_of_all_to_others(asked):
    assert [asked("a")[1][0] for _ in range(4)] == [COLD] * 4
    waiting = [asked("a") for _ in range(3)]
    assert [answer[0] for _, answer in waiting] == [QUEUED] * 3
    kind, why = asked("a")[1]
    assert kind == REFUSED and "part of the queue" in why
    assert [asked("b")[1][0] for _ in range(4)] == [COLD] * 4  # at once, whatever a has
    assert asked("b")[1][0] == QUEUED
    callers = {one["name"]: (one["running"], one["queued"], one["share"]) for one in asked.engine.status()["callers"]}
    assert callers == {"a": (4, 3, 50), "b": (4, 1, 50)}


def test_one_run_of_a_tenant_never_takes_all_memory(asked):
    large, answer = asked("a", memory=100 * GIB)
    assert answer[0] == COLD
    assert asked("a", memory=1)[1][0] == QUEUED
    assert asked("b", memory=GIB)[1][0] == COLD
    second, answer = asked("b", memory=GIB)
    assert answer[0] == QUEUED
    large.close()
    assert second.answer()[0] == COLD


def test_a_caller_alone_has_no_bound(asked):
    assert [asked("a", share=0)[1][0] for _ in range(8)] == [COLD] * 8
