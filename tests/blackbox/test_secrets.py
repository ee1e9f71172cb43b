"""--secret: the call works, and the key is nowhere inside."""
import json

import pytest

import secrets_world
import support
from secrets_world import KEY
from support import sandbox_run

PROGRAMS = support.REPO / "tests/blackbox/programs"
PROBE = PROGRAMS / "secrets_probe.py"
CALLER = support.available_callers()[-1]


@pytest.fixture(name="api", scope="module")
def an_api(session_folder):
    with secrets_world.api(session_folder) as server:
        yield server


def run(api, *words, secret="API_KEY:localhost:{port}", options=(), caller=None, command="run"):
    options = [option.format(port=api.port, plain=api.plain_port) for option in ("--secret", secret, *options)]
    return sandbox_run(command, *options, *words, caller=caller or CALLER,
                       env={"API_KEY": KEY, "SSL_CERT_FILE": str(api.roots)})


def probe(api, *cases, **how):
    """The program's answers by case, and the result; nothing of it has the key."""
    api.seen.clear()
    done = run(api, "--json", PROBE, api.port, api.plain_port, *cases, **how)
    for form in secrets_world.forms():
        assert form not in done.stdout.decode() + done.stderr.decode(), "the key is in the result"
    result = json.loads(done.stdout)
    assert "stdout" in result, result
    return dict(json.loads(line) for line in result["stdout"].splitlines()), result


def denials(result):
    return [(one["kind"], one["target"], one["rule"]) for one in result.get("denials", [])]


def test_a_key_is_put_into_headers_with_credentials(api, caller):
    said, result = probe(api, "bearer", "basic", "header", "websocket", caller=caller)
    assert [said[case][0] for case in ("bearer", "basic", "header")] == ["200"] * 3
    assert said["websocket"][0::2] == ["yes True", "bless True"] and said["websocket"][1].startswith("tell True sk-live-")
    assert "secrets" in result["isolation"]["mechanisms"] and not denials(result)


def test_an_echo_is_masked(api):
    said, _ = probe(api, "echo", "pieces")
    assert said["echo"][2].count("sk-live-") >= 2 and said["echo"][1]["X-Echo"].startswith("sk-live-")
    assert said["pieces"][2].startswith("data: sk-live-")


def test_in_other_places_the_placeholder_leaves_as_it_is(api):
    said, result = probe(api, "agent", "query", "body", "host", "absolute")
    assert not any(KEY in str(one) for one in api.seen)
    assert said["host"][0] == said["absolute"][0] == "401"
    rules = {rule for kind, target, rule in denials(result) if kind == "secret" and target.startswith("API_KEY to localhost:")}
    assert rules == {"secret API_KEY: it is put into headers with credentials only",
                     "secret API_KEY: the request names another host than it was sent to"}


def test_query_and_body_are_a_choice(api):
    probe(api, "query", "body", secret="API_KEY:localhost:{port}+query+body")
    assert KEY in api.seen[0][1] and KEY in api.seen[1][3].decode()


def test_a_forged_name_http2_and_unclear_requests_get_nothing(api):
    said, result = probe(api, "sni", "plain", "smuggle", "h2")
    assert not api.seen or not any(KEY in str(one) for one in api.seen[:-1])
    assert "unrecognized name" in said["sni"] and said["plain"][0] != "2", said
    rules = "".join(rule for _, _, rule in denials(result))
    assert "its TLS asks for another name" in rules and "it is for HTTP with TLS" in rules.replace("its secret is", "it is")
    assert "not clear HTTP/1.1" in rules


def test_another_host_gets_the_placeholder(api):
    """Of the same machine, without TLS: it is another port."""
    said, _ = probe(api, "plain port", options=("--allow-host", "localhost:{plain}"))
    assert said["plain port"][0] == "401" and KEY not in str(api.seen)


def test_http_without_tls_is_named_as_such(api):
    said, _ = probe(api, "plain port", secret="API_KEY:http://localhost:{plain}")
    assert said["plain port"][0] == "200"
    said, result = probe(api, "plain port", secret="API_KEY:localhost:{plain}")
    assert said["plain port"] == "the end" or "reset" in said["plain port"]
    assert "its secret is for HTTP with TLS" in "".join(rule for _, _, rule in denials(result))


def test_a_server_that_cannot_be_verified_gets_nothing(api):
    done = sandbox_run("run", "--secret", f"API_KEY:localhost:{api.port}", "--json", PROBE, api.port, 0, "bearer",
                       env={"API_KEY": KEY}, caller=CALLER)
    api.seen.clear()
    assert "its certificate is not good" in done.stdout.decode() and not api.seen


