"""Output is complete, byte-exact, in time and counted, however much it is; a bad reader changes none of it."""
import base64
import functools
import hashlib
import io
import os
import random
import resource
import select
import socket
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


@pytest.mark.parametrize("mebibytes", [20, 60])
def test_output_that_is_passed_on_has_no_bound(caller, mebibytes):
    done = sandbox_run("run", "--lang", "python", "--code",
                       FLOOD.format(count=mebibytes, size=1 << 20), caller=caller)
    assert (done.returncode, len(done.stdout)) == (0, mebibytes << 20)
    assert hashlib.sha256(done.stdout).hexdigest() == done.stderr.decode()


def test_stderr_has_no_bound_either(any_caller):
    done = sandbox_run("exec", "--", "sh", "-c", "head -c 20000000 /dev/zero >&2", caller=any_caller)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", bytes(20_000_000))


BLOCKS = """
import os, random
block = bytearray(random.Random(19).randbytes(1 << 20))
for number in range(2048):
    block[:8] = number.to_bytes(8, "little")
    view = memoryview(block)
    while view:
        view = view[os.write(1, view):]
"""


def test_2_gibibytes_through_a_pipe_are_exact(root):
    expected = bytearray(random.Random(19).randbytes(1 << 20))
    block, number = bytearray(1 << 20), 0
    with started("run", "--timeout", "10m", "--lang", "python", "--code", BLOCKS) as process:
        reader = io.BufferedReader(process.stdout, len(block))
        while (size := reader.readinto(block)) == len(block):
            expected[:8] = number.to_bytes(8, "little")
            assert block == expected, number
            number += 1
        assert (size, number) == (0, 2048)
        assert (process.wait(SOON), process.stderr.read()) == (0, b"")


def test_64_mebibytes_arrive_unchanged_in_json(root):
    result = python(FLOOD.format(count=1024, size=65521), "--max-output", "64m")
    data = raw(result, "stdout")
    assert (len(data), result["stdout_truncated"]) == (1024 * 65521, False)
    assert hashlib.sha256(data).hexdigest() == result["stderr"]


@pytest.mark.parametrize("unit", ["\\0", "\\x01", "\\n", '"', "\\x7f", "\u20ac", "\\xff"])
def test_output_that_is_costly_to_write_as_json_does_not_keep_us_long(root, unit):
    """By CPU time, because others use this machine too."""
    code = f"import sys; sys.stdout.buffer.write('{unit}'.encode('latin-1', 'ignore') * 9000000)"
    if unit == "\u20ac":
        code = "import sys; sys.stdout.buffer.write('\u20ac'.encode() * 3000000)"
    before = sum(os.times()[2:4])  # of processes that have ended
    result = python(code)
    assert sum(os.times()[2:4]) - before < 10
    assert result["success"] and len(raw(result, "stdout")) == 9_000_000


def test_output_goes_to_a_file_as_well(caller, folder):
    with open(folder / "out", "wb") as out:
        out.write(b"before ")
        out.flush()
        done = subprocess.run(support.command("exec", "--", "echo", "after", caller=caller),
                              stdout=out, stderr=subprocess.PIPE, timeout=SOON, check=False,
                              env=support.surroundings(caller))
    assert (done.returncode, (folder / "out").read_bytes()) == (0, b"before after\n")


def test_our_stdout_keeps_its_flags(caller):
    """Whoever shares it would otherwise meet EAGAIN."""
    ours, theirs = os.pipe()
    try:
        done = subprocess.run(support.command("exec", "--", "echo", "x", caller=caller),
                              stdout=theirs, timeout=SOON, check=False, env=support.surroundings(caller))
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


@pytest.mark.parametrize("size", [0, 999, 1000, 1001, 3000])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_beyond_the_limit_is_counted_to_the_byte_and_ends_the_run(any_caller, stream, size):
    other = "stderr" if stream == "stdout" else "stdout"
    number = 1 if stream == "stdout" else 2
    code = f"import os; os.write({number}, bytes(i % 95 + 32 for i in range({size})))"
    result = python(code, "--max-output", "1000", caller=any_caller)
    whole = bytes(i % 95 + 32 for i in range(size))
    assert raw(result, stream) == whole[:1000]
    assert result[f"{stream}_bytes"] == size
    assert result[f"{stream}_truncated"] == (size > 1000)
    assert (result[f"{stream}_tail"], result[f"{stream}_omitted_bytes"]) == (None, max(size - 1000, 0))
    assert (result[other], result[f"{other}_bytes"], result[f"{other}_truncated"]) == ("", 0, False)
    assert result["outcome"] == ("exited" if size <= 1000 else "output_limit")
    assert result["_status"] == (0 if size <= 1000 else 137)


@pytest.mark.parametrize("stream", [1, 2])
def test_the_limit_holds_to_the_byte_when_output_is_passed_on(caller, stream):
    code = f"import os; os.write({stream}, b'x' * 3000)"
    words = ["--max-output", "1000", "--lang", "python", "--code", code]
    done = sandbox_run("run", *words, caller=caller)
    line = b"sandbox-run: the program wrote more output to one stream than 1000b; --max-output 2000b would allow more\n"
    outputs = (b"x" * 1000, line) if stream == 1 else (b"", b"x" * 1000 + b"\n" + line)
    assert (done.returncode, done.stdout, done.stderr) == (137, *outputs)
    done = sandbox_run("run", "--quiet", *words, caller=caller)
    assert (done.returncode, len(done.stdout + done.stderr)) == (137, 1000)


