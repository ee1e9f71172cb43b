"""In a guest: what a program changes in a project stays inside, is told, and can be applied, whichever way the kernel has
of keeping it apart: overlayfs over memory from Linux 6.6 on, over a directory before, and a copy where it is refused."""
import json
import os
import pathlib
import shutil
import tempfile

import pytest

import support

pytestmark = pytest.mark.core

DISK = "/disk"  # guest/functions, disk
ON_A_DEVICE = ["disk"] if os.path.ismount(DISK) else []
KERNEL = tuple(int(word) for word in os.uname().release.split(".")[:2])
SCRIPT = """set -e
echo more >>text
rm gone
rm -r folder; mkdir folder; echo new >folder/new
mv old moved
chmod 755 tool
echo made >made
"""
CHANGES = sorted([("modified", "text"), ("deleted", "gone"), ("deleted", "folder/inner"), ("created", "folder/new"),
                  ("renamed", "moved"), ("mode", "tool"), ("created", "made")])


@pytest.fixture(params=[*ON_A_DEVICE, "memory"])
def place(request):
    """A directory for a project and for what the tool keeps."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sbr-place-", dir=DISK if request.param == "disk" else "/tmp"))
    project = folder / "project"
    (project / "folder").mkdir(parents=True)
    for name in ("text", "gone", "folder/inner", "old", "tool"):
        (project / name).write_text(f"{name}\n" * 3)
    (folder / "state").mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


def run(place, *words, line=SCRIPT):
    result = support.result_of("exec", "--allow-degraded", "--timeout", "60s", *words, "--", "sh", "-c", line,
                               env={"SANDBOX_RUN_STATE": str(place / "state")})
    assert (result["outcome"], result["exit_code"]) == ("exited", 0), result
    return result


def tool(place, *words):
    done = support.sandbox_run(*words, env={"SANDBOX_RUN_STATE": str(place / "state")})
    assert done.returncode == 0, done.stderr
    return done.stdout


def look(folder):
    """Modes and contents."""
    return {str(path.relative_to(folder)): (path.stat().st_mode, path.read_text() if path.is_file() else "")
            for path in sorted(folder.rglob("*"))}


def way_of(result):
    return [word.removeprefix("copy-on-write-") for word in result["isolation"]["mechanisms"] if "copy-on-write" in word]


def test_changes_are_told_and_the_project_is_as_before(place):
    before = look(place / "project")
    result = run(place, "--project", place / "project", "--diff")
    assert sorted((change["op"], change["path"]) for change in result["changes"]) == CHANGES
    assert look(place / "project") == before


def test_the_way_is_the_best_that_the_kernel_has(place):
    way = way_of(run(place, "--project", place / "project", line="true"))
    if str(place).startswith(DISK):
        assert way == ["overlay" if KERNEL >= (6, 6) else "disk"]
    else:
        assert len(way) == 1


def test_kept_changes_are_applied_and_taken_back(place):
    before = look(place / "project")
    kept = run(place, "--project", place / "project", "--keep")["changes_id"]
    assert kept in [one["id"] for one in json.loads(tool(place, "changes", "list", "--json"))["changes"]]
    tool(place, "apply", kept, "--yes")
    after = look(place / "project")
    assert after["text"][1].endswith("more\n") and after["folder/new"][1] == "new\n"
    assert "gone" not in after and "folder/inner" not in after
    tool(place, "undo", kept, "--yes")
    assert look(place / "project") == before


def test_a_named_workspace_is_there_again(place):
    run(place, "--workspace", "lab", line="echo kept >file; mkdir -p a/b; echo deep >a/b/c")
    result = run(place, "--workspace", "lab", line="cat file a/b/c; rm -r a")
    assert result["stdout"] == "kept\ndeep\n"
    assert run(place, "--workspace", "lab", line="ls")["stdout"] == "file\n"
    tool(place, "workspace", "rm", "lab")


def test_changes_of_a_program_without_memory_are_told(place):
    hog = "echo seen >before; exec python3 -c 'x = [bytearray(1 << 20) for i in range(400)]'"
    result = support.result_of("exec", "--allow-degraded", "--timeout", "60s", "--memory", "48m", "--project",
                               place / "project", "--diff", "--", "sh", "-c", hog,
                               env={"SANDBOX_RUN_STATE": str(place / "state")})
    assert result["outcome"] == "memory_limit", result
    assert ("created", "before") in [(change["op"], change["path"]) for change in result["changes"] or []], result
