"""Roots of clients of /mcp: one that the operator has named for the tenant is the project, any other is not."""
import json
import pathlib

import pytest

import engine
import gateway
import registry_packages
import support
from mcp_client import META, tool_call
from test_http_mcp import LEGACY, Agent, events
from test_mcp_clients import CLIENTS, run

CONFIG = """
audit: true
http:
  memory: 1g
  share: 100
  roots:
    - {{tenant: me, name: data, path: {top}/data}}
    - {{tenant: me, name: out, path: {top}/out, mode: rw}}
    - {{tenant: reader, name: data, path: {top}/data}}
    - {{tenant: other, name: theirs, path: {top}/theirs}}
"""


@pytest.fixture(scope="module", name="http")
def one_gateway(tmp_path_factory):
    top = tmp_path_factory.mktemp("roots")
    for name in ("data/sub dir", "out/deep", "theirs", "secret", "data-too", "config/sandbox-run"):
        (top / name).mkdir(parents=True)
    for name in ("data/seed", "data/sub dir/in.txt", "out/a.txt", "theirs/x", "secret/key", "data-too/key"):
        (top / name).write_text("words\n")
    (top / "data/leads").symlink_to(top / "secret")
    (top / "data/up").symlink_to("..")
    (top / "data/itself").symlink_to(".")
    settings = top / "config/sandbox-run/config.yaml"
    settings.write_text(CONFIG.format(top=top))
    settings.chmod(0o600)
    for path in (*top.rglob("*"), top, top.parent, top.parent.parent):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    with gateway.Gateway(top / "g", env={"XDG_CONFIG_HOME": str(top / "config")}) as running:
        running.top = top
        yield running


class Rooted(Agent):
    """It has roots, and each of its messages stands alone."""

    meta = {META + "clientCapabilities": {"roots": {}, "elicitation": {}}}

    def with_roots(self, call, *uris):
        asked = self.modern("tools/call", call, self.meta).json()["result"]
        assert asked["resultType"] == "input_required", asked
        assert asked["inputRequests"] == {"roots": {"method": "roots/list", "params": {}}}
        answer = {"roots": {"roots": [{"uri": uri} for uri in uris]}}
        return self.modern("tools/call", {**call, "requestState": asked["requestState"], "inputResponses": answer},
                           self.meta).json()["result"]

    def ls(self, *uris):
        result = self.with_roots(tool_call("run_command", {"command": "ls"}), *uris)
        return result["structuredContent"]["stdout"].split("\n")[:-1], result["content"][0]["text"]


@pytest.fixture(scope="module", name="agent")
def one_agent(http):
    return Rooted(http, "me")


def test_a_root_in_a_named_one_is_the_project(http, agent):
    top = http.top
    assert agent.ls(f"file://{top}/data")[0] == ["itself", "leads", "seed", "sub dir", "up"]
    for uri in (f"file://{top}/data/sub%20dir", f"file://{top}/data/sub%20dir/", f"FILE://localhost{top}/data/sub%20dir",
                f"file://{top}/data%2fsub%20dir"):
        assert agent.ls(uri)[0] == ["in.txt"], uri
    assert agent.ls("file:///nowhere", f"file://{top}/out", f"file://{top}/data")[0] == ["a.txt", "deep"]  # the first
    assert agent.ls()[0] == [] and "no project" not in agent.ls()[1]


ATTACKS = ["file://{top}/secret", "file://{top}", "file:///", "file:///etc", "file://{top}/data/../secret",
           "file://{top}/data/%2e%2e/secret", "file://{top}/data/%2E%2E%2Fsecret", "file://{top}/data/sub%20dir/../../secret",
           "file://{top}/data/leads", "file://{top}/data/up/secret", "file://{top}/data/itself", "file://{top}/data//sub%20dir",
           "file://{top}/data/./sub%20dir", "file://{top}/data-too", "file://{top}/data%00/../secret", "file://{top}/data%00",
           "file://{top}/data?x=/../secret", "file://{top}/data#/../secret", "file://{top}/data%", "file://{top}/data%2",
           "file://elsewhere.test{top}/data", "file:{top}/data", "{top}/data", "data", "http://localhost{top}/data",
           "file://{top}/theirs", "file://{top}/out/deep", "file://{top}/data/seed", "file://{top}/data/nothing",
           "file://{top}/data/a%0ab", "file://{top}/data%252fsub", "file://{top}/data/\x1b[2J", "file://", "x" * 5000,
           "file:///proc/self/root{top}/data", "file:////{top}/data"]


