"""Output is complete, byte-exact, in time, capped and counted; a bad reader changes none of it."""
import base64
import hashlib
import os
import select
import subprocess

import pytest

import support
from support import python, result_of, sandbox_run, shell
from waiting import SOON, Inside, read_line, started

ALL_BYTES = bytes(range(256))


def raw(result, name):
    text = result[name]
    return base64.b64decode(text) if result[f"{name}_encoding"] == "base64" else text.encode()


def output_is_exact(caller, folder, data, encoding):
    (folder / "data").write_bytes(data)
    words = ["-v", f"{folder}/data:/data", "--", "sh", "-c", "cat /data; cat /data /data >&2"]
    result = result_of("exec", *words, caller=caller)
    assert (raw(result, "stdout"), raw(result, "stderr")) == (data, data * 2)
    assert result["stdout_encoding"] == encoding or encoding is None  # None: either will do
    assert (result["stdout_bytes"], result["stderr_bytes"]) == (len(data), 2 * len(data))
    assert not result["stdout_truncated"] and not result["stderr_truncated"]
    plain = sandbox_run("exec", *words, caller=caller)
    assert (plain.stdout, plain.stderr) == (data, data * 2)


@pytest.mark.core
@pytest.mark.parametrize("data, encoding", [("ünïcödé \U0001f600 \u2028".encode(), "utf-8"), (ALL_BYTES, "base64")])
def test_output_is_byte_exact_on_both_streams(caller, folder, data, encoding):
    output_is_exact(caller, folder, data, encoding)


@pytest.mark.parametrize("data, encoding", [
    (b"", "utf-8"), (b"\n", "utf-8"), (b"no final newline", "utf-8"), (b"a\0b\0", None),
    (b'"\\\x1b[31m\x07\x7f\r\n', "utf-8"), (b"\xff", "base64"), (b"ok \xc3", "base64"), (b"\xed\xa0\x80", "base64"),
    (b"\xc0\x80", "base64"), (b"\xf4\x90\x80\x80", "base64"), (b"\xef\xbf\xbf", "utf-8"),
])
def test_odd_output_is_byte_exact_on_both_streams(any_caller, folder, data, encoding):
    output_is_exact(any_caller, folder, data, encoding)


@pytest.mark.parametrize("text", ["y\n" * 5000, "\n" * 5000, '"' * 5000, "\t\u00fc" * 5000],
                         ids=["lines", "empty lines", "quotes", "tabs"])
def test_text_stays_text_however_many_escapes_it_needs(root, folder, text):
    (folder / "data").write_text(text)
    result = result_of("exec", "-v", f"{folder}/data:/data", "--", "cat", "/data")
    assert (result["stdout_encoding"], result["stdout"]) == ("utf-8", text)


FLOOD = """
import hashlib, os, sys
sha = hashlib.sha256()
for _ in range({count}):
    data = os.urandom({size})
    sha.update(data)
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]
sys.stderr.write(sha.hexdigest())
"""


def test_64_mebibytes_arrive_unchanged(caller):
    done = sandbox_run("run", "--max-output", "64m", "--lang", "python", "--code",
                       FLOOD.format(count=64, size=1 << 20), caller=caller)
    assert len(done.stdout) == 64 << 20
    assert hashlib.sha256(done.stdout).hexdigest() == done.stderr.decode()


def test_64_mebibytes_arrive_unchanged_in_json(root):
    result = python(FLOOD.format(count=1024, size=65521), "--max-output", "64m")
    data = raw(result, "stdout")
    assert (len(data), result["stdout_truncated"]) == (1024 * 65521, False)
    assert hashlib.sha256(data).hexdigest() == result["stderr"]


@pytest.mark.parametrize("unit", ["\\0", "\\x01", "\\n", '"', "\\x7f", "\u20ac", "\\xff"])
def test_output_that_is_costly_to_write_as_json_does_not_keep_us_long(root, unit):
    code = f"import sys; sys.stdout.buffer.write('{unit}'.encode('latin-1', 'ignore') * 9000000)"
    if unit == "\u20ac":
        code = "import sys; sys.stdout.buffer.write('\u20ac'.encode() * 3000000)"
    result = python(code, timeout=15)
    assert result["success"] and len(raw(result, "stdout")) == 9_000_000