def test_a_long_stream_is_spliced_up_to_the_limit_exactly(any_caller):
    done = sandbox_run("exec", "--max-output", "5000001", "--", "yes", caller=any_caller)
    assert (done.returncode, done.stdout) == (137, (b"y\n" * 2_500_001)[:-1])


KEPT = 10 << 20  # of a stream, in the result


@functools.cache
def numbers():
    """As seq writes them."""
    return "\n".join(map(str, range(1, 5_000_000)))


@pytest.mark.parametrize("size", [KEPT - 1, KEPT, KEPT + 1, 3 * KEPT])
def test_a_result_keeps_the_beginning_and_the_end(any_caller, size):
    result = result_of("exec", "--", "sh", "-c", f"seq 9000000 | head -c {size}", caller=any_caller)
    whole = numbers()[:size]
    assert (result["outcome"], result["stdout_bytes"]) == ("exited", size)
    assert result["stdout_truncated"] == (size > KEPT)
    if size <= KEPT:
        assert result["stdout"] == whole
        assert (result["stdout_tail"], result["stdout_omitted_bytes"]) == (None, 0)
    else:
        assert result["stdout"] == whole[:KEPT // 2]
        assert result["stdout_tail"] == whole[-(KEPT // 2):]
        assert result["stdout_omitted_bytes"] == size - KEPT


def test_a_cut_does_not_make_binary_of_text(any_caller):
    code = "import sys; sys.stdout.write('\u20ac' * (4 << 20)); sys.stderr.write('x' + '\U0001f600' * (3 << 20))"
    result = python(code, caller=any_caller)
    assert (result["stdout_encoding"], result["stderr_encoding"]) == ("utf-8", "utf-8")
    for stream, character in (("stdout", "\u20ac"), ("stderr", "\U0001f600")):
        head, tail = result[stream].removeprefix("x"), result[f"{stream}_tail"]
        assert head == character * len(head) and tail == character * len(tail)
        kept = len((result[stream] + tail).encode())
        assert KEPT - 6 <= kept <= KEPT
        assert result[f"{stream}_bytes"] == kept + result[f"{stream}_omitted_bytes"]


def test_a_limit_in_a_character_does_not_make_binary_of_text(any_caller):
    result = python("import sys; sys.stdout.write('\u20ac' * 1000)", "--max-output", "100", caller=any_caller)
    assert (result["outcome"], result["stdout"], result["stdout_encoding"]) == ("output_limit", "\u20ac" * 33, "utf-8")


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


def test_a_flood_without_a_limit_is_bounded_by_time_and_kept_in_part(any_caller):
    """`exec --json -- yes`: the time limit ends it, our memory does not grow with it, and the result says both."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    result = result_of("exec", "--timeout", "2s", "--", "yes", caller=any_caller)
    assert (result["outcome"], result["_status"]) == ("timeout", 124)
    assert "--timeout 4s would allow more" in result["explanation"]
    assert result["stdout"] == result["stdout_tail"] == "y\n" * (KEPT // 4) and result["stdout_truncated"]
    assert result["stdout_bytes"] == KEPT + result["stdout_omitted_bytes"] > 4 * KEPT
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, 200 << 10)  # KiB


KILLS = {
    "by itself": ("os.kill(os.getpid(), 9)", [], "signaled"),
    "by the time limit": ("import time; time.sleep(1000)", ["--timeout", "3s"], "timeout"),
    "by the CPU limit": ("while True: pass", ["--cpu-time", "300ms"], "cpu_limit"),
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
        with started("run", "--timeout", "1s", "--grace", "100ms", "--lang", "python",
                     "--code", code, "--", inside.mark, caller=caller) as process:
            assert read_line(process.stderr) == b"ready\n"
            inside.find(0)  # that has not ended yet
            assert inside.all_end(), "the time limit waits for the reader"
            if end == "the reader reads again":
                out, _ = process.communicate(timeout=SOON)
                assert 100_000 < len(out) <= 4096 * 500 and not out.strip(b"x")
                assert process.returncode == 124
            elif end == "the reader leaves":
                process.stdout.close()
                assert process.wait(SOON) == 124
            else:
                process.terminate()
                assert process.wait(SOON) in (124, 143)
    finally:
        inside.close()


def test_a_reader_that_never_reads_does_not_keep_us_after_a_time_limit(any_caller):
    """Into a pipe the kernel takes the rest; a socket cannot grow, so the rest is lost, and we report it."""
    ours, theirs = socket.socketpair()
    code = STUCK.replace("while True:", "for _ in range(500):")
    with ours, theirs:
        done = subprocess.run(support.command("run", "--timeout", "500ms", "--grace", "100ms", "--lang", "python",
                                              "--code", code, caller=any_caller),
                              stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, timeout=SOON,
                              check=False, env=support.surroundings(any_caller))
        assert done.returncode == 124
        assert b"the reader of stdout did not take the last" in done.stderr


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
    words = support.command("exec", "--timeout", "60s", "--", "sh", "-c",
                            f"exec {command}", caller=caller)
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, bufsize=0, env=support.surroundings(caller)) as process:
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
                              stderr=subprocess.PIPE, timeout=SOON, check=False, env=support.surroundings(root))
    assert done.returncode == 125
