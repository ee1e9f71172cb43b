"""The same stages on a machine without user namespaces: the tools run beside the user's own programs,
and what is kept for them is the user's own too."""
import pytest

import harness
import no_userns
import stages
import support
from harness import callers
from process_tier import needs_landlock
from stages import run, said, store  # noqa: F401
from support import Callers

pytestmark = needs_landlock

# Root's programs run as somebody else, to whom root's store is closed.
owner = pytest.mark.parametrize("caller", [Callers.USER])


@pytest.fixture(scope="module")
def machine(room):
    folder = room / "machine-for-stages"
    folder.mkdir()
    folder.chmod(0o755)
    with no_userns.machine(folder) as made:
        yield made
    assert made.left() == [], "a directory of a run was left behind"


def run_there(machine, store, *options, **words):
    result = run(store, *options, machine=machine, **words)
    if "isolation" in result:
        assert result["isolation"]["tier"] == "process"
    return result


ATTACKS = ("cat <secret>", "ls <room>", "echo x >> <canary>", "ls <cache>", "cat <cache>/artifact/*/meta",
           "kill -0 <victim>", "cat /proc/<victim>/cmdline", "exec 3<>/dev/tcp/127.0.0.1/<port>",
           ": > $WORK/../x", "cat /etc/passwd", "ls /proc", "ls /")


@pytest.mark.parametrize("stage, caller", [
    (stage, caller) for stage in ("prepare", "compile", "check") for caller in support.available_callers()
    if (stage, caller) != ("prepare", Callers.ROOT)])
def test_a_stage_reaches_nothing_of_the_users(scene, machine, store, stage):
    def run_script(script):
        words = {"compile": "echo true > $BUILD/program", stage: script}
        if stage == "prepare":
            words |= {"prepare": f'said=$( ( {script} ) 2>&1 ); echo "$said" > $PREPARED/said',
                      "run": "cat $PREPARED/said"}
        return run_there(machine, store, *(["--check"] if stage == "check" else []), **words)

    verdicts, text = stages.try_all(ATTACKS, {**stages.names_of(scene), "cache": store.path}, run_script)
    harness.assert_none([f"{attack}: {verdict} in {text[:800]}"
                         for attack, verdict in zip(ATTACKS, verdicts) if verdict != "NOT"])


@callers
def test_nothing_is_installed(machine, store):
    result = run_there(machine, store, "--dep", "x", install="true", run="true")
    assert "nothing is installed" in harness.json_error(result)["message"]
    assert not store.entries("layer")


@harness.root_only
@pytest.mark.parametrize("caller", [Callers.ROOT])
def test_root_is_told_that_its_store_is_closed(machine, store):
    """Rather than that others are let in."""
    result = run_there(machine, store, compile="echo true > $BUILD/program")
    assert "call as an ordinary user" in harness.json_error(result)["message"]
    assert store.path.stat().st_mode & 0o777 == 0o700


CHANGE = """
import os, sys
path = sys.argv[1]
def attempt(name, change):
    try:
        change()
        print("GOT", name)
    except OSError as problem:
        print("NOT", name, problem)
fd = os.open(path + "/program", os.O_RDONLY)
attempt("write", lambda: open(path + "/program", "a"))
attempt("new", lambda: open(path + "/new", "w"))
attempt("remove", lambda: os.unlink(path + "/program"))
attempt("rename", lambda: os.rename(path + "/program", path + "/other"))
attempt("mode", lambda: os.chmod(path + "/program", 0o777))
attempt("open mode", lambda: os.fchmod(fd, 0o777))
attempt("truncate", lambda: os.truncate(path + "/program", 0))
attempt("times by name", lambda: os.utime(path + "/program", (1, 1)))
attempt("times", lambda: os.utime(fd, (1, 1)))
attempt("link", lambda: os.link(path + "/program", os.environ["WORK"] + "/x"))
attempt("meta", lambda: open(path + "/../meta"))
attempt("others", lambda: os.listdir(path + "/../.."))
"""


@owner
def test_a_program_cannot_change_what_is_kept(machine, store):
    """It runs as the owner of the store, on its real path."""
    change = CHANGE.replace("'", '"')
    words = {"compile": "echo 'echo good' > $BUILD/program",
             "run": f"/usr/bin/python3 -c '{change}' $BUILD; bash $BUILD/program"}
    for _ in range(2):
        result = run_there(machine, store, **words)
        assert "GOT" not in result["stdout"], result["stdout"]
        assert result["stdout"].endswith("good\n"), said(result)[:500]
    assert result["cached"]


@owner
def test_a_tree_is_taken_in_as_elsewhere(scene, machine, store):
    result = run_there(machine, store, run="cat $BUILD/link; ls $BUILD",
                       compile=f"ln -s {scene.secret} $BUILD/link; mkfifo $BUILD/pipe; echo x > $BUILD/program")
    assert harness.SECRET not in said(result) and "pipe" not in result["stdout"]
    assert harness.SECRET.encode() not in store.content()


@owner
def test_a_daemon_ends_with_its_stage(machine, store):
    result = run_there(machine, store, compile="echo 'echo made' > $BUILD/program; (setsid sleep 1000 &); true")
    assert result["stdout"] == "made\n", said(result)[:500]


@callers
def test_a_stage_that_never_ends_is_ended(machine, store):
    result = run_there(machine, store, compile="while :; do :; done", limits=["timeout=300ms"])
    stages.assert_failed(result, "compile", "timeout")
    assert not store.leavings()
