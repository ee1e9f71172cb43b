"""A real git checkout with 10,000 files, brought in with --project: git inside says what git says outside, the changes
are listed exactly, and the checkout stays as it is."""
import os
import subprocess

import pytest

import support
import trees

FOLDERS, FILES = 100, 100
GIT = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "A",
       "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
       "GIT_OPTIONAL_LOCKS": "0"}
INSIDE = [word for name, value in GIT.items() for word in ("--env", f"{name}={value}")]
# On an index of its own: git writes it anew where files have other times than it remembers.
LOOK = """index=$(mktemp)
cp .git/index "$index"
GIT_INDEX_FILE=$index git status --porcelain --untracked-files=all
GIT_INDEX_FILE=$index git diff --no-renames
rm "$index"
"""
SCRIPT = f"""set -e
echo more >>d00/f00.txt
printf short >d01/f01.txt
chmod 755 d02/f02.txt
rm -r d03
mv d04/f04.txt moved.txt
mkdir new
echo new >new/file
ln -s d00 link
rm d05/f05.txt
rm d06/f06.txt; mkdir d06/f06.txt; echo inner >d06/f06.txt/inner
{LOOK}
"""


def name_of(folder, file):
    return f"d{folder:02}/f{file:02}.txt"


def text_of(folder, file):
    return "".join(f"line {line} of file {file} in folder {folder}\n" for line in range(3))


def expected_changes():
    """(op, path, from) of what SCRIPT does."""
    yield from (("modified", name_of(number, number), None) for number in (0, 1, 6))
    yield ("mode", name_of(2, 2), None)
    yield ("deleted", "d03", None)
    yield from (("deleted", name_of(3, file), None) for file in range(FILES))
    yield ("renamed", "moved.txt", name_of(4, 4))
    yield from (("created", path, None) for path in ("new", "new/file", "link", name_of(6, 6) + "/inner"))
    yield ("deleted", name_of(5, 5), None)


def git(folder, line, as_user=False):
    """Output of a shell line in the checkout."""
    words = [*(support.AS_ORDINARY if as_user else ()), "sh", "-c", line]
    done = subprocess.run(words, cwd=folder, env={**support.environment(), **GIT}, check=True,
                          stdout=subprocess.PIPE, timeout=support.DEADLINE)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def module_place():
    with trees.place_of(None, trees.in_memory()) as place:
        os.chmod(place, 0o755)
        yield place


@pytest.fixture(scope="module")
def checkout(module_place):
    if not support.have("git"):
        pytest.skip("needs git")
    top = module_place / "checkout"
    for folder in range(FOLDERS):
        (top / f"d{folder:02}").mkdir(parents=True)
        for file in range(FILES):
            (top / name_of(folder, file)).write_text(text_of(folder, file))
    git(top, "git init -q && git add . && git commit -q -m first && git repack -q -a -d")
    return top


@pytest.fixture(scope="module")
def outside(checkout):
    """What the script says and does where nothing holds it back; then all is as it was."""
    said = git(checkout, SCRIPT)
    made = trees.look(checkout)
    git(checkout, "git clean -q -f -d && git checkout -q -f .")
    made.pop(b".git/index", None)
    return said, made


@pytest.fixture
def project(checkout, outside, caller):
    """The checkout, as the caller's own."""
    owner = support.ORDINARY_UID if caller == support.Callers.USER and os.geteuid() == 0 else os.geteuid()
    if os.stat(checkout).st_uid != owner:
        subprocess.run(["chown", "-R", f"{owner}:{owner}", checkout], check=True)
    return checkout


@pytest.fixture
def run(project, caller):
    """Runs a shell line in the project, by a backend."""
    with trees.place_of(caller, trees.in_memory()) as place:

        def inside(line, *options, backend=trees.BACKENDS[0]):
            result = support.result_of(
                "exec", "--project", project, *options, *INSIDE, "--memory", "1g", "--", "sh", "-c", line, caller=caller,
                env={"SANDBOX_RUN_STATE": str(place / "state"), "SANDBOX_RUN_COW": backend})
            assert result["outcome"] == "exited", result
            assert result["exit_code"] == 0, result
            trees.assert_backend(result, backend)
            return result

        def tool(*words):
            done = support.sandbox_run(*words, caller=caller, env={"SANDBOX_RUN_STATE": str(place / "state")})
            assert done.returncode == 0, done.stderr
            return done.stdout

        inside.tool = tool
        yield inside


