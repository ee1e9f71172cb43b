"""Limits are checked before anything is created; one sentence names option, value and range."""
import json

import pytest

from support import available_callers, result_of, sandbox_run

# option: field of the result, what it is set to here, its value then, and a text that is none.  Every class of bad
# text for every limit is tried by tests/unit/test_limits.c; here each option shows that it is read by that reader.
OPTIONS = {
    "timeout": ("wall_ms", "0.25m", 15_000, "5k"),
    "cpu-time": ("cpu_ms", "10s", 10_000, "-1"),
    "memory": ("memory_bytes", "65536kb", 64 << 20, "3m"),
    "cpus": ("cpus", "0.25", 0.25, "50%"),
    "pids": ("pids", "064", 64, "5.5"),
    "disk": ("disk_bytes", "64k", 64 << 10, "\u0665"),
    "inodes": ("inodes", "500", 500, "1e9"),
    "open-files": ("open_files", "64", 64, "NaN"),
    "max-output": ("output_bytes", "1t", 1 << 40, "5\n"),
    "grace": ("grace_ms", "0", 0, "61s"),
    "max-connections": ("connections", "0", 0, ""),
    "max-network-in": ("network_in_bytes", "0", 0, "99999999999999999999"),
    "max-network-out": ("network_out_bytes", "1.5g", 3 << 29, "5 m"),
}


def wrong_sentence(option, value, done):
    """What is wrong with a refusal, or nothing."""
    said = done.stderr.decode()
    if (done.returncode, done.stdout) != (125, b"") or said.count("\n") != 1 or not said.endswith("\n"):
        return f"status {done.returncode}, {done.stdout!r}, {said!r}"
    parts = (f"--{option} '", value.strip(), " from ", " to ")
    return "".join(f"no {part!r} in {said!r}; " for part in parts if part not in said)


def test_a_bad_limit_is_refused_in_one_sentence():
    wrong = {option: wrong_sentence(option, value, sandbox_run("exec", f"--{option}", value, "--", "echo", "ran"))
             for option, (*_, value) in OPTIONS.items()}
    assert not any(wrong.values()), wrong


def test_an_ordinary_users_bad_limit_is_refused_in_the_same_sentence():
    done = sandbox_run("exec", "--memory", "3m", "--", "echo", "ran", caller=available_callers()[-1])
    assert not wrong_sentence("memory", "3m", done)


def test_a_limit_without_a_value_is_refused():
    said = {option: sandbox_run("exec", f"--{option}") for option in OPTIONS}
    assert not {option: done for option, done in said.items()
                if done.returncode != 125 or f"--{option}" not in done.stderr.decode()}


@pytest.mark.parametrize("option, value", [("memory", "60t"), ("disk", "60t"), ("cpus", "4096")])
def test_a_limit_beyond_the_machine_says_what_the_machine_has(option, value):
    said = sandbox_run("exec", f"--{option}", value, "--", "true").stderr.decode()
    assert "machine" in said
    most = said.rstrip("\n").rsplit(" to ", 1)[1]
    done = sandbox_run("plan", f"--{option}", most, "--lang", "sh", "--code", "true")
    assert done.returncode == 0, done.stderr


def test_good_limits_are_understood_and_echoed(caller):
    words = [word for option, (_, value, *_) in OPTIONS.items() for word in (f"--{option}", value)]
    result = result_of("exec", *words, "--", "true", caller=caller)
    assert result["success"], result
    assert result["limits"] == {field: expected for field, _, expected, _ in OPTIONS.values()}


def test_the_presets_are_those_of_the_help(caller):
    limits = result_of("exec", "--", "true", caller=caller)["limits"]
    assert limits == {"wall_ms": 30_000, "cpu_ms": None, "memory_bytes": 512 << 20, "cpus": None,
                      "pids": 128, "disk_bytes": 256 << 20, "inodes": 100_000, "open_files": 1024,
                      "output_bytes": None, "grace_ms": 500,
                      "connections": 10_000, "network_in_bytes": 4 << 30,
                      "network_out_bytes": 4 << 30}


def test_the_last_of_repeated_limits_counts(caller):
    result = result_of("exec", "--pids", "5", "--pids=9", "--", "true", caller=caller)
    assert result["limits"]["pids"] == 9


def test_a_bad_limit_is_an_object_when_json_is_wanted(caller):
    done = sandbox_run("exec", "--json", "--memory", "1x", "--", "true", caller=caller)
    said = json.loads(done.stdout)
    assert (done.returncode, said["error"]["stage"]) == (125, "limits")
    assert "--memory '1x'" in said["error"]["message"] and done.stderr == b""


@pytest.mark.core
def test_open_files_are_limited(caller):
    code = "import os\nn = 0\ntry:\n  while True: os.dup(0); n += 1\nexcept OSError: print(n + 3)"
    done = sandbox_run("run", "--open-files", "40", "--lang", "python", "--code", code,
                       caller=caller)
    assert 38 <= int(done.stdout) <= 40  # python has a descriptor or so of its own


@pytest.mark.core
def test_a_share_of_a_cpu_is_enforced(root, load):
    result = result_of("run", "--cpus", "0.5", load, "--", "burn", "300", "1", "self")
    assert result["success"] and "cpu-cgroup" in result["isolation"]["mechanisms"], result
    assert 0.45 <= result["execution_time"] < 5, result
