"""In a guest: every limit of the host's own user ends a run, for its own cause.

The black-box tests say the same of root and of a user without a group; here it is whoever the host
has, with whatever tier it gives.  With a group nothing is approximate.
"""
import json
import os
import pathlib
import re
import shutil
import tempfile

import pytest

import support

pytestmark = pytest.mark.core

EXPECT = json.loads(os.environ["SBR_EXPECT"])
GROUP = not any("memory limit" in name for name in EXPECT["missing"])
MIB = 1 << 20
ROOMY = ("--disk", "1g", "--inodes", "10000000", "--open-files", "65536", "--timeout", "60s")


@pytest.fixture(scope="module")
def tools():
    """A directory that can be brought in under its own name, as the tier without namespaces asks."""
    with tempfile.TemporaryDirectory(prefix="sbr-tools-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(pathlib.Path(os.environ["SBR_PROGRAMS"], "attack"), folder)
        yield folder


def run(*words):
    return support.result_of("exec", "--allow-degraded", *words)


def take(tools, kind, amount=96, *words):
    return run("--memory", "48m", *ROOMY, "--volume", f"{tools}:{tools}:ro", "--", f"{tools}/attack",
               "take", kind, amount, *words)


# Without namespaces the files are the host's, and there is no System V memory.
OWN_ROOT = EXPECT["tier"] != "process"
KINDS = ["anonymous", "children", *(["file"] if OWN_ROOT else [])]
KINDS += ["memory-files", "shared", "pipes", "sockets", *(["sysv"] if OWN_ROOT else [])] if GROUP else []


@pytest.mark.parametrize("kind", KINDS)
def test_memory_ends_at_the_limit(tools, kind):
    result = take(tools, kind, 96, "wait")
    refused = re.search(r"NOT (ENOMEM|ENOBUFS)", result.get("stdout", ""))
    assert result["outcome"] == "memory_limit" or refused, result
    assert not GROUP or result["memory_used"] <= 48 * MIB
    if result["outcome"] == "memory_limit":
        assert "--memory" in result["explanation"] and result["_status"] == 137


def test_processes_end_at_the_limit():
    result = run("--pids", "20", "--", "sh", "-c", "for i in $(seq 40); do sleep 60 & done; exit 1")
    assert result["outcome"] == "process_limit", result
    assert "--pids" in result["explanation"]


def test_cpu_time_ends_at_the_limit():
    result = run("--cpu-time", "500ms", "--", "sh", "-c", "while :; do :; done")
    assert (result["outcome"], result["_status"]) == ("cpu_limit", 124), result
    assert result["cpu_time"] >= 0.5


def test_real_time_ends_at_the_limit():
    result = run("--timeout", "500ms", "--", "sleep", "1000")
    assert (result["outcome"], result["_status"]) == ("timeout", 124), result


def test_space_ends_at_the_limit():
    result = run("--disk", "1m", "--", "sh", "-c", "head -c 2000000 /dev/zero >${TMPDIR:-/tmp}/file")
    assert result["outcome"] == "disk_limit", result


def test_output_ends_at_the_limit():
    result = run("--max-output", "1k", "--", "yes")
    assert (result["outcome"], result["_status"]) == ("output_limit", 137), result
    assert result["stdout"] == "y\n" * 512 and result["stdout_truncated"]


if GROUP:

    def test_the_most_memory_and_processes_are_counted(tools):
        result = take(tools, "children", 24)
        assert result["stdout"].startswith("GOT "), result
        assert 24 * MIB <= result["memory_used"] <= 48 * MIB
        result = run("--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 60 & done; exit 0")
        assert result["metrics"]["peak_processes"] == 6 or EXPECT["tier"] == "process", result


def test_what_is_below_every_limit_just_ends():
    result = run("--memory", "64m", "--pids", "20", "--cpu-time", "30s", "--", "sh", "-c", "echo fine")
    assert (result["outcome"], result["stdout"], result["explanation"]) == ("exited", "fine\n", None)


def groups():
    """Control groups of runs, wherever they are."""
    return {path for path, _, _ in os.walk("/sys/fs/cgroup") if "/sandbox-run." in path}


def test_no_control_group_of_a_run_is_left(tools):
    before = groups()
    take(tools, "anonymous", 96, "wait")
    run("--", "true")
    assert groups() <= before
    assert not [entry for entry in pathlib.Path("/tmp").iterdir() if "sandbox-run" in entry.name]
