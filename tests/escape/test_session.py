"""All attacks that a run stops, through a session: by a child of its kernel, and by a kernel of another language
that joined later.  Neither is a run of its own, so neither may have a right that a run has not."""
import importlib
import json
import pathlib

import pytest

import harness
import support
from harness import INSIDE_DATA, INSIDE_TOOLS, Attack, answers_of, as_lines, assert_none, callers
from support import sandbox_run

HERE = pathlib.Path(__file__).resolve().parent
OTHERS = (__name__, "test_process_tier", "test_stages")  # of another tier, and of the stages before a program
BY_CHILD = "import subprocess\nsubprocess.run(['{tool}', 'many'], stdin=open('/work/attacks'))\n"
BY_SECOND = "{tool} many < /work/attacks"


def all_attacks():
    """What the other files have, but what ends its sandbox."""
    found = []
    for path in sorted(HERE.glob("test_*.py")):
        if path.stem not in OTHERS and "proofs(ATTACKS)" in path.read_text():
            found += importlib.import_module(path.stem).ATTACKS
    assert len(found) > 50 and all(isinstance(attack, Attack) for attack in found)
    return [attack for attack in found if not attack.killed]


def groups():
    found = {}
    for attack in all_attacks():
        found.setdefault((*attack.options, "--policy", attack.policy), []).append(attack)
    return found.items()


class Session:
    def __init__(self, scene, options, caller, folder):
        self.caller, self.env = caller, {"SANDBOX_RUN_STATE": str(folder / "state")}
        degraded = ["--allow-degraded"] if caller == support.Callers.USER else []
        made = self.call("create", "--lang", "python", *options, *degraded, "--volume", f"{scene.tools}:{INSIDE_TOOLS}:ro",
                         "--volume", f"{scene.data}:{INSIDE_DATA}:ro", "--timeout", "60s")
        self.id = made["id"]

    def call(self, *words, **kwargs):
        done = sandbox_run("session", *words, "--json", env=self.env, caller=self.caller, **kwargs)
        assert done.returncode in (0, 1) and done.stdout, done.stderr.decode()
        return json.loads(done.stdout)

    def cell(self, code, *options):
        return self.call("exec", self.id, "--code", code.format(tool=f"{INSIDE_TOOLS}/attack"), *options)


@pytest.fixture(name="folder")
def own_folder(room, caller):
    folder = room / f"session-{caller}"
    folder.mkdir(exist_ok=True)
    if caller == support.Callers.USER:
        folder.chmod(0o777)
    return folder


@callers
@pytest.mark.container
def test_the_attack_fails_through_a_session(scene, caller, folder):
    wrong = []
    for options, attacks in groups():
        session = Session(scene, options, caller, folder)
        said = [scene.words(attack.words, ()) for attack in attacks]
        session.call("put", session.id, "-", "attacks", stdin=as_lines(said))
        for code, language in ((BY_CHILD, "python"), (BY_SECOND, "bash")):
            result = session.cell(code, "--lang", language)
            wrong += [f"{attack.sentence}, {language}: {why}"
                      for attack, answer in zip(attacks, answers_of(result, len(attacks)))
                      if (why := attack.why_not_stopped(answer))]
        session.call("close", session.id)
    assert_none(wrong)


@callers
@pytest.mark.container
def test_nothing_inside_reaches_the_socket_of_its_session(scene, caller, folder):
    """With the session's own directory as a volume, as a careless user might bring it in."""
    state = folder / "state"
    first = Session(scene, (), caller, folder)
    second = Session(scene, ("--volume", f"{state}/sessions/{first.id}:/victim:ro"), caller, folder)
    code = ("import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('/victim/socket')\n"
            "s.sendall(b'{{\"op\": \"allow\", \"host\": \"192.0.2.1\"}}\\n')\nprint(s.recv(100))")
    done = second.cell(code)
    assert "answer" not in done["stdout"], done
    assert first.cell("6 * 7")["display"][0]["text/plain"] == "42"
    for session in (first, second):
        session.call("close", session.id)
    harness.wait_until(lambda: not list(state.glob("sessions/*")), "no session is left")
