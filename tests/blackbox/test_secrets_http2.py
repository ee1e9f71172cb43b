"""--secret with clients that speak HTTP/2 and nothing else."""
import contextlib
import json
import subprocess

import pytest

import secrets_world
import support
from secrets_world import KEY
from support import sandbox_run

PROGRAMS = support.REPO / "tests/blackbox/programs"
CALLER = support.available_callers()[-1]
pytestmark = pytest.mark.skipif(not support.have("node"), reason="there is no node here")


@contextlib.contextmanager
def http2_api(*words):
    """Its port, and its process, which says what it was asked."""
    with subprocess.Popen(["node", PROGRAMS / "http2_api.cjs", *words], stdout=subprocess.PIPE, env={
            "THE_KEY": KEY, "PATH": "/usr/local/bin:/usr/bin:/bin"}) as process:
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.kill()


def asked(process, count):
    return [json.loads(process.stdout.readline()) for _ in range(count)]


def run(port, *words, roots=None, plain=""):
    done = sandbox_run("run", "--timeout", "2m", "--secret", f"API_KEY:{plain}localhost:{port}", *words, caller=CALLER,
                       env={"API_KEY": KEY, **({"SSL_CERT_FILE": str(roots)} if roots else {})})
    for form in secrets_world.forms():
        assert form not in done.stdout.decode() + done.stderr.decode()
    return done


def lines(done):
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def test_streams_of_one_connection(session_folder):
    cert, key = secrets_world.certificate(session_folder)
    cert.chmod(0o644)
    with http2_api(cert, key) as (port, process):
        done = run(port, PROGRAMS / "http2_client.mjs", f"https://localhost:{port}", "GET", "/key", "-", "0", "POST", "/up", "-",
                   str(3 << 20), "GET", "/big", "-", "0", "GET", "/pieces", "-", "0", "GET", "/key", "evil.example", "0", roots=cert)
        said = lines(done)
        seen = {one["path"] + one["authority"]: one for one in asked(process, 5)}
    assert [one.get("status") for one in said] == [200, 200, 200, 200, 401], (said, done.stderr)
    placeholder = said[0]["trailers"]["x-end"]
    assert placeholder.startswith("sk-live-") and said[0]["echo"] == f"Bearer {placeholder}"
    assert json.loads(said[1]["body"])["length"] == 3 << 20 and said[2]["length"] == 8 << 20
    assert said[3]["body"] == f"data: {placeholder} end"
    assert seen[f"/keylocalhost:{port}"]["ok"] and not seen["/keyevil.example"]["ok"]


def test_http2_without_tls(session_folder):
    """The preface says it: curl, and Node."""
    with http2_api() as (port, process):
        done = run(port, "--lang", "sh", "--code", f'curl -sS --http2-prior-knowledge -H "Authorization: Bearer $API_KEY" '
                   f'http://localhost:{port}/key', plain="http://")
        assert json.loads(done.stdout)["ok"], done
        said = lines(run(port, PROGRAMS / "http2_client.mjs", f"http://localhost:{port}", "GET", "/key", "-", "0", plain="http://"))
        assert said[0]["status"] == 200 and all(one["ok"] for one in asked(process, 2))


def test_an_upgrade_to_http2_is_left_out(session_folder):
    """Its frames would pass without being looked through."""
    with secrets_world.api(session_folder) as server:
        done = run(server.plain_port, "--lang", "sh", "--code", f'curl -sS --http2 -H "Authorization: Bearer $API_KEY" '
                   f'http://localhost:{server.plain_port}/key', plain="http://")
        assert json.loads(done.stdout)["ok"] and server.header("Upgrade") is None and server.header("HTTP2-Settings") is None


def test_a_host_that_speaks_only_http1_is_named(session_folder):
    with secrets_world.api(session_folder) as server:
        done = run(server.port, "--json", PROGRAMS / "http2_client.mjs", f"https://localhost:{server.port}", "GET", "/key", "-", "0",
                   roots=server.roots)
        assert "it does not speak HTTP/2 over TLS" in str(json.loads(done.stdout)["denials"]) and not server.seen
