"""Limits of the whole tree: threats 15, 16 and 17.  Taken in every form that memory comes in."""
import pytest

import support
from harness import assert_each, callers, root_only, run_attack, run_attacks
from support import Callers

MIB = 1 << 20
LIMIT = 48
MORE = 96
ROOMY = ("--memory", f"{LIMIT}m", "--disk", "1g", "--inodes", "10000000", "--open-files", "65536",
         "--timeout", "20s")
MEMORY = ["anonymous", "children", "file", "memory-files", "shared", "sysv", "pipes", "sockets"]
# 1 KiB and more for an empty file: its inode and its name.
TAKINGS = [*[(kind, MORE) for kind in MEMORY], ("inodes", 2 * MORE)]


@pytest.mark.skipif(Callers.ROOT not in support.available_callers(), reason="needs a cgroup")
@pytest.mark.parametrize("kind, amount", TAKINGS)
@pytest.mark.core
def test_memory_of_any_kind_ends_at_the_limit(scene, kind, amount):
    answer = run_attack(scene, "take", kind, amount, options=ROOMY)
    assert not answer.got, answer
    assert answer.outcome == "memory_limit" or answer.error in ("ENOMEM", "ENOBUFS"), answer
    if answer.outcome == "memory_limit":
        assert answer.result["memory_used"] <= LIMIT * MIB


@root_only
@pytest.mark.parametrize("kind, amount", TAKINGS)
def test_memory_of_any_kind_goes_beyond_without_the_group(scene, kind, amount):
    answer = run_attack(scene, "take", kind, amount, options=ROOMY, without=("memory-cgroup",))
    assert answer.got, answer


@pytest.mark.parametrize("kind", ["anonymous", "children", "file"])
@pytest.mark.core
def test_an_ordinary_user_without_a_group_has_supervised_memory(scene, kind):
    """Supervision looks now and then, so the attacker holds what it has taken."""
    answer = run_attack(scene, "take", kind, MORE, "wait", options=ROOMY, caller=Callers.USER)
    assert answer.outcome == "memory_limit" or answer.error == "ENOMEM", answer
    assert "memory limit of the whole tree by cgroup" in answer.result["isolation"]["missing"]


@callers
@pytest.mark.core
def test_processes_end_at_the_limit(scene, caller):
    answer = run_attack(scene, "processes-many", 64, options=("--pids", "20"), caller=caller)
    assert answer.error == "EAGAIN", answer


@callers
def test_threads_end_at_the_limit(scene, caller):
    answer = run_attack(scene, "threads-many", 64, options=("--pids", "20"), caller=caller)
    assert answer.error == "EAGAIN", answer


PIDS_LAYERS = ("pids-cgroup", "rlimits")


@root_only
@pytest.mark.parametrize("layer", PIDS_LAYERS)
def test_one_layer_alone_limits_processes(scene, layer):
    without = tuple(name for name in PIDS_LAYERS if name != layer)
    answer = run_attack(scene, "processes-many", 64, options=("--pids", "20"), without=without)
    assert answer.error == "EAGAIN", answer


@root_only
def test_processes_go_beyond_without_the_layers(scene):
    answer = run_attack(scene, "processes-many", 64, options=("--pids", "20"), without=PIDS_LAYERS)
    assert answer.got, answer


@callers
def test_a_fork_bomb_ends_and_hurts_nobody(caller):
    result = support.shell("bomb() { bomb | bomb & }; bomb; sleep 0.2; wait", "--pids", "32",
                           "--timeout", "2s", "--grace", "0", caller=caller)
    assert result["outcome"] in ("exited", "timeout", "process_limit", "signaled"), result
    assert result["metrics"]["peak_processes"] <= 33


@callers
@pytest.mark.core
def test_bytes_in_the_scratch_directories_end_at_the_limit(scene, caller):
    for path in ("/tmp/x", "/work/x", "/dev/shm/x"):
        answer = run_attack(scene, "write-large", path, 8, options=("--disk", "4m"), caller=caller)
        assert answer.error in ("ENOSPC", "EFBIG"), answer


@callers
def test_the_scratch_directories_share_one_limit(caller):
    code = ("for path in '/tmp/x', '/work/x', '/dev/shm/x':\n"
            "    try: open(path, 'wb').write(bytes(3 << 20)); print('written')\n"
            "    except OSError as error: print(error.strerror)\n")
    result = support.python(code, "--disk", "4m", caller=caller)
    assert result["stdout"].splitlines() == ["written", *["No space left on device"] * 2]


@root_only
def test_bytes_go_beyond_without_the_mounts(scene):
    """On a file of the test's own directory: there is no sized file system any more."""
    target = "{data}/large"
    try:
        answer = run_attack(scene, "write-large", target, 8, options=("--disk", "4m"),
                            without=("mounts", "program", "landlock", "rlimits"))
        assert answer.got, answer
    finally:
        (scene.data / "large").unlink(missing_ok=True)


@callers
@pytest.mark.core
def test_files_end_at_the_limit(scene, caller):
    answer = run_attack(scene, "take", "inodes", 1, options=("--inodes", "500"), caller=caller)
    assert answer.error == "ENOSPC", answer


@callers
def test_files_go_on_when_the_limit_allows(scene, caller):
    assert run_attack(scene, "take", "inodes", 1, options=("--inodes", "5000"), caller=caller).got


@callers
def test_there_is_no_other_place_to_fill(scene, caller):
    attacks = [("write", f"{path}/sandbox-run-escape", "x") for path in ("/", "/dev", "/dev/pts", "/etc", "/usr")]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error in ("EROFS", "EACCES", "EPERM"))


@callers
def test_cpu_time_of_many_processes_ends_at_the_limit(scene, caller):
    """Each of the four burns less than the limit; together they burn twice as much."""
    answer = run_attack(scene, "burn", 4, 400, options=("--cpu-time", "800ms"), caller=caller)
    assert answer.outcome == "cpu_limit", answer
    assert answer.result["cpu_time"] < 0.8 + 0.5


@root_only
def test_cpu_time_goes_beyond_without_the_layers(scene):
    answer = run_attack(scene, "burn", 4, 400, options=("--cpu-time", "800ms"),
                        without=("cpu-accounting", "rlimits"))
    assert answer.got, answer


@callers
@pytest.mark.core
def test_real_time_ends_at_the_limit(scene, caller):
    result = support.result_of("exec", "--timeout", "200ms", "--grace", "100ms", "--", "sleep",
                               "1000", caller=caller)
    assert result["outcome"] == "timeout"
    assert result["metrics"]["wall_ms"] <= 200 + 100 + 500


@callers
def test_a_stopped_program_ends_at_the_limit(caller):
    result = support.python("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "--timeout",
                            "200ms", "--grace", "100ms", caller=caller)
    assert result["outcome"] == "timeout"


@callers
@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.core
def test_output_ends_at_the_limit(scene, stream, caller):
    answer = run_attack(scene, "flood", 64, stream, options=("--max-output", "1m"), caller=caller)
    name = {1: "stdout", 2: "stderr"}[stream]
    assert answer.outcome == "output_limit", answer.outcome
    assert len(answer.result[name]) == MIB
    assert answer.result[f"{name}_truncated"] is True


@callers
def test_output_below_the_limit_is_kept(scene, caller):
    answer = run_attack(scene, "flood", 1, 2, options=("--max-output", "2m"), caller=caller)
    assert answer.got and answer.result["stderr_bytes"] == MIB
