"""The dialect of Piston: its client, its documented requests, its socket, and what is refused."""
import contextlib
import json
import subprocess

import pytest

import gateway
import registry_packages
import support

CLIENTS = support.REPO / "tests" / "clients"


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("piston") / "g", ["--dialect", "piston"]) as running:
        yield running


def execute(http, body, **rest):
    return http.ask("POST", "/api/v2/execute", {"language": "python", "version": "*", **body}, **rest)


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
def test_the_client_of_npm(http):
    modules = registry_packages.npm("piston-clients", CLIENTS / "piston")
    server = f"http://me:{http.token('client')}@{http.address}"
    done = subprocess.run(["node", CLIENTS / "piston/conversation.mjs", modules, server], capture_output=True,
                          timeout=support.DEADLINE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    assert seen == {
        "python": True, "hello": ["python", "['1', '2', '3'] in\n", 0, None, False], "failed": ["x\n", "x\n", 7, "RE"],
        "slow": ["TO", "SIGKILL", None], "c": [0, "c\n"], "wrong": [1, 1, True],
        "nothing": "python-1.x runtime is unknown",
    }


def test_a_documented_request(http):
    """That of Piston's README, with the fields that its clients leave out."""
    body = {"language": "js", "version": "*", "files": [{"name": "my_cool_code.js", "content": "console.log(process.argv)"}],
            "stdin": "", "args": ["1", "2", "3"], "compile_timeout": 10000, "run_timeout": 3000,
            "compile_cpu_time": 10000, "run_cpu_time": 3000, "compile_memory_limit": -1, "run_memory_limit": -1}
    if not support.have("node"):
        body.update(language="py", files=[{"content": "import sys\nprint(sys.argv)"}])
    reply = http.ask("POST", "/piston/api/v2/execute", body)
    assert reply.status == 200, reply.body
    run = reply.json()["run"]
    assert "'3'" in run["stdout"] and set(run) == {
        "stdout", "stderr", "output", "code", "signal", "message", "status", "cpu_time", "wall_time", "memory"}
    packages = http.ask("GET", "/api/v2/packages").json()
    assert {"language", "language_version", "installed"} == set(packages[0])


def test_files_in_three_encodings(http):
    code = "print([open(n, 'rb').read() for n in ('t', 'b', 'h')])"
    files = [{"name": "main.py", "content": code}, {"name": "t", "content": "é"},
             {"name": "b", "content": "AP8=", "encoding": "base64"}, {"name": "h", "content": "00ff", "encoding": "hex"}]
    assert execute(http, {"files": files}).json()["run"]["stdout"] == "[b'\\xc3\\xa9', b'\\x00\\xff', b'\\x00\\xff']\n"


@pytest.mark.parametrize("body, status, message", [
    ({"language": 5}, 400, "language is required as a string"),
    ({"version": None}, 400, "version is required as a string"),
    ({"files": {}}, 400, "files is required as an array"),
    ({"files": [{}]}, 400, "files[0].content is required as a string"),
    ({"files": [{"content": "00", "encoding": "hex"}]}, 400, "files must include at least one utf8 encoded file"),
    ({"files": [{"content": "1"}, {"content": "0g", "encoding": "hex"}]}, 400, "files[1].content is not hexadecimal"),
    ({"files": [{"content": "1"}], "run_timeout": "1"}, 400, "If specified, run_timeout must be a number"),
    ({"files": [{"content": "1"}, {"name": "../x", "content": ""}]}, 400, "path"),
    ({"files": [{"content": "1"}, {"name": "/etc/x", "content": ""}]}, 400, "path"),
    ({"language": "brainduck", "files": [{"content": "1"}]}, 400, "brainduck-* runtime is unknown"),
    ({"language": "python@3", "files": [{"content": "1"}]}, 400, "python@3-* runtime is unknown"),
])
def test_what_is_wrong_has_the_form_of_piston(http, body, status, message):
    reply = execute(http, body)
    assert reply.status == status and set(reply.json()) == {"message"} and message in reply.json()["message"]


def test_the_token_bounds_the_dialect_too(http):
    bounded = http.token("bounded", "--limit", "memory=64m", "--limit", "timeout=2s", "--languages", "python,bash")
    key = {"tcp": True, "X_API_Key": bounded}
    code = [{"content": "print(open('/proc/self/limits') is not None)"}]
    assert execute(http, {"files": code}, **key).json()["run"]["code"] == 0
    for more in ({"run_memory_limit": 1 << 30}, {"run_timeout": 10000}, {"compile_timeout": 10000}):
        refused = execute(http, {"files": code, **more}, **key)
        assert refused.status == 400 and "token allows" in refused.json()["message"]
    assert {row["language"] for row in http.ask("GET", "/api/v2/runtimes", **key).json()} <= {"python", "bash"}
    assert "unknown" in execute(http, {"language": "c", "files": code}, **key).json()["message"]
    for wrong in ({"tcp": True}, {"tcp": True, "X_API_Key": "sbr_no_no"}, {"tcp": True, "Authorization": "sbr_no_no"}):
        assert execute(http, {"files": code}, **wrong).status == 401
    assert execute(http, {"files": code}, tcp=True, Authorization=bounded).status == 200


@pytest.mark.parametrize("body, status", [(b"{", 400), (b"[]", 400), (b"[" * 100, 400), (b"\xff\xfe", 400)])
def test_malformed_bodies(http, body, status):
    reply = http.ask("POST", "/api/v2/execute", body, Content_Type="application/json")
    assert reply.status == status and "message" in reply.json()


def test_a_body_that_is_too_large(http):
    head = f"POST /api/v2/execute HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {http.token('large')}\r\n"
    answer = http.raw(f"{head}Content-Length: {1 << 40}\r\n\r\n{{".encode())
    assert answer.startswith(b"HTTP/1.1 413 ") and b'{"message":' in answer


def test_is_off_unless_named(http, tmp_path):
    assert http.ask("POST", "/api/v2/execute", b"x", Content_Type="image/png").status == 415
    with gateway.Gateway(tmp_path / "g") as plain:
        assert plain.ask("GET", "/api/v2/runtimes").status == 404
    done = subprocess.run([gateway.PROGRAM, "--dialect", "pistol"], capture_output=True, text=True, check=False,
                          timeout=support.DEADLINE)
    assert done.returncode == 125 and "'pistol'" in done.stderr


def talk(http, *messages):
    with contextlib.closing(gateway.WebSocket(http, "/api/v2/connect")) as peer:
        for message in messages:
            peer.send(message)
        return list(peer.events()), peer.closed


def test_the_socket(http):
    init = {"type": "init", "language": "python", "version": "3.x", "files": [{"content": "print(input() + '!')"}]}
    seen, closed = talk(http, init, {"type": "data", "stream": "stdin", "data": "hey\n"})
    assert [row["type"] for row in seen] == ["runtime", "stage", "data", "exit"]
    assert seen[1]["stage"] == "run" and seen[2] == {"type": "data", "stream": "stdout", "data": "hey!\n"}
    assert seen[3] == {"type": "exit", "stage": "run", "code": 0, "signal": None} and closed == (4999, "Job Completed")
    loop = {**init, "files": [{"content": "import time\nwhile True: time.sleep(1)"}]}
    seen, closed = talk(http, loop, {"type": "signal", "signal": "SIGKILL"})
    assert seen[-1]["signal"] == "SIGKILL" and closed[0] == 4999
    assert talk(http, {"type": "data", "stream": "stdin", "data": ""})[1] == (4003, "Not yet initialized")
    assert talk(http, loop, loop)[1] == (4000, "Already Initialized")
    assert talk(http, loop, {"type": "signal", "signal": "SIGNO"})[1] == (4005, "Invalid signal")
    assert talk(http, loop, {"type": "data", "stream": "stdout", "data": ""})[1] == (4004, "Can only write to stdin")
    assert talk(http)[1] == (4001, "Initialization Timeout")
    seen, closed = talk(http, {**init, "version": "1.x"})
    assert seen == [{"type": "error", "message": "python-1.x runtime is unknown"}] and closed[0] == 4002
    assert gateway.children_are_gone(http)
