"""Limits are checked before anything is created; one sentence names option, value and range."""
import json

import pytest

from support import available_callers, result_of, sandbox_run

TIMES, SIZES, COUNTS, MILLIS = "times", "sizes", "counts", "millis"
# option: field of the result, kind, below the range, above the range
OPTIONS = {
    "timeout": ("wall_ms", TIMES, ["0", "0s", "0.0"], ["25h", "1441m", "99999999s"]),
    "cpu-time": ("cpu_ms", TIMES, ["0", "0ms"], ["241h"]),
    "memory": ("memory_bytes", SIZES, ["0", "1", "3m", "4095k"], ["60t", "65t"]),
    "cpus": ("cpus", MILLIS, ["0", "0.0", "0.009"], ["4096", "5000"]),
    "pids": ("pids", COUNTS, ["0"], ["100001"]),
    "disk": ("disk_bytes", SIZES, ["0", "63k"], ["60t", "65t"]),
    "inodes": ("inodes", COUNTS, ["0", "15"], ["100000001"]),
    "open-files": ("open_files", COUNTS, ["0", "7"], ["1048577"]),
    "max-output": ("output_bytes", SIZES, ["0"], ["2t"]),
    "grace": ("grace_ms", TIMES, [], ["61s", "2m"]),
    "max-connections": ("connections", COUNTS, [], ["1000001"]),
    "max-network-in": ("network_in_bytes", SIZES, [], ["1025t"]),
    "max-network-out": ("network_out_bytes", SIZES, [], ["1025t"]),
}
ALWAYS_BAD = ["", " ", "-1", "-0", "NaN", "nan", "inf", "Infinity", "-inf", "1e9", "1E3", "0x10",
              "99999999999999999999", "18446744073709551616", "18446744073709551615", "+5", " 5",
              "5 ", "5,5", ".5", "5.", "5..5", "1.2.3", "five", "5 m", "5mm", "5\n", "\u0665",
              "\xb5"]
BAD_UNITS = {
    TIMES: ["5k", "5mb", "5us", "5d", "5sec", "0.0001s", "9999999999999999h"],
    SIZES: ["5s", "5ms", "5p", "5mbit", "9999999999t"],
    COUNTS: ["5k", "5m", "5s", "5.5"],
    MILLIS: ["1m", "1cpu", "1.0001", "50%"],
}
BAD = [(option, value) for option, (_, kind, low, high) in OPTIONS.items()
       for value in [*ALWAYS_BAD, *BAD_UNITS[kind], *low, *high]]


@pytest.mark.parametrize("option, value", BAD)
def test_a_bad_limit_is_refused_in_one_sentence(option, value):
    for caller in available_callers():
        done = sandbox_run("exec", f"--{option}", value, "--", "echo", "ran", caller=caller)
        said = done.stderr.decode()
        assert (done.returncode, done.stdout) == (125, b""), said
        assert said.count("\n") == 1 and said.endswith("\n"), said
        assert f"--{option} '" in said and value.strip() in said, said
        assert " from " in said and " to " in said, said


@pytest.mark.parametrize("option", OPTIONS)
def test_a_limit_without_a_value_is_refused(option):
    done = sandbox_run("exec", f"--{option}")
    assert done.returncode == 125 and f"--{option}" in done.stderr.decode()


@pytest.mark.parametrize("option", OPTIONS)
def test_the_range_in_the_sentence_is_the_range_that_is_accepted(option):
    said = sandbox_run("plan", f"--{option}", "x", "--lang", "sh", "--code", "").stderr.decode()
    low, high = said.rstrip("\n").rsplit(" from ", 1)[1].split(" to ")
    done = sandbox_run("plan", f"--{option}", low, "--lang", "sh", "--code", "true")
    assert done.returncode == 0, done.stderr
    done = sandbox_run("plan", f"--{option}", high, "--lang", "sh", "--code", "true")
    assert done.returncode == 0 or b"more than this machine has" in done.stderr, done.stderr


@pytest.mark.parametrize("option, value", [("memory", "60t"), ("disk", "60t"), ("cpus", "4096")])
def test_a_limit_beyond_the_machine_says_what_the_machine_has(option, value):
    said = sandbox_run("exec", f"--{option}", value, "--", "true").stderr.decode()
    assert "machine" in said
    most = said.rstrip("\n").rsplit(" to ", 1)[1]
    done = sandbox_run("plan", f"--{option}", most, "--lang", "sh", "--code", "true")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("option, value, expected", [
    ("memory", "512m", 512 << 20), ("memory", "256mb", 256 << 20), ("memory", "1g", 1 << 30),
    ("memory", "1GB", 1 << 30), ("memory", "1GiB", 1 << 30), ("memory", "0.5g", 512 << 20),
    ("memory", "33554432", 32 << 20), ("memory", "33554432b", 32 << 20),
    ("memory", "65536K", 64 << 20), ("memory", "65536kb", 64 << 20),
    ("max-output", "1t", 1 << 40), ("max-output", "1", 1), ("disk", "64k", 64 << 10),
    ("timeout", "500ms", 500), ("timeout", "30s", 30_000), ("timeout", "2m", 120_000),
    ("timeout", "24h", 86_400_000), ("timeout", "1.5", 1500), ("timeout", "1.5s", 1500),
    ("timeout", "7", 7000), ("timeout", "0.25m", 15_000), ("cpu-time", "10s", 10_000),
    ("cpus", "1.5", 1.5), ("cpus", "1", 1), ("cpus", "0.25", 0.25), ("cpus", "0.01", 0.01),
    ("pids", "64", 64), ("pids", "064", 64), ("inodes", "500", 500), ("open-files", "64", 64),
    ("grace", "0", 0), ("grace", "0ms", 0), ("grace", "1s", 1000),
    ("max-connections", "0", 0), ("max-network-in", "0", 0), ("max-network-out", "1.5g", 3 << 29),
])
def test_good_limits_are_understood_and_echoed(caller, option, value, expected):
    result = result_of("exec", f"--{option}", value, "--", "true", caller=caller)
    assert result["success"], result
    assert result["limits"][OPTIONS[option][0]] == expected


def test_the_presets_are_those_of_the_help(caller):
    limits = result_of("exec", "--", "true", caller=caller)["limits"]
    assert limits == {"wall_ms": 30_000, "cpu_ms": None, "memory_bytes": 512 << 20, "cpus": None,
                      "pids": 128, "disk_bytes": 256 << 20, "inodes": 100_000, "open_files": 1024,
                      "output_bytes": 10 << 20, "grace_ms": 500,
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
def test_a_share_of_a_processor_is_enforced(root, load):
    result = result_of("run", "--cpus", "0.5", load, "--", "burn", "300", "1", "self")
    assert result["success"] and "cpu-cgroup" in result["isolation"]["mechanisms"], result
    assert 0.45 <= result["execution_time"] < 5, result
