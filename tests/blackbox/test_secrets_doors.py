"""A key by every door: the call works, and the key is nowhere in what comes back, is kept or is put on record."""
import json
import re

import pytest

import secrets_world
import support
from gateway import Gateway
from mcp_client import served
from secrets_world import KEY
from sessions import Session
from support import sandbox_run

ASK = ("import os, urllib.request as u; print('said', u.urlopen(u.Request('https://localhost:{port}/key', headers={{"
       "'Authorization': 'Bearer ' + os.environ['API_KEY']}})).status, os.environ['API_KEY'])")
CURL = 'curl -sS -w " said %{{http_code}} $API_KEY" -H "Authorization: Bearer $API_KEY" https://localhost:{port}/key'


@pytest.fixture(name="api", scope="module")
def an_api(session_folder):
    with secrets_world.api(session_folder) as server:
        yield server


class Place:
    """A home with the audit on, and a state of its own, in which nothing may have the key."""

    def __init__(self, folder, api, extra=""):
        self.home, self.state, self.api = folder / "home", folder / "state", api
        config = self.home / ".config/sandbox-run/config.yaml"
        config.parent.mkdir(parents=True)
        config.write_text("audit: with-code\n" + extra)
        self.state.mkdir(mode=0o700)
        self.env = {"HOME": str(self.home), "SANDBOX_RUN_STATE": str(self.state), "API_KEY": KEY,
                    "SSL_CERT_FILE": str(api.roots)}
        self.secret = ["--secret", f"API_KEY:localhost:{api.port}"]

    def run(self, *words, **more):
        done = sandbox_run(*[str(word) for word in words], env=self.env, timeout=150, **more)
        return done.stdout.decode() + done.stderr.decode()

    def check(self, *texts):
        """The call worked with a placeholder, and nothing has the key."""
        said = "".join(texts)
        assert re.search("said 200 sk-live-[A-Za-z0-9]{24}", said), said
        kept = [path for path in self.state.rglob("*") if path.is_file()]
        audit = "".join(path.read_text() for path in kept if path.name == "audit.jsonl")
        for form in secrets_world.forms():
            assert form not in said
            assert not [path for path in kept if form.encode() in path.read_bytes()]
        return audit


@pytest.fixture(name="place")
def _place(folder, api):
    return Place(folder, api)


def by_run(place, folder):
    return place.run("run", *place.secret, "--lang", "python", "--code", ASK.format(port=place.api.port))


def by_exec(place, folder):
    return place.run("exec", *place.secret, "--", "sh", "-c", CURL.format(port=place.api.port))


def by_session(place, folder):
    session = Session(place.state, *place.secret, env=place.env)
    try:
        return json.dumps(session.cell(ASK.format(port=place.api.port)))
    finally:
        session.close()


def by_repl(place, folder):
    return place.run("repl", *place.secret, "--lang", "python", stdin=ASK.format(port=place.api.port).encode() + b"\n")


def by_agent(place, folder):
    (folder / "project").mkdir()
    return place.run("agent", *place.secret, "--", "sh", "-c", CURL.format(port=place.api.port), cwd=folder / "project")


def by_test(place, folder):
    (folder / "project").mkdir()
    (folder / "project/test_a.py").write_text(
        f"import unittest\nclass A(unittest.TestCase):\n    def test_it(self):\n        {ASK.format(port=place.api.port)}\n"
        "        self.fail()\n")
    return place.run("test", "--json", *place.secret, folder / "project")


def by_build(place, folder):
    (folder / "project").mkdir()
    (folder / "project/Makefile").write_text("all:\n\t" + CURL.format(port=place.api.port).replace("$", "$$") + "\n")
    return place.run("build", "--json", *place.secret, folder / "project")


def by_mcp(place, folder):
    with served(*place.secret, env=place.env) as client:
        return json.dumps(client.data("run_code", language="python", code=ASK.format(port=place.api.port)))


DOORS = {"run": by_run, "exec": by_exec, "session": by_session, "repl": by_repl, "agent": by_agent, "test": by_test,
         "build": by_build, "mcp": by_mcp}


UNRECORDED = ()


@pytest.mark.parametrize("door", DOORS)
def test_a_key_by_this_door(place, folder, door):
    audit = place.check(DOORS[door](place, folder))
    assert '"secrets":["API_KEY"]' in audit or door in UNRECORDED, audit


def test_a_token_uses_what_the_operator_named_for_it(folder, api):
    place = Place(folder, api, f"secrets:\n  - API_KEY:localhost:{api.port}\n  - OTHER_KEY={KEY[::-1]}:localhost:{api.port}\n")
    ask = {"language": "python", "code": ASK.format(port=api.port), "secrets": ["API_KEY"]}
    (folder / "gateway").mkdir()
    with Gateway(folder / "gateway", env=place.env) as http:
        plain = http.token("plain")
        named = http.token("named", "--secret", "API_KEY")
        assert http.ask("POST", "/v1/executions", ask, token=plain).status == 403
        reply = http.ask("POST", "/v1/executions", ask, token=named)
        made = http.ask("POST", "/v1/sessions", {"language": "python", "secrets": ["API_KEY"]}, token=named)
        cell = http.ask("POST", f"/v1/sessions/{made.json()['id']}/cells", {"code": ASK.format(port=api.port)}, token=named)
        foreign = http.ask("POST", f"/v1/sessions/{made.json()['id']}/cells", {"code": "1"}, token=http.token(
            "named", "--allow-host", f"localhost:{api.port}", "--network", "allow"))
        http.ask("DELETE", f"/v1/sessions/{made.json()['id']}", token=named)
        assert foreign.status == 403 and "the secret 'API_KEY'" in foreign.body.decode(), foreign.body
        assert http.ask("POST", "/v1/sessions", {"language": "python", "secrets": ["API_KEY"]}, token=plain).status == 403
        refused = http.ask("POST", "/v1/executions", {**ask, "secrets": ["OTHER_KEY"]}, token=named)
        given = http.ask("POST", "/v1/executions", {**ask, "secrets": [f"API_KEY={KEY}:localhost"]}, token=named)
    assert reply.status == 200 and refused.status == 403 and given.status == 422, (reply.body, refused.body, given.body)
    place.check(reply.body.decode())
    place.check(cell.body.decode())
    assert KEY[::-1] not in refused.body.decode() and KEY not in given.body.decode()
    audit = "".join(path.read_text() for path in folder.rglob("audit*.jsonl"))
    assert '"secrets":["API_KEY"]' in audit and not any(form in audit for form in secrets_world.forms())
