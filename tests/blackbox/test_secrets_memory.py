"""Where a value is while a run has it, and that it is nowhere when the run has ended: memory of our own processes."""
import os
import pathlib

import pytest

import engine
import secrets_world
import support
from gateway import Gateway
from secrets_world import KEY
from sessions import Session
from waiting import read_line, started, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the memory of other processes")

HELPER = "sandbox-run-secrets"
ASK = ("import os, urllib.request as u; print('said', u.urlopen(u.Request('https://localhost:{port}/key', headers={{"
       "'Authorization': 'Bearer ' + os.environ['API_KEY']}})).status, flush=True)")


@pytest.fixture(name="api", scope="module")
def an_api(session_folder):
    with secrets_world.api(session_folder) as server:
        yield server


@pytest.fixture(name="place")
def _place(folder, api):
    """Variables for a caller whose secret is in a file: nobody's environment or command line has it."""
    (folder / "key").write_text(KEY)
    (folder / "home/.config/sandbox-run").mkdir(parents=True)
    (folder / "home/.config/sandbox-run/config.yaml").write_text(f"secrets:\n  - API_KEY=@{folder}/key:localhost:{api.port}\n")
    return {"HOME": str(folder / "home"), "SANDBOX_RUN_STATE": str(folder / "state"), "SSL_CERT_FILE": str(api.roots)}


def has_key(pid):
    """True when memory that can be read has the value."""
    wanted = [form.encode() for form in secrets_world.forms()[:2]]
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if line.split()[1][0] != "r" or end >= 1 << 62:
                continue
            try:
                memory.seek(start)
                block = memory.read(end - start)
            except OSError:
                continue
            if any(form in block for form in wanted):
                return True
    return False


def name_of(pid):
    """By the first word of its command line: what runs from memory has no other name."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode().rpartition("/")[2]
    except (OSError, ProcessLookupError):
        return ""


def holders(pid):
    """Of the processes below it, those that have the value, by name.  The janitor has the tool's own memory."""
    found = []
    for one in engine.descendants(pid):
        name = name_of(one)
        if name == name_of(pid):
            continue
        try:
            found += [name] if has_key(one) else []
        except (OSError, ProcessLookupError):
            pass
    return found


def test_only_the_helper_has_it_besides_who_started_it(place, api):
    """Egress, init and the program do not."""
    code = ASK.format(port=api.port) + "; input()"
    with started("run", "--secret", "API_KEY", "--lang", "python", "--code", code, env=place) as process:
        assert read_line(process.stdout, 60) == b"said 200\n"
        assert holders(process.pid) == [HELPER]


def test_a_session_has_it_where_it_may_be_started_again(place, api, folder):
    session = Session(folder / "state", "--secret", "API_KEY", env=place)
    try:
        assert session.cell(ASK.format(port=api.port))["stdout"] == "said 200\n"
        assert holders(session.supervisor()) == [HELPER]
    finally:
        session.close()


def test_a_gateway_has_it_no_longer(place, api, folder):
    (folder / "gateway").mkdir()
    with Gateway(folder / "gateway", env=place) as http:
        result = http.run({"language": "python", "code": ASK.format(port=api.port), "secrets": ["API_KEY"]},
                          token=http.token("named", "--secret", "API_KEY"))
        assert result["stdout"] == "said 200\n"
        assert wait_until(lambda: HELPER not in map(name_of, engine.descendants(http.process.pid))), "it ends with the run"
        assert holders(http.process.pid) == [] and not has_key(http.process.pid)
