"""Clients of `sandbox-run mcp` that mean harm."""
import json
import os
import resource
import select
import subprocess

import pytest

import support
from mcp_client import served, tool_call


@pytest.fixture(name="client")
def one_client(any_caller):
    with served(caller=any_caller) as client:
        yield client


def lives(client):
    return client.data("run_command", command="echo alive")["stdout"] == "alive\n"


@pytest.mark.parametrize("line, code", [
    (b"{", -32700),
    (b"[" * 100_000, -32700),
    (b'{"a":' * 100_000, -32700),
    (b"\xff\xfe", -32700),
    (b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":"' + b"9" * 5000 + b'","method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    (b"x" * (17 << 20), -32600),
])
def test_what_is_no_message_is_refused_and_the_next_one_is_served(client, line, code):
    client.write(line + b"\n")
    answer = client.read()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert len(json.dumps(answer)) < 500 and client.call("ping") == {}


@pytest.mark.container
def test_deep_arguments_are_refused(client):
    deep = '{"a":' * 1000 + "1" + "}" * 1000
    client.write(b'{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"run_code","arguments":{"env":'
                 + deep.encode() + b"}}}\n")
    assert client.wait("deep")["error"] == {"code": -32600, "message": "the message is nested more than 32 levels deep"}
    assert lives(client)


CALLS, OPEN = 1500, 256  # so one file descriptor that stays open for each call is one too many


@pytest.mark.container
def test_each_of_many_calls_has_an_answer(client):
    """Those that cannot wait are refused at once."""
    resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (OPEN, OPEN))
    line = json.dumps({"jsonrpc": "2.0", "id": "same", "method": "tools/call",
                       "params": tool_call("list_languages", {})}).encode() + b"\n"
    sent, answered = 0, 0
    while answered < CALLS:
        if sent < CALLS:
            client.write(line * 100)
            sent += 100
        for _ in range(100):
            answered += client.read()["id"] == "same"
    assert lives(client)


@pytest.mark.container
def test_a_flood_of_slow_calls_is_refused_in_part_and_ends_with_its_client(client):
    for _ in range(400):
        client.ask("tools/call", tool_call("run_command", {"command": "sleep 60"}))
    refused = client.read()
    assert refused["error"]["code"] == -32603 and "too many calls" in refused["error"]["message"]
    assert client.close() == 0


def test_half_a_message_and_the_end_is_an_end(client):
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"')
    assert client.close() == 0


@pytest.mark.container
def test_answers_to_nothing_are_ignored(client):
    client.send({"id": 5, "result": {}})
    client.send({"id": "x", "error": {"code": 1, "message": ""}})
    client.notify("notifications/cancelled", {"requestId": {"a": [1]}})
    client.notify("notifications/unknown", {})
    assert lives(client)


def test_initialize_is_sent_once(client):
    """Calls that run refer to what the first one said."""
    again = client.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}})
    assert again["code"] == -32600 and client.call("ping") == {}


@pytest.mark.container
def test_runs_of_an_agent_are_in_the_audit_that_its_operator_wants(folder):
    (folder / "sandbox-run").mkdir()
    (folder / "sandbox-run" / "config.yaml").write_text("audit: true\n")
    env = {"XDG_CONFIG_HOME": str(folder), "SANDBOX_RUN_STATE": str(folder / "state")}
    with served(env=env) as client:
        run = client.data("run_command", command="echo on record")
    assert "files" not in run  # it left none
    done = subprocess.run(support.command("audit", "--json"), env=support.surroundings(None, env), capture_output=True,
                          check=True, timeout=support.DEADLINE)
    assert run["run_id"] in done.stdout.decode()


def test_a_client_that_does_not_read_does_not_keep_the_server(client):
    """The answers fill the pipe, and then the server reads no more requests; it still ends when it is asked to."""
    requests, line = client.process.stdin.fileno(), b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    os.set_blocking(requests, False)
    while select.select([], [requests], [], 1)[1]:
        os.write(requests, line * (4096 // len(line)))
    client.process.terminate()
    assert client.process.wait(20) == 0
