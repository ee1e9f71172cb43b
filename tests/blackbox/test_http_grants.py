"""What a token does not allow, asked for by every road of the gateway: it is refused by each, with the same bound."""
import concurrent.futures
import contextlib
import http.server
import json
import socket
import threading

import pytest

import gateway
import support
from test_http_mcp import Agent

BASH = {"language": "bash", "code": ":"}
SMALL = {"language": "bash", "limits": {"memory": "64m"}}
BOX = {"templateID": "code-interpreter-v1", "timeout": 60}
POLICY = """name: opens
about: "a test"
extends: default
proc: masked
network:
  mode: allow
  allow_hosts: ["127.0.0.1:{port}"]
syscalls:
  allow:
    - group: connections
      calls: [connect, sendto, sendmmsg]
"""


def configured(folder, text, **files):
    """The environment of a gateway whose operator has this configuration."""
    settings = folder / "config" / "sandbox-run"
    settings.mkdir(parents=True)
    for name, content in {"config.yaml": text, **files}.items():
        (settings / name).write_text(content)
        (settings / name).chmod(0o600)
    return {"XDG_CONFIG_HOME": str(folder / "config")}


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    top = tmp_path_factory.mktemp("grants")
    (top / "data").mkdir()
    (top / "data" / "seed").write_text("seed\n")
    env = configured(top, "http:\n  roots:\n    - {tenant: rooted, name: data, path: " + str(top / "data") + "}\n")
    with gateway.Gateway(top / "g", ["--dialect", "e2b,piston,judge0,go-judge"], env=env) as running:
        yield running


@pytest.fixture(scope="module", name="secret")
def _secret():
    """The port of a service of this machine, which says a word to whoever reaches it."""
    class Says(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"treasure")

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Says) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def looks(port):
    return {"language": "python", "code": "import urllib.request as u\ntry:\n    print(u.urlopen('http://127.0.0.1:%d', timeout=9)"
                                          ".read().decode())\nexcept OSError as e:\n    print('no way', e)\n" % port}


def refused(reply, field):
    assert reply.status == 403 and reply.json()["errors"][0]["pointer"] == f"#/{field}", (reply.status, reply.body)


@contextlib.contextmanager
def session(http, token, **body):
    made = http.ask("POST", "/v1/sessions", {**SMALL, **body}, token=token)
    assert made.status == 201, made.body
    where = made.headers["Location"]
    try:
        yield where
    finally:
        http.ask("DELETE", where, token=token)


def sandbox(http, token, **more):
    return http.ask("POST", "/v2/sandboxes", {**BOX, **more}, tcp=True, X_API_Key=token)


def everywhere(http, token, more):
    """The replies of each road that takes a request."""
    files = {"files": [{"path": "Makefile", "content": "all:\n\ttrue\n"}]}
    for path, body in (("/v1/executions", BASH), ("/v1/sessions", SMALL), ("/v1/tests", files), ("/v1/builds", files),
                       ("/v1/golden", {**files, "cases": [{"name": "a", "command": "true", "stdout": ""}]}),
                       ("/v1/verify", files), ("/v1/profiles", {**BASH, "repeat": 2})):
        yield path, "", http.ask("POST", path, {**body, **more}, token=token)
    yield "batch", "requests/0/", http.ask("POST", "/v1/batch", {"requests": [{**BASH, **more}]}, token=token)
    yield "comparisons", "a/", http.ask("POST", "/v1/comparisons", {"a": {**BASH, **more}, "b": BASH, "repeat": 2}, token=token)


def test_a_default_token_has_no_network_and_installs_nothing(http):
    """B2, h8: also a token with hosts installs only when the operator says so."""
    token = http.token("plain")
    for more, field in (({"network": "full"}, "network"), ({"allow_hosts": ["example.org:443"]}, "network"),
                        ({"deps": ["six"]}, "deps")):
        for road, prefix, reply in everywhere(http, token, more):
            assert reply.status == 403 and reply.json()["errors"][0]["pointer"] == f"#/{prefix}{field}", (road, reply.body)
    assert sandbox(http, token, allow_internet_access=True).status == 403
    agent = Agent(http, "plain-agent")
    for more in ({"network": "full"}, {"allow_hosts": ["example.org"]}, {"packages": ["six"]}):
        assert agent.refusal("run_code", **BASH, **more).startswith("denied: "), more
    hosts = http.token("hosts-only", "--allow-host", "example.org:443")
    refused(http.ask("POST", "/v1/executions", {"language": "python", "code": "1", "deps": ["six"]}, token=hosts), "deps")
    listed = {"language": "python", "code": "print(1)", "files": [{"path": "requirements.txt", "content": "no-such-package-1f0c\n"}]}
    assert [stage["name"] for stage in http.run(listed, token=hosts)["stages"]] == ["run"]


