"""A program that wants its key sent elsewhere, and one that misuses the authority of its run: both get nothing.

The server would take the key by every one of these ways: what it is sent is looked at, not what the program is told."""
import json

import pytest

import secrets_world
import support
from secrets_world import KEY
from support import sandbox_run

PROGRAM = support.REPO / "tests/blackbox/programs/secrets_attack.py"
CALLER = support.available_callers()[-1]


@pytest.fixture(name="api", scope="module")
def an_api(session_folder):
    with secrets_world.api(session_folder) as server:
        yield server


def attack(api, *cases, secret="API_KEY:localhost:{port}", options=()):
    """What it says by case, and all that the server was sent in credentials, with the denials."""
    api.seen.clear()
    options = [word.format(port=api.port, plain=api.plain_port) for word in ("--secret", secret, *options)]
    done = sandbox_run("run", "--json", *options, PROGRAM, api.port, api.plain_port, *cases, caller=CALLER,
                       env={"API_KEY": KEY, "SSL_CERT_FILE": str(api.roots)})
    for form in secrets_world.forms():
        assert form not in done.stdout.decode() + done.stderr.decode()
    result = json.loads(done.stdout)
    return dict(json.loads(line) for line in result["stdout"].splitlines()), result


def got_key(api):
    return [path for _, path, headers, body in api.seen if KEY in str(headers) + path + body.decode("latin-1")]


def test_a_redirect_does_not_take_it_along(api):
    said, result = attack(api, "itself", "redirect", options=("--allow-host", "localhost:{plain}"))
    assert said["itself"][0] == 200 and said["redirect"][0] == 401
    assert [path for path in got_key(api) if path != "/key"] == [f"/redirect?http://localhost:{api.plain_port}/key"]
    assert len(api.seen) == 3 and len(got_key(api)) == 2, api.seen
    assert result["outcome"] == "exited"


def test_another_port_of_the_host_and_another_header_get_the_placeholder(api):
    said, result = attack(api, "other port", "other header", options=("--allow-host", "localhost:{plain}"))
    assert said["other port"][0] == 401 and said["other header"][0] == 200 and not got_key(api)
    assert len(api.seen) == 2 and "secret" in {one["kind"] for one in result["denials"]}


def test_a_second_name_for_the_address_gets_nothing(api):
    """The rule is for a name: its address is another host, and so is another name in TLS at the address that is dialled."""
    said, result = attack(api, "second name")
    assert "HTTP/1.1 200" not in said["second name"] and not got_key(api), said
    assert "its TLS asks for another name" in str(result["denials"])


def test_the_authority_is_for_these_names_and_its_key_is_not_inside(api):
    said, _ = attack(api, "constraints", "private keys", "forged", "itself")
    assert "pathlen:0" in said["constraints"] and "DNS:localhost" in said["constraints"] and "Permitted" in said["constraints"]
    assert said["private keys"] == [] and said["forged"] != 0 and said["itself"][0] == 200
