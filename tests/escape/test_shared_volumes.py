"""Two runs that share one `rw` volume: what the one does to the names in it, or keeps of the other, while the
supervisor takes out what the other left."""
import fcntl
import json
import signal
import stat
import subprocess
import time

import harness
import support
from collection import place, place_in_memory  # noqa: F401
from harness import callers
from stages import give

# Each pattern is one more walk past the names that change meanwhile.
WALKS = 24
ROUNDS = 6


def shared(place, name):
    path = place.folder / name
    path.mkdir(mode=0o755)
    return give(path, place.caller)


@callers
def test_no_mode_changes_behind_a_link_that_comes_while_files_are_collected(scene, place_in_memory):
    """What its owner may not read is opened for a moment.  By then its name may be a link, to a file that the other run
    cannot see: without comparing, that file got the mode of the one that was looked at, 0777."""
    place = place_in_memory  # names change as fast as they can
    volume, private = shared(place, "volume"), shared(place, "private")
    secret = private / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    give(secret, place.caller)
    outputs = [word for i in range(WALKS) for word in ("--output", f"/data/hot/*:{place.out}/{i}")]
    with harness.running(scene, "swap", "/data", "/private/secret", caller=place.caller,
                         options=("--volume", f"{volume}:/data:rw", "--timeout", "60s")) as other:
        assert other.read_line() == "swapping"
        deadline = time.monotonic() + 15
        for _ in range(ROUNDS):
            place.run("bash", "true", "--volume", f"{volume}:/data:rw", "--volume", f"{private}:/private:rw", *outputs)
            assert stat.S_IMODE(secret.stat().st_mode) == 0o600
            if time.monotonic() > deadline:
                break
    # And whatever was opened for a moment is locked again.
    for path in [*volume.glob("hot/*"), *volume.glob("cold/*")]:
        assert path.is_symlink() or stat.S_IMODE(path.stat().st_mode) == 0o377
    assert b"secret" not in place.content()


@callers
def test_no_line_of_a_file_outside_is_shown_through_a_link(place):
    """A run before left the link.  Inside it leads to a program that fails, out here to something else: it is neither."""
    secret = place.folder / "secret.py"
    secret.write_text("the_secret = 'of the host'\n")
    inside = shared(place, "inside")
    (inside / "secret.py").write_text("raise ValueError('at this line')\n")
    (place.project / "main.py").symlink_to(secret)
    give(secret, place.caller), give(inside / "secret.py", place.caller)
    request = {"language": "python", "project": str(place.project), "program": "main.py",
               "volumes": [f"{inside}:{place.folder}:ro"]}
    result = support.result_of("run", "--request", "-", stdin=json.dumps(request).encode(), caller=place.caller,
                               env={"SANDBOX_RUN_STATE": str(place.state)})
    assert "there is no 'main.py' in the project" in result["error"]["message"], result
    assert "the_secret" not in repr(result)


@callers
def test_outputs_go_nowhere_that_the_program_leads_them(place):
    """A directory for outputs in a volume: the program replaces it, and the caller would write wherever it likes."""
    volume, elsewhere = shared(place, "volume"), shared(place, "elsewhere")
    code = f"rm -rf /data/out; ln -s {elsewhere} /data/out; echo evil > f"
    for out in (volume / "out", volume / "out/deeper", volume / "new/out"):
        (volume / "out").mkdir(exist_ok=True)
        give(volume / "out", place.caller)
        result = support.shell(code, "--volume", f"{volume}:/data:rw", "--output", f"f:{out}", caller=place.caller,
                               env={"SANDBOX_RUN_STATE": str(place.state)})
        assert result["error"]["stage"] == "outputs", result
    # A link from a run before, on the way.
    (volume / "out").rmdir()
    (volume / "out").symlink_to(elsewhere)
    result = support.shell("echo evil > f", "--volume", f"{volume}:/data:rw", "--output", f"f:{volume}/out",
                           caller=place.caller, env={"SANDBOX_RUN_STATE": str(place.state)})
    assert result["error"]["stage"] == "outputs", result
    assert not list(elsewhere.iterdir())
    # The same from outside the volume: where it leads in the end does not show that it goes through the volume.
    (place.folder / "results").symlink_to(volume / "out")
    result = support.shell(code, "--volume", f"{volume}:/data:rw", "--output", f"f:{place.folder}/results",
                           caller=place.caller, env={"SANDBOX_RUN_STATE": str(place.state)})
    assert result["error"]["stage"] == "outputs", result
    assert not list(elsewhere.iterdir())
    # The volume's own top is no name that the program can change, and what is in it is not followed.
    result = support.shell("echo good > f; mkdir d; echo good > d/g; ln -s /elsewhere /data/d", "--volume", f"{volume}:/data:rw",
                           "--output", f"*:{volume}", "--output", f"d/*:{volume}", caller=place.caller,
                           env={"SANDBOX_RUN_STATE": str(place.state)})
    assert (volume / "f").read_text() == "good\n", result
    assert not list(elsewhere.iterdir())


@callers
def test_whoever_keeps_the_output_open_keeps_nobody_waiting(scene, caller):
    """The other end of a run's output, in the hands of somebody who writes for ever: passed on by another run, or, as here,
    taken by a process of the host's.  (That no more is read than there was is shown by unit/test_output.c.)"""
    del scene
    words = support.command("exec", "--text", "--max-output", "1000g", "--", "cat", caller=caller)
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=support.surroundings(caller))
    run, writers = harness.Running(process), []
    try:
        harness.wait_until(lambda: run.has("cat"), "the program runs")
        with open(f"/proc/{run.find('cat')}/fd/1", "wb", buffering=0) as far_end:
            fcntl.fcntl(far_end, fcntl.F_SETPIPE_SZ, 1 << 20)
            for _ in range(2):
                writers.append(subprocess.Popen(["dd", "if=/dev/zero", "bs=1M"], stdout=far_end,
                                                stderr=subprocess.DEVNULL))
        process.stdin.close()
        assert process.wait(20) == 0
        for writer in writers:
            assert writer.wait(20) == -signal.SIGPIPE  # nobody reads any more
    finally:
        for child in (process, *writers):
            child.kill()
            child.wait()
