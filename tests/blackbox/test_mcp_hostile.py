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


# What is not `accept` with `apply` true, word for word, is no consent.
NO_CONSENT = {
    "nothing": {}, "a list": [], "a word": "accept", "null": None, "true": True,
    "an action in a list": {"action": ["accept"], "content": {"apply": True}},
    "an action in capitals": {"action": "Accept", "content": {"apply": True}},
    "a text": {"action": "accept", "content": {"apply": "true"}},
    "a number": {"action": "accept", "content": {"apply": 1}},
    "a list of it": {"action": "accept", "content": {"apply": [True]}},
    "content as a list": {"action": "accept", "content": [{"apply": True}]},
    "content as text": {"action": "accept", "content": "{\"apply\": true}"},
    "one level up": {"action": "accept", "apply": True},
    "huge": {"action": "accept", "content": {"apply": "x" * (4 << 20)}},
    "many values": {"action": "accept", "content": {"apply": [0] * 9000}},
    "refused, but true": {"action": "decline", "content": {"apply": True}},
}
YES = {"action": "accept", "content": {"apply": True}}


def asked_by(client):
    """The id of the next question."""
    while True:
        message = client.read()
        if "method" in message and "id" in message:
            assert message["method"] == "elicitation/create"
            return message["id"]
        if "method" not in message:
            client.answers[message["id"]] = message


@pytest.mark.container
def test_only_consent_applies_changes(folder):
    """Wrong, large, foreign, early, late and repeated answers of a client change nothing, and the next call is served."""
    place = folder / "project"
    place.mkdir()
    (place / "a.txt").write_text("old\n")
    with served("--project", place, env={"SANDBOX_RUN_STATE": str(folder / "state")}, capabilities={"elicitation": {}}) as client:
        changes = client.data("run_command", command="echo new > a.txt")["changes_id"]

        def begin():
            number = client.ask("tools/call", tool_call("apply_changes", {"changes_id": changes}))
            return number, asked_by(client)

        def refused(number):
            answer = client.wait(number)["result"]
            assert answer["isError"] and "did not agree" in answer["content"][0]["text"], answer
            assert (place / "a.txt").read_text() == "old\n"

        for guess in ("sandbox-run-1", "sandbox-run-2", "sandbox-run-3"):  # before there is a question
            client.send({"id": guess, "result": YES})
        for name, answer in NO_CONSENT.items():
            number, question = begin()
            client.send({"id": question, "result": answer})
            refused(number)
            client.send({"id": question, "result": YES})  # once more, when it is over
        number, question = begin()
        client.send({"id": question, "result": {**YES, "action": "accept\0"}})  # is no message
        client.send({"id": question, "result": {"action": "decline"}})
        refused(number)
        number, question = begin()
        client.send({"id": question, "error": {"code": 1, "message": "no", "data": YES}})
        refused(number)
        for _ in range(20):  # the second may come before anybody has looked at the first
            number, question = begin()
            client.send({"id": question, "result": {"action": "decline"}})
            client.send({"id": question, "result": YES})
            refused(number)
        (number, question), (second, other) = begin(), begin()
        assert question != other
        client.send({"id": other, "result": {"action": "decline"}})  # each question has its own answer
        refused(second)
        for wrong in (question + "0", question[:-1], 1, [question], {"id": question}):
            client.send({"id": wrong, "result": YES})
        client.notify("notifications/cancelled", {"requestId": number})
        client.send({"id": question, "result": YES})
        assert client.call("ping") == {}
        assert (place / "a.txt").read_text() == "old\n"
        number, question = begin()
        client.send({"id": question, "result": YES})
        assert client.wait(number)["result"]["structuredContent"]["applied"]
    assert (place / "a.txt").read_text() == "new\n"


@pytest.mark.parametrize("uri", [
    "", "x", "file:///etc/passwd", "sandbox-run://", "sandbox-run://../../etc/passwd", "sandbox-run://output/../../../etc/passwd",
    "sandbox-run://runs/%2e%2e/%2e%2e/etc/passwd", "sandbox-run://runs/1/..%2f..%2f..%2fetc%2fpasswd", "sandbox-run://runs/1/%00",
    "sandbox-run:///etc/passwd", "SANDBOX-RUN://runs/1/a", "sandbox-run://runs/99999999999999999999/a", "sandbox-run://runs/-1/a",
    pytest.param("sandbox-run://" + "a" * 100000, id="long"), pytest.param("sandbox-run://runs/1/" + "../" * 2000, id="deep"), "sandbox-run://runs/1/a\nb", "\u202esandbox-run://"])
def test_an_address_that_is_no_resource_reads_nothing(client, uri):
    answer = client.call("resources/read", {"uri": uri})
    assert "contents" not in answer and answer["code"] in (-32602, -32002), answer
    assert "root:x:0" not in str(answer)
