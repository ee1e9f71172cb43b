"""The dialect of E2B with its own clients: all see the same; and what a tenant cannot do with it."""
import base64
import concurrent.futures
import contextlib
import http.client as http_client
import json
import os
import pathlib
import subprocess

import pytest

import engine
import gateway
import registry_packages
import support

CLIENTS = support.REPO / "tests" / "clients"
EXPECTED = {
    "running": True, "ran": ["out\n", "err\n", "42", None, "out\n", 1], "kept": "7",
    "failed": ["ZeroDivisionError", "division by zero", True], "rich": ["<b>1</b>", "plain", True],
    "env": "('box', 'one')", "context": ["100", "6"], "restarted": "NameError", "languages": ["python"], "bash": "12\n",
    "files": ["/home/user/dir/a.txt", "héllo", False, [["a.txt", "file", 6]], True, "b.txt"],
    "shared": "'héllo'", "command": ["box more\n/work\n", "bad\n", 0], "exit": "CommandExit", "cat": "typed\n", "list": True,
    "slow": "Timeout", "pty": True, "again": "6", "listed": [[True, {"of": "test"}]], "info": "running",
    "watched": ["chmod b.txt", "create d.txt", "create deep", "create deep/er", "create deep/er/c.txt", "create last",
                "remove d.txt", "rename b.txt", "write deep/er/c.txt"],
    "unwatched": "FileNotFound", "paused": [True, False, "paused", False], "resumed": ["6", "running"],
    "ended": [True, False, False],
}
ENDLESS = 4 << 20  # of each call
ENDLESS_HELD_KIB = 48 << 10
CREATE = {"templateID": "code-interpreter-v1", "timeout": 60}


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("e2b") / "g", ["--dialect", "e2b"]) as running:
        yield running


def run(http, command, **env):
    url = f"http://{http.address}"
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=support.DEADLINE, env={**os.environ, "E2B_API_URL": url, "E2B_SANDBOX_URL": url,
                                                         "E2B_API_KEY": http.token("client", "--network", "none"), **env})
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    seen = json.loads(done.stdout)
    assert seen.pop("missing") in ("FileNotFound", "NotFound") and seen.pop("killed")[0] is True
    return seen


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
def test_the_client_of_npm(http):
    modules = registry_packages.npm("e2b-clients", CLIENTS / "e2b")
    assert run(http, ["node", CLIENTS / "e2b/conversation.mjs", modules]) == EXPECTED


def test_the_client_of_pip(http):
    site = registry_packages.pip("e2b-python", CLIENTS / "e2b-python/requirements.txt")
    assert run(http, ["/usr/bin/python3", CLIENTS / "e2b-python/conversation.py"], PYTHONPATH=str(site)) == EXPECTED


def create(http, key, **more):
    reply = http.ask("POST", "/v2/sandboxes", {**CREATE, **more}, tcp=True, X_API_Key=key)
    return reply.status, reply.json()


def cut(http, body, names):
    """The status of a call that may end its sandbox; None: the reply broke off, as it has to then."""
    try:
        return http.ask("POST", "/execute", body, **names).status
    except http_client.IncompleteRead:
        return None


