"""--keep-output: all of both streams in the state directory, for their user alone, until they expire."""
import json
import os
import re
import subprocess

import pytest

import support
from support import result_of, sandbox_run
from waiting import SOON, Inside, read_line, started, wait_until

MIXED = "seq 2000000; head -c 70000 /dev/zero >&2"  # 14.8 MB: a result has only its two ends


@pytest.fixture(name="state")
def own_state(folder, any_caller):
    """A state directory of the test's own."""
    place = folder / "state"
    if any_caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    return place


def output(*words, state, caller=None, **kwargs):
    return sandbox_run("output", *words, caller=caller, env={"SANDBOX_RUN_STATE": str(state)}, **kwargs)


def listed(state, caller=None):
    return json.loads(output("--json", state=state, caller=caller).stdout)["outputs"]


def keep(script, *options, state, caller=None):
    return result_of("exec", "--keep-output", *options, "--", "sh", "-c", script, caller=caller,
                     env={"SANDBOX_RUN_STATE": str(state)})


def test_all_of_it_is_kept_and_printed(any_caller, state):
    numbers = b"".join(b"%d\n" % i for i in range(1, 2_000_001))
    result = keep(MIXED, state=state, caller=any_caller)
    kept = result["output_id"]
    assert re.fullmatch("[0-9a-f]{32}", kept) and result["success"] and result["explanation"] is None
    assert result["stdout_omitted_bytes"] == len(numbers) - (10 << 20)
    assert output(kept, state=state, caller=any_caller).stdout == numbers
    assert output(kept[:8], "--stderr", state=state, caller=any_caller).stdout == bytes(70000)
    for text, part in (("0-9", numbers[:10]), ("-64k", numbers[-(64 << 10):]), ("14888000-", numbers[14888000:]),
                       ("1m-1m", numbers[1 << 20:(1 << 20) + 1]), ("99999999-", b""), ("-99999999", numbers)):
        assert output(kept, "--range", text, state=state, caller=any_caller).stdout == part, text
    one, = listed(state, any_caller)
    assert (one["id"], one["state"], one["stdout_bytes"], one["stdout_kept_bytes"], one["stderr_kept_bytes"]) == \
        (kept, "ended", len(numbers), len(numbers), 70000)
    text = output(state=state, caller=any_caller).stdout.decode()
    assert kept[:12] in text and "sh -c seq" in text
    for name in ("stdout", "stderr", "meta"):
        assert (state / "output" / kept / name).stat().st_mode & 0o777 == 0o600, name
    done = output("rm", kept, state=state, caller=any_caller)
    assert done.returncode == 0 and listed(state, any_caller) == []
    assert output(kept, state=state, caller=any_caller).returncode == 127


def test_what_is_passed_on_is_the_same_and_one_line_says_the_id(any_caller, state):
    done = sandbox_run("exec", "--keep-output", "--", "sh", "-c", "echo one; echo two >&2", caller=any_caller,
                       env={"SANDBOX_RUN_STATE": str(state)})
    one, = listed(state, any_caller)
    assert (done.returncode, done.stdout) == (0, b"one\n")
    first, second = done.stderr.decode().splitlines()
    assert first == "two" and one["id"][:12] in second
    assert output(one["id"], state=state, caller=any_caller).stdout == b"one\n"
    done = sandbox_run("exec", "--keep-output", "--quiet", "--", "echo", "x", caller=any_caller,
                       env={"SANDBOX_RUN_STATE": str(state)})
    assert (done.stdout, done.stderr) == (b"x\n", b"")


def test_without_the_option_nothing_is_kept(any_caller, state):
    result = result_of("exec", "--", "echo", "x", caller=any_caller, env={"SANDBOX_RUN_STATE": str(state)})
    assert result["output_id"] is None and not state.exists()


def test_a_request_asks_for_it_too(any_caller, state, folder):
    (folder / "request").write_text(json.dumps({"args": ["echo", "asked"], "keep_output": True}))
    result = result_of("run", "--request", str(folder / "request"), caller=any_caller,
                       env={"SANDBOX_RUN_STATE": str(state)})
    assert output(result["output_id"], state=state, caller=any_caller).stdout == b"asked\n"


def test_a_limit_bounds_what_is_kept(any_caller, state):
    result = keep("yes", "--max-output", "1000", state=state, caller=any_caller)
    assert result["outcome"] == "output_limit"
    assert output(result["output_id"], state=state, caller=any_caller).stdout == b"y\n" * 500


