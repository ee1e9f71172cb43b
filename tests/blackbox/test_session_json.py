"""Every subcommand of `session` with --json and with --stream, against the schema that is shipped."""
import json
import re

import jsonschema
import pytest

import sessions
import support
from sessions import Session
from support import sandbox_run

SCHEMA = json.loads((support.REPO / "data/schemas/session.json").read_text())


def check(name, value):
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}).validate(value)


@pytest.fixture(name="session")
def _session(folder):
    project = folder / "project"
    project.mkdir()
    (project / "a.txt").write_text("a\n")
    session = Session(sessions.own_state(folder, None), "--project", str(project), "--network", "allow")
    yield session
    session.close()


def names():
    """As the command itself lists them."""
    said = sandbox_run("session", "there-is-no-such").stderr.decode()
    return re.search(r"say one of: (.*)", said).group(1).split(", ")


# In this order; ID is the session, COPY the id that `fork` has given.  `dep` needs a registry: its answer is tested
# where one runs.
STEPS = [
    ("exec", ["ID", "--code", "x = 41; open('a.txt', 'w').write('b'); x"]), ("info", ["ID"]), ("limits", ["ID"]),
    ("list", []), ("vars", ["ID"]), ("metrics", ["ID"]), ("interrupt", ["ID"]), ("reload", ["ID"]),
    ("put", ["ID", "-", "in.txt"]), ("files", ["ID"]), ("get", ["ID", "in.txt"]), ("get", ["ID", "in.txt", "OUT"]),
    ("export", ["ID"]), ("export", ["ID", "OUT", "--format", "py"]), ("export", ["ID", "BOOK"]),
    ("allow", ["ID", "192.0.2.9:9"]), ("checkpoint", ["ID"]), ("rollback", ["ID", "2"]), ("diff", ["ID"]),
    ("apply", ["ID", "--yes"]), ("fork", ["ID"]), ("replay", ["COPY", "BOOK"]), ("attach", ["COPY"]), ("close", ["COPY"]),
    ("restart", ["ID"]),
]
ELSEWHERE = {"create", "restore", "dep"}  # create: in each test; restore: below


def answers(done, how):
    """What a command printed, without the events around it."""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if how == "--json":
        return lines
    assert lines[-1]["type"] == "end" and [line["seq"] for line in lines] == list(range(len(lines))), lines
    return [line["result"] for line in lines if "result" in line]


def test_every_subcommand_answers_in_json(session, folder):
    assert set(names()) == {name for name, _ in STEPS} | ELSEWHERE == set(SCHEMA["$defs"])
    check("create", session.made)
    places = {"ID": session.id, "OUT": str(folder / "out"), "BOOK": str(folder / "book.ipynb")}
    for turn, (name, words) in enumerate(STEPS):
        how = ("--json", "--stream")[turn % 2]
        done = session.run(name, *[places.get(word, word) for word in words], how, stdin=b"1 + 1\n")
        found = answers(done, how)
        assert found and done.returncode == 0, (name, done)
        for one in found:
            check(name, one)
        if name == "fork":
            places["COPY"] = found[0]["id"]
    assert json.loads((folder / "book.ipynb").read_text())["nbformat"] == 4
    assert (folder / "out").read_text().startswith("x = 41")
    made = answers(session.run("restore", session.id, "--stream"), "--stream")[0]
    check("restore", made)
    closed = session.run("close", session.id, made["id"], "--stream")
    assert [json.loads(line)["type"] for line in closed.stdout.splitlines()] == ["answer", "end"]
    for how in ("--json", "--stream"):
        refused = session.run("info", "0" * 12, how)
        assert refused.returncode == 127 and answers(refused, how)[0]["error"]["message"]


def test_a_person_gets_lines_and_no_control_characters(session):
    session.run("exec", session.id, "--code", "x = 41; globals()['\\x1b[2Jy'] = 'a\\x1b[31m'")
    for action, shown in (("info", b"kernel version         3."), ("metrics", b"cells                  1"),
                          ("vars", b"x                int"), ("interrupt", b"interrupted            no"),
                          ("checkpoint", b"by                     fork")):
        said = session.run(action, session.id).stdout
        assert shown in said and b"\x1b" not in said and not said.startswith(b"{"), said
