"""The numbers agree with a load that is known, and the result has the fields of the contract."""
import re

import pytest

import support
from support import python, result_of, shell

USER = support.Callers.USER
MIB = 1 << 20
TICK = 0.01


@pytest.mark.parametrize("shape", ["self", "child", "orphan"])
def test_cpu_time_agrees_with_a_known_load(caller, load, shape):
    result = result_of("run", load, "--", "burn", "150", "4", shape, caller=caller)
    assert result["success"], result
    known = sum(map(int, result["stdout"].split())) / 1e6
    metrics = result["metrics"]
    # Where others use the CPUs as well, the kernel charges each change of the process to its group.
    most = TICK + 0.0005 * metrics["context_switches"]
    assert known >= 0.6 and -TICK < result["cpu_time"] - known < most, metrics
    assert metrics["cpu_user_ms"] + metrics["cpu_system_ms"] == pytest.approx(
        result["cpu_time"] * 1000, abs=0.01)
    assert metrics["cpu_user_ms"] > 500
    assert metrics["cpu_percent"] == pytest.approx(
        result["cpu_time"] / result["execution_time"] * 100, abs=0.2)


def test_cpu_time_in_the_kernel_is_counted_too(caller):
    before = "used()" if support.is_warm(caller) else "0"  # what a process used while it waited is not the run's
    code = ("import os, resource\ndef used(): return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])\n"
            f"before = {before}\nf = os.open('/dev/zero', os.O_RDONLY)\nb = bytearray(1 << 20)\n"
            "while used() - before < 0.5: os.readv(f, [b])\nprint(used() - before)")
    result = python(code, caller=caller)
    # The kernel charges interrupts to the group as well; they come when others use disk and network.
    assert -2 * TICK < result["cpu_time"] - float(result["stdout"]) < 10 * TICK
    assert result["metrics"]["cpu_system_ms"] > 200


@pytest.mark.parametrize("mib, n", [(100, 1), (25, 4)])
def test_peak_memory_agrees_with_what_was_touched(caller, load, mib, n):
    result = result_of("run", load, "--", "touch", mib, n, caller=caller)
    assert result["success"], result
    assert mib * n * MIB <= result["memory_used"] <= (mib * n + 5) * MIB
    assert result["metrics"]["peak_memory_bytes"] == result["memory_used"]


def test_memory_that_was_given_back_stays_in_the_peak(caller):
    result = python("import time\nx = b'1' * 60000000; time.sleep(0.1)\ndel x\n"
                    "time.sleep(0.1)", caller=caller)
    assert 60_000_000 <= result["memory_used"] <= 90_000_000


def test_files_in_memory_count(caller):
    result = shell("head -c 30000000 /dev/zero >/tmp/f; sleep 0.1", caller=caller)
    assert 30_000_000 <= result["memory_used"] <= 40_000_000


@pytest.mark.parametrize("n", [1, 7])
def test_the_most_processes_at_a_time_are_counted(caller, load, n):
    result = result_of("run", load, "--", "touch", "1", n, caller=caller)
    assert result["metrics"]["peak_processes"] == n + 1


def test_threads_are_counted_as_well(caller, load):
    result = result_of("run", load, "--", "threads", "20", caller=caller)
    assert result["metrics"]["peak_processes"] == 21


def test_even_the_shortest_program_is_one_process(caller):
    result = result_of("exec", "--", "true", caller=caller)
    assert result["metrics"]["peak_processes"] == 1


def test_wall_time_agrees_with_a_sleep(caller):
    result = result_of("exec", "--", "sleep", "0.3", caller=caller)
    assert 0.3 <= result["execution_time"] < 1
    assert result["metrics"]["wall_ms"] == pytest.approx(result["execution_time"] * 1000)
    assert result["cpu_time"] < 0.05
    assert 0 < result["metrics"]["startup_ms"] < 1000
    assert result["metrics"]["queue_ms"] == 0


def test_bytes_read_and_written_are_counted(caller):
    code = ("head -c 3000000 /dev/zero >/tmp/f; cat /tmp/f /tmp/f >/dev/null")
    metrics = shell(code, caller=caller)["metrics"]
    assert 6_000_000 <= metrics["io_read_bytes"] <= 12_000_000
    assert 3_000_000 <= metrics["io_write_bytes"] <= 12_000_000


def test_context_switches_are_counted(caller):
    few = shell("true", caller=caller)["metrics"]["context_switches"]
    many = python("import time\nfor _ in range(200): time.sleep(0.0001)",
                  caller=caller)["metrics"]["context_switches"]
    assert few > 0 and 200 <= many < 2000