@pytest.mark.parametrize("road", ("executions", "sessions", "mcp"))
@pytest.mark.parametrize("host", ("127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "169.254.169.254:80",
                                  "10.0.0.0/8", "192.168.1.1", "[fe80::1]:80", "[fd00::/8]:80", "[::ffff:127.0.0.1]:{port}"))
def test_addresses_of_this_machine_are_the_operators(http, secret, road, host):
    """B2: a rule of one's own opens neither loopback nor private nor link-local addresses."""
    rule = host.format(port=secret)
    if road == "mcp":
        agent = Agent(http, "near", "--network", "full")
        assert agent.refusal("run_code", **looks(secret), allow_hosts=[rule]).startswith("denied: ")
        return
    token = http.token("near", "--network", "full")
    reply = http.ask("POST", f"/v1/{road}", {**looks(secret), "allow_hosts": [rule]}, token=token)
    assert reply.status == 403 and reply.json()["errors"][0]["pointer"] == "#/allow_hosts", reply.body


def test_no_rule_leads_to_an_address_of_this_machine(http):
    """B2: nor one that names it, whatever its class: only the way out knows that it is this machine's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        with contextlib.suppress(OSError):
            way.connect(("192.0.2.1", 9))  # sends nothing
        own = way.getsockname()[0]
    if own in ("0.0.0.0", "127.0.0.1"):
        pytest.skip("this machine has no address but loopback")
    token = http.token("far", "--network", "full")
    with socket.create_server((own, 0)) as server:
        server.setblocking(False)
        code = f"import socket\nprint(socket.socket().connect_ex(({own!r}, {server.getsockname()[1]})))\n"
        for rules in (["0.0.0.0/0"], ["0.0.0.0/1", "128.0.0.0/1"], [own], [f"{own}/31"], [f"{own}:{server.getsockname()[1]}"]):
            body = {"language": "python", "code": code, "allow_hosts": rules}
            reply = http.ask("POST", "/v1/executions", body, token=token)
            assert reply.status == 403 or reply.json()["outcome"] == "exited", reply.body
            with pytest.raises(BlockingIOError):
                server.accept()


def test_the_operator_opens_an_address_of_this_machine(http, secret):
    token = http.token("opened", "--allow-host", f"127.0.0.1:{secret}")
    body = {**looks(secret), "allow_hosts": [f"127.0.0.1:{secret}"]}
    assert http.run(body, token=token)["stdout"] == "treasure\n"
    agent = Agent(http, "opened-agent", "--allow-host", f"127.0.0.1:{secret}")
    assert agent.data("run_code", **body)["stdout"] == "treasure\n"


def test_an_agent_is_bound_to_the_hosts_of_its_token(http, secret):
    """B1: in each tool that runs something."""
    agent = Agent(http, "hosts", "--allow-host", "192.0.2.1:443")
    for more in ({"network": "full"}, {"allow_hosts": [f"127.0.0.1:{secret}"]}, {"allow_hosts": ["192.0.2.1"]},
                 {"allow_hosts": ["example.org:443"]}, {"allow_hosts": ["192.0.2.1:443", "example.net"]}):
        for tool, body in (("run_code", looks(secret)), ("run_command", {"command": "true"}), ("create_session", {"language": "python"})):
            said = agent.refusal(tool, **body, **more)
            assert said.startswith("denied: "), (tool, more, said)
    assert "treasure" not in agent.data("run_code", **looks(secret), allow_hosts=["192.0.2.1:443"])["stdout"]
    assert "treasure" not in agent.data("run_code", **looks(secret))["stdout"]


@pytest.mark.parametrize("options", (("--network", "none"), ("--allow-host", "192.0.2.1:443"), ()))
def test_a_policy_of_the_operators_opens_nothing_for_a_token_without_it(tmp_path, secret, options):
    """B7, h1: the request says nothing of a network, by any road."""
    env = configured(tmp_path, "policy: ./own.yaml\n", **{"own.yaml": POLICY.format(port=secret)})
    with gateway.Gateway(tmp_path / "g", ["--dialect", "e2b,piston"], env=env) as http:
        assert http.run(looks(secret))["stdout"] == "treasure\n", "the operator's own runs have it"
        token = http.token("closed", *options)
        assert "no way" in http.run(looks(secret), token=token)["stdout"]
        batch = http.ask("POST", "/v1/batch", {"requests": [looks(secret)]}, token=token).json()["results"]
        assert "no way" in batch[0]["stdout"]
        with session(http, token, language="python", limits={"memory": "128m"}) as where:
            cell = http.ask("POST", where + "/cells", {"code": looks(secret)["code"]}, token=token)
            assert b"no way" in cell.body and b"treasure" not in cell.body
        code = {"language": "python", "version": "*", "files": [{"content": looks(secret)["code"]}]}
        assert "no way" in http.ask("POST", "/api/v2/execute", code, token=token).json()["run"]["stdout"]
        assert "no way" in Agent(http, "closed-agent", *options).data("run_code", **looks(secret))["stdout"]
        box = sandbox(http, token).json()["sandboxID"]
        ran = http.ask("POST", "/execute", {"code": looks(secret)["code"]}, tcp=True, X_Access_Token=token, E2b_Sandbox_Id=box)
        assert b"no way" in ran.body and b"treasure" not in ran.body
        http.ask("DELETE", f"/sandboxes/{box}", tcp=True, X_API_Key=token)
        golden = {"files": [{"path": "a.py", "content": looks(secret)["code"]}],
                  "cases": [{"name": "a", "command": "python3 a.py", "stdout": "treasure\n"}]}
        assert http.ask("POST", "/v1/golden", golden, token=token).json()["cases"][0]["outcome"] == "failed"
        assert gateway.children_are_gone(http)


def test_a_policy_of_the_operators_holds_for_all(tmp_path):
    """h2: a tenant's `default` does not undo `strict`."""
    with gateway.Gateway(tmp_path / "g", env=configured(tmp_path, "policy: strict\n")) as http:
        token = http.token("wide")
        for road, prefix, reply in everywhere(http, token, {"policy": "default"}):
            assert reply.status == 403 and reply.json()["errors"][0]["pointer"] == f"#/{prefix}policy", (road, reply.body)
        assert http.run({**BASH, "policy": "strict"}, token=token)["policy"] == "strict"
        assert http.run(BASH, token=token)["policy"] == "strict"
        assert http.run({**BASH, "policy": "default"})["policy"] == "default", "the operator itself may"


