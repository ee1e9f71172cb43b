"""Commands that messages name between backticks: each is taken from the message, typed, and succeeds.

What a message says about options is in test_remedies.py."""
import re
import shlex

import pytest

import support
from screen import shown
from support import sandbox_run
from test_remedies import remedy_in


@pytest.fixture(name="own", scope="module")
def own_places(tmp_path_factory):
    """A state, a cache and a configuration that nothing else uses, and a directory with a project."""
    top = tmp_path_factory.mktemp("typed")
    (top / "project").mkdir()
    (top / "project/kept").write_text("1\n")
    for name in ("old.py", "new.py", "job.py"):
        (top / name).write_text("print('found')\n")
    env = {"SANDBOX_RUN_STATE": str(top / "state"), "SANDBOX_RUN_CACHE": str(top / "cache"),
           "XDG_CONFIG_HOME": str(top / "config"), "SANDBOX_RUN_SOCKET": str(top / "none.sock")}
    return {"env": env, "cwd": top}


def commands_in(text):
    return [shlex.split(words) for words in re.findall(r"`sandbox-run ([^`]*)`", text)]


def said_by(own, *words, status=None, **more):
    done = sandbox_run(*words, **own, **more)
    assert status is None or done.returncode == status, (words, done)
    return done.stderr.decode() + done.stdout.decode()


def succeeds(own, *words, **more):
    done = sandbox_run(*words, **own, **more)
    assert done.returncode == 0, (words, done)
    return done.stdout.decode()


