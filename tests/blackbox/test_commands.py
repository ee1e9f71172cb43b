"""--allow-command: what exists inside, what is said of what does not, and where the option cannot hold."""
import json

import pytest

import support
from support import result_of, sandbox_run


def test_only_the_named_commands_exist_with_what_they_need(caller):
    script = "find -L /usr /bin /sbin /lib* -type f -perm -1 | sed 's|.*/||' | sort -u"
    result = result_of("exec", "--allow-command", "find,sed", "--allow-command", "sort", "--", "sh", "-c", script,
                       caller=caller)
    names = [name for name in result["stdout"].split() if ".so" not in name]
    assert names == ["find", "sed" if "sed" in names else "", "sh", "sort"], result
    assert "allowed-commands" in result["isolation"]["mechanisms"]


@pytest.mark.parametrize("words", [
    ("exec", "--allow-command", "ls", "--", "sh", "-c", "sort /etc/hosts"),
    ("exec", "--allow-command", "ls", "--", "bash", "-c", "sort /etc/hosts"),
    ("exec", "--allow-command", "env", "--", "env", "sort", "/etc/hosts"),
    ("run", "-l", "bash", "--allow-command", "ls", "-c", "sort /etc/hosts"),
    ("run", "-l", "sh", "--allow-command", "ls", "-c", "sort /etc/hosts"),
])
def test_a_missing_command_is_a_denial_whose_remedy_works(caller, words):
    refused = result_of(*words, caller=caller)
    assert refused["exit_code"] == 127
    denial, = refused["denials"]
    assert (denial["target"], denial["remedy"]) == ("sort", "--allow-command sort")
    allowed = result_of(words[0], *denial["remedy"].split(), *words[1:], caller=caller)
    assert allowed["exit_code"] == 0 and "localhost" in allowed["stdout"], allowed


@pytest.mark.parametrize("words, said", [
    (("run", "-l", "python", "--allow-command", "ls", "-c", "1"), "--allow-command is for commands and shells"),
    (("exec", "--allow-command", "nope", "--", "true"), "this machine has no command 'nope'"),
    (("exec", "--allow-command", "ldd", "--", "true"), "'ldd' is a script for"),
    (("exec", "--allow-command", "./ls", "--", "true"), "neither the name of a command nor an absolute path"),
    (("exec", "--allow-command", ",", "--", "true"), "takes 1 to 256 names"),
])
def test_what_cannot_be_allowed_is_one_sentence(words, said):
    done = sandbox_run(*words)
    assert done.returncode == 125 and said in done.stderr.decode(), done.stderr


def test_a_request_has_the_same_field(caller):
    request = {"args": ["sh", "-c", "ls /usr/bin"], "allow_commands": ["ls"]}
    result = result_of("run", "--request", "-", stdin=json.dumps(request).encode(), caller=caller)
    assert sorted(result["stdout"].split()) == ["ls", "sh"], result


def test_commands_work_on_a_project(folder, caller):
    (folder / "text").write_text("one\ntwo\n")
    support.sandbox_run("doctor")
    result = result_of("exec", "--project", str(folder), "--diff", "--allow-command", "sed,wc", "--", "sh", "-c",
                       "sed -i s/one/three/ text; wc -l < text", caller=caller)
    assert result["stdout"].strip() == "2" and result["changes_summary"] == "would modify 1 file", result
