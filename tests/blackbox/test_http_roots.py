"""Roots that the operator names for a tenant: what they open, what they do not, and the changes that runs keep of them."""
import contextlib
import json
import os
import subprocess

import pytest

import gateway
import support

CONFIG = """
audit: true
http:
  roots:
    - {{tenant: me, name: data, path: {top}/data}}
    - {{tenant: me, name: out, path: {top}/out, mode: rw}}
    - {{tenant: other, name: data, path: {top}/theirs}}
"""


@pytest.fixture(scope="module", name="http")
def _http(tmp_path_factory):
    top = tmp_path_factory.mktemp("roots")
    for name in ("data/sub", "out", "theirs", "secret", "config/sandbox-run"):
        (top / name).mkdir(parents=True)
    (top / "data" / "sub" / "main.sh").write_text("cat /work/seed\n")
    (top / "data" / "seed").write_text("seed\n")
    (top / "secret" / "key").write_text("secret\n")
    (top / "data" / "leads").symlink_to(top / "secret")
    (top / "data" / "up").symlink_to("..")
    (top / "out" / "a.txt").write_text("one\n")
    settings = top / "config" / "sandbox-run" / "config.yaml"
    settings.write_text(CONFIG.format(top=top))
    settings.chmod(0o600)
    for path in (top, *top.glob("*"), top.parent, top.parent.parent):
        path.chmod(0o755)
    with gateway.Gateway(top / "g", env={"XDG_CONFIG_HOME": str(top / "config")}) as running:
        running.top = top
        running.private += [str(top / "data"), str(top / "out"), str(top / "theirs")]
        running.me, running.other = running.token("me"), running.token("other")
        yield running


def test_a_root_is_a_project_and_a_volume(http):
    result = http.run({"language": "bash", "program": "sub/main.sh", "project": "data"}, token=http.me)
    assert result["stdout"] == "seed\n", result
    result = http.run({"args": ["sh", "-c", "cat /d/main.sh; echo x > /o/made; touch /d/x"],
                       "volumes": ["data/sub:/d", "out:/o:rw"]}, token=http.me)
    assert result["stdout"] == "cat /work/seed\n" and result["exit_code"] != 0
    assert (http.top / "out" / "made").read_text() == "x\n" and not (http.top / "data" / "sub" / "x").exists()
    result = http.run({"args": ["sh", "-c", "echo yes > r.txt"], "outputs": ["r.txt:out"]}, token=http.me)
    assert (http.top / "out" / "r.txt").read_text() == "yes\n"
    assert str(http.top) not in str(result)


ATTACKS = [
    ("project", {"project": "{top}/data"}),
    ("project", {"project": "data/../secret"}),
    ("project", {"project": "data/leads"}),
    ("project", {"project": "data/up/secret"}),
    ("project", {"project": "data/sub/../../secret"}),
    ("project", {"project": "data//sub"}),
    ("project", {"project": "dat"}),
    ("project", {"project": ""}),
    ("project", {"project": "out/evil"}),
    ("program", {"program": "/etc/passwd", "language": "bash"}),
    ("program", {"program": "../../secret/key", "project": "data", "language": "bash"}),
    ("volumes", {"volumes": ["/etc:/d"]}),
    ("volumes", {"volumes": ["data/leads:/d"]}),
    ("volumes", {"volumes": ["out/evil:/d"]}),
    ("volumes", {"volumes": ["data:/d:ro", "../secret:/e"]}),
    ("outputs", {"outputs": ["*:/tmp"]}),
    ("outputs", {"outputs": ["*:out/evil"]}),
]


@pytest.mark.parametrize("field,body", ATTACKS)
def test_everything_else_is_refused_with_its_field(http, field, body):
    evil = http.top / "out" / "evil"
    if not evil.is_symlink():
        evil.symlink_to(http.top / "secret")
    body = {key: value.format(top=http.top) if isinstance(value, str) else value for key, value in body.items()}
    reply = http.ask("POST", "/v1/executions", {"args": [] if "language" in body else ["true"], **body}, token=http.me)
    assert reply.status == 422 and reply.json()["errors"][0]["pointer"] == f"#/{field}", reply.body
    assert str(http.top / "secret") not in reply.body.decode()