# What is typed wrongly, its status, and the command that the message names; `more` answers what it asks.
LISTS = {
    "no such command": (["nosuchcommand"], 127, ["--help"]),
    "no such topic": (["help", "nosuch"], 127, ["help"]),
    "no such language": (["--lang", "nosuch", "--code", "1"], 127, ["languages"]),
    "no such entry of the cache": (["cache", "rm", "123456789abc"], 127, ["cache", "list"]),
    "no such changes": (["changes", "show", "123456"], 127, ["changes", "list"]),
    "changes without a name": (["apply"], 125, ["changes", "list"]),
    "no such output": (["output", "123456"], 127, ["output"]),
    "no such session": (["session", "exec", "123456", "--code", "1"], 127, ["session", "list"]),
    "a session without a language": (["session", "create"], 125, ["session", "create", "python"]),
    "no such workspace": (["workspace", "rm", "nosuch"], 127, ["workspace", "list"]),
    "no such image": (["image", "rm", "nosuch"], 127, ["image", "list"]),
    "not trusted": (["trust", "--revoke", "/nosuch"], 127, ["trust", "--list"]),
    "two programs": (["compare"], 125, ["compare", "old.py", "new.py"]),
    "no engine": (["serve", "--status"], 1, ["serve"]),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_command_that_a_message_names_succeeds(own, name):
    wrong, status, right = LISTS[name]
    assert right in commands_in(said_by(own, *wrong, status=status)), name
    if right == ["serve"]:
        right = ["serve", "--daemon"]  # as it stands it stays in the foreground
    out = succeeds(own, *right)
    if right[:2] == ["session", "create"]:
        succeeds(own, "session", "close", out.strip())
    if right[0] == "serve":
        assert commands_in(said_by(own, "serve")) == [["serve", "--status"]]  # one runs already
        succeeds(own, "serve", "--status")
        succeeds(own, "serve", "--stop")


def test_kept_changes_are_shown_applied_taken_back_and_forgotten(own):
    made = commands_in(said_by(own, "exec", "--project", "project", "--keep", "--", "touch", "made", status=0))
    apply, drop = made
    changes = apply[1]
    assert (apply[0], drop) == ("apply", ["changes", "drop", changes])
    show = commands_in(said_by(own, "changes", changes, status=125))[-1]
    assert show == ["changes", "show", changes] and "made" in succeeds(own, *show)
    assert commands_in(said_by(own, "apply", changes, "nosuch", status=127)) == [["changes", "show", "ID"]]
    asked = said_by(own, *apply, status=125)
    answer = re.search(r"there is no terminal; (--\w+) answers it", asked)[1]
    applied = sandbox_run(*apply, answer, **own)
    assert applied.returncode == 0 and (own["cwd"] / "project/made").exists()
    undo = commands_in(applied.stderr.decode())[0]
    assert undo == ["undo", changes]
    succeeds(own, *undo, answer)
    assert not (own["cwd"] / "project/made").exists()
    succeeds(own, *drop)
    assert changes not in said_by(own, "changes", "list", status=0)


def test_a_conflict_is_forced_by_the_option_that_is_named(own):
    made = commands_in(said_by(own, "exec", "--project", "project", "--keep", "--", "sh", "-c", "echo 2 > kept", status=0))
    (own["cwd"] / "project/kept").write_text("meanwhile\n")
    refused = said_by(own, *made[0], "--yes", status=126)
    option = re.search(r"(--\w+) PATH does it all the same", refused)[1]
    succeeds(own, *made[0], "--yes", option, "kept")
    assert (own["cwd"] / "project/kept").read_text() == "2\n"


def test_kept_output_is_printed_and_removed(own):
    printed = commands_in(said_by(own, "exec", "--keep-output", "--", "echo", "found", status=0))
    assert printed[0][0] == "output" and succeeds(own, *printed[0]) == "found\n"
    one, everything = commands_in(said_by(own, "output", "rm", status=125))
    assert one == ["output", "rm", "ID..."]
    succeeds(own, *one[:2], printed[0][1])
    assert everything == ["output", "rm", "--all"]
    succeeds(own, *everything)


def test_a_session_whose_kernel_ended_begins_anew(own):
    session = succeeds(own, "session", "create", "python").strip()
    try:
        ended = said_by(own, "session", "exec", session, "--json", "--code", "exit(3)", status=3)
        restart = commands_in(ended)
        assert restart == [["session", "restart", session]], ended
        succeeds(own, *restart[0])
        assert succeeds(own, "session", "exec", session, "--code", "1 + 1") == "2\n"
        died = commands_in(said_by(own, "session", "exec", session, "--json", "--code", "import os; os._exit(4)"))
        assert died == restart
        succeeds(own, *restart[0])
    finally:
        sandbox_run("session", "close", session, **own)


def test_a_fork_at_the_prompt_is_a_session_to_go_on_with(own):
    done = sandbox_run("repl", "python", stdin=b"x = 41\n:fork\n", **own)
    fork = commands_in(done.stdout.decode() + done.stderr.decode())[0]
    try:
        assert fork[:2] == ["session", "exec"] and succeeds(own, *fork, stdin=b"x + 1\n") == "42\n"
    finally:
        sandbox_run("session", "close", fork[2], **own)


@pytest.mark.skipif(not support.have("luarocks"), reason="there is no luarocks here")
def test_a_session_of_a_language_without_late_packages_is_made_with_them(own):
    session = succeeds(own, "session", "create", "lua").strip()
    try:
        create = commands_in(said_by(own, "session", "dep", session, "nosuch", status=125))[0]
        assert create == ["session", "create", "--lang", "lua", "--dep", "nosuch"]
        assert "the installer ended with exit code" in said_by(own, *create)  # it is asked, and does not find it
    finally:
        sandbox_run("session", "close", session, **own)


def test_a_projects_file_is_trusted_as_the_line_says(own):
    project = own["cwd"] / "trusted"
    project.mkdir()
    (project / ".sandbox-run.yaml").write_text("limits:\n  memory: 100m\n")
    place = {**own, "cwd": project}
    trust = commands_in(said_by(place, "--lang", "sh", "--code", "true", status=0))[0]
    assert trust[0] == "trust"
    succeeds(place, *trust)
    assert said_by(place, "--lang", "sh", "--code", "true", status=0) == ""


def test_a_program_is_typed_into_the_prompt_that_the_message_names(own):
    with shown("--lang", "python", env=own["env"]) as screen:
        assert screen.end() == 125
        command = re.search(r"`sandbox-run ([^`]*)`", screen.text.replace("\n", ""))[1].split()
    assert command == ["repl", "python"]
    with shown(*command, env=own["env"]) as screen:
        screen.wait("python>")
        screen.type(":quit\r")
        assert screen.end() == 0


def test_options_that_messages_name_are_what_was_missing(own):
    wrong = sandbox_run("exec", "--metrics-every", "1s", "--", "true", **own)
    assert b"add --stream" in wrong.stderr
    assert '"type":"end"' in succeeds(own, "exec", "--metrics-every", "1s", "--stream", "--", "true")
    wrong = sandbox_run("-", stdin=b"print('found')", **own)
    assert b"name it with --lang" in wrong.stderr
    assert succeeds(own, "-", "--lang", "python", stdin=b"print('found')") == "found\n"
    wrong = sandbox_run("exec", "--", "ls", "job.py", **own)
    assert remedy_in(wrong) == ["--project", "."] and succeeds(own, "exec", "--project", ".", "--", "ls", "job.py") == "job.py\n"
