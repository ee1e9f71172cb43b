"""/proc: threat 7.  What tells of the host is covered, and nothing can be written."""
import os

import pytest

import support
from harness import Attack, assert_each, callers, proofs, root_only, run_attack, run_attacks
from support import Callers

# SECURITY section 1.2.  Not every kernel has each of them.
MASKED = ["acpi", "asound", "interrupts", "kallsyms", "kcore", "key-users", "keys", "kpagecgroup",
          "kpagecount", "kpageflags", "latency_stats", "locks", "sched_debug", "scsi", "timer_list",
          "timer_stats", "config.gz", "pressure", "sys/kernel/random/boot_id"]
PRESENT = [name for name in MASKED if os.path.exists(f"/proc/{name}")]
FORBIDDEN_TO_READ = ("EACCES", "EPERM", "EMPTY", "ENOENT")


def look(name):
    return ("list" if os.path.isdir(f"/proc/{name}") else "read", f"/proc/{name}")


@callers
def test_a_masked_file_tells_nothing(scene, caller):
    attacks = [look(name) for name in MASKED]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error in FORBIDDEN_TO_READ)


@root_only
def test_a_masked_file_opens_up_without_the_mask(scene):
    """Mode bits and capabilities would hide some of them a second time: those are off as well."""
    files = [f"/proc/{name}" for name in PRESENT if not os.path.isdir(f"/proc/{name}")]
    opens, reads = [("open", path, "r") for path in files], [("read", path) for path in files]
    answers = run_attacks(scene, opens + reads, without=("masks", "user-namespace", "identity"))
    assert_each(opens, answers[:len(opens)], lambda answer: answer.got)
    assert_each(reads, answers[len(opens):], lambda answer: answer.got or answer.error == "EINVAL")


@callers
def test_a_mask_cannot_be_written_to(scene, caller):
    attacks = [("write", f"/proc/{name}" + ("/x" if os.path.isdir(f"/proc/{name}") else ""), "x")
               for name in PRESENT]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error in ("EROFS", "EACCES", "EPERM", "EISDIR"))


# Opened only, never written: they belong to the whole machine.
MACHINE = [name for name in (
    "sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hostname", "sys/vm/drop_caches",
    "sys/fs/binfmt_misc/register", "sys/kernel/panic", "sys/vm/overcommit_memory",
    "sys/kernel/randomize_va_space", "sysrq-trigger", "mtrr")
    if os.path.exists(f"/proc/{name}")]

ATTACKS = [
    *[Attack(f"opening /proc/{name} for writing", ("open", f"/proc/{name}", "w"),
             ("read-only-proc", "landlock", "user-namespace"), also=("identity",))
      for name in MACHINE],
    Attack("allowing oneself user namespaces", ("open", "/proc/sys/user/max_user_namespaces", "w"),
           ("read-only-proc", "landlock", "identity")),
    Attack("writing one's own name", ("write-existing", "/proc/self/comm", "x"),
           ("read-only-proc", "landlock")),
    Attack("making oneself safe from the memory killer",
           ("write-existing", "/proc/self/oom_score_adj", "0"), ("read-only-proc", "landlock")),
    Attack("mapping users of one's own", ("open", "/proc/self/uid_map", "w"),
           ("read-only-proc", "landlock")),
    Attack("taking a mask away", ("unmask", f"/proc/{PRESENT[0]}"),
           ("seccomp", "identity", "landlock"), errors=("EPERM",), lasting=True),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


@callers
@pytest.mark.core
def test_no_process_of_the_host_is_visible(scene, caller):
    assert run_attack(scene, "processes", caller=caller).error == "EMPTY"


@root_only
def test_processes_of_the_host_are_visible_without_the_pid_namespace(scene):
    answer = run_attack(scene, "processes", without=("pid-namespace", "user-namespace"))
    assert str(scene.victim) in answer.line.split(), answer


@callers
def test_the_strict_policy_shows_processes_and_nothing_else(scene, caller):
    answer = run_attack(scene, "list", "/proc", caller=caller, options=("--policy", "strict"))
    names = {name for name in answer.line.split()[1:] if not name.isdigit()}
    assert names == {"self", "thread-self", "mounts", "net"} & names | {"self", "thread-self"}


@callers
@pytest.mark.core
def test_no_file_under_proc_sys_is_writable(scene, caller):
    """All of them at once, by an open that changes nothing."""
    walk = ("import os\n"
            "for top, _, names in os.walk('/proc/sys'):\n"
            "    for name in names:\n"
            "        path = os.path.join(top, name)\n"
            "        try: os.close(os.open(path, os.O_WRONLY)); print(path)\n"
            "        except OSError: pass\n"
            "print('end')\n")
    assert support.python(walk, caller=caller)["stdout"] == "end\n"


@root_only
def test_some_files_under_proc_sys_are_writable_without_the_layers(scene):
    answer = run_attack(scene, "open", "/proc/sys/kernel/core_pattern", "w", caller=Callers.ROOT,
                        without=("read-only-proc", "landlock", "user-namespace"))
    assert answer.got