def test_output_goes_to_a_file_as_well(caller, folder):
    with open(folder / "out", "wb") as out:
        out.write(b"before ")
        out.flush()
        done = subprocess.run(support.command("exec", "--", "echo", "after", caller=caller),
                              stdout=out, stderr=subprocess.PIPE, timeout=SOON, check=False)
    assert (done.returncode, (folder / "out").read_bytes()) == (0, b"before after\n")


def test_our_stdout_keeps_its_flags(caller):
    """Whoever shares it would otherwise meet EAGAIN."""
    ours, theirs = os.pipe()
    try:
        done = subprocess.run(support.command("exec", "--", "echo", "x", caller=caller),
                              stdout=theirs, timeout=SOON, check=False)
        assert done.returncode == 0 and os.get_blocking(theirs)
        assert os.read(ours, 10) == b"x\n"
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_line_arrives_before_the_program_ends(caller, stream):
    code = f"import sys; print('ready', file=sys.{stream}, flush=True); print('got', input())"
    with started("run", "--lang", "python", "--code", code, caller=caller) as process:
        assert read_line(getattr(process, stream)) == b"ready\n"
        assert process.poll() is None
        process.stdin.write(b"go\n")
        assert process.communicate(timeout=SOON) == (b"got go\n", b"")
        assert process.returncode == 0


def test_parts_of_a_line_arrive_at_once(caller):
    code = "import sys; sys.stdout.write('par'); sys.stdout.flush(); input(); print('tial')"
    with started("run", "--lang", "python", "--code", code, caller=caller) as process:
        assert select.select([process.stdout], [], [], SOON)[0]
        assert os.read(process.stdout.fileno(), 10) == b"par"
        assert process.communicate(b"\n", timeout=SOON)[0] == b"tial\n"


@pytest.mark.parametrize("size", [999, 1000, 1001, 3000])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_beyond_the_limit_is_cut_and_counted_to_the_byte(any_caller, stream, size):
    other = "stderr" if stream == "stdout" else "stdout"
    number = 1 if stream == "stdout" else 2
    code = f"import os; os.write({number}, bytes(i % 95 + 32 for i in range({size})))"
    result = python(code, "--max-output", "1000", caller=any_caller)
    whole = bytes(i % 95 + 32 for i in range(size))
    assert raw(result, stream) == whole[:1000]
    assert result[f"{stream}_bytes"] == size
    assert result[f"{stream}_truncated"] == (size > 1000)
    assert (result[other], result[f"{other}_bytes"], result[f"{other}_truncated"]) == ("", 0, False)
    assert result["success"]


def test_a_cut_is_also_made_when_output_is_passed_on(caller):
    code = "import os; os.write(1, b'x' * 3000)"
    done = sandbox_run("run", "--max-output", "1000", "--lang", "python", "--code", code,
                       caller=caller)
    assert (done.returncode, done.stdout) == (0, b"x" * 1000)


@pytest.mark.core
def test_a_flood_ends_in_output_limit_and_keeps_its_beginning(caller):
    result = result_of("exec", "--max-output", "100k", "--", "yes", "flood", caller=caller)
    assert (result["outcome"], result["_status"], result["success"]) == ("output_limit", 137, False)
    assert result["stdout"] == ("flood\n" * 20000)[:100 << 10]
    assert result["stdout_truncated"] and result["stdout_bytes"] > 100 << 10
    assert "--max-output" in result["explanation"]


def test_a_flood_on_stderr_is_one_too(caller):
    result = shell("yes >&2", "--max-output", "10k", caller=caller)
    assert (result["outcome"], raw(result, "stderr")) == ("output_limit", b"y\n" * (5 << 10))


KILLS = {
    "by itself": ("os.kill(os.getpid(), 9)", [], "signaled"),
    "by the time limit": ("import time; time.sleep(1000)", ["--timeout", "300ms"], "timeout"),
    "by the processor limit": ("while True: pass", ["--cpu-time", "300ms"], "cpu_limit"),
    "by the memory limit": ("x = [bytearray(1 << 20) for _ in range(1000)]", ["--memory", "48m"],
                            "memory_limit"),
    "by a crash": ("os.abort()", [], "signaled"),
}


