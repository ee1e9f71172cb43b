"""Each bound of a grant by each door of the gateway, from tests/doors.def: more than the bound is refused, and by it."""
import collections
import contextlib
import json
import pathlib
import re
import subprocess

import pytest

import gateway
import support
from test_http_grants import BOX, SMALL, configured
from test_http_mcp import Agent, tool_call
from waiting import wait_until

TESTS = pathlib.Path(support.__file__).parent
DEF = (TESTS / "doors.def").read_text(encoding="utf-8")
FAMILIES = {name: bounds.split() for name, bounds in re.findall(r'^FAMILY\((\w+), "([^"]*)"\)$', DEF, re.MULTILINE)}
DOORS = dict(re.findall(r'^DOOR\("([^"]+)", (\w+)\)$', DEF, re.MULTILINE))
CELLS = [(door, bound) for door, family in DOORS.items() for bound in FAMILIES[family]]
# What two callers of a small machine cannot show; tests/unit/test_doors.c and test_http_ledger.py do.
ELSEWHERE = {"MEMORY", "DISK"}
BASH = {"language": "bash", "code": ":"}
MAKE = {"files": [{"path": "Makefile", "content": "all:\n\ttrue\n"}]}
Ask = collections.namedtuple("Ask", "options more field status")
ASKS = {  # what a token is made with, what it asks for, the field that the refusal names, the status
    "SCOPE": Ask(("--scope", "run"), {"workspace": "one"}, "workspace", 403),
    "LIMITS": Ask(("--limit", "memory=64m"), {"limits": {"memory": "65m"}}, "limits", 403),
    "NETWORK": Ask(("--network", "allow"), {"network": "full"}, "network", 403),
    "HOSTS": Ask(("--allow-host", "192.0.2.1:443"), {"allow_hosts": ["192.0.2.1:80"]}, "allow_hosts", 403),
    "ADDRESSES": Ask(("--network", "full"), {"allow_hosts": ["127.0.0.1:9"]}, "allow_hosts", 403),
    "LANGUAGES": Ask(("--languages", "python"), {"language": "bash"}, "language", 403),
    "PACKAGES": Ask(("--network", "none"), {"deps": ["six"]}, "deps", 403),
    "IMAGES": Ask(("--images", "debian:12"), {"image": "debian:11"}, "image", 403),
    "ROOTS": Ask((), {"project": "/etc"}, "project", 403),
    "POLICY": Ask((), {"policy": "default"}, "policy", 403),
    "ISOLATION": Ask((), {"require": "process"}, "require", 403),
    "WORKSPACES": Ask(("--workspaces", "1"), {"workspace": "two"}, "workspace", 429),
    "SESSIONS": Ask(("--sessions", "1"), {}, None, 429),
    "LIFE": Ask(("--idle", "60s"), {"idle_ms": 60001}, "idle_ms", 403),
    "CELL_TIME": Ask(("--limit", "timeout=2s"), {"timeout_ms": 2001}, "timeout_ms", 403),
    "RUNS": Ask(("--concurrency", "1", "--network", "full"), {}, None, 429),
    "RATE": Ask(("--rate", "1"), {}, None, 429),
    "REVOKED": Ask((), {}, None, 401),
}