@pytest.mark.parametrize("field,body", [
    ("volumes", {"volumes": ["data:/d:rw"]}), ("volumes", {"volumes": ["out:/d:rw+sockets"]}),
    ("outputs", {"outputs": ["*:data"]})])
def test_a_root_that_is_only_read_is_not_written_to(http, field, body):
    reply = http.ask("POST", "/v1/executions", {"args": ["true"], **body}, token=http.me)
    assert reply.status == 403 and reply.json()["errors"][0]["pointer"] == f"#/{field}", reply.body


def test_roots_belong_to_their_tenant(http):
    assert http.ask("POST", "/v1/executions", {"args": ["true"], "project": "out"}, token=http.other).status == 422
    assert http.ask("POST", "/v1/executions", {"args": ["true"], "project": "data"}).status == 422
    result = http.run({"args": ["ls"], "project": "data"}, token=http.other)
    assert result["stdout"] == ""


def test_a_reply_in_which_a_path_was_hidden_has_the_length_of_what_is_sent(http):
    made = http.ask("POST", "/v1/sessions", {"language": "python"}, token=http.me)
    cell = {"code": f"raise ValueError('{http.top}/data ' * 50)"}  # its diagnosis is ours to tell
    reply = http.ask("POST", made.headers["Location"] + "/cells", cell, token=http.me)
    assert reply.status == 200 and b"\0" not in reply.body and "data data" in reply.json()["diagnosis"]["message"]
    assert http.ask("DELETE", made.headers["Location"], token=http.me).status == 200


def test_changes_are_looked_at_applied_and_undone(http):
    result = http.run({"args": ["sh", "-c", "echo two > a.txt; echo new > b.txt"], "project": "out", "keep": True},
                      token=http.me)
    where = f"/v1/changes/{result['changes_id']}"
    assert str(http.top) not in str(result)
    rows = http.ask("GET", "/v1/changes", token=http.me).json()["changes"]
    assert [row["id"] for row in rows] == [result["changes_id"]] and rows[0]["roots"] == [{"source": "out", "target": "/work"}]
    one = http.ask("GET", where, token=http.me).json()
    assert sorted(change["path"].rsplit("/", 1)[-1] for change in one["changes"]) == ["a.txt", "b.txt"]
    diff = http.ask("GET", where + "/diff", token=http.me)
    assert b"-one\n+two\n" in diff.body and diff.headers["Content-Type"].startswith("text/")
    for method, path in (("GET", ""), ("GET", "/diff"), ("DELETE", "")):
        assert http.ask(method, where + path, token=http.other).status == 404
    assert http.ask("POST", where + "/apply", {}, token=http.other).status == 404
    assert http.ask("GET", where[:-20], token=http.me).status == 404
    done = http.ask("POST", where + "/apply", {}, token=http.me)
    assert done.status == 200 and done.json()["applied"] == 2, done.body
    assert (http.top / "out" / "a.txt").read_text() == "two\n"
    assert http.ask("POST", where + "/undo", {}, token=http.me).status == 200
    assert (http.top / "out" / "a.txt").read_text() == "one\n" and not (http.top / "out" / "b.txt").exists()
    (http.top / "out" / "a.txt").write_text("three\n")
    conflict = http.ask("POST", where + "/apply", {}, token=http.me)
    assert conflict.status == 409 and conflict.json()["conflicts"] and str(http.top) not in conflict.body.decode()
    (http.top / "out" / "a.txt").write_text("one\n")
    assert http.ask("DELETE", where, token=http.me).status == 204
    assert http.ask("GET", where, token=http.me).status == 404


def test_changes_of_a_root_that_is_only_read_stay_changes(http):
    result = http.run({"args": ["sh", "-c", "echo two > seed"], "project": "data", "keep": True}, token=http.me)
    reply = http.ask("POST", f"/v1/changes/{result['changes_id']}/apply", {}, token=http.me)
    assert reply.status == 403 and (http.top / "data" / "seed").read_text() == "seed\n", reply.body


