"""/mcp of the gateway, message by message: both eras, what a token allows, and what no client would send."""
import contextlib
import json
import socket

import pytest

import engine
import gateway
from mcp_client import META, STATELESS, tool_call

BOTH = "application/json, text/event-stream"
LEGACY = "2025-11-25"


class Agent:
    """A client of /mcp with a token of its own."""

    def __init__(self, http, name, *options, query=""):
        self.http, self.path = http, "/mcp" + query
        self.token = http.token(name, *options)
        self.last, self.session = 0, None

    def headers(self, method=None, params=None, version=STATELESS):
        names = {"Accept": BOTH, "MCP_Protocol_Version": version}
        if version == STATELESS:
            names["Mcp_Method"] = method
            names.update({"Mcp_Name": params[key] for key in ("name", "uri") if key in params})
        elif self.session:
            names["Mcp_Session_Id"] = self.session
        return names

    def body(self, method, params=None, meta=None, version=STATELESS):
        self.last += 1
        own = {META + "protocolVersion": version, META + "clientCapabilities": {}} if version == STATELESS else {}
        own.update(meta or {})
        return {"jsonrpc": "2.0", "id": self.last, "method": method,
                "params": {**(params or {}), **({"_meta": own} if own else {})}}

    def post(self, body, **headers):
        return self.http.ask("POST", self.path, body, token=self.token, **headers)

    def modern(self, method, params=None, meta=None, **headers):
        params = params or {}
        return self.post(self.body(method, params, meta), **{**self.headers(method, params), **headers})

    def tool(self, name, **arguments):
        reply = self.modern("tools/call", tool_call(name, arguments))
        assert reply.status == 200, reply.body
        return reply.json()["result"]

    def data(self, name, **arguments):
        result = self.tool(name, **arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def refusal(self, name, **arguments):
        result = self.tool(name, **arguments)
        assert result["isError"], result
        return result["content"][0]["text"]

    def legacy(self, method, params=None, meta=None):
        return self.post(self.body(method, params, meta, LEGACY), **self.headers(version=LEGACY))

    def initialize(self):
        reply = self.legacy("initialize", {"protocolVersion": LEGACY, "capabilities": {},
                                           "clientInfo": {"name": "test", "version": "1"}})
        assert reply.status == 200, reply.body
        self.session = reply.headers["Mcp-Session-Id"]
        return reply.json()["result"]

    @contextlib.contextmanager
    def begun(self, method, params, meta=None, version=STATELESS):
        """A request whose reply is left to the caller."""
        connection = self.http.connect(tcp=True)
        names = {key.replace("_", "-"): value for key, value in self.headers(method, params, version).items()}
        names.update({"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        connection.request("POST", self.path, json.dumps(self.body(method, params, meta, version)), names)
        with contextlib.closing(connection):
            yield connection


def events(reply):
    """Messages of a stream that has ended."""
    return [json.loads(line[6:]) for line in reply.body.decode().splitlines() if line.startswith("data: ")]


@pytest.fixture(scope="module", name="http")
def one_gateway(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("mcp") / "g") as running:
        yield running


@pytest.fixture(scope="module", name="agent")
def one_agent(http):
    return Agent(http, "agent")


def test_a_client_with_initialize_has_a_session_of_its_own(http, agent):
    assert agent.legacy("tools/list").status == 400
    assert agent.initialize()["protocolVersion"] == LEGACY
    assert agent.post({"jsonrpc": "2.0", "method": "notifications/initialized"},
                      **agent.headers(version=LEGACY)).status == 202
    assert agent.legacy("ping").json()["result"] == {}
    assert agent.legacy("no/such").json()["error"]["code"] == -32601
    other = Agent(http, "other")
    other.session = agent.session
    assert other.legacy("ping").status == 404  # it is another token's
    again = agent.legacy("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {}})
    assert again.headers["Mcp-Session-Id"] != agent.session
    connection = http.connect(tcp=True)
    with contextlib.closing(connection):
        connection.request("GET", "/mcp", headers={"Authorization": f"Bearer {agent.token}", "Accept": "text/event-stream",
                                                   "Mcp-Session-Id": agent.session})
        stream = connection.getresponse()
        assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
        ended = http.ask("DELETE", "/mcp", token=agent.token, Mcp_Session_Id=agent.session)
        assert ended.status == 204 and stream.read() == b""  # the stream ends with its session
    assert agent.legacy("ping").status == 404
    assert http.ask("GET", "/mcp", token=agent.token, Accept="text/event-stream").status == 405
    agent.session = None


def test_headers_of_the_stateless_era_are_those_of_the_message(agent):
    params = {"name": "list_languages", "arguments": {}}
    assert agent.modern("tools/call", params).status == 200
    assert agent.modern("tools/call", params, Mcp_Name="=?base64?bGlzdF9sYW5ndWFnZXM=?=").status == 200
    for headers in ({"Mcp_Name": "run_code"}, {"Mcp_Method": "tools/list"}, {"MCP_Protocol_Version": "2026-07-29"},
                    {"Mcp_Name": "=?base64?!?="}, {"Mcp_Name": "LIST_LANGUAGES"}):
        reply = agent.modern("tools/call", params, **headers)
        assert (reply.status, reply.json()["error"]["code"]) == (400, -32020), headers
    bare = agent.post({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}, **agent.headers("tools/list", {}))
    assert (bare.status, bare.json()["error"]["code"], bare.json()["id"]) == (400, -32602, 7)
    reply = agent.modern("ping")
    assert (reply.status, reply.json()["error"]["code"]) == (404, -32601)


def test_a_call_becomes_a_stream_when_it_has_something_to_say(agent):
    call = tool_call("run_code", {"language": "bash", "code": "echo one"})
    assert agent.modern("tools/call", call).headers["Content-Type"] == "application/json"
    reply = agent.modern("tools/call", call, {"progressToken": "t"})
    assert reply.status == 200 and reply.headers["Content-Type"] == "text/event-stream"
    *notes, answer = events(reply)
    assert notes and all(note["params"]["progressToken"] == "t" for note in notes)
    assert answer["result"]["structuredContent"]["stdout"] == "one\n" and answer["result"]["resultType"] == "complete"


def test_what_is_no_message_is_refused(http, agent):
    good = {**agent.headers("tools/list", {})}
    for body in (b"{", b"[]", b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', b'{"jsonrpc":"2.0","id":1}',
                 b'{"jsonrpc":"2.0","id":"' + b"x" * 2000 + b'","method":"tools/list"}', b"[" * 100000, b"\xff"):
        reply = agent.post(body, Content_Type="application/json", **good)
        assert reply.status == 400 and reply.json()["error"]["code"] in (-32700, -32600), body[:40]
    assert agent.post(b"{}", Content_Type="text/plain", **good).status == 415
    assert agent.modern("tools/list", Accept="application/json").status == 406
    assert agent.modern("tools/list", Origin="http://elsewhere.test").status == 403
    assert agent.modern("tools/list", Host="elsewhere.test").status == 421
    bare = http.ask("POST", "/mcp", agent.body("tools/list"), tcp=True, **good)
    assert bare.status == 401 and bare.headers["WWW-Authenticate"].startswith("Bearer")
    assert http.ask("POST", "/mcp", {}, token=http.token("metrics", "--scope", "metrics"), **good).status == 403


def test_a_token_bounds_its_tools(http):
    agent = Agent(http, "bounded", "--limit", "memory=128m", "--network", "none", "--languages", "bash", "--scope", "run")
    names = [tool["name"] for tool in agent.modern("tools/list").json()["result"]["tools"]]
    assert "run_code" in names and not {"create_session", "write_file", "apply_changes"} & set(names)
    assert agent.modern("tools/call", tool_call("create_session", {"language": "bash"})).json()["error"]["code"] == -32602
    run = {"language": "bash", "code": "echo $((1 + 1))"}
    assert agent.data("run_code", **run, memory_mb=128)["stdout"] == "2\n"
    for more, said in (({"memory_mb": 256}, "--limit memory="), ({"network": "full"}, "token with another --network"),
                       ({"allow_hosts": ["example.org"]}, "at most"), ({"packages": ["x"]}, "no packages"),
                       ({"language": "python"}, "it allows bash")):
        refused = agent.refusal("run_code", **{**run, **more})
        assert refused.startswith("denied: ") and said in refused and "sandbox-run mcp" not in refused
    assert agent.refusal("run_command", command="id").startswith("denied: ")
    assert [row["name"] for row in agent.data("list_languages")["languages"]] == ["bash"]


def test_a_token_finds_only_its_own(http, agent):
    run = agent.data("run_code", language="bash", code="echo secret | tee left.txt")
    assert agent.data("read_file", run_id=run["run_id"], path="left.txt")["content"] == "secret\n"
    other = Agent(http, "curious", "--tenant", "agent")  # the same tenant, but another token
    assert other.refusal("read_file", run_id=run["run_id"], path="left.txt").startswith("not_found")
    uri = run["files"][0]["uri"]
    assert agent.modern("resources/read", {"uri": uri}).json()["result"]["contents"][0]["text"] == "secret\n"
    assert other.modern("resources/read", {"uri": uri}).status == 400
    assert other.modern("resources/list").json()["result"]["resources"] == []
    assert str(http.folder) not in json.dumps(run)


def test_a_workspace_is_the_project_over_http(http):
    agent = Agent(http, "worker", "--tenant", "w", query="?workspace=notes")
    agent.data("run_command", command="echo kept > a.txt")
    assert agent.data("read_file", path="a.txt")["content"] == "kept\n"
    assert agent.data("search_files", pattern="kept")["matches"][0]["path"] == "a.txt"
    listed = http.ask("GET", "/v1/workspaces/notes/files", token=agent.token).json()["files"]
    assert [file["path"] for file in listed] == ["a.txt"]
    assert "no_such" not in agent.refusal("read_file", path="../../etc/shadow")
    no_files = Agent(http, "runner", "--tenant", "w", "--scope", "run", query="?workspace=notes")
    assert no_files.modern("tools/list").status == 403
    other = Agent(http, "stranger", "--tenant", "s", query="?workspace=notes")
    assert other.data("list_files")["files"] == []


def test_sessions_count_for_the_token(http):
    agent = Agent(http, "one", "--sessions", "1", "--tenant", "single")
    made = agent.data("create_session", language="bash")["session_id"]
    assert "1 sessions at once" in agent.refusal("create_session", language="bash")
    rows = http.ask("GET", "/v1/sessions", token=agent.token).json()["sessions"]
    assert len(rows) == 1 and rows[0]["id"] != made
    assert agent.data("run_cell", session_id=made, code="echo in")["stdout"] == "in\n"
    agent.data("close_session", session_id=made)
    assert http.ask("GET", "/v1/sessions", token=agent.token).json()["sessions"] == []


def test_calls_end_with_their_client_and_count_for_the_token(http):
    agent = Agent(http, "hasty", "--concurrency", "1")
    sleeps = tool_call("run_code", {"language": "bash", "code": "echo begun; sleep 100"})
    with agent.begun("tools/call", sleeps, {"progressToken": 1}) as connection:
        stream = connection.getresponse()
        assert "begun" in iter_until(stream, "begun")
        second = agent.modern("tools/call", tool_call("list_languages", {}))
        assert second.status == 429 and int(second.headers["Retry-After"]) >= 1
        assert second.json()["error"]["message"].startswith("as many runs of this tenant as its token allows")
    assert gateway.children_are_gone(http)
    assert engine.within(10, lambda: agent.modern("tools/call", tool_call("list_languages", {})).status == 200)
    agent.initialize()
    with agent.begun("tools/call", sleeps, {"progressToken": 1}, LEGACY) as connection:
        stream = connection.getresponse()
        iter_until(stream, "begun")
        agent.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": agent.last}},
                   **agent.headers(version=LEGACY))
        rest = stream.read().decode()  # it ends without an answer
    assert '"result"' not in rest and gateway.children_are_gone(http)


def iter_until(stream, word):
    """Lines of the stream until one has the word."""
    while True:
        line = stream.readline().decode()
        assert line, "the stream ended"
        if word in line:
            return line


def test_many_clients_and_broken_ones_leave_the_gateway_as_it_was(http):
    agent = Agent(http, "crowd")
    first = agent.initialize() and agent.session
    for _ in range(64):  # the clients of one token are bounded: the oldest gives way
        agent.initialize()
    newest, agent.session = agent.session, first
    assert agent.legacy("ping").status == 404
    agent.session = newest
    assert agent.legacy("ping").status == 200
    host, port = http.address.rsplit(":", 1)
    head = f"POST /mcp HTTP/1.1\r\nHost: {http.address}\r\nAuthorization: Bearer {agent.token}\r\n"
    for rest in ('Content-Length: 500\r\n\r\n{"jsonrpc"', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"js', ""):
        with socket.create_connection((host, int(port))) as half:  # and leaves in the middle
            half.sendall((head + "Content-Type: application/json\r\n" + rest).encode())
    assert agent.legacy("ping").status == 200
    connection = http.connect(tcp=True)  # 500 messages one after another on one connection
    with contextlib.closing(connection):
        names = {"Authorization": f"Bearer {agent.token}", "Content-Type": "application/json", "Accept": BOTH,
                 "Mcp-Session-Id": newest}
        for number in range(500):
            connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}), names)
            reply = connection.getresponse()
            assert json.loads(reply.read()) == {"jsonrpc": "2.0", "id": number, "result": {}}


def test_no_answer_names_a_place_of_the_host(tmp_path):
    """Nor an error of the library, which names files.  `ask` looks at each reply; what a program says stays."""
    home = tmp_path / "home" / "somebody"
    home.mkdir(parents=True)
    with gateway.Gateway(tmp_path / "g", env={"HOME": str(home)}) as http:
        agent = Agent(http, "agent")
        (http.folder / "state" / "sessions").write_text("no directory")
        assert "'(state)/sessions'" in agent.refusal("create_session", language="python")
        assert "'(state)/sessions'" in agent.refusal("list_sessions")
        agent.initialize()
        reply = agent.legacy("tools/call", {"name": "list_sessions", "arguments": {}})
        assert "'(state)/sessions'" in reply.json()["result"]["content"][0]["text"], reply.body
        code = f"print({str(home)!r})"
        assert agent.data("run_code", language="python", code=code)["stdout"] == f"{home}\n"