class Tenants:
    """A token for each bound, which has used up what it may have."""

    def __init__(self, http):
        self.http, self.known, self.sessions = http, {}, {}
        self.stack = contextlib.ExitStack()  # what is left by the cells of one door

    def token(self, bound, family):
        scope = bound == "SCOPE" and family != "run"
        name = f"{bound.lower()}{'-x' * scope}".replace("_", "-")
        if name not in self.known:
            options = ("--scope", "metrics") if scope else ASKS[bound].options
            self.known[name] = self.http.token(name, "--tenant", "all", *options) if bound in USED_BY_OTHERS else \
                self.http.token(name, *options)
            if bound not in HELD:
                getattr(self, "use_" + bound.lower(), lambda token: None)(self.known[name])
        if bound in HELD:
            getattr(self, "use_" + bound.lower())(self.known[name])
        return self.known[name]

    def end(self):
        self.sessions.clear()
        self.stack.close()
        assert gateway.children_are_gone(self.http)

    def use_workspaces(self, token):
        assert self.http.ask("PUT", "/v1/workspaces/one/files/a", b"x", token=token).status == 204

    def use_sessions(self, token):
        made = self.http.ask("POST", "/v1/sessions", SMALL, token=token)
        assert made.status == 201, made.body
        self.stack.callback(self.http.ask, "DELETE", made.headers["Location"], token=token)

    def use_runs(self, token):
        place = self.http.ask("POST", "/v1/executions", {**BASH, "code": "sleep 600", "limits": {"timeout": "600s"}}, token=token,
                              Prefer="respond-async").headers["Location"]
        assert wait_until(lambda: self.http.ask("GET", place, token=token).json()["status"] == "running", support.DEADLINE)
        self.stack.callback(self.http.ask, "DELETE", place, token=token)

    def use_rate(self, token):
        assert self.http.ask("GET", "/readyz", token=token).status == 200

    def use_revoked(self, token):
        subprocess.run([support.SANDBOX_RUN, "token", "revoke", "revoked"], env=self.http.env, check=True, capture_output=True,
                       timeout=support.DEADLINE)

    def session(self, bound):
        """Of a wider token of the same tenant."""
        kind = "near" if bound == "ADDRESSES" else "wide"
        if kind not in self.sessions:
            token = self.known[kind] = self.known.get(kind) or self.http.token(kind, "--tenant", "all", *(("--allow-host", "127.0.0.1:9") if kind == "near" else
                                                               ("--network", "full")))
            more = {"allow_hosts": ["127.0.0.1:9"]} if kind == "near" else {"network": "full"}
            made = self.http.ask("POST", "/v1/sessions", {**SMALL, "limits": {"memory": "128m"}, **more}, token=token)
            assert made.status == 201, made.body
            self.stack.callback(self.http.ask, "DELETE", made.headers["Location"], token=token)
            self.sessions[kind] = made.headers["Location"].rsplit("/", 1)[1]
        return self.sessions[kind]


HELD = {"RUNS", "SESSIONS"}  # as long as it lives
USED_BY_OTHERS = {"LIMITS", "NETWORK", "HOSTS", "ADDRESSES", "LANGUAGES", "CELL_TIME", "RUNS"}  # sessions of "wide"


@pytest.fixture(scope="module", name="tenants")
def _tenants(tmp_path_factory):
    top = tmp_path_factory.mktemp("matrix")
    with gateway.Gateway(top / "g", ["--dialect", "e2b,piston,judge0,go-judge"]) as http:
        yield Tenants(http)


@pytest.fixture(scope="module", name="strict")
def _strict(tmp_path_factory):
    """Of an operator who has chosen the policy."""
    top = tmp_path_factory.mktemp("strict")
    with gateway.Gateway(top / "g", env=configured(top, "policy: strict\n")) as http:
        yield Tenants(http)


def body_of(path, more):
    if path == "/v1/batch":
        return {"requests": [{**BASH, **more}]}, "requests/0/"
    if path == "/v1/comparisons":
        return {"a": {**BASH, **more}, "b": BASH, "repeat": 2}, "a/"
    own = {"/v1/sessions": SMALL, "/v1/executions": BASH, "/v1/profiles": {**BASH, "repeat": 2}, "/v1/tests": MAKE, "/v1/builds": MAKE,
           "/v1/verify": MAKE, "/v1/golden": {**MAKE, "cases": [{"name": "a", "command": "true", "stdout": ""}]}}
    return {**own[path], **more}, ""


def by_run(tenants, door, bound, token):
    method, path = door.split(" ", 1)
    body, prefix = body_of(path, ASKS[bound].more)
    reply = tenants.http.ask(method, path, body, token=token)
    assert reply.status == ASKS[bound].status or (bound in ("ROOTS", "ISOLATION") and reply.status == 422), (reply.status, reply.body)
    if ASKS[bound].field and reply.status != 429 and not (bound == "SCOPE" and path == "/v1/sessions"):
        assert reply.json()["errors"][0]["pointer"] == f"#/{prefix}{ASKS[bound].field}", reply.body


by_session = by_run
CONFIGS = {"LIMITS": {"memoryLimit": "65m"}, "NETWORK": {"networkMode": "full"}, "IMAGES": {"image": "debian:11"}}


def by_shell(tenants, door, bound, token):
    method, path = door.split(" ", 1)
    reply = tenants.http.ask(method, path, {"command": "true", "config": CONFIGS.get(bound, {})}, token=token)
    assert reply.status == (403 if bound == "SCOPE" else ASKS[bound].status), (reply.status, reply.body)


