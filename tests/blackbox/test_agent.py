"""`sandbox-run agent`: an interactive program over the project, whose changes wait."""
import json
import os
import subprocess

import pytest

import support
from support import sandbox_run
from waiting import read_line, started


@pytest.fixture(name="project")
def one_project(folder, any_caller):
    place = folder / "project"
    place.mkdir()
    (place / "a.txt").write_text("old\n")
    if any_caller == support.Callers.USER and os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(support.ORDINARY_UID), folder], check=True)
    return place


def agent(*words, caller, project, **env):
    places = {"SANDBOX_RUN_STATE": str(project.parent / "state"), "XDG_CONFIG_HOME": str(project.parent / "config")}
    return sandbox_run("agent", *words, caller=caller, env={**places, **env}, cwd=project)


def test_the_project_is_work_and_its_changes_are_kept(any_caller, project):
    done = agent("-e", "SHOWN", "--", "sh", "-c", "cat a.txt; echo new > a.txt; echo $SHOWN$HIDDEN", caller=any_caller,
                 project=project, SHOWN="yes", HIDDEN="secret")
    assert (done.returncode, done.stdout) == (0, b"old\nyes\n")
    assert (project / "a.txt").read_text() == "old\n" and b"kept as" in done.stderr
    changes = done.stderr.split(b"kept as ")[1][:12].decode()
    env = {"SANDBOX_RUN_STATE": str(project.parent / "state")}
    assert b"+new" in sandbox_run("changes", "diff", changes, caller=any_caller, env=env).stdout
    assert sandbox_run("apply", changes, "--yes", caller=any_caller, env=env).returncode == 0
    assert (project / "a.txt").read_text() == "new\n"


def test_limits_are_wide_unless_an_option_says_otherwise(any_caller, project):
    result = json.loads(agent("--json", "--pids", "50", "--", "true", caller=any_caller, project=project).stdout)
    limits = result["limits"]
    assert (limits["wall_ms"], limits["cpu_ms"], limits["pids"]) == (None, None, 50)
    assert result["network"] == {"mode": "allow", "allow_hosts": [], "allow_dns": False}, "nothing, until --grant says more"


def test_hosts_come_from_the_agents_own_list(any_caller, project):
    own = project.parent / "config/sandbox-run"
    own.mkdir(parents=True)
    (own / "agent-hosts").write_text("# what it needs\napi.example.com:443  # the model\n\n")
    os.chmod(own, 0o755)
    result = json.loads(agent("--json", "--allow-host", "example.org", "--", "true", caller=any_caller,
                              project=project).stdout)
    assert result["network"]["allow_hosts"] == ["example.org", "api.example.com:443"]
    none = json.loads(agent("--json", "--network", "none", "--", "true", caller=any_caller, project=project).stdout)
    assert none["network"] == {"mode": "none", "allow_hosts": [], "allow_dns": False}
    (own / "agent-hosts").write_text("a.example.com\n!!\n")
    wrong = agent("--", "true", caller=any_caller, project=project)
    assert wrong.returncode == 125 and b"agent-hosts:2: " in wrong.stderr
    missing = agent("--hosts", "nowhere", "--", "true", caller=any_caller, project=project)
    assert missing.returncode == 125 and b"nowhere" in missing.stderr
    assert b"there is no command" in agent(caller=any_caller, project=project).stderr


@pytest.mark.container
def test_changes_of_a_living_agent_are_seen_and_made_real_from_elsewhere(any_caller, project):
    env = {"SANDBOX_RUN_STATE": str(project.parent / "state")}

    def elsewhere(*words):
        done = sandbox_run(*words, caller=any_caller, env=env)
        return done.stdout.decode(), done.stderr.decode()

    with started("agent", "--", "sh", "-c", "echo new > a.txt; echo begun; read go; echo more >> a.txt; cat a.txt",
                 caller=any_caller, env=env, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE) as process:
        assert read_line(process.stdout) == b"begun\n"
        saved = elsewhere("agent", "--save")[0].strip()
        assert "+new" in elsewhere("changes", "diff", saved)[0]
        assert (project / "a.txt").read_text() == "old\n"
        assert elsewhere("agent", "--apply", "--of", str(process.pid))[0].strip()
        assert (project / "a.txt").read_text() == "new\n"
        assert "changed nothing" in elsewhere("agent", "--save")[1]
        out, err = process.communicate(b"go\n", timeout=support.DEADLINE)
        assert out == b"new\nmore\n" and b"kept as" in err
    assert "no agent runs" in elsewhere("agent", "--save")[1]
    assert not list((project.parent / "state/agents").iterdir())