def test_the_key_is_nowhere_inside(api):
    said, _ = probe(api, "bearer", "echo", "search", KEY[::-1])
    assert said["bearer"][0] == "200" and said["search"] == [[], True]
    done = sandbox_run("run", "--env", f"API_KEY={KEY}", PROBE, 0, 0, "search", KEY[::-1], caller=CALLER)
    assert json.loads(done.stdout)[1][0], "the search finds what is there"


CLIENTS = {
    "curl": 'curl -sS -H "Authorization: Bearer $API_KEY" https://localhost:$1/key',
    "git": 'git clone -q "https://me:$API_KEY@localhost:$1/repo.git" /tmp/r && cat /tmp/r/hello',
    "node": 'node --input-type=module -e "const r = await fetch(\\"https://localhost:$1/key\\", {headers: {Authorization: '
            '\\"Bearer $API_KEY\\"}}); console.log(await r.text())"',
    "python3": 'python3 -c "import os, requests; print(requests.get(\'https://localhost:$1/key\', '
               'auth=(\'me\', os.environ[\'API_KEY\'])).text)"',
}
ASK = """import java.net.URI; import java.net.http.*;
public class Ask { public static void main(String[] a) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(a[0])).header("Authorization", "Bearer " + System.getenv("API_KEY")).build();
    System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body()); } }"""


@pytest.mark.parametrize("client", CLIENTS)
def test_clients_trust_the_way_out(api, client):
    if not support.have(client):
        pytest.skip(f"there is no {client}")
    if client == "git":
        make_repository(api.files)
    done = run(api, "--timeout", "2m", "--", "sh", "-c", CLIENTS[client], "sh", api.port, command="exec")
    assert done.stdout.decode().strip() in ('{"ok": true}', "hello"), done


def test_java_trusts_the_way_out(api, folder):
    if not support.have("javac"):
        pytest.skip("there is no javac")
    (folder / "Ask.java").write_text(ASK)
    done = run(api, "--timeout", "2m", folder / "Ask.java", f"https://localhost:{api.port}/key")
    assert done.stdout.decode().strip() == "{\"ok\": true}", done.stderr.decode()


def make_repository(folder):
    import subprocess  # pylint: disable=import-outside-toplevel
    work = folder / "work"
    if work.exists():
        return
    work.mkdir()
    (work / "hello").write_text("hello\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "one"],
                  ["clone", "-q", "--bare", ".", folder / "repo.git"]):
        subprocess.run(["git", "-C", work, *words], check=True, capture_output=True)
    subprocess.run(["git", "-C", folder / "repo.git", "update-server-info"], check=True)


def test_what_cannot_be_is_refused():
    def refused(*options, **variables):
        done = sandbox_run("exec", *options, "--", "true", env=variables, caller=CALLER)
        assert done.returncode == 125 and KEY not in done.stderr.decode()
        return done.stderr.decode()

    assert "no variable NOT_THERE" in refused("--secret", "NOT_THERE:example.org")
    assert "no secret 'NOT_DEFINED' is defined" in refused("--secret", "NOT_DEFINED")
    assert "does not reach" in refused("--secret", "K:example.org", "--network", "none", K=KEY)
    assert "fewer than 8" in refused("--secret", "K:example.org", K="short")


def test_the_configuration_defines_and_a_request_names(api, folder):
    (folder / "sandbox-run").mkdir()
    config = folder / "sandbox-run/config.yaml"
    config.write_text(f"secrets:\n  - API_KEY={KEY}:localhost:{api.port}\n")
    config.chmod(0o644)
    env = {"XDG_CONFIG_HOME": str(folder), "SSL_CERT_FILE": str(api.roots)}
    request = {"language": "python", "secrets": ["API_KEY"], "args": [str(api.port), "0", "bearer"], "code": PROBE.read_text()}
    done = sandbox_run("run", "--request", "-", stdin=json.dumps(request).encode(), env=env, caller=CALLER)
    assert json.loads(done.stdout)[1][0] == "200", done
    request["secrets"] = [f"API_KEY={KEY}:localhost:{api.port}"]
    done = sandbox_run("run", "--request", "-", stdin=json.dumps(request).encode(), env=env, caller=CALLER)
    assert done.returncode == 125 and KEY not in done.stderr.decode()


@pytest.mark.parametrize("command", ["explain", "plan"])
def test_what_is_planned_names_secrets_only(api, command):
    done = run(api, "/bin/true", command=command, caller=support.available_callers()[0])
    shown = (done.stdout + done.stderr).decode()
    assert done.returncode == 0 and "API_KEY=(placeholder)" in shown, shown
    assert not any(form in shown for form in secrets_world.forms())
