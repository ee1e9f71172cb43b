"""Tokens of the gateway: who may do what, how much, and not any more."""
import contextlib
import json
import os
import subprocess
import tempfile

import pytest

import engine
import gateway
import support


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        yield running


def manage(http, *words):
    return subprocess.run([support.SANDBOX_RUN, "token", *words], env=http.env, capture_output=True, text=True,
                          timeout=support.DEADLINE)


def test_tcp_needs_a_token_and_forgets_a_revoked_one(http):
    assert http.ask("GET", "/healthz", tcp=True).status == 200
    refused = http.ask("GET", "/version", tcp=True)
    assert refused.status == 401 and refused.headers["WWW-Authenticate"].startswith("Bearer")
    token = http.token("one")
    assert http.ask("GET", "/version", token=token).status == 200
    for wrong in (token[:-1], token[:-1] + "!", "sbr_0123456789abcdef_x", "x", token.replace("sbr_", "sbr")):
        assert http.ask("GET", "/version", token=wrong).status == 401, wrong
    rows = json.loads(manage(http, "list", "--json").stdout)["tokens"]
    assert [row["name"] for row in rows] == ["one"]
    assert manage(http, "revoke", "one").returncode == 0
    assert http.ask("GET", "/version", token=token).status == 401
    assert manage(http, "revoke", "one").returncode != 0


def test_only_a_hash_is_kept(http):
    secret = http.token("kept").split("_", 2)[2]  # which may have further ones
    folder = http.folder / "state" / "tokens"
    for name in os.listdir(folder):
        assert secret not in (folder / name).read_text() and (folder / name).stat().st_mode & 0o077 == 0


def test_ceilings_hold(http):
    token = http.token("bounded", "--limit", "memory=128m", "--network", "none", "--languages", "bash",
                       "--scope", "run", "--concurrency", "1")
    result = http.run({"language": "bash", "code": "echo $0"}, token=token)
    assert result["limits"]["memory_bytes"] == 128 << 20
    for body, field in (({"language": "bash", "code": ":", "limits": {"memory": "256m"}}, "limits"),
                        ({"language": "bash", "code": ":", "network": "full"}, "network"),
                        ({"language": "python", "code": "1"}, "language"),
                        ({"language": "bash", "code": ":", "allow_degraded": True}, "allow_degraded")):
        reply = http.ask("POST", "/v1/executions", body, token=token)
        assert reply.status == 403 and reply.json()["errors"][0]["pointer"] == f"#/{field}", reply.body
    own = http.ask("GET", "/metrics", token=token)
    assert own.status == 200 and b"tenant_starts_total" in own.body and b"uptime" not in own.body
    first = http.ask("POST", "/v1/executions", {"language": "bash", "code": "read a"}, token=token, Prefer="respond-async")
    second = http.ask("POST", "/v1/executions", {"language": "bash", "code": ":"}, token=token)
    assert second.status == 429 and int(second.headers["Retry-After"]) >= 1 and second.json()["position"] == 2
    assert http.ask("DELETE", first.headers["Location"], token=token).status == 202


def test_ceilings_hold_in_the_stages_before_the_run(http):
    """A compiler's limits come from the language's file, and are higher than those of a program."""
    token = http.token("compiles", "--limit", "memory=200m", "--limit", "pids=40")
    result = http.run({"language": "c", "code": "int main(void) { return 41; }"}, token=token)
    assert result["exit_code"] == 41, result
    stages = {stage["name"]: stage["limits"] for stage in result["stages"]}
    assert "compile" in stages
    assert {(limits["memory_bytes"], limits["pids"]) for limits in stages.values()} == {(200 << 20, 40)}


def test_a_token_without_network_installs_nothing(http):
    """Neither by name nor by a file that lists packages, which then is a file like others."""
    token = http.token("no-packages", "--network", "none")
    named = http.ask("POST", "/v1/executions", {"language": "python", "code": "1", "deps": ["six"]}, token=token)
    assert named.status == 403 and named.json()["errors"][0]["pointer"] == "#/deps"
    for path, content in (("requirements.txt", "no-such-package-1f0c\n"),
                          ("pyproject.toml", "[project]\nname = 'x'\nversion = '1'\ndependencies = ['no-such-package-1f0c']\n")):
        body = {"language": "python", "code": f"print(open({path!r}).read())", "files": [{"path": path, "content": content}]}
        result = http.run(body, token=token)
        assert (result["exit_code"], result["stdout"].strip()) == (0, content.strip()), result
        assert [stage["name"] for stage in result["stages"]] == ["run"]
        assert [row["exit_code"] for row in http.ask("POST", "/v1/batch", {"requests": [body]}, token=token).json()["results"]] == [0]