def test_the_time_of_a_cell_is_bounded(http):
    """B3: over HTTP and by an agent; without a time it is lowered."""
    token = http.token("timed", "--limit", "timeout=2s")
    with session(http, token) as where:
        for milliseconds in (2001, 1 << 40, (1 << 63) - 1):
            refused(http.ask("POST", where + "/cells", {"code": ":", "timeout_ms": milliseconds}, token=token), "timeout_ms")
        assert http.ask("POST", where + "/cells", {"code": ":", "timeout_ms": 2000}, token=token).status == 200
        assert http.ask("POST", where + "/cells", {"code": "sleep 100"}, token=token).json()["outcome"] == "timeout"
    agent = Agent(http, "timed-agent", "--limit", "timeout=2s")
    made = agent.data("create_session", language="bash")["session_id"]
    assert agent.refusal("run_cell", session_id=made, code=":", timeout_seconds=3).startswith("denied: ")
    agent.data("close_session", session_id=made)
    wide, narrow = http.token("timed-wide", "--tenant", "slow"), http.token("timed-narrow", "--tenant", "slow", "--limit", "timeout=1s")
    with session(http, wide) as where:  # it is another token's, with a longer time
        refused(http.ask("POST", where + "/cells", {"code": "sleep 5", "timeout_ms": 5000}, token=narrow), "timeout_ms")
        assert http.ask("POST", where + "/cells", {"code": "sleep 100"}, token=narrow).json()["outcome"] == "timeout"