@pytest.mark.parametrize("uri", ATTACKS, ids=range(len(ATTACKS)))
def test_any_other_is_none_and_the_call_says_so(http, agent, uri):
    seen, first = agent.ls(uri.format(top=http.top))
    assert seen == [] and first.startswith("This call has no project: the client's root ") and "`http.roots`" in first
    assert "\x1b" not in first and len(first) < 500


def test_answers_that_are_no_roots(agent):
    call = tool_call("run_command", {"command": "ls"})
    for answer in ({}, {"roots": None}, {"roots": {"uri": "x"}}, {"roots": [1, None, {"uri": 7}, {}, [], "x"]},
                   {"roots": [{"uri": "file:///x"}] * 4000}):
        asked = agent.modern("tools/call", call, agent.meta).json()["result"]
        done = agent.modern("tools/call", {**call, "requestState": asked["requestState"], "inputResponses": {"roots": answer}},
                            agent.meta).json()["result"]
        assert done["structuredContent"]["stdout"] == "", answer
    other = {**tool_call("run_command", {"command": "cat /etc/hostname"}), "requestState": asked["requestState"]}
    reply = agent.modern("tools/call", {**other, "inputResponses": {"roots": {"roots": []}}}, agent.meta)
    assert reply.status == 400 and "is not what this server gave" in reply.json()["error"]["message"]


def test_roots_are_the_tenants(http):
    top = http.top
    assert Rooted(http, "other").ls(f"file://{top}/data", f"file://{top}/theirs")[0] == ["x"]
    stranger = Rooted(http, "stranger")  # has none, so that its roots are not asked for
    result = stranger.modern("tools/call", tool_call("run_command", {"command": "ls"}), stranger.meta).json()["result"]
    assert result["resultType"] == "complete" and result["structuredContent"]["stdout"] == ""
    names = {name: [tool["name"] for tool in Rooted(http, name, *more).modern("tools/list").json()["result"]["tools"]]
             for name, more in (("me", ()), ("reader", ()), ("stranger", ()), ("other", ("--scope", "run")))}
    assert [[tool for tool in names[name] if tool.endswith("_changes")] for name in names] == \
           [["show_changes", "apply_changes"], ["show_changes"], [], []]


def test_changes_are_of_the_tenant_and_applied_where_it_may_write(http, agent):
    call = tool_call("run_command", {"command": "echo new > made.txt"})
    made = {name: agent.with_roots(call, f"file://{http.top}/{name}")["structuredContent"]["changes_id"]
            for name in ("data", "out")}
    assert set(made.values()) <= {row["id"] for row in
                                  http.ask("GET", "/v1/changes", token=agent.token).json()["changes"]}
    assert "made.txt" in agent.data("show_changes", changes_id=made["data"])["diff"]
    refused = agent.modern("tools/call", tool_call("apply_changes", {"changes_id": made["data"]}), agent.meta).json()["result"]
    assert refused["resultType"] == "complete" and refused["isError"], "the person is asked about what cannot be"
    assert refused["content"][0]["text"].startswith("denied: these changes are of a tree")
    assert not (http.top / "data/made.txt").exists()
    apply = tool_call("apply_changes", {"changes_id": made["out"]})
    asked = agent.modern("tools/call", apply, agent.meta).json()["result"]
    yes = {"apply": {"action": "accept", "content": {"apply": True}}}
    done = agent.modern("tools/call", {**apply, "requestState": asked["requestState"], "inputResponses": yes},
                        agent.meta).json()["result"]
    assert not done["isError"] and (http.top / "out/made.txt").exists()
    (http.top / "out/made.txt").unlink()