def test_a_killed_run_is_measured_too(caller):
    code = ("import os, time\nx = b'1' * 50000000\nsaid = 0\nwhile True:\n"
            "  if time.process_time() > said + 0.01:\n"
            "    said = time.process_time(); os.write(1, b'%.3f\\n' % said)")
    result = python(code, "--timeout", "2s", "--grace", "0", caller=caller)
    assert result["outcome"] == "timeout"
    said = float(result["stdout"].split()[-1])
    assert said <= result["cpu_time"] <= said + 0.1, result["metrics"]
    assert 50_000_000 <= result["memory_used"] <= 80_000_000
    assert result["metrics"]["peak_processes"] == 1
    assert 2 <= result["execution_time"] < 4
    if not support.is_warm(caller):  # there the interpreter waited for its files before, and a loop need not wait
        assert result["metrics"]["io_read_bytes"] > 10_000  # the interpreter's own files
        assert result["metrics"]["context_switches"] > 0


FIELDS = {
    "schema", "id", "success", "outcome", "exit_code", "signal", "stdout", "stderr",
    "stdout_bytes", "stdout_truncated", "stdout_encoding", "stderr_bytes", "stderr_truncated",
    "stdout_tail", "stdout_omitted_bytes", "stderr_tail", "stderr_omitted_bytes",
    "stderr_encoding", "execution_time", "cpu_time", "memory_used", "metrics", "limits", "stages",
    "isolation", "startup", "version", "started_at", "total_ms", "language", "stage",
}
METRICS = {"wall_ms", "cpu_user_ms", "cpu_system_ms", "cpu_percent", "peak_memory_bytes",
           "peak_processes", "io_read_bytes", "io_write_bytes", "context_switches", "startup_ms",
           "queue_ms", "network_connections", "network_bytes_in", "network_bytes_out",
           "network_cpu_ms"}


def test_the_result_has_the_fields_of_the_contract(caller):
    result = shell("echo hi", caller=caller)
    assert FIELDS <= set(result)
    assert set(result["metrics"]) == METRICS
    assert all(isinstance(value, (int, float)) for value in result["metrics"].values())
    assert result["schema"] == 1
    assert result["startup"] in (("parked", "forked", "cold") if support.is_warm(caller) else ("cold",))
    assert re.fullmatch("[0-9a-f]{32}", result["id"])
    stage, = result["stages"]
    assert stage["name"] == "run" and stage["metrics"] == result["metrics"]
    assert stage["outcome"] == result["outcome"] == "exited"


def test_every_run_has_an_id_of_its_own(root):
    assert len({shell("true")["id"] for _ in range(5)}) == 5


def test_limits_are_echoed_as_they_hold(caller):
    words = ["--timeout", "7s", "--cpu-time", "3s", "--memory", "99m", "--cpus", "1.25", "--pids",
             "17", "--disk", "5m", "--inodes", "321", "--open-files", "99", "--max-output", "12k",
             "--grace", "10ms", "--max-connections", "3", "--max-network-in", "1m",
             "--max-network-out", "2k"]
    assert shell("true", *words, caller=caller)["limits"] == {
        "wall_ms": 7000, "cpu_ms": 3000, "memory_bytes": 99 * MIB, "cpus": 1.25, "pids": 17,
        "disk_bytes": 5 * MIB, "inodes": 321, "open_files": 99, "output_bytes": 12 << 10,
        "grace_ms": 10, "connections": 3, "network_in_bytes": MIB, "network_out_bytes": 2 << 10}


COMMON = {"user-namespace", "mount-namespace", "pid-namespace", "network-namespace",
          "ipc-namespace", "uts-namespace", "cgroup-namespace", "rlimits", "private-root",
          "no-capabilities", "no-new-privileges", "landlock", "seccomp"}
BY_CGROUP = {"memory-cgroup", "pids-cgroup", "cpu-accounting"}


@pytest.mark.core
def test_the_isolation_is_stated(caller):
    isolation = shell("true", caller=caller)["isolation"]
    assert COMMON <= set(isolation["mechanisms"])
    if caller == USER and isolation["tier"] == "reduced":
        assert len(isolation["missing"]) == 3 and not BY_CGROUP & set(isolation["mechanisms"])
    else:
        assert (isolation["tier"], isolation["missing"]) == ("container", [])
        assert BY_CGROUP <= set(isolation["mechanisms"])