def test_a_batch_counts_for_the_rate_with_all_its_runs(http):
    token = http.token("batches", "--rate", "4")

    def batch(size):
        return http.ask("POST", "/v1/batch", {"requests": [{"language": "bash", "code": ":"}] * size}, token=token)

    assert batch(3).status == 200
    refused = batch(3)
    assert refused.status == 429 and refused.json()["code"] == "rate" and int(refused.headers["Retry-After"]) >= 1
    assert batch(250).status == 429


def test_work_on_code_can_be_cancelled(http):
    token = http.token("works")
    with contextlib.closing(http.connect(tcp=True)) as connection:
        body = json.dumps({"language": "bash", "code": "sleep 1", "repeat": 1000, "warm_up": 0})
        connection.request("POST", "/v1/profiles", body, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        rows = []
        assert engine.within(support.DEADLINE,
                             lambda: rows.extend(http.ask("GET", "/v1/executions", token=token).json()["executions"]) or rows)
        assert http.ask("DELETE", "/v1/executions/" + rows[0]["id"], token=token).status == 202
        connection.getresponse().read()
    assert http.ask("GET", "/v1/executions/" + rows[0]["id"], token=token).json()["status"] in ("done", "failed")


def test_a_second_kernel_is_bound_to_the_languages_too(http):
    token = http.token("one-kernel", "--languages", "bash,sh")
    cells = http.ask("POST", "/v1/sessions", {"language": "bash"}, token=token).headers["Location"] + "/cells"
    for language, status in (("python", 403), ("python@3", 403), ("sh", 200), ("bash", 200)):
        reply = http.ask("POST", cells, {"code": "echo 1", "language": language}, token=token)
        assert reply.status == status, reply.body
        assert status == 200 or reply.json()["errors"][0]["pointer"] == "#/language"
    http.ask("DELETE", cells.removesuffix("/cells"), token=token)


def test_a_token_names_the_only_hosts(http):
    token = http.token("hosts", "--allow-host", "*.example.org:443", "--allow-host", "192.0.2.0/24")
    for more, field in (({"allow_hosts": ["example.net"]}, "allow_hosts"), ({"allow_hosts": ["a.example.org"]}, "allow_hosts"),
                        ({"network": "full"}, "network"), ({"allow_hosts": ["192.0.2.1"], "allow_dns": True}, "network")):
        reply = http.ask("POST", "/v1/executions", {"args": ["true"], **more}, token=token)
        assert reply.status == 403 and reply.json()["errors"][0]["pointer"] == f"#/{field}", reply.body
    result = http.run({"args": ["true"], "allow_hosts": ["a.example.org:443", "192.0.2.7"]}, token=token)
    assert result["network"]["mode"] == "allow"
    for bad, words in ((["--name", "x", "--allow-host", "a b"], ""), ([], "token create NAME"), (["a b"], "a b")):
        refused = subprocess.run([support.SANDBOX_RUN, "token", "create", *bad], env=http.env, capture_output=True,
                                 text=True, timeout=support.DEADLINE)
        assert refused.returncode == 125 and words in refused.stderr, refused.stderr


def test_the_rate_of_a_token(http):
    token = http.token("slow", "--rate", "2")
    replies = [http.ask("POST", "/v1/executions", {"bad": 1}, token=token) for _ in range(3)]
    assert [reply.status for reply in replies] == [422, 422, 429]
    assert int(replies[2].headers["Retry-After"]) >= 1 and replies[2].json()["code"] == "rate"


def test_what_starts_a_sandbox_or_asks_a_kernel_counts_for_the_rate(http):
    """Looking and ending do not: a client at its rate can still clean up."""
    token, none = http.token("counts", "--rate", "1"), "0" * 32
    assert http.ask("GET", "/readyz", token=token).status == 200
    session, changes = f"/v1/sessions/{none}", f"/v1/changes/{none}"
    for method, path in (("GET", "/readyz"), ("POST", session + "/restart"), ("POST", session + "/checkpoint"),
                         ("POST", session + "/rollback"), ("GET", session + "/vars"), ("GET", session + "/files"),
                         ("PUT", session + "/files/a"), ("GET", session + "/files/a"), ("DELETE", session + "/files/a"),
                         ("GET", "/v1/workspaces/w/files"), ("PUT", "/v1/workspaces/w/files/a"),
                         ("GET", "/v1/workspaces/w/files/a"), ("DELETE", "/v1/workspaces/w/files/a"),
                         ("POST", changes + "/apply"), ("POST", changes + "/undo")):
        reply = http.ask(method, path, {} if method in ("POST", "PUT") else None, token=token)
        assert reply.status == 429 and reply.json()["code"] == "rate", (method, path, reply.status)
    for method, path in (("GET", session), ("DELETE", session), ("POST", session + "/interrupt"), ("DELETE", changes),
                         ("DELETE", "/v1/workspaces/w"), ("DELETE", f"/v1/executions/{none}")):
        assert http.ask(method, path, token=token).status == 404, (method, path)


def test_ids_belong_to_their_tenant(http):
    mine, other = http.token("mine"), http.token("other")
    where = http.ask("POST", "/v1/executions", {"language": "bash", "code": "read a"}, token=mine,
                     Prefer="respond-async").headers["Location"]
    for method, path in (("GET", where), ("GET", where + "/events"), ("DELETE", where), ("POST", where + "/stdin")):
        assert http.ask(method, path, b"" if method == "POST" else None, token=other).status == 404
    assert http.ask("GET", "/v1/executions", token=other).json()["executions"] == []
    assert http.ask("DELETE", where, token=mine).status == 202


def test_a_token_can_expire(http):
    token = http.token("short", "--expires", "1s")
    assert http.ask("GET", "/version", token=token).status in (200, 401)
    assert gateway.engine.within(5, lambda: http.ask("GET", "/version", token=token).status == 401)


@pytest.mark.parametrize("words", [("create",), ("create", "--name", "a/b"), ("create", "--name", "x", "--scope", "y"),
                                   ("create", "--name", "local"), ("make",), ("revoke",)])
def test_wrong_words_are_refused(http, words):
    done = manage(http, *words)
    assert done.returncode == 125 and done.stderr.startswith("sandbox-run")


def refusals(http):
    done = subprocess.run([support.SANDBOX_RUN, "audit", "refused", "--json"], env=http.env, capture_output=True, check=True)
    return json.loads(done.stdout)["refused"]


def test_a_stranger_cannot_push_runs_out_of_the_audit(tmp_path):
    settings = tmp_path / "config" / "sandbox-run"
    settings.mkdir(parents=True)
    (settings / "config.yaml").write_text("audit: true\n")
    asked = b"GET /v1/executions HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100
    with gateway.Gateway(tmp_path / "g", env={"XDG_CONFIG_HOME": str(tmp_path / "config")}) as http:
        assert http.run({"language": "bash", "code": "exit 4"})["exit_code"] == 4
        kept = tmp_path / "g/state/audit.jsonl"
        before = kept.read_bytes()
        for _ in range(20):
            assert http.raw(asked).count(b"HTTP/1.1 401") == 100
        assert kept.read_bytes() == before
    assert kept.read_bytes() == before
    line, = refusals(http)
    assert [(one["status"], one["count"]) for one in line["reasons"]] == [(401, 2000)]
    verified = json.loads(subprocess.run([support.SANDBOX_RUN, "audit", "verify", "--json"], env=http.env,
                                         capture_output=True, check=True).stdout)
    assert (verified["lines"], verified["refused"]["lines"]) == (1, 1)


def test_runs_tokens_and_refusals_go_on_record(tmp_path):
    settings = tmp_path / "config" / "sandbox-run"
    settings.mkdir(parents=True)
    (settings / "config.yaml").write_text("audit: with-code\nhttp: {memory: 600m}\n")
    with gateway.Gateway(tmp_path / "g", env={"XDG_CONFIG_HOME": str(tmp_path / "config")}) as http:
        token = http.token("kept")
        done = http.run({"language": "bash", "code": "exit 4"}, token=token)
        assert http.ask("GET", "/version", tcp=True).status == 401
        held = http.ask("POST", "/v1/executions", {"language": "bash", "code": "read a"}, token=token, Prefer="respond-async")
        full = http.ask("POST", "/v1/executions", {"language": "bash", "code": ":"}, token=token)
        assert full.status == 429 and "memory" in full.json()["detail"] and int(full.headers["Retry-After"]) >= 1
        small = {"language": "bash", "code": ":", "limits": {"memory": "64m"}}
        assert http.run(small, token=token)["exit_code"] == 0
        assert http.ask("DELETE", held.headers["Location"], token=token).status == 202
        assert gateway.engine.within(20, lambda: http.ask("GET", held.headers["Location"], token=token).json()["status"] == "done")
        session = http.ask("POST", "/v1/sessions", {"language": "python"}, token=token).headers["Location"]
        assert http.ask("POST", session + "/cells", {"code": "1"}, token=token).status == 200
        for path, body in (("/v1/executions", {"language": "bash", "code": ":"}), ("/v1/sessions", {"language": "python"}),
                           (session + "/fork", None)):
            full = http.ask("POST", path, body, token=token)
            assert full.status == 429 and "sessions" in full.json()["detail"], "a session has its memory while it lives"
        assert http.run(small, token=token)["exit_code"] == 0
        assert http.ask("DELETE", session, token=token).status == 200
        assert http.run({"language": "bash", "code": ":"}, token=token)["exit_code"] == 0
        rows = [json.loads(line) for line in subprocess.run(
            [support.SANDBOX_RUN, "audit", "export"], env=http.env, capture_output=True, check=True).stdout.splitlines()]
        cell, = [row for row in rows if row["outcome"] == "cell"]
        shown = subprocess.run([support.SANDBOX_RUN, "audit", "show", cell["id"], "--json"], env=http.env,
                               capture_output=True, check=True).stdout
    assert json.loads(shown)["code"] == {"language": "python", "code": "1"}
    assert [row["outcome"] for row in rows][:3] == ["token_created", "exited", "exited"]
    assert rows[1]["caller"] == "kept" and rows[1]["id"] == done["id"]
    line, = refusals(http)
    assert {(one["status"], one["reason"], one.get("caller"), one["path"], one["count"]) for one in line["reasons"]} == {
        (401, "unauthorized", None, "/version", 1), (429, "busy", "kept", "/v1/executions", 4)}, line


def test_the_disk_is_reserved(tmp_path):
    """The state is in a file system that is not larger than the memory, because no limit of a run may be."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        room = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
        with gateway.Gateway(tmp_path / "g", env={"SANDBOX_RUN_STATE": f"{place}/state"}) as http:
            large = {"args": ["sh", "-c", "read a"], "limits": {"memory": "64m", "disk": room * 6 // 10}}
            first = http.ask("POST", "/v1/executions", {**large, "workspace": "one"}, Prefer="respond-async")
            assert first.status == 202, first.body
            second = http.ask("POST", "/v1/executions", {**large, "workspace": "two"})
            assert second.status == 429 and "disk" in second.json()["detail"], second.body
            assert http.ask("DELETE", first.headers["Location"]).status == 202
            assert gateway.engine.within(20, lambda: http.ask("GET", first.headers["Location"]).json()["status"] == "done")
            assert http.run({**large, "workspace": "two"})["exit_code"] == 1, "its stdin is empty"


def test_a_grant_is_shown(http):
    """All that a token may ask for, as data."""
    def show(which):
        return subprocess.run([support.SANDBOX_RUN, "token", "show", which], env=http.env, capture_output=True, check=False,
                              timeout=support.DEADLINE)

    http.token("shown", "--limit", "memory=64m", "--allow-host", "192.0.2.1:443", "--images", "debian:12")
    grant = json.loads(show("shown").stdout)
    assert grant["allow_hosts"] == "192.0.2.1:443" and grant["images"] == "debian:12" and grant["name"] == "shown", grant
    assert "64m" in json.dumps(grant["limits"]) or 64 << 20 in grant["limits"].values(), grant
    assert json.loads(show(grant["id"]).stdout) == grant
    assert json.loads(show("local").stdout)["network"] == "full"
    assert show("nobody").returncode != 0 and b"there is no token 'nobody'" in show("nobody").stderr