@pytest.mark.parametrize("entries,word", [
    ("[{tenant: me, name: a, path: TOP}, {tenant: me, name: b, path: TOP/data, mode: rw}]", "lie in each other"),
    ("[{tenant: me, name: a, path: TOP/none}]", "no directory"),
    ("[{tenant: me, name: a/b, path: TOP}]", "http.roots"),
    ("[{tenant: me, name: a, path: TOP, mode: rx}]", "http.roots"),
    ("[{tenant: me, name: a, path: TOP}, {tenant: me, name: a, path: TOP/data}]", "two roots"),
])
def test_wrong_roots_stop_the_gateway(http, tmp_path, entries, word):
    settings = tmp_path / "sandbox-run" / "config.yaml"
    settings.parent.mkdir()
    settings.write_text("http:\n  roots: " + entries.replace("TOP", str(http.top)) + "\n")
    settings.chmod(0o600)
    env = support.surroundings(None, {"XDG_CONFIG_HOME": str(tmp_path), "SANDBOX_RUN_STATE": str(tmp_path / "state")})
    done = subprocess.run([gateway.PROGRAM, "--socket", tmp_path / "x.sock"], env=env, capture_output=True, text=True,
                          timeout=support.DEADLINE)
    assert done.returncode == 125 and word in done.stderr, done.stderr
    assert not os.path.exists(tmp_path / "x.sock")


def test_a_reply_names_no_place_of_the_host(http):
    """Each call of the gateway's client looks for them; here are those that replies had once."""
    for volume in ("data:/etc", "data:/proc", "data/sub:relative"):
        assert http.ask("POST", "/v1/executions", {"args": ["true"], "volumes": [volume]}, token=http.me).status == 422
    built = http.ask("POST", "/v1/builds", {"files": [{"path": "Makefile", "content": "all:\n\t@echo made > out.txt\n"}]}, token=http.me)
    assert built.status == 200, built.body
    kept = http.run({"args": ["sh", "-c", "echo yes > r.txt"], "outputs": ["r.txt"], "keep": True}, token=http.me)
    assert [file["path"] for file in kept["files"]] == ["/work/r.txt"]
    assert http.ask("GET", f"/v1/changes/{kept['changes_id']}", token=http.me).status == 200


def test_what_others_execute_is_not_applied_unless_it_is_named(http):
    code = "mkdir -p .git/hooks; echo 1 > .git/hooks/pre-commit; echo 1 > .envrc; echo 2 > b.txt; echo 2 > t.txt; chmod +x t.txt"
    left = {".git/hooks/pre-commit", ".envrc", "t.txt"}
    out = http.top / "out"
    (out / "t.txt").write_text("1\n")
    result = http.run({"args": ["sh", "-c", code], "project": "out", "keep": True}, token=http.me)
    where = f"/v1/changes/{result['changes_id']}"
    listed = http.ask("GET", where, token=http.me).json()
    assert {one["path"] for one in listed["changes"] if "executes" in one} == left
    done = http.ask("POST", where + "/apply", {}, token=http.me)
    assert done.status == 200 and {one["path"] for one in done.json()["left_out"]} == left
    assert (out / "t.txt").read_text() == "1\n"
    assert (out / "b.txt").exists() and not (out / ".envrc").exists() and not (out / ".git/hooks/pre-commit").exists()
    done = http.ask("POST", where + "/apply", {"paths": [".envrc"]}, token=http.me)
    assert done.status == 200 and "left_out" not in done.json() and (out / ".envrc").exists()


def test_a_large_tree_is_looked_at_beside_the_loop(http):
    """Each of its entries may be a secret.  What is wrong with a tree is said as before; a client may leave meanwhile."""
    tree = http.top / "data" / "many"
    for i in range(40):
        (tree / str(i)).mkdir(parents=True)
        for j in range(500):
            (tree / str(i) / str(j)).touch()
    (tree / "39" / ".env").write_text("SECRET=1\n")
    body = {"args": ["sh", "-c", "ls /many | wc -l; cat /many/39/.env"], "volumes": ["data/many:/many:cow"]}
    with contextlib.closing(http.connect(tcp=True)) as gone:
        gone.request("POST", "/v1/executions", json.dumps(body), {"Authorization": f"Bearer {http.me}", "Content-Type": "application/json"})
    with gateway.others(http) as worst:
        result = http.run(body, token=http.me)
        refused = http.ask("POST", "/v1/executions", {**body, "volumes": ["data/seed:/d:cow"]}, token=http.me)
    assert result["stdout"] == "40\n", result
    assert refused.status == 422 and "only a directory" in refused.json()["detail"], refused.body
    assert worst[0] < gateway.WAIT_S, worst
    assert gateway.children_are_gone(http)