def identities(top):
    """Enough to see that nobody wrote: path -> inode, size, mode, times."""
    found = {}
    for folder, dirs, files in os.walk(top):
        for name in (*dirs, *files):
            about = os.lstat(os.path.join(folder, name))
            found[os.path.join(folder, name)] = (about.st_ino, about.st_size, about.st_mode, about.st_mtime_ns,
                                                 about.st_ctime_ns)
    return found


def told(result):
    return sorted(((change["op"], change["path"], change.get("from")) for change in result["changes"]), key=str)


@pytest.mark.parametrize("backend", trees.BACKENDS)
def test_git_inside_says_what_it_says_outside_and_the_changes_are_listed(run, project, outside, backend):
    before = identities(project)
    result = run(SCRIPT, "--diff", backend=backend)
    assert result["stdout"] == outside[0]
    assert told(result) == sorted(expected_changes(), key=str)
    assert result["changes_total"] == len(result["changes"])
    assert identities(project) == before


def test_a_look_changes_nothing(run):
    result = run("git status --porcelain; git log --oneline | wc -l; find . -type f | xargs cat | wc -c", "--diff")
    assert result["stdout"].splitlines()[0] == "1"
    assert result["changes"] == []
    assert "no changes" in result["changes_summary"]


def test_sizes_and_modes_are_told(run):
    result = run("chmod 755 d02/f02.txt; printf short >d01/f01.txt; rm d05/f05.txt", "--diff")
    by_path = {change["path"]: change for change in result["changes"]}
    size = len(text_of(1, 1))
    assert (by_path[name_of(1, 1)]["size"], by_path[name_of(1, 1)]["base_size"]) == (5, size)
    assert by_path[name_of(2, 2)]["mode"] != by_path[name_of(2, 2)]["base_mode"]
    assert by_path[name_of(5, 5)]["base_size"] == size


def test_applied_the_checkout_is_what_the_script_makes_of_it(run, project, caller, outside):
    as_user = caller == support.Callers.USER and os.geteuid() == 0
    before = trees.look(project)
    kept = run(SCRIPT, "--keep")["changes_id"]
    run.tool("apply", kept, "--yes", "--also", name_of(2, 2))  # it becomes executable
    after = trees.look(project)
    after.pop(b".git/index", None)  # written anew when the fixture cleaned up
    assert not trees.differing(outside[1], after)
    assert git(project, LOOK, as_user) == outside[0]
    run.tool("undo", kept, "--yes")
    assert not trees.differing(before, trees.look(project))
    assert git(project, LOOK, as_user) == ""


def test_a_commit_inside_stays_inside(run, project, caller):
    as_user = caller == support.Callers.USER and os.geteuid() == 0
    head = git(project, "git rev-parse HEAD", as_user)
    result = run("echo more >>d00/f00.txt && git commit -q -a -m second && git log --format=%s", "--diff")
    assert result["stdout"].split() == ["second", "first"]
    paths = {change["path"] for change in result["changes"]}
    assert {"d00/f00.txt", ".git/index", ".git/logs/HEAD"} <= paths
    assert all(path.startswith(".git/") or path == "d00/f00.txt" for path in paths)
    assert git(project, "git rev-parse HEAD", as_user) == head


@pytest.mark.parametrize("backend", trees.BACKENDS)
def test_what_the_owner_cannot_read_stays_closed(root, backend):
    """Root brings in somebody's project: the program is that somebody, whichever way the tree is kept apart."""
    with trees.place_of(root, trees.in_memory()) as place:
        project = place / "project"
        project.mkdir()
        (project / "own").write_text("own\n")
        trees.give(project, support.Callers.USER)
        (project / "secret").write_text("secret\n")
        (project / "secret").chmod(0o600)
        result = support.result_of(
            "exec", "--project", project, "--diff", "--", "sh", "-c", "cat own secret; echo more >>own; echo more >>secret",
            env={"SANDBOX_RUN_STATE": str(place / "state"), "SANDBOX_RUN_COW": backend})
        assert result["stdout"] == "own\n", result
        assert [change["path"] for change in result["changes"]] == ["own"]
        trees.assert_backend(result, backend)
