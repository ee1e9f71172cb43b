"""With `audit: true` every road leaves its line: those that are no plain run, too."""
import json
import subprocess

import pytest

import support
from mcp_client import served
from registries import serving
from sessions import Session
from support import sandbox_run
from waiting import read_line, started


class Place:
    """A home whose configuration wants the audit, and a project."""

    def __init__(self, folder):
        self.home, self.project = folder / "home", folder / "home/project"
        self.project.mkdir(parents=True)
        (self.project / "a.txt").write_text("old\n")
        own = self.home / ".config/sandbox-run/config.yaml"
        own.parent.mkdir(parents=True)
        own.write_text("audit: true\n")
        self.state = self.home / "state"
        self.env = {"HOME": str(self.home), "SANDBOX_RUN_STATE": str(self.state)}

    def run(self, *words, **more):
        return sandbox_run(*[str(word) for word in words], env=self.env, cwd=self.project, **more)

    def lines(self):
        kept = self.state / "audit.jsonl"
        return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []

    def applied(self):
        return [line["changes"] for line in self.lines() if line.get("kind") == "apply"]


@pytest.fixture(name="place")
def _place(folder):
    return Place(folder)


def test_changes_that_an_agent_applies(place):
    with served("--project", str(place.project), "--allow-apply", env=place.env) as client:
        changes = client.data("run_command", command="echo new > a.txt")["changes_id"]
        assert client.data("apply_changes", changes_id=changes)["applied"]
    assert place.applied() == [changes] and (place.project / "a.txt").read_text() == "new\n"


def test_changes_of_an_agent_that_runs(place):
    with started("agent", "--", "sh", "-c", "echo new > a.txt; echo begun; read go", env=place.env, cwd=place.project,
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert read_line(process.stdout) == b"begun\n"
        done = place.run("agent", "--apply", "--of", process.pid)
        assert done.returncode == 0, done.stderr
        process.communicate(b"go\n", timeout=support.DEADLINE)
    assert place.applied() == [done.stdout.decode().strip()]


def test_expected_output_that_is_updated(place):
    case = place.project / "cases/one"
    case.mkdir(parents=True)
    (case / "command").write_text("echo 1\n")
    done = place.run("golden", "--update", "--yes", "cases")
    assert done.returncode == 0 and len(place.applied()) == 1, done.stderr


def test_files_of_a_workspace(place):
    for words in (("cp", "a.txt", "w:in.txt"), ("cat", "w", "in.txt"), ("cp", "w:in.txt", "b.txt"), ("ls", "w")):
        done = place.run("workspace", *words)
        assert done.returncode == 0, done.stderr
    assert (place.project / "b.txt").read_text() == "old\n"
    assert [(line["kind"], line["workspace"], line["path"]) for line in place.lines()] == [
        ("workspace_write", "w", "in.txt"), ("workspace_read", "w", "in.txt"), ("workspace_read", "w", "in.txt"),
        ("workspace_read", "w", ".")]


def test_a_checker(place):
    cases = place.project / "cases"
    cases.mkdir()
    (cases / "1.in").write_text("1")
    (cases / "1.ans").write_text("1")
    (place.project / "check.sh").write_text("exit 0\n")
    (place.project / "main.sh").write_text("cat\n")
    done = place.run("batch", "--cases", "cases", "--checker", "check.sh", "main.sh")
    assert done.returncode == 0 and len(place.lines()) == 2, (done, place.lines())


def test_a_package_of_a_living_session(place, folder):
    with serving() as server:
        session = Session(place.state, env={**place.env, "PIP_INDEX_URL": server.url,
                                            "SANDBOX_RUN_CACHE": str(folder / "cache")})
        try:
            assert session.run("dep", session.id, "nothing-of-that-name").returncode == 125
            runs = [line for line in place.lines() if "kind" not in line]
            assert [run["request"]["language"] for run in runs] == ["python"], place.lines()
        finally:
            session.close()