def test_tenants_and_ceilings(http):
    one, two = http.token("one", "--limit", "memory=256m", "--network", "none", "--sessions", "1"), http.token("two")
    status, made = create(http, one)
    assert status == 201, made
    box = made["sandboxID"]
    mine = {"tcp": True, "X_Access_Token": one, "E2b_Sandbox_Id": box}
    theirs = {**mine, "X_Access_Token": two}
    assert http.ask("POST", "/files?path=secret", b"mine", Content_Type="application/octet-stream", **mine).status == 200
    assert http.ask("GET", "/files?path=secret", **mine).body == b"mine"
    for method, path in (("GET", "/files?path=secret"), ("POST", "/execute"), ("GET", "/contexts"), ("GET", "/health"),
                         ("POST", "/process.Process/List"), ("POST", "/filesystem.Filesystem/ListDir")):
        assert http.ask(method, path, **({"body": {}} if method == "POST" else {}), **theirs).status == 502, path
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/timeout"), ("POST", "/connect")):
        assert http.ask(method, f"/sandboxes/{box}{path}", tcp=True, X_API_Key=two).status == 404
    assert http.ask("GET", "/v2/sandboxes", tcp=True, X_API_Key=two).json() == []
    assert http.ask("GET", "/v2/sandboxes", tcp=True, X_API_Key=one).json()[0]["memoryMB"] == 256
    assert http.ask("GET", "/files?path=secret", tcp=True, E2b_Sandbox_Id=box).status == 401
    assert create(http, one)[0] == 429 and create(http, http.token("n", "--network", "none"), allow_internet_access=True)[0] == 403
    for path in ("/etc/shadow", str(http.folder / "state"), "/proc/1/environ"):
        assert http.ask("GET", f"/files?path={path}", **mine).status in (400, 403, 404, 500), path
    assert cut(http, {"code": "x = bytearray(1 << 30)"}, mine) in (200, 502, None)
    http.ask("DELETE", f"/sandboxes/{box}", tcp=True, X_API_Key=one)
    assert engine.within(20, lambda: http.ask("GET", "/health", **mine).status == 502)


def test_an_answer_that_has_no_status_is_one_of_502(http):
    """What is inside ends calls of which the agent has said nothing yet."""
    key = http.token("hasty")
    box = create(http, key)[1]["sandboxID"]
    mine = {"tcp": True, "X_Access_Token": key, "E2b_Sandbox_Id": box}
    hasty = ("import glob, os, signal, time\nagent, fds = os.getppid(), []\nfor path in glob.glob(f'/proc/{agent}/fd/*'):\n"
             "  try: fds += [os.open(path, os.O_WRONLY | os.O_NONBLOCK)]\n  except OSError: pass\n"
             "if os.fork() == 0:\n  os.kill(agent, signal.SIGSTOP)\n  while True:\n    time.sleep(0.01)\n"
             "    for fd in fds:\n      try: os.write(fd, b''.join(b'{\"id\": %d, \"end\": true}\\n' % call for call in range(40)))\n"
             "      except OSError: pass\n")
    http.ask("POST", "/execute", {"code": hasty}, **mine)
    assert engine.within(20, lambda: http.ask("GET", "/files?path=/work/none", **mine).status == 502)
    http.ask("DELETE", f"/sandboxes/{box}", tcp=True, X_API_Key=key)
    assert gateway.children_are_gone(http)


FORGER = """import base64, glob, os, signal, time
agent, fds = os.getppid(), []
for path in glob.glob(f"/proc/{agent}/fd/*"):
    try:
        fds += [os.open(path, os.O_WRONLY | os.O_NONBLOCK)]
    except OSError:
        pass
if os.fork() == 0:
    os.kill(agent, signal.SIGSTOP)
    while True:
        time.sleep(PAUSE)
        for fd in fds:
            try:
                for call in range(CALLS):
                    os.write(fd, LINE.replace("@", str(call)).encode() + b"\\n")
            except OSError:
                pass
"""


@contextlib.contextmanager
def forging(http, key, line, pause=0.01, calls=60):
    """A sandbox whose every answer is `line`, with the number of the call for @; headers of calls to it."""
    box = create(http, key)[1]["sandboxID"]
    mine = {"X_Access_Token": key, "E2b_Sandbox_Id": box}
    code = FORGER.replace("PAUSE", str(pause)).replace("CALLS", str(calls)).replace("LINE", repr(line))
    try:
        http.ask("POST", "/execute", {"code": code}, tcp=True, **mine)
        yield {name.replace("_", "-"): value for name, value in mine.items()}
    finally:
        http.ask("DELETE", f"/sandboxes/{box}", tcp=True, X_API_Key=key)
    assert gateway.children_are_gone(http)