def test_the_life_of_a_session_is_bounded(http):
    """B5: with and without a number, for agents and sandboxes too."""
    token = http.token("brief", "--idle", "60s", "--age", "120s")
    for more, field in (({"idle_ms": 60001}, "idle_ms"), ({"age_ms": 120001}, "age_ms"), ({"idle_ms": (1 << 63) - 1}, "idle_ms")):
        refused(http.ask("POST", "/v1/sessions", {**SMALL, **more}, token=token), field)
        refused(http.ask("POST", "/v1/sessions", {**SMALL, **more, "files": [{"path": "a", "content": "x" * 100000}]}, token=token), field)
    with session(http, token, idle_ms=60000, age_ms=120000):
        pass
    assert Agent(http, "brief-agent", "--idle", "60s").refusal("create_session", language="bash", ttl_seconds=61).startswith("denied: ")


def test_the_life_of_a_session_has_a_bound_by_default(http):
    """B5: years are nothing that a token has."""
    token = http.token("eternal")
    for more in ({"idle_ms": 10**12}, {"age_ms": 10**12}):
        assert http.ask("POST", "/v1/sessions", {**SMALL, **more}, token=token).status == 403


NARROW = {"network": ("--network", "none"), "hosts": ("--allow-host", "192.0.2.1:443"), "memory": ("--limit", "memory=32m"),
          "language": ("--languages", "python"), "processes": ("--limit", "pids=4")}


@pytest.mark.parametrize("narrow", NARROW)
def test_a_narrow_token_does_not_use_a_wider_ones_session(http, narrow):
    """B8, h3: by any of the session's roads that runs something."""
    wide = http.token("wide-" + narrow, "--tenant", "both-" + narrow, "--network", "full")
    token = http.token("narrow-" + narrow, "--tenant", "both-" + narrow, *NARROW[narrow])
    with session(http, wide, network="full") as where:
        for method, path, body in (("POST", "/cells", {"code": "echo 1"}), ("POST", "/fork", None), ("POST", "/restart", None),
                                   ("POST", "/checkpoint", None), ("POST", "/rollback", {"cell": 1}), ("GET", "/vars", None),
                                   ("PUT", "/files/a", b"x"), ("DELETE", "/files/a", None)):
            reply = http.ask(method, where + path, body, token=token)
            assert reply.status == 403, (path, reply.status, reply.body)
        assert http.ask("POST", where + "/cells", {"code": "echo 1"}, token=token, Accept="text/event-stream").status == 403
        assert http.ask("POST", where + "/cells", {"code": "echo 1"}, token=wide).status == 200
        fork = http.ask("POST", where + "/fork", token=wide)
        assert fork.status == 201
        copy = fork.headers["Location"]
        assert http.ask("POST", copy + "/cells", {"code": "echo 1"}, token=token).status == 403, "a copy is as wide"
        assert http.ask("DELETE", copy, token=token).status == 200, "to end it is no right of its own"


def test_names_of_languages(http):
    """h9, B12: aliases are the language; what one could not run, one cannot run as a command of it."""
    token = http.token("scripts", "--languages", "javascript")
    assert http.ask("POST", "/v1/executions", {"language": "js", "code": "1"}, token=token).status in (200, 501)
    alias = http.token("aliased", "--languages", "js")
    assert http.ask("POST", "/v1/executions", {"language": "javascript", "code": "1"}, token=alias).status in (200, 501)
    token = http.token("snakes", "--languages", "python")
    for body in ({"language": "python", "command": True, "args": ["sh", "-c", "echo out"]}, {"args": ["sh", "-c", "echo out"]},
                 {"language": "sh", "code": ":"}, {"files": [{"path": "main.sh", "content": ":"}], "program": "main.sh"}):
        reply = http.ask("POST", "/v1/executions", body, token=token)
        assert reply.status in (403, 422) and b"out\\n" not in reply.body, (body, reply.body)
    assert http.ask("PUT", "/v1/workspaces/own/files/a.txt", b"one", token=token).status == 204
    assert http.ask("GET", "/v1/workspaces/own/files/a.txt", token=token).body == b"one"
    agent = Agent(http, "snakes-agent", "--languages", "python", query="?workspace=w")
    agent.data("run_code", language="python", code="open('a.txt', 'w').write('one')")
    assert agent.data("read_file", path="a.txt")["content"] == "one"
    assert agent.refusal("run_command", command="true").startswith("denied: ")