def by_use(tenants, door, bound, token):
    method, path = door.split(" ", 1)
    own = path.replace("{id}", tenants.session(bound)).replace("{path...}", "a")
    cells = path.endswith("/cells")
    if bound == "CELL_TIME" and not cells or bound == "IMAGES" or bound == "RUNS" and path.endswith("/fork"):
        return  # a copy counts as a session, not as a run; only cells have a time; no image is pulled here, and test_doors.c has sessions with one
    body = {"code": ":", **(ASKS[bound].more if bound == "CELL_TIME" else {})} if cells else {"cell": 1} if "rollback" in path else \
        b"x" if method == "PUT" else None
    reply = tenants.http.ask(method, own, body, token=token)
    assert reply.status == ASKS[bound].status, (reply.status, reply.body)


def by_own(tenants, door, bound, token):
    method, path = door.split(" ", 1)
    name = "two" if bound == "WORKSPACES" else "one"
    if bound == "WORKSPACES" and method != "PUT":
        return  # it makes none
    reply = tenants.http.ask(method, path.replace("{name}", name).replace("{path...}", "a"), b"x" if method == "PUT" else None, token=token)
    assert reply.status == ASKS[bound].status, (reply.status, reply.body)


TOOLS = {tool["name"]: tool for tool in json.loads((TESTS.parent / "src/mcp/tools.json").read_text("utf-8"))["tools"]}
ARGUMENTS = {"run_code": BASH, "run_command": {"command": "true"}, "verify_code": {"language": "bash", "code": ":"},
             "create_session": {"language": "bash"}, "run_cell": {"session_id": "0" * 32, "code": ":"}}
ASKED = {"LIMITS": {"memory_mb": 65}, "PACKAGES": {"packages": ["six"]}, "LIFE": {"ttl_seconds": 61}, "CELL_TIME": {"timeout_seconds": 3}}


def agent_of(tenants, token, query=""):
    agent = Agent.__new__(Agent)
    agent.http, agent.token, agent.path, agent.last, agent.session = tenants.http, token, "/mcp" + query, 0, None
    return agent


def by_tool(tenants, door, bound, token):
    name = door.removeprefix("tool ") if door.startswith("tool ") else "run_code"
    agent = agent_of(tenants, token, "?workspace=two" if bound == "WORKSPACES" else "")
    more = ASKED.get(bound, ASKS[bound].more if bound in ("NETWORK", "HOSTS", "ADDRESSES", "LANGUAGES", "IMAGES") else {})
    if bound == "SESSIONS" and name != "create_session" or not set(more) <= set(TOOLS[name]["inputSchema"]["properties"]):
        return  # it has no such argument
    arguments = {**ARGUMENTS[name], **more}
    if name == "run_cell" and bound == "CELL_TIME":
        arguments["session_id"] = agent.data("create_session", language="bash")["session_id"]
    reply = agent.modern("tools/call", tool_call(name, arguments))
    if reply.status != 200:
        assert reply.status == (403 if bound == "SCOPE" else ASKS[bound].status), (reply.status, reply.body)
        return
    result = reply.json()["result"]
    assert result["isError"], result
    assert result["content"][0]["text"].startswith("busy: " if bound == "SESSIONS" else "denied: "), result


CODE = {"version": "*", "files": [{"content": "true"}], "language": "bash"}
SOURCE = {"source_code": "true", "language_id": 46}  # bash
COMMAND = {"args": ["/bin/true"], "files": [{"content": ""}, {"name": "stdout", "max": 99}, {"name": "stderr", "max": 99}],
           "cpuLimit": 10**9, "memoryLimit": 32 << 20, "procLimit": 9}
