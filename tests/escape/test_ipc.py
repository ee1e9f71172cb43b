"""Objects that two sandboxes could meet by: threat 20.  Two run at once; one makes, one looks."""
import os

import pytest

import support
from harness import NO_ROOT, assert_each, callers, root_only, run_attack, run_attacks, running

KEY = hex(0x5b000000 | os.getpid() & 0xffff)
NAME = f"sandbox-run-meeting-{os.getpid()}"

# Kind, name, and the layers that keep two runs apart.
MEETINGS = [
    ("shm", KEY, ("ipc-namespace",)),
    ("sem", KEY, ("ipc-namespace",)),
    ("msg", KEY, ("ipc-namespace",)),
    # Landlock knows no rule for the file system of queues, so none can be made; two layers again.
    ("queue", f"/{NAME}", ("ipc-namespace", "landlock")),
    ("abstract", NAME, ("network-namespace", "landlock")),
    ("file", f"/tmp/{NAME}", NO_ROOT),
    ("file", f"/dev/shm/{NAME}", NO_ROOT),
]
KINDS = [kind + name.rpartition("/")[0].replace("/", " ") for kind, name, _ in MEETINGS]


@callers
@pytest.mark.parametrize("kind, name, _layers", MEETINGS, ids=KINDS)
@pytest.mark.core
def test_two_runs_do_not_meet(scene, kind, name, _layers, caller):
    with running(scene, "hold", kind, name, caller=caller) as one:
        assert one.read_line().startswith("NOT EACCES" if kind == "queue" else "READY")
        answer = run_attack(scene, "find", kind, name, caller=caller)
    assert answer.error in ("ENOENT", "ECONNREFUSED", "EACCES"), answer


@root_only
def test_two_runs_do_not_meet_at_a_queue_without_landlock(scene):
    with running(scene, "hold", "queue", f"/{NAME}", without=("landlock",)) as one:
        assert one.read_line().startswith("READY")
        answer = run_attack(scene, "find", "queue", f"/{NAME}", without=("landlock",))
    assert answer.error == "ENOENT", answer


@root_only
@pytest.mark.parametrize("kind, name, layers", MEETINGS, ids=KINDS)
def test_two_runs_meet_without_the_layers(scene, kind, name, layers):
    with running(scene, "hold", kind, name, without=layers) as one:
        assert one.read_line().startswith("READY")
        answer = run_attack(scene, "find", kind, name, without=layers)
    assert answer.got, answer


@root_only
@pytest.mark.parametrize("layer", ["network-namespace", "landlock"])
def test_one_layer_alone_keeps_abstract_names_apart(scene, layer):
    without = tuple({"network-namespace", "landlock"} - {layer})
    with running(scene, "hold", "abstract", NAME, without=without) as one:
        assert one.read_line().startswith("READY")
        answer = run_attack(scene, "find", "abstract", NAME, without=without)
    assert answer.error in ("ECONNREFUSED", "EPERM"), answer


@callers
@pytest.mark.parametrize("kind, name, _layers", MEETINGS, ids=KINDS)
def test_an_object_is_gone_after_its_run(scene, kind, name, _layers, caller):
    with running(scene, "hold", kind, name, caller=caller) as one:
        one.read_line()
        one.process.kill()
        one.process.wait()
    answer = run_attack(scene, "find", kind, name, caller=caller)
    assert answer.error in ("ENOENT", "ECONNREFUSED", "EACCES"), answer


LOCKS = ["flock", "posix", "ofd", "lease", "notify"]


@callers
def test_the_strict_policy_has_no_locks_on_shared_files(scene, caller):
    attacks = [("lock", kind, "/usr/bin" if kind == "notify" else "/attacks/attack") for kind in LOCKS]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller, options=("--policy", "strict")),
                lambda answer: answer.error == "EPERM")


@root_only
def test_two_runs_do_not_meet_over_a_lock_on_a_file_of_the_hosts(scene):
    """Each has inodes of its own; databases lock their files.  The strict policy has no locks at all."""
    with running(scene, "hold", "lock", "/attacks/attack") as one:
        assert one.read_line().startswith("READY")
        answer = run_attack(scene, "find", "lock", "/attacks/attack")
        assert answer.line.startswith("NOT "), answer
        answer = run_attack(scene, "find", "lock", "/attacks/attack",
                            options=("--policy", "strict"))
        assert answer.error == "EPERM", answer


@root_only
def test_without_views_two_runs_meet_over_a_lock(scene):
    with running(scene, "hold", "lock", "/attacks/attack", without=("views",)) as one:
        assert one.read_line().startswith("READY")
        answer = run_attack(scene, "find", "lock", "/attacks/attack", without=("views",))
        assert answer.got, answer


@callers
def test_the_strict_policy_has_no_such_objects(scene, caller):
    attacks = [("find", kind, name) for kind, name, _ in MEETINGS[:5]]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller, options=("--policy", "strict")),
                lambda answer: answer.error in ("ENOSYS", "EBADF", "EPERM", "EAFNOSUPPORT"))


@callers
@pytest.mark.core
def test_nothing_of_the_hosts_shared_memory_is_visible(scene, caller):
    path = f"/dev/shm/{NAME}-host"
    with open(path, "w", encoding="utf-8"):
        os.chmod(path, 0o666)
    try:
        assert run_attack(scene, "read", path, caller=caller).error == "ENOENT"
    finally:
        os.unlink(path)


@callers
def test_no_semaphore_or_queue_of_the_host_is_listed(caller):
    code = ("for name in 'shm', 'sem', 'msg':\n"
            "    try: print(len(open('/proc/sysvipc/' + name).read().splitlines()) - 1)\n"
            "    except OSError: print(0)\n")
    assert support.python(code, caller=caller)["stdout"] == "0\n0\n0\n"