def test_the_scope_run_reaches_no_trees(http):
    """h12, B12: neither workspaces nor roots, by no road."""
    token = http.token("runs", "--tenant", "rooted", "--scope", "run")
    full = http.token("all", "--tenant", "rooted")
    assert http.ask("PUT", "/v1/workspaces/kept/files/a.txt", b"one", token=full).status == 204
    for more, field in (({"workspace": "kept"}, "workspace"), ({"workspace": "new"}, "workspace"), ({"project": "data"}, "project"),
                        ({"volumes": ["data:/d"]}, "volumes")):
        for road, prefix, reply in everywhere(http, token, more):
            assert reply.status == 403, (road, more, reply.status, reply.body)
            assert road == "/v1/sessions" or reply.json()["errors"][0]["pointer"].startswith(f"#/{prefix}"), (field, reply.body)
    for method, path in (("GET", "/v1/workspaces"), ("GET", "/v1/workspaces/kept/files/a.txt"), ("DELETE", "/v1/workspaces/kept")):
        assert http.ask(method, path, token=token).status == 403
    assert http.ask("POST", "/v1/executions", {"args": ["cat", "seed"], "project": "data"}, token=full).json()["stdout"] == "seed\n"


def test_images_of_a_token(http):
    """h7, B12."""
    token = http.token("pictures", "--images", "debian:12,alpine:*")
    for name in ("debian:11", "debian", "alpines:3", "registry.example.org/alpine:3"):
        for road, prefix, reply in everywhere(http, token, {"image": name}):
            assert reply.status == 403 and reply.json()["errors"][0]["pointer"] == f"#/{prefix}image", (road, reply.body)
    for name in ("debian:12", "alpine:3"):  # which nobody has pulled here
        assert http.ask("POST", "/v1/executions", {**BASH, "image": name}, token=token).status not in (200, 403)
    agent = Agent(http, "pictures-agent", "--images", "debian:12")
    assert agent.refusal("run_code", **BASH, image="debian:11").startswith("denied: ")


def test_output_is_bounded_also_of_files(http):
    """h6: a workspace's file, and one of a session."""
    wide = http.token("loud", "--tenant", "heard")
    quiet = http.token("quiet", "--tenant", "heard", "--limit", "max-output=1k")
    assert http.ask("PUT", "/v1/workspaces/w/files/big", b"x" * 50000, token=wide).status == 204
    assert http.ask("PUT", "/v1/workspaces/w/files/small", b"x" * 1000, token=wide).status == 204
    reply = http.ask("GET", "/v1/workspaces/w/files/big", token=quiet)
    assert reply.status != 200 and len(reply.body) < 5000, reply.status
    assert http.ask("GET", "/v1/workspaces/w/files/small", token=quiet).body == b"x" * 1000
    assert http.ask("GET", "/v1/workspaces/w/files/big", token=wide).body == b"x" * 50000
    with session(http, quiet) as where:
        assert http.ask("PUT", where + "/files/big", b"x" * 50000, token=quiet).status in (200, 204)
        assert http.ask("PUT", where + "/files/small", b"x" * 1000, token=quiet).status in (200, 204)
        reply = http.ask("GET", where + "/files/big", token=quiet)
        assert reply.status != 200 and len(reply.body) < 5000, reply.status
        assert http.ask("GET", where + "/files/small", token=quiet).body == b"x" * 1000


@pytest.mark.parametrize("more, field", [
    ({"timeout": "1s"}, "timeout"), ({"timeout_ms": "1s"}, "timeout_ms"), ({"timeout_ms": 0}, "timeout_ms"),
    ({"timeout_ms": -1}, "timeout_ms"), ({"timeout_ms": 1.5}, "timeout_ms"), ({"language": 1}, "language"),
    ({"width": "80"}, "width"), ({"width": 1 << 33}, "width"), ({"memory": "1g"}, "memory"), ({"code": 1}, "code")])
def test_unknown_fields_of_a_cell(http, more, field):
    """B12."""
    token = http.token("cells")
    with session(http, token) as where:
        for accept in ("application/json", "text/event-stream"):
            reply = http.ask("POST", where + "/cells", {"code": ":", **more}, token=token, Accept=accept)
            assert reply.status == 422 and reply.json()["errors"][0]["pointer"] == f"#/{field}", (reply.status, reply.body)


@pytest.mark.parametrize("more, field", [
    ({"idle_ms": "soon"}, "idle_ms"), ({"idle_ms": 0}, "idle_ms"), ({"age_ms": -1}, "age_ms"), ({"freeze_ms": 1.5}, "freeze_ms"),
    ({"idle": 5}, "idle"), ({"age_ms": None}, "age_ms")])