DIALECT = {
    "POST /api/v2/execute": lambda more: {**CODE, **more.get("piston", {})},
    "POST /submissions": lambda more: {**SOURCE, **more.get("judge0", {})},
    "POST /submissions/batch": lambda more: {"submissions": [{**SOURCE, **more.get("judge0", {})}]},
    "POST /run": lambda more: {"cmd": [{**COMMAND, **more.get("go", {})}]},
    "POST /v2/sandboxes": lambda more: {**BOX, **more.get("e2b", {})},
    "POST /sandboxes": lambda more: {**BOX, **more.get("e2b", {})},
}
TRANSLATED = {
    "LIMITS": {"piston": {"run_memory_limit": 65 << 20}, "judge0": {"memory_limit": 65 << 10}, "go": {"memoryLimit": 65 << 20}},
    "NETWORK": {"judge0": {"enable_network": True}, "e2b": {"allow_internet_access": True}},
    "LANGUAGES": {"piston": {}, "judge0": {}, "go": {}},
}
# The words of each dialect for what a token does not have; go-judge and E2B have ours.
REFUSED = r"the token|must be less than or equal to 65536|language with id 46 doesn't exist|bash-\* runtime is unknown"
KIND = {"/api/v2/execute": "piston", "/submissions": "judge0", "/submissions/batch": "judge0", "/run": "go"}


def by_dialect(tenants, door, bound, token):
    method, path = door.split(" ", 1)
    kind = KIND.get(path, "e2b")
    if path == "/api/v2/connect" or bound in TRANSLATED and kind not in TRANSLATED[bound] or bound == "SESSIONS" and kind != "e2b":
        if path == "/api/v2/connect" and bound in ("RATE", "REVOKED", "SCOPE"):
            socket = gateway.WebSocket(tenants.http, path, token=token, Authorization=f"Bearer {token}")
            assert socket.reply.status == (400 if bound == "SCOPE" else ASKS[bound].status)  # Piston's own
        return  # it has no such field; a message over the socket becomes the same run as execute
    reply = tenants.http.ask(method, path, DIALECT[door](TRANSLATED.get(bound, {})), token=token, tcp=True, X_API_Key=token)
    text = reply.body.decode()
    if bound in ("LIMITS", "NETWORK", "LANGUAGES"):  # each dialect has a status of its own for it
        assert reply.status != 201 and re.search(REFUSED, text), (reply.status, text)
        return
    if bound == "RUNS" and path in ("/run", "/submissions/batch"):  # of each of them
        assert "as many runs of this tenant as its token allows" in text, text
        return
    if bound == "SCOPE" and kind == "piston":
        assert reply.status == 400 and "the token does not allow this" in text, text
        return
    assert reply.status in {401: (401,), 403: (403,), 429: (429, 503)}[403 if bound == "SCOPE" else ASKS[bound].status], (reply.status, text)


def plain(door, **names):
    method, path = door.split(" ", 1)
    return method, re.sub(r"\{(\w+)(\.\.\.)?\}", lambda match: names.get(match[1], "0" * 32), path)


def by_sandbox(tenants, door, bound, token):
    if bound == "RUNS":
        return  # a call inside a sandbox that exists; test_http_ledger.py counts them
    method, path = plain(door, method="List")
    reply = tenants.http.ask(method, path, None if method in ("GET", "DELETE") else b"{}", token=token, tcp=True, X_API_Key=token,
                             X_Access_Token=token, E2b_Sandbox_Id="0" * 20, Content_Type="application/json")
    assert reply.status == (403 if bound == "SCOPE" else ASKS[bound].status), (reply.status, reply.body)


def by_tree(tenants, door, bound, token):
    method, path = plain(door)
    reply = tenants.http.ask(method, path, {} if method == "POST" else None, token=token)
    assert reply.status == (403 if bound == "SCOPE" else ASKS[bound].status), (reply.status, reply.body)


by_look = by_tree
TRIES = {"run": by_run, "shell": by_shell, "session": by_session, "use": by_use, "own": by_own, "tool": by_tool, "dialect": by_dialect,
         "sandbox": by_sandbox, "tree": by_tree, "look": by_look}


def test_each_family_is_tried():
    assert set(TRIES) == set(FAMILIES) and set(DOORS.values()) == set(FAMILIES) and len(CELLS) > 500


@pytest.mark.parametrize("door", DOORS)
def test_no_bound_of_a_token_is_passed(tenants, strict, door):
    family = DOORS[door]
    faults = []
    for bound in FAMILIES[family]:
        if bound in ELSEWHERE:
            continue
        try:
            there = strict if bound == "POLICY" else tenants
            TRIES[family](there, door, bound, there.token(bound, family))
        except AssertionError as fault:
            faults.append(f"{bound}: {str(fault).splitlines()[0]}")
    tenants.end()
    assert not faults, "\n".join(faults)