@pytest.mark.parametrize("how", KILLS)
def test_output_before_a_kill_is_never_lost(root, how):
    end, options, outcome = KILLS[how]
    code = f"import os\nos.write(1, b'o' * 60000); os.write(2, b'e' * 60000)\n{end}"
    result = python(code, *options)
    assert result["outcome"] == outcome
    assert (result["stdout"], result["stderr"]) == ("o" * 60000, "e" * 60000)


STUCK = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(2, b'ready\\n')
while True: os.write(1, b'x' * 4096)
"""


@pytest.mark.parametrize("end", ["the reader reads again", "the reader leaves",
                                 "we are told to end"])
def test_a_stuck_reader_stops_no_time_limit(caller, end):
    inside = Inside()
    code = STUCK.replace("while True:", "for _ in range(500):") + "\nimport time; time.sleep(1000)"
    try:
        with started("run", "--timeout", "500ms", "--grace", "100ms", "--lang", "python",
                     "--code", code, "--", inside.mark, caller=caller) as process:
            assert read_line(process.stderr) == b"ready\n"
            inside.find(1)
            assert inside.all_end(), "the time limit waits for the reader"
            if end == "the reader reads again":
                out, _ = process.communicate(timeout=SOON)
                assert out == b"x" * 4096 * 500
                assert process.returncode == 124
            elif end == "the reader leaves":
                process.stdout.close()
                assert process.wait(SOON) == 124
            else:
                process.terminate()
                assert process.wait(SOON) in (124, 143)
    finally:
        inside.close()


def test_a_slow_reader_loses_nothing(caller):
    with started("run", "--lang", "python", "--code", FLOOD.format(count=40, size=100_000),
                 caller=caller) as process:
        sha, total = hashlib.sha256(), 0
        while data := os.read(process.stdout.fileno(), 5000):
            sha.update(data)
            total += len(data)
        assert total == 4_000_000
        assert process.stderr.read().decode() == sha.hexdigest()
        assert process.wait(SOON) == 0


@pytest.mark.parametrize("command", ["yes", "sh -c 'while echo y; do :; done'"])
def test_a_reader_that_leaves_ends_the_program(caller, command):
    """As it does without us: `yes | head -1` ends at once, not when the time is over."""
    words = support.command("exec", "--max-output", "1g", "--timeout", "60s", "--", "sh", "-c",
                            f"exec {command}", caller=caller)
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, bufsize=0) as process:
        try:
            assert read_line(process.stdout) == b"y\n"
            process.stdout.close()
            process.wait(10)
        finally:
            process.kill()
    assert process.returncode in (128 + 13, 1, 2), process.returncode


def test_a_program_that_does_not_read_its_stdin_ends_as_ever(caller):
    done = sandbox_run("exec", "--", "true", stdin=bytes(10_000_000), caller=caller)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = sandbox_run("exec", "--", "head", "-c", "5", stdin=b"12345" + bytes(10_000_000),
                       caller=caller)
    assert (done.returncode, done.stdout) == (0, b"12345")


def test_a_program_that_closes_its_stdin_goes_on(caller):
    done = sandbox_run("exec", "--", "sh", "-c", "exec <&-; echo on", stdin=bytes(10_000_000),
                       caller=caller)
    assert (done.returncode, done.stdout) == (0, b"on\n")


def test_stdin_that_never_ends_does_not_keep_us(caller):
    with started("exec", "--", "echo", "done", caller=caller) as process:
        assert process.stdout.read() == b"done\n"  # our stdin is still open
        assert process.wait(SOON) == 0


@pytest.mark.core
def test_output_of_two_runs_never_mixes(root):
    with started("exec", "--", "sh", "-c", "read x; echo one $x") as one, \
            started("exec", "--", "sh", "-c", "read x; echo two $x") as two:
        assert two.communicate(b"B\n", timeout=SOON)[0] == b"two B\n"
        assert one.communicate(b"A\n", timeout=SOON)[0] == b"one A\n"


def test_a_result_that_cannot_be_written_is_our_failure(root):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(support.command("exec", "--json", "--", "true"), stdout=full,
                              stderr=subprocess.PIPE, timeout=SOON, check=False)
    assert done.returncode == 125
