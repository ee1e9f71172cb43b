"""Sessions: one sandbox, one cell of code after the other."""
import json

import pytest

import support
from support import sandbox_run


class Session:
    """A session of the test's own, in a state directory of its own."""

    def __init__(self, state, *options, lang="python", caller=None):
        self.env, self.caller = {"SANDBOX_RUN_STATE": str(state)}, caller
        self.made = self.json("create", "--lang", lang, *options)
        self.id = self.made["id"]

    def run(self, *words, **kwargs):
        return sandbox_run("session", *words, env=self.env, caller=self.caller, **kwargs)

    def json(self, *words, **kwargs):
        done = self.run(*words, "--json", **kwargs)
        assert done.stdout, done.stderr.decode()
        return json.loads(done.stdout)

    def cell(self, code, *options):
        return self.json("exec", self.id, "--code", code, *options)

    def value(self, code, *options):
        """The text of the last value."""
        return self.cell(code, *options)["display"][-1]["text/plain"]

    def close(self):
        return self.run("close", self.id)


@pytest.fixture(name="state")
def own_state(folder, any_caller):
    if any_caller == support.Callers.USER and support.os.geteuid() == 0:
        support.os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    return folder / "state"


@pytest.fixture(name="session")
def one_session(state, any_caller):
    session = Session(state, caller=any_caller)
    yield session
    session.close()


def test_variables_stay_and_every_cell_has_its_own_result(session):
    assert session.made["state"] == "ready" and session.made["lang"] == "python"
    first = session.cell("x = 41\nprint('hello')\nimport sys; print('bad', file=sys.stderr)")
    assert (first["cell"], first["stdout"], first["stderr"], first["display"]) == (1, "hello\n", "bad\n", [])
    assert first["success"] and first["session"] == "kept" and first["isolation"]["tier"]
    second = session.cell("x + 1")
    assert (second["cell"], second["stdout"], second["display"][0]["text/plain"]) == (2, "", "42")
    failed = session.cell("def f():\n    return 1 / 0\nf()")
    assert (failed["outcome"], failed["exit_code"], failed["success"]) == ("exited", 1, False)
    assert failed["diagnosis"]["type"] == "ZeroDivisionError" and failed["diagnosis"]["line"] == 2
    assert session.value("x") == "41"


def test_a_cell_over_its_time_is_interrupted_and_its_state_is_kept(session):
    session.cell("x = 5")
    late = session.cell("import time\nwhile True: time.sleep(0.01)", "--timeout", "300ms")
    assert (late["outcome"], late["session"], late["exit_code"]) == ("timeout", "kept", None)
    assert "time" in late["explanation"] and late["limits"]["wall_ms"] == 300
    assert session.value("x") == "5"


def test_list_shows_it_until_it_is_closed(session):
    one, = session.json("list")["sessions"]
    assert (one["id"], one["lang"], one["state"], one["cells"]) == (session.id, "python", "ready", 0)
    assert session.close().returncode == 0
    assert session.json("list")["sessions"] == []
    gone = session.run("exec", session.id, "--code", "1")
    assert gone.returncode == 127 and session.id.encode() in gone.stderr


def test_what_has_no_session_is_refused(state, any_caller):
    env = {"SANDBOX_RUN_STATE": str(state)}
    for options, words in ((["--lang", "c"], b"c has no sessions"), ([], b"say which language")):
        done = sandbox_run("session", "create", *options, env=env, caller=any_caller)
        assert done.returncode == 125 and words in done.stderr
