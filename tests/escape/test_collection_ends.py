"""When what a program left is taken out: however it ended, after everybody inside is dead, and not when
whoever called has cancelled.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import time

import pytest

import harness
import support
from collection import LOCKED, MANY, place, place_in_memory, skipped  # noqa: F401
from harness import callers

LEFT_RUNNING = """
import os, sys
os.mkdir('d')
for child in range(8):
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                os.rename('d', 'd2')
                os.symlink('<room>', 'd')
                os.unlink('d')
                os.rename('d2', 'd')
                open('d/file', 'w').write('mine')
            except OSError:
                pass
os.write(1, b'left')
os._exit(0)
"""


@callers
@pytest.mark.core
def test_nobody_is_left_to_swap_a_directory(scene, place):
    """Processes that outlive the program exchange a directory for a link to the host as fast as they can."""
    for _ in range(5):
        result = place.outputs("python", LEFT_RUNNING.replace("<room>", str(scene.room)))
        assert result["stdout"] == "left"
        assert not [path for path in place.found() if b"secret" in path]
        assert harness.SECRET.encode() not in place.content()


LEFT_WRITING = """
import os
fd = os.open('first', os.O_CREAT | os.O_WRONLY)
with open('between', 'wb') as file:
    for _ in range(64): file.write(os.urandom(1 << 20))
os.link('first', 'last')
came, come = os.pipe()
for child in range(8):
    if os.fork() == 0:
        os.setsid()
        number = 0
        while True:
            os.pwrite(fd, b'%20d' % number, 0)
            if number == 0: os.write(come, b'.')
            number += 1
os.read(came, 1)
os._exit(0)
"""


@callers
@pytest.mark.core
def test_nobody_is_left_to_write_while_files_come(place):
    """Two names of one file, with a large file between them: who writes on makes them come out different."""
    place.outputs("python", LEFT_WRITING)
    assert sorted(place.found()) == [b"between", b"first", b"last"]
    assert (place.out / "first").read_bytes() == (place.out / "last").read_bytes() != b""


SHORT = "5s" if "SBR_EXPECT" in os.environ else "500ms"  # on an emulated host a shell takes its time to start
ENDS = [("exit 7", (), "exited"), ("kill -9 $$", (), "signaled"),
        ("while :; do :; done", ("--timeout", SHORT), "timeout"),
        ("trap '' TERM; while :; do :; done", ("--timeout", SHORT, "--grace", "100ms"), "timeout"),
        ("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", ("--max-output", "10k"), "output_limit")]


@callers
@pytest.mark.core
@pytest.mark.parametrize("end, options, outcome", ENDS, ids=[end[0][:20] for end in ENDS])
def test_whatever_the_end_was_files_and_changes_come(place, end, options, outcome):
    result = place.run("bash", f"echo kept > file; {end}", "--project", place.project, "--diff", "--output",
                       f"file:{place.out}", *options)
    assert outcome in (None, result["outcome"]), result["explanation"]
    assert (place.out / "file").read_text() == "kept\n"
    assert [change["path"] for change in result["changes"]] == ["file"]


@callers
@pytest.mark.core
def test_files_come_after_too_much_memory(place):
    """Where the kernel ends the whole group (v2, root) nobody is left to hand them out, and that is told."""
    result = place.run("python", "open('file', 'w').write('kept')\na = bytearray(1 << 30)", "--memory", "64m",
                       "--output", f"file:{place.out}")
    lost = not (place.out / "file").exists()
    assert lost or (place.out / "file").read_text() == "kept"
    assert not lost or pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
    assert lost or result["outcome"] in ("memory_limit", "exited"), result["explanation"]


@callers
@pytest.mark.core
@pytest.mark.parametrize("options", [("--policy", "strict"), ("--open-files", "16"), ("--cpu-time", "10s")],
                         ids=lambda options: options[0])
def test_the_programs_own_bounds_do_not_hinder(place, options):
    """Whoever hands out has the same filter and limits as the program had."""
    result = place.run("bash", "mkdir t; cd t; " + LOCKED, "--project", place.project, "--diff", "--output",
                       f"t/**:{place.out}", *options)
    assert len(place.found()) == 3 and not skipped(result)
    assert "t/d/deep/file" in {change["path"] for change in result["changes"]}


@callers
def test_the_time_of_handing_out_is_not_the_programs(place_in_memory):
    result = place_in_memory.outputs("python", MANY.format(n=20000) + "\nimport time\ntime.sleep(1)", "--timeout",
                                     "20s", "--inodes", "50000")
    assert result["outcome"] == "exited"
    assert len(list((place_in_memory.out / "d").iterdir())) == 20000


@contextlib.contextmanager
def started(place, code, *options):
    words = support.command("run", *options, "--lang", "python", "--code", code, caller=place.caller)
    env = support.environment({"SANDBOX_RUN_CACHE": support.cache_of(place.caller),
                               "SANDBOX_RUN_STATE": str(place.state)})
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env) as tool:
        try:
            yield tool
        finally:
            tool.kill()


@callers
@pytest.mark.core
@pytest.mark.parametrize("end", ["time.sleep(1000)", "signal.signal(15, lambda *_: os._exit(0)); time.sleep(1000)"])
def test_who_cancels_gets_nothing(place, end):
    """Also when the program then ends by itself."""
    code = f"import os, signal, time\nopen('file', 'w').write('x')\nos.write(1, b'ready\\n')\n{end}"
    with started(place, code, "--output", f"**:{place.out}") as tool:
        assert tool.stdout.readline() == b"ready\n"
        tool.send_signal(signal.SIGINT)
        assert tool.wait(support.DEADLINE) == 130, tool.stderr.read()
    assert not place.found()


@callers
def test_who_cancels_while_files_come_does_not_wait(place):
    """A gigabyte is on its way, and what was there is taken away again."""
    code = ("import os\nopen('big', 'wb').write(os.urandom(1 << 20) * 250)\n"
            "for i in range(40): os.link('big', f'name{i}')\nos.write(1, b'ready\\n')")
    with started(place, code, "--output", f"**:{place.out}", "--memory", "1g") as tool:
        assert tool.stdout.readline() == b"ready\n"
        harness.wait_until(lambda: any(path.is_file() for path in (place.state / "staging").rglob("*")),
                           "the first file comes")
        began = time.monotonic()
        tool.send_signal(signal.SIGINT)
        assert tool.wait(support.DEADLINE) == 130, tool.stderr.read()
        assert time.monotonic() - began < 10
    assert not place.found()