@pytest.mark.parametrize("words", [
    ["../x"], ["..//etc/passwd"], ["rm", "../x"], ["rm"], ["abc"], ["list", "--range", "1-2"], ["0123", "4567"],
    ["--stderr"], ["0123", "--all"]])
def test_odd_words_are_refused(any_caller, state, words):
    done = output(*words, state=state, caller=any_caller)
    assert (done.returncode, done.stdout) == (125, b"") and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "-", "5", "9-3", "x-y", "1-2-3", "--1"])
def test_odd_ranges_are_refused(any_caller, state, text):
    kept = keep("echo x", state=state, caller=any_caller)["output_id"]
    done = output(kept, f"--range={text}", state=state, caller=any_caller)
    assert done.returncode == 125 and b"--range" in done.stderr, done.stdout


def test_old_ones_expire_and_the_oldest_go_when_there_are_too_many(any_caller, state):
    """Files of three bounds' size, which are holes, stand for the runs of a day."""
    ids = [keep(f"echo {i}", state=state, caller=any_caller)["output_id"] for i in range(3)]
    for name in ("stdout", "stderr", "meta"):
        path = state / "output" / ids[1] / name
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 25 * 3600))
    for kept in (ids[0], ids[2]):
        os.truncate(state / "output" / kept / "stdout", 2 << 30)
    newest = keep("echo new", state=state, caller=any_caller)["output_id"]
    left = {one["id"] for one in listed(state, any_caller)}
    assert newest in left and ids[1] not in left
    assert len(left) == 2  # of two with 2 GiB each, one had to go


def test_another_user_sees_none_of_it(root, folder):
    place = folder / "state"
    kept = keep("echo secret", state=place)["output_id"]
    folder.chmod(0o755)
    done = output(kept, state=place, caller=support.Callers.USER)
    assert done.returncode == 126 and b"secret" not in done.stdout
    assert (place.stat().st_mode & 0o777, (place / "output").stat().st_mode & 0o777) == (0o700, 0o700)


def test_what_was_written_before_we_were_killed_is_there(any_caller, state):
    inside = Inside()
    try:
        with started("exec", "--keep-output", "--", "sh", "-c", "echo before; exec sleep 1000", inside.mark,
                     caller=any_caller, env={"SANDBOX_RUN_STATE": str(state)}) as process:
            assert read_line(process.stdout) == b"before\n"
            one, = listed(state, any_caller)
            assert one["state"] == "running"
            assert output("rm", one["id"], state=state, caller=any_caller).returncode == 125
            process.kill()
            process.wait(SOON)
    finally:
        inside.close()
    assert wait_until(lambda: listed(state, any_caller)[0]["state"] == "killed")
    assert output(one["id"], state=state, caller=any_caller).stdout == b"before\n"
    assert output("rm", "--all", state=state, caller=any_caller).returncode == 0
    assert listed(state, any_caller) == []


def test_a_full_disk_is_reported_and_ends_nothing(root, folder):
    place = folder / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(place)], check=True)
    try:
        result = keep("head -c 5000000 /dev/zero; echo end >&2; exit 3", state=place)
        assert (result["outcome"], result["exit_code"], result["stdout_bytes"]) == ("exited", 3, 5_000_000)
        assert "not kept in full" in result["explanation"] and "space" in result["explanation"]
        kept = output(result["output_id"], state=place).stdout
        assert 100_000 < len(kept) < 1 << 20 and not kept.strip(b"\0")
        result = keep("echo on", state=place)
        assert (result["success"], result["stdout"]) == (True, "on\n")
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_terminal_gets_it_without_harmful_sequences(any_caller, state):
    kept = keep(r"printf 'a\033]0;title\007b\n'", state=state, caller=any_caller)["output_id"]
    ours, theirs = os.openpty()
    try:
        for words, seen in ((["--raw"], b"a\x1b]0;title\x07b\r\n"), ([], b"ab\r\n")):
            env = support.surroundings(any_caller, {"SANDBOX_RUN_STATE": str(state)})
            done = subprocess.run(support.command("output", kept, *words, caller=any_caller), stdout=theirs,
                                  timeout=SOON, env=env, check=False)
            assert (done.returncode, os.read(ours, 100)) == (0, seen)
    finally:
        os.close(ours)
        os.close(theirs)