def is_forged(connection, names, status):
    """True when the reply to a call was not the agent's, which would say 404."""
    connection.request("GET", "/files?path=/work/none", headers=names)
    reply = connection.getresponse()
    reply.read()
    assert reply.status in (status, 404), reply.status
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b'{"status":"ok"}'
    return reply.status == status


@pytest.mark.parametrize("status", (204, 304, 205, 101, 200))
def test_a_forged_answer_is_never_the_reply_to_the_next_request(http, status):
    """A client would take the body of a status that has none for the next reply on its connection."""
    body = base64.b64encode(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged").decode()
    line = json.dumps({"id": 0, "status": status, "kind": "bytes", "data": body, "end": True}).replace('"id": 0', '"id": @')
    with forging(http, http.token(f"forger{status}"), line) as names, contextlib.closing(http.connect(tcp=True)) as connection:
        assert engine.within(20, lambda: is_forged(connection, names, 200 if status == 200 else 502))


WITHOUT_END = """import base64, glob, os, select, signal
agent, at = os.getppid(), {}
for path in glob.glob(f"/proc/{agent}/fd/*"):
    try:
        if os.readlink(path).startswith("pipe:"):
            at[os.open(path, os.O_WRONLY | os.O_NONBLOCK)] = 0
    except OSError:
        pass
data = base64.b64encode(bytes(30000)).decode()
said = b"\\n" + b"".join(b'{"id": %d, "status": 200, "kind": "bytes", "data": "%s"}\\n' % (call, data.encode()) for call in range(2, 6))
if os.fork() == 0:
    os.kill(agent, signal.SIGSTOP)
    while True:
        for fd in select.select([], list(at), [])[1]:
            at[fd] = (at[fd] + os.write(fd, said[at[fd]:at[fd] + 65536])) % len(said)
"""


def is_stopped(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "T"
    return False


def test_an_answer_without_an_end_is_sent_as_it_comes(tmp_path):
    """The gateway held 128 MiB of it for each call that waited.  A part of it is not taken for the whole."""
    with gateway.Gateway(tmp_path / "g", ["--dialect", "e2b"]) as http, contextlib.ExitStack() as stack:
        key = http.token("endless")
        box = create(http, key)[1]["sandboxID"]
        names = {"X-Access-Token": key, "E2b-Sandbox-Id": box}
        connections = [stack.enter_context(contextlib.closing(http.connect(tcp=True))) for _ in range(5)]
        connections[0].request("POST", "/execute", json.dumps({"code": WITHOUT_END}), {"Content-Type": "application/json", **names})
        taken = [0] * 5

        def take(i):  # one that stops before the others holds their sandbox up
            reply = connections[i].getresponse()
            assert reply.status == 200, reply.read()
            while min(taken[1:]) < ENDLESS:
                taken[i] += len(reply.read(1 << 16))
            return reply

        assert engine.within(20, lambda: any(map(is_stopped, gateway.runs_of(http))))
        for connection in connections[1:]:
            connection.request("GET", "/files?path=/work/none", headers=names)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(take, range(1, 5)))
        assert http.ask("GET", "/healthz").status == 200
        assert http.memory_kib("VmHWM") < ENDLESS_HELD_KIB, http.memory_kib("VmHWM")
        http.ask("DELETE", f"/sandboxes/{box}", tcp=True, X_API_Key=key)
        for reply in replies:
            with pytest.raises((http_client.HTTPException, OSError)):
                reply.read()
        assert gateway.children_are_gone(http)


def test_a_hostile_sandbox_harms_itself_alone(http):
    """What is inside can write to the agent's channel, or end the agent."""
    key = http.token("hostile")
    boxes = [create(http, key)[1]["sandboxID"] for _ in range(2)]
    first, second = ({"tcp": True, "X_Access_Token": key, "E2b_Sandbox_Id": box} for box in boxes)
    forge = ("import glob, os\nfor path in glob.glob('/proc/[0-9]*/fd/*'):\n  try:\n    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)\n"
             "    os.write(fd, b'{\"id\": 1, \"status\": 99999}\\n{\"id\": 2, \"end\": 7}\\n[[[\\n\\xff\\n{\"ready\": true}\\n')\n"
             "  except OSError: pass\n")
    assert cut(http, {"code": forge}, first) in (200, 500, 502, None)

    def ended():  # forged words may have ended the request before its code ran
        cut(http, {"code": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"}, first)
        return http.ask("GET", "/health", **first).status == 502

    assert engine.within(20, ended)
    assert http.ask("GET", "/health", **second).status == 204
    for body in (b"{", b"[]", b"\xff", b"[" * 5000):
        assert http.ask("POST", "/v2/sandboxes", body, tcp=True, X_API_Key=key, Content_Type="application/json").status == 400
        assert http.ask("POST", "/execute", body, Content_Type="application/json", **second).status in (400, 500)
        assert http.ask("POST", "/process.Process/Start", body, Content_Type="application/connect+json", **second).status == 200
    for more in ({"mcp": {"a": {}}}, {"volumeMounts": [{"name": "x", "path": "/x"}]},
                 {"autoPause": True, "autoPauseMemory": False}):
        assert create(http, key, **more)[0] == 400
    assert http.ask("POST", f"/sandboxes/{boxes[1]}/snapshots", {}, tcp=True, X_API_Key=key).status == 501
    assert http.ask("POST", "/filesystem.Filesystem/StreamInput", {}, **second).status == 501
    http.ask("DELETE", f"/sandboxes/{boxes[1]}", tcp=True, X_API_Key=key)
    assert gateway.children_are_gone(http)


def switches(http):
    """How often each thread of a sandbox gave its processor up: none does that while it stands still."""
    seen = {}
    for pid in engine.descendants(http.process.pid):
        for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
            lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
            if lines["Name"].startswith(("python", "session", "bash")):
                seen[status.parent.name] = lines["voluntary_ctxt_switches"]
    return seen


def test_a_paused_sandbox_stands_still_and_goes_on(http):
    key = http.token("pauses")
    api = {"tcp": True, "X_API_Key": key}
    box = create(http, key)[1]["sandboxID"]
    inside = {"tcp": True, "X_Access_Token": key, "E2b_Sandbox_Id": box}
    ticks = "import threading, time\nn = 0\ndef tick():\n  global n\n  while True:\n    n += 1\n    time.sleep(0.001)\n" \
            "threading.Thread(target=tick, daemon=True).start()"
    assert http.ask("POST", "/execute", {"code": ticks}, **inside).status == 200
    pause, resume = f"/sandboxes/{box}/pause", f"/sandboxes/{box}/resume"
    assert http.ask("POST", resume, {}, **api).status == 409 and http.ask("POST", pause, {"memory": False}, **api).status == 400
    assert http.ask("POST", pause, {}, tcp=True, X_API_Key=http.token("other")).status == 404
    assert http.ask("POST", pause, {}, **api).status == 204 and http.ask("POST", pause, {}, **api).status == 409
    states = {word: [row["state"] for row in http.ask("GET", f"/v2/sandboxes{word}", **api).json()]
              for word in ("", "?state=running", "?state=paused")}
    assert states == {"": ["paused"], "?state=running": [], "?state=paused": ["paused"]}
    for method, path in (("POST", "/execute"), ("GET", "/files?path=x"), ("GET", "/health")):
        reply = http.ask(method, path, **({"body": {"code": "1"}} if method == "POST" else {}), **inside)
        assert reply.status == 502 and reply.json()["message"] == "the sandbox is paused"

    def stands_still():
        before = switches(http)
        return before and [http.ask("GET", "/health", **inside).status for _ in range(20)] and switches(http) == before

    assert engine.within(10, stands_still)
    assert http.ask("POST", resume, {"timeout": 60}, **api).status == 201
    assert http.ask("POST", "/execute", {"code": "print(n > 0)"}, **inside).body.count(b"True") == 1
    http.ask("POST", pause, {}, **api)
    assert http.ask("DELETE", f"/sandboxes/{box}", **api).status == 204  # also while it stands still
    assert gateway.children_are_gone(http)


def test_a_sandbox_pauses_when_its_time_is_over_and_goes_on_when_it_is_called(http):
    key = http.token("sleepy")
    box = create(http, key, timeout=1, autoPause=True, autoResume={"enabled": True})[1]["sandboxID"]
    inside = {"tcp": True, "X_Access_Token": key, "E2b_Sandbox_Id": box}
    where = f"/sandboxes/{box}"
    assert engine.within(20, lambda: http.ask("GET", where, tcp=True, X_API_Key=key).json()["state"] == "paused")
    assert http.ask("GET", "/health", **inside).status == 204
    assert http.ask("GET", where, tcp=True, X_API_Key=key).json()["state"] == "running"
    http.ask("DELETE", where, tcp=True, X_API_Key=key)
    assert gateway.children_are_gone(http)


def test_watchers_are_bounded_and_of_their_sandbox(http):
    key = http.token("watches")
    box = create(http, key)[1]["sandboxID"]
    inside = {"tcp": True, "X_Access_Token": key, "E2b_Sandbox_Id": box}

    def ask(method, **body):
        return http.ask("POST", f"/filesystem.Filesystem/{method}", body, **inside)

    ids = [ask("CreateWatcher", path="/tmp").json()["watcherId"] for _ in range(256)]
    assert len(set(ids)) == 256 and ask("CreateWatcher", path="/tmp").status == 400
    assert ask("RemoveWatcher", watcherId=ids[0]).status == 200
    for method in ("GetWatcherEvents", "RemoveWatcher"):
        assert ask(method, watcherId=ids[0]).status == 404 and ask(method, watcherId=[]).status in (404, 500)
    http.ask("POST", "/files?path=/tmp/file", b"x", Content_Type="application/octet-stream", **inside)

    def both():  # two watchers of one directory see the same
        return [[(event["name"], event["type"]) for event in ask("GetWatcherEvents", watcherId=one).json().get("events", [])]
                for one in ids[1:3]]

    assert both()[0][0] == ("file", "EVENT_TYPE_CREATE") and both() == [[], []]
    assert ask("CreateWatcher", path="/tmp/file").status == 400 and ask("CreateWatcher", path="/none").status == 404
    http.ask("DELETE", f"/sandboxes/{box}", tcp=True, X_API_Key=key)
    assert gateway.children_are_gone(http)


def test_commands_and_code_count_for_the_rate(http):
    """As cells and runs do, and so does all that works inside; looking from outside and ending do not."""
    key = http.token("slow", "--rate", "2")
    status, made = create(http, key)
    assert status == 201, made
    mine = {"tcp": True, "X_Access_Token": key, "E2b_Sandbox_Id": made["sandboxID"]}
    assert http.ask("POST", "/execute", {"code": "1"}, **mine).status == 200
    for path in ("/execute", "/process.Process/Start", "/process.Process/List", "/contexts", "/filesystem.Filesystem/ListDir"):
        assert http.ask("POST", path, {"code": "1"}, **mine).status == 429, path
    for path in ("/contexts", "/files?path=/work/a"):
        assert http.ask("GET", path, **mine).status == 429, path
    assert http.ask("GET", "/health", **mine).status == 204
    assert http.ask("GET", f"/sandboxes/{made['sandboxID']}", tcp=True, X_API_Key=key).status == 200
    assert http.ask("DELETE", f"/sandboxes/{made['sandboxID']}", tcp=True, X_API_Key=key).status == 204