def test_unknown_fields_of_a_session(http, more, field):
    """B12: in small bodies and in large ones, which a thread reads."""
    token = http.token("fields")
    for size in (1, 200000):
        reply = http.ask("POST", "/v1/sessions", {**SMALL, **more, "files": [{"path": "a", "content": "x" * size}]}, token=token)
        assert reply.status == 422 and reply.json()["errors"][0]["pointer"] == f"#/{field}", (size, reply.status, reply.body)
    with session(http, token) as where:
        assert http.ask("POST", where + "/rollback", {"cell": "one"}, token=token).status == 422
        assert http.ask("POST", where + "/rollback", {"cel": 1}, token=token).status == 422


def test_metrics_show_nothing_of_others(http):
    """B6."""
    busy, token = http.token("busy-one"), http.token("looker")
    assert http.run(BASH, token=busy)["exit_code"] == 0
    text = http.ask("GET", "/metrics", token=token).body.decode()
    rows = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert not any(name for name in rows if "_tenant_" not in name), text
    assert "busy-one" not in text and all(float(value) == 0 for value in rows.values()), text


def test_dialects_have_the_same_bounds(http):
    """Limits and languages, by Piston, Judge0 and E2B."""
    token = http.token("dialects", "--limit", "memory=64m", "--limit", "timeout=1s", "--languages", "bash")
    code = {"version": "*", "files": [{"content": "1"}]}
    assert http.ask("POST", "/api/v2/execute", {**code, "language": "python"}, token=token).status == 400
    assert http.ask("POST", "/api/v2/execute", {**code, "language": "bash", "run_memory_limit": 128 << 20}, token=token).status == 400
    assert http.ask("POST", "/api/v2/execute", {**code, "language": "bash", "run_timeout": 2900}, token=token).status == 400
    assert sandbox(http, token).status == 403
    assert json.loads(http.ask("GET", "/api/v2/runtimes", token=token).body)


def together(n, call):
    """The results of so many calls at once."""
    barrier = threading.Barrier(n)

    def one(number):
        barrier.wait(support.DEADLINE)
        return call(number)

    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))


def count(replies):
    return sum(reply.status < 300 for reply in replies)


def test_workspaces_are_bounded(http):
    """B6: in number and size, however many ask at once, by each road that makes one."""
    token = http.token("shelf", "--workspaces", "1")
    puts = together(8, lambda n: http.ask("PUT", f"/v1/workspaces/w{n}/files/a", b"x", token=token))
    made = http.ask("GET", "/v1/workspaces", token=token).json()["workspaces"]
    assert len(made) == 1 and count(puts) == 1, (made, [reply.status for reply in puts])
    name = made[0]["name"]
    assert http.ask("POST", "/v1/executions", {**BASH, "workspace": "other"}, token=token).status == 429
    assert http.ask("PUT", f"/v1/workspaces/{name}/files/b", b"x", token=token).status == 204
    assert http.ask("DELETE", f"/v1/workspaces/{name}", token=token).status == 204
    runs = together(8, lambda n: http.ask("POST", "/v1/executions", {**BASH, "workspace": f"r{n}"}, token=token))
    assert len(http.ask("GET", "/v1/workspaces", token=token).json()["workspaces"]) == 1 == count(runs)
    small = http.token("small-shelf", "--workspace-size", "64k")
    assert http.ask("PUT", "/v1/workspaces/w/files/a", b"x" * 100000, token=small).status in (204, 429)
    assert http.ask("PUT", "/v1/workspaces/w/files/b", b"x", token=small).status == 429
    assert http.ask("POST", "/v1/executions", {**BASH, "workspace": "w"}, token=small).status == 429
    assert http.ask("DELETE", "/v1/workspaces/w", token=small).status == 204
    assert http.ask("PUT", "/v1/workspaces/w/files/b", b"x", token=small).status == 204


def test_an_agents_workspace_counts(http):
    """B6: /mcp?workspace= makes none beyond the bound."""
    agent = Agent(http, "agents-shelf", "--workspaces", "1", query="?workspace=one")
    agent.data("run_command", command="echo one > a.txt")
    agent.path = "/mcp?workspace=two"
    reply = agent.modern("tools/call", {"name": "run_command", "arguments": {"command": "echo two > a.txt"}})
    assert reply.status == 429, reply.body
    assert [one["name"] for one in http.ask("GET", "/v1/workspaces", token=agent.token).json()["workspaces"]] == ["one"]