def test_a_client_with_initialize_is_asked_once_until_its_roots_change(http):
    agent = Agent(http, "me")
    hello = agent.legacy("initialize", {"protocolVersion": LEGACY, "capabilities": {"roots": {"listChanged": True}},
                                        "clientInfo": {"name": "test", "version": "1"}})
    agent.session = hello.headers["Mcp-Session-Id"]
    call = tool_call("run_command", {"command": "ls"})

    def asked(uri):
        """The result of a call whose client is asked for its roots."""
        with agent.begun("tools/call", call, None, LEGACY) as connection:
            stream = connection.getresponse()
            while not (line := stream.readline().decode()).startswith("data: "):
                assert line
            request = json.loads(line[6:])
            assert request["method"] == "roots/list"
            said = agent.post({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": [{"uri": uri}]}},
                              **agent.headers(version=LEGACY))
            assert said.status == 202
            return events(gateway.Reply(stream))[-1]["result"]

    assert asked(f"file://{http.top}/data/sub%20dir")["structuredContent"]["stdout"] == "in.txt\n"
    assert agent.legacy("tools/call", call).json()["result"]["structuredContent"]["stdout"] == "in.txt\n"
    changed = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    assert agent.post(changed, **agent.headers(version=LEGACY)).status == 202
    assert asked(f"file://{http.top}/data/../secret")["structuredContent"]["stdout"] == ""
    assert agent.legacy("tools/call", call).json()["result"]["structuredContent"]["stdout"] == ""


def test_a_client_that_does_not_answer_holds_nothing_but_its_own_call(http):
    agent = Agent(http, "me")
    call = tool_call("run_command", {"command": "ls"})
    hello = agent.legacy("initialize", {"protocolVersion": LEGACY, "capabilities": {"roots": True}, "clientInfo": {}})
    agent.session = hello.headers["Mcp-Session-Id"]
    with agent.begun("tools/call", call, None, LEGACY) as connection:
        stream = connection.getresponse()
        while not stream.readline().startswith(b"data: "):
            pass
        changed = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
        assert {agent.post(changed, **agent.headers(version=LEGACY)).status for _ in range(50)} == {202}
        for number in range(50):  # answers to what nothing asked
            answer = {"jsonrpc": "2.0", "id": f"sandbox-run-{number + 2}", "result": {"roots": [{"uri": "file:///"}]}}
            assert agent.post(answer, **agent.headers(version=LEGACY)).status == 202
        assert http.ask("DELETE", "/mcp", token=agent.token, Mcp_Session_Id=agent.session).status == 204
        assert b'"result"' not in stream.read()  # it ends at once
    assert gateway.children_are_gone(http)


def test_calls_count_in_the_memory_of_the_machine(http):
    agent = Agent(http, "hungry", "--limit", "memory=1g")
    sleeps = tool_call("run_code", {"language": "bash", "code": "echo begun; sleep 100", "memory_mb": 900})
    small = tool_call("run_code", {"language": "bash", "code": "echo small", "memory_mb": 100})
    large = tool_call("run_code", {"language": "bash", "code": "echo large", "memory_mb": 200})
    with agent.begun("tools/call", sleeps, {"progressToken": 1}) as connection:
        stream = connection.getresponse()
        while "begun" not in (line := stream.readline().decode()):
            assert line
        assert agent.modern("tools/call", small).status == 200
        refused = agent.modern("tools/call", large)
        assert refused.status == 429 and int(refused.headers["Retry-After"]) >= 1
        assert "the memory" in refused.json()["error"]["message"]  # of this machine, or of the tenant's share
        run_too = http.ask("POST", "/v1/executions", {"args": ["true"], "limits": {"memory": "200m"}}, token=agent.token)
        assert run_too.status == 429
        assert agent.modern("tools/call", tool_call("list_languages", {})).status == 200  # needs none
    assert gateway.children_are_gone(http)
    assert engine.within(10, lambda: agent.modern("tools/call", large).status == 200)


def expected_of(top, name, asked):
    first = f"This call has no project: the client's root file://{top}/{name} lies in no directory that the operator " \
            "has named for this tenant (`http.roots` of the configuration)."
    return {"data/sub%20dir": {"stdout": "in.txt\n", "files": ["in.txt"], "asked": asked,
                               "applied": "denied: these changes are of a tree that the tenant may not write to; ask the "
                                          "operator for a root with `mode: rw`"},
            "secret": {"stdout": "", "files": "invalid: there is no project; give session_id or run_id", "asked": asked,
                       "first": first}}[name]


@pytest.mark.parametrize("name", ["data/sub%20dir", "secret"])
@pytest.mark.parametrize("kind, asked", [("sdk", 1), ("legacy", 1), ("pin", 2), ("python", 1)])
def test_clients_that_nobody_here_wrote(http, agent, kind, asked, name, folder):
    words = [f"http://{http.address}/mcp", agent.token, f"file://{http.top}/{name}"]
    if kind == "python":
        site = registry_packages.pip("mcp-python", CLIENTS / "mcp-python/requirements.txt")
        seen = run(["/usr/bin/python3", CLIENTS / "mcp-python/roots.py", *words], folder, PYTHONPATH=str(site))
    elif support.have("npm"):
        modules = registry_packages.npm("mcp-clients", CLIENTS / "mcp")
        seen = run(["node", pathlib.Path(CLIENTS, "mcp/roots.mjs"), kind, modules, *words], folder)
    else:
        pytest.skip("there is no npm here")
    expected = expected_of(http.top, name, asked)
    assert {key: seen[key] for key in expected} == expected
