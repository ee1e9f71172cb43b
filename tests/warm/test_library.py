"""The library with an engine: the bytes of a run without one, and callers in turn."""
import subprocess

import pytest

import support

LIBRARY = support.BUILD / "src" / "libsandboxrun.so"
SERVE = ["--slots", "1", "--warm", "command"]
PROGRAM = """
i=0
while [ $i -lt 300 ]; do echo "out $i"; [ $((i % 50)) = 0 ] && echo "err $i" >&2; i=$((i + 1)); done
head -c 300000 /dev/zero; printf 'no newline'
"""


@pytest.fixture(scope="module")
def streamer(place):
    target = place / "library-stream"
    subprocess.run(["gcc", "-std=gnu17", "-pthread", f"-I{support.REPO}/include",
                    support.REPO / "tests/blackbox/programs/library_stream.c", "-o", target,
                    f"-L{LIBRARY.parent}", "-lsandboxrun"], check=True)
    target.chmod(0o755)
    return target


def run(streamer, engine, case, env=None):
    as_user = engine.caller == "user" and "root" in support.available_callers()
    variables = {"LD_LIBRARY_PATH": str(LIBRARY.parent), **engine.variables(), **(env or {})}
    return subprocess.run([*(support.AS_ORDINARY if as_user else []), streamer, case], capture_output=True,
                          timeout=60, check=False, env=support.environment(variables))


def test_an_engine_changes_no_byte_and_no_order(engine, streamer):
    warm = run(streamer, engine, "copy", {"COPY": PROGRAM})
    cold = run(streamer, engine, "copy", {"COPY": PROGRAM, "SANDBOX_RUN_COLD": "1"})
    assert (warm.returncode, warm.stdout, warm.stderr) == (0, cold.stdout, cold.stderr)
    assert warm.stdout.endswith(bytes(300000) + b"no newline") and warm.stderr.splitlines()[-1] == b"err 250"
    status = engine.status()
    assert status["parked_total"] + status["forked_total"] >= 1


@pytest.mark.parametrize("other, orders", [("two", ("0132", "0312")), (None, ("0123",))])
def test_callers_are_served_in_turn(engine, streamer, other, orders):
    """The first job holds the only slot; two of the same caller wait, and behind them one of another."""
    done = run(streamer, engine, "turn", {"OTHER": other} if other else {})
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.decode() in orders
