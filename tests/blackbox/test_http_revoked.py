"""Whatever a token has started ends when it is revoked, by whichever door it came and however little the program heeds it."""
import contextlib
import json
import pathlib
import struct
import subprocess
import time
import uuid

import pytest

import engine
import gateway
import support
from test_http_grants import BOX, session
from test_http_mcp import Agent, tool_call

LONG_S = 600  # what is asked for lasts longer than any test waits
BEGINS_S = 60
SOON = 20  # two seconds are promised; others may use the machine meanwhile
TIME = {"timeout": f"{LONG_S}s", "grace": "60s"}
ALLOWED = {"limits": {**TIME, "memory": "128m"}}


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("revoked") / "g", ["--dialect", "e2b,piston,judge0,go-judge"]) as running:
        yield running


class Tenant:
    """One whose token will be revoked, and what it has open.  Its programs are known by how long they want to sleep."""

    def __init__(self, http, name, stack):
        self.http, self.name, self.stack = http, name, stack
        self.token, self.mark = http.token(name), f"{LONG_S}.{uuid.uuid4().int % 10**12}"
        self.shell = f"trap '' INT TERM HUP; while :; do sleep {self.mark}; done"
        self.deaf = ("import signal, subprocess\n[signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGTERM)]\n"
                     f"while True:\n    try:\n        subprocess.run(['sleep', '{self.mark}'])\n    except BaseException:\n        pass\n")
        self.left = f"import subprocess\nleft = subprocess.Popen(['sleep', '{self.mark}'])\n"
        self.tests = [{"path": "test_a.py", "content": f"import subprocess\n\ndef test_a():\n    subprocess.run(['sleep', '{self.mark}'])\n"}]

    def programs(self):
        """Those that sleep for it."""
        found = []
        for place in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if place.read_bytes() == f"sleep\0{self.mark}\0".encode():
                    found.append(place.parent.name)
        return found

    def ask(self, method, path, body=None, **headers):
        reply = self.http.ask(method, path, body, token=self.token, **headers)
        assert reply.status < 300, reply.body
        return reply

    def begin(self, path, body, **headers):
        """A request whose reply nobody waits for."""
        connection = self.stack.enter_context(contextlib.closing(self.http.connect(tcp=True)))
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body), {
            "Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()}})

    def revoke(self):
        subprocess.run([support.SANDBOX_RUN, "token", "revoke", self.name], env=self.http.env, check=True, capture_output=True,
                       timeout=support.DEADLINE)

    def run(self):
        return {"language": "bash", "code": self.shell, **ALLOWED}

    def session(self, language="bash"):
        made = self.ask("POST", "/v1/sessions", {"language": language, "limits": {"memory": "128m", "grace": "60s"}})
        return made.headers["Location"]

    def cell(self, where, code, **more):
        return where + "/cells", {"code": code, "timeout_ms": LONG_S * 1000, **more}

    def socket(self, path):
        peer = gateway.WebSocket(self.http, path, token=self.token, Authorization=f"Bearer {self.token}")
        self.stack.callback(peer.close)
        return peer

    def agent(self):
        agent = Agent.__new__(Agent)
        agent.http, agent.token, agent.path, agent.last, agent.session = self.http, self.token, "/mcp", 0, None
        return agent

    def call(self, tool, **arguments):
        agent, call = self.agent(), tool_call(tool, arguments)
        self.begin("/mcp", agent.body("tools/call", call), **agent.headers("tools/call", call))

    def box(self):
        made = self.http.ask("POST", "/v2/sandboxes", {**BOX, "timeout": LONG_S}, tcp=True, X_API_Key=self.token)
        assert made.status == 201, made.body
        return {"X_Access_Token": self.token, "E2b_Sandbox_Id": made.json()["sandboxID"]}


def posts(path, **headers):
    """A run that is waited for."""
    return lambda me: me.begin(path, me.run(), **headers)


def shell(me):
    me.begin("/v1/execute", {"command": me.shell, "config": {"timeout": LONG_S * 1000}})


def asynchronous(me):
    me.ask("POST", "/v1/executions", me.run(), Prefer="respond-async")


def events_socket(me):
    me.socket(me.ask("POST", "/v1/executions", me.run(), Prefer="respond-async").headers["Location"] + "/socket")


def batch(me):
    me.begin("/v1/batch", {"requests": [me.run()] * 2})


def batch_asynchronous(me):
    me.ask("POST", "/v1/batch", {"requests": [me.run()] * 2}, Prefer="respond-async")


def project_tests(me):
    me.begin("/v1/tests", {"files": me.tests, "limits": TIME})


def verify(me):
    me.begin("/v1/verify", {"files": me.tests, "limits": TIME})


def builds(me):
    me.begin("/v1/builds", {"files": [{"path": "Makefile", "content": f"all:\n\tsleep {me.mark}\n"}], "limits": TIME})


def golden(me):
    me.begin("/v1/golden", {"cases": [{"name": "one", "command": me.shell, "stdout": ""}], "limits": TIME})


def comparisons(me):
    me.begin("/v1/comparisons", {"a": me.run(), "b": me.run(), "repeat": 2})


def profiles(me):
    me.begin("/v1/profiles", {**me.run(), "repeat": 2})


def cell(me):
    me.begin(*me.cell(me.session(), me.shell))


def deaf_cell(me):
    me.begin(*me.cell(me.session("python"), me.deaf))


def streamed_cell(me):
    me.begin(*me.cell(me.session("python"), me.deaf), Accept="text/event-stream")


def second_kernel(me):
    me.begin(*me.cell(me.session("python"), me.shell, language="bash"))


def background(me):
    """What a cell left running in a session that waits."""
    me.ask("POST", *me.cell(me.session("python"), me.left))


def fork(me):
    copy = me.ask("POST", me.session("python") + "/fork").headers["Location"]
    me.ask("POST", *me.cell(copy, me.left))


def run_code(me):
    me.call("run_code", language="bash", code=me.shell, timeout_seconds=300)


def run_command(me):
    me.call("run_command", command=me.shell, timeout_seconds=300)


def verify_code(me):
    me.call("verify_code", language="python", code=f"import subprocess\n\n\ndef f():\n    subprocess.run(['sleep', '{me.mark}'])\n",
            calls=["f() == 1"])


def run_cell(me, code=None):
    made = me.agent().data("create_session", language="python", memory_mb=128)["session_id"]
    me.call("run_cell", session_id=made, code=code or me.deaf, timeout_seconds=300)


def agents_session(me):
    run_cell(me, me.left)


def piston_body(me):
    return {"version": "*", "language": "bash", "files": [{"content": me.shell}], "run_timeout": LONG_S * 1000}


def piston(me):
    me.begin("/api/v2/execute", piston_body(me))


def piston_socket(me):
    me.socket("/api/v2/connect").send({"type": "init", **piston_body(me)})


def judged(me):
    return {"source_code": me.shell, "language_id": 46, "wall_time_limit": LONG_S}


def judge0(me):
    me.ask("POST", "/submissions", judged(me))


def judge0_waited(me):
    me.begin("/submissions?wait=true", judged(me))


def judge0_batch(me):
    me.ask("POST", "/submissions/batch", {"submissions": [judged(me)] * 2})


def go_judge(me):
    me.begin("/run", {"cmd": [{
        "args": ["/bin/sh", "-c", me.shell], "env": ["PATH=/usr/bin:/bin"], "clockLimit": LONG_S * 10**9, "cpuLimit": LONG_S * 10**9,
        "memoryLimit": 64 << 20, "procLimit": 9,
        "files": [{"content": ""}, {"name": "stdout", "max": 99}, {"name": "stderr", "max": 99}]}]})


def e2b(me):
    me.ask("POST", "/execute", {"code": me.left}, **me.box())


def e2b_paused(me):
    box = me.box()
    me.ask("POST", "/execute", {"code": me.left}, **box)
    assert me.http.ask("POST", f"/sandboxes/{box['E2b_Sandbox_Id']}/pause", {}, tcp=True, X_API_Key=me.token).status == 204


def e2b_code(me):
    me.begin("/execute", {"code": me.deaf}, **me.box())


def e2b_process(me):
    start = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", me.shell]}}).encode()
    me.begin("/process.Process/Start", b"\0" + struct.pack(">I", len(start)) + start, Content_Type="application/connect+json",
             Connect_Protocol_Version="1", **me.box())


DOORS = {"waited": posts("/v1/executions"), "streamed": posts("/v1/executions", Accept="text/event-stream"),
         **{one.__name__: one for one in (
             asynchronous, events_socket, shell, batch, batch_asynchronous, project_tests, verify, builds, golden, comparisons, profiles,
             cell, deaf_cell, streamed_cell, second_kernel, background, fork, run_code, run_command, verify_code, run_cell,
             agents_session, piston, piston_socket, judge0, judge0_waited, judge0_batch, go_judge, e2b, e2b_paused, e2b_code,
             e2b_process)}}


@pytest.mark.parametrize("door", DOORS)
def test_it_ends_with_its_token(http, door):
    """B5, B9, h11: also what ignores every signal that can be ignored."""
    with contextlib.ExitStack() as stack:
        me = Tenant(http, door.replace("_", "-"), stack)
        DOORS[door](me)
        assert engine.within(BEGINS_S, me.programs), "nothing began"
        me.revoke()
        begin = time.monotonic()
        assert engine.within(SOON, lambda: not me.programs())
        print(f"{door}: {time.monotonic() - begin:.2f} s")
        assert http.ask("GET", "/v1/executions", token=me.token).status == 401


@pytest.mark.parametrize("stream", (False, True), ids=("plain", "streamed"))
def test_a_deaf_cell_in_another_ones_session_ends_with_its_token(http, stream):
    """B9: the session and its own kernel go on; the cell of the guest does not, whatever grace the session was given."""
    with contextlib.ExitStack() as stack:
        guest = Tenant(http, f"guest{int(stream)}", stack)
        owner = http.token(f"owner{int(stream)}", "--tenant", guest.name)
        with session(http, owner, language="bash", limits={"memory": "128m", "grace": "60s"}) as where:
            assert http.ask("POST", where + "/cells", {"code": "kept=42"}, token=owner).status == 200
            guest.begin(*guest.cell(where, guest.deaf, language="python"), **({"Accept": "text/event-stream"} if stream else {}))
            assert engine.within(BEGINS_S, guest.programs)
            guest.revoke()
            begin = time.monotonic()
            assert engine.within(SOON, lambda: not guest.programs())
            print(f"{time.monotonic() - begin:.2f} s")
            assert engine.within(SOON, lambda: http.ask("GET", where, token=owner).json()["state"] == "ready")
            assert http.ask("POST", where + "/cells", {"code": "echo $kept"}, token=owner).json()["stdout"] == "42\n"
