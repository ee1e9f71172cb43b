"""Inside other sandboxes and containers: the strongest tier that is left, and its name.

A container is made by runc from a bundle that has what Docker or Podman give by default: masked
paths, few capabilities, a filter.  Only the rules that we meet are in the filters here.
"""
import contextlib
import functools
import json
import os
import pathlib
import subprocess

import pytest

import machine_gives
import support
from support import Callers


@pytest.fixture(autouse=True)
def here_it_could_be_more():
    """What these places take away has to be there first."""
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))


INSIDE = "/opt/sbr"  # where the programs are, in a container

NEW_NAMESPACES = 0x7E020000
SEVERAL_CALLS = ["unshare", "mount", "umount2", "pivot_root", "setns", "fsopen", "fsconfig",
                 "fsmount", "move_mount", "open_tree", "mount_setattr", "sethostname"]
EPERM, ENOSYS = 1, 38


def refuse(names, code, args=()):
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": code, "args": list(args)}


FILTERS = {
    # Docker's: no namespaces at all; clone3 is not there, since a filter cannot see its flags.
    "docker": [refuse(["clone3"], ENOSYS), refuse(SEVERAL_CALLS, EPERM)] + [
        refuse(["clone"], EPERM, [{"index": 0, "value": 1 << bit, "valueTwo": 1 << bit,
                                   "op": "SCMP_CMP_MASKED_EQ"}])
        for bit in range(32) if NEW_NAMESPACES >> bit & 1],
    # Podman's lets namespaces and mounts pass; of our calls only this one is refused.
    "podman": [refuse(["sethostname"], EPERM)],
    # Docker's once SYS_ADMIN was added: everything but one.
    "docker with SYS_ADMIN": [refuse(["pivot_root"], EPERM)],
    "none": [],
}
MASKED = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/scsi",
          "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
CAPABILITIES = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_SETGID",
                "CAP_SETUID", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL"]


def mount(kind, target, source=None, options=()):
    return {"type": kind, "destination": target, "source": str(source or kind),
            "options": list(options)}


class Container:
    """What `docker run` would make of its options; change a field, then run."""

    def __init__(self, folder, user):
        self.folder, self.user = folder, user
        self.filter = "docker"
        self.masked, self.read_only = MASKED, READ_ONLY
        self.capabilities = CAPABILITIES
        self.root_read_only = False
        self.ids = None
        self.namespaces = ["pid", "mount", "network", "ipc", "uts"]
        self.extra_mounts = []

    def config(self, words):
        mounts = [mount("proc", "/proc"), mount("sysfs", "/sys", options=["ro", "nosuid"]),
                  mount("tmpfs", "/dev", options=["mode=755"]),
                  mount("devpts", "/dev/pts", options=["newinstance", "ptmxmode=0666"]),
                  mount("bind", "/usr", "/usr", ["rbind", "ro"]),
                  mount("bind", INSIDE, support.BUILD, ["rbind", "ro"]), *self.extra_mounts]
        kinds = self.namespaces + (["user"] if self.ids else [])
        linux = {"namespaces": [{"type": kind} for kind in kinds], "maskedPaths": self.masked,
                 "readonlyPaths": self.read_only, "cgroupsPath": f"/sbr-test-{os.getpid()}",
                 "resources": {"devices": [{"allow": True, "access": "rwm"}]}}
        if self.ids:
            linux["uidMappings"] = linux["gidMappings"] = self.ids
        if FILTERS[self.filter]:
            linux["seccomp"] = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": FILTERS[self.filter]}
        sets = ["bounding", "permitted", "effective"] if self.user == 0 else ["bounding"]
        return {"ociVersion": "1.0.2", "hostname": "container", "mounts": mounts, "linux": linux,
                "root": {"path": "rootfs", "readonly": self.root_read_only},
                "process": {"args": words, "cwd": "/", "env": ["PATH=/usr/bin:/usr/sbin"],
                            "user": {"uid": self.user, "gid": self.user},
                            "capabilities": {name: self.capabilities for name in sets}}}

    def run(self, *words, **kwargs):
        root = self.folder / "rootfs"
        for name in ("usr", "proc", "sys", "dev", "tmp", "etc", INSIDE[1:]):
            (root / name).mkdir(parents=True, exist_ok=True)
        os.chmod(root / "tmp", 0o1777)
        for name in ("bin", "lib", "lib64", "sbin"):
            with contextlib.suppress(FileExistsError):
                (root / name).symlink_to(f"usr/{name}")
        (self.folder / "config.json").write_text(json.dumps(self.config([*map(str, words)])))
        state = self.folder / "state"
        return subprocess.run(["runc", "--root", state, "run", "--bundle", self.folder,
                               f"sbr-test-{os.getpid()}"], input=kwargs.get("stdin", b""),
                              capture_output=True, timeout=support.DEADLINE, check=False)

    def tool(self, *words):
        return self.run(f"{INSIDE}/sandbox-run", *words)


def _container(folder, user):
    if os.geteuid() != 0:
        pytest.skip("a container is made by root")
    if not support.have("runc"):
        pytest.skip("needs runc: apt-get install runc")
    return Container(folder, user)


@pytest.fixture(params=[0, support.ORDINARY_UID], ids=["root", "user"])
def container(request, folder):
    return _container(folder, request.param)


@pytest.fixture
def container_of_root(folder):
    return _container(folder, 0)


# Not kill: at the lowest tier, without Landlock's scopes (Linux 6.12), nobody may send a signal.
CRASH = "exec python3 -c 'import ctypes; ctypes.string_at(0)'"


def result_of(run, options, code):
    done = run("run", "--json", "--allow-degraded", *options, "--lang", "bash", "--code", code)
    try:
        return json.loads(done.stdout)
    except ValueError as problem:
        raise AssertionError(f"{done.returncode} {done.stdout!r} {done.stderr!r}") from problem


def isolation_of(run, tier):
    """A run by `run(words)` is right and at this tier; what its isolation says."""
    plain = result_of(run, [], "echo out; echo err >&2; exec 2>&1; d=${TMPDIR:-/tmp}; "
                               "touch $d/x ./y && rm $d/x y; exit 7")
    assert (plain.get("outcome"), plain.get("exit_code")) == ("exited", 7), plain
    assert (plain["stdout"], plain["stderr"]) == ("out\n", "err\n")
    assert plain["isolation"]["tier"] == tier, plain["isolation"]
    assert tier == "container" or plain["isolation"]["missing"]
    return plain["isolation"]


def checked(run, tier):
    """The same, and limits hold and are named."""
    isolation = isolation_of(run, tier)
    for options, code, outcome in (
            (["--timeout", "200ms"], "sleep 1000 & sleep 1000", "timeout"),
            (["--cpu-time", "200ms"], "while :; do :; done", "cpu_limit"),
            (["--memory", "64m"], "head -c 400000000 /dev/zero | tail", "memory_limit"),
            (["--max-output", "1k"], "yes", "output_limit"), ([], CRASH, "signaled")):
        result = result_of(run, options, code)
        assert result.get("outcome") == outcome, result
    return isolation


def refused(run, *words):
    """Without --allow-degraded: one sentence, and nothing ran."""
    done = run("exec", "--", "echo", "ran")
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout, len(lines)) == (125, b"", 1), done
    for word in ("--allow-degraded", "doctor", *words):
        assert word in lines[0], lines


# ---- containers


@pytest.mark.parametrize("flavour", ["docker", "podman"])
def test_in_a_container_as_it_comes_processes_are_what_is_left(container, flavour):
    container.filter = flavour
    checked(container.tool, "process")
    refused(container.tool, "'process'")


@pytest.mark.parametrize("flavour", ["podman", "none"])
def test_in_a_container_whose_proc_is_not_masked_only_the_groups_are_missing(container, flavour):
    container.filter, container.masked, container.read_only = flavour, [], []
    isolation = checked(container.tool, "reduced")
    assert ("a host name of its own" in isolation["missing"]) == (flavour == "podman")
    refused(container.tool, "'reduced'")


def test_a_new_filter_over_dockers_is_not_enough_while_proc_is_masked(container):
    container.filter = "none"
    isolation_of(container.tool, "process")


def test_a_whole_proc_is_not_enough_under_dockers_filter(container):
    container.masked, container.read_only = [], []
    isolation_of(container.tool, "process")


def test_a_proc_of_which_parts_are_only_read_only_counts_as_masked(container):
    """The kernel thinks so; as with systemd's ProtectKernelTunables= and bubblewrap's --proc."""
    container.filter, container.masked = "none", []
    isolation_of(container.tool, "process")


@pytest.mark.parametrize("flavour", ["docker", "none"])
def test_a_filter_that_lets_all_pass_but_the_last_step_is_seen_in_time(container, flavour):
    container.filter = "docker with SYS_ADMIN"
    container.capabilities = CAPABILITIES + ["CAP_SYS_ADMIN"]
    if flavour == "none":
        container.masked, container.read_only = [], []
    isolation_of(container.tool, "process")


def test_without_any_right_it_is_as_for_an_ordinary_user(container):
    container.capabilities = []
    isolation_of(container.tool, "process")
    container.filter, container.masked, container.read_only = "none", [], []
    isolation = isolation_of(container.tool, "process" if container.user == 0 else "reduced")
    assert (container.user == 0) == ("a user other than root" in isolation["missing"])


def test_with_its_own_range_of_ids_root_is_not_the_hosts(container):
    container.ids = [{"containerID": 0, "hostID": 300000, "size": 65536}]
    container.filter, container.masked, container.read_only = "podman", [], []
    checked(container.tool, "reduced")


# On cgroup v2 a group hands controllers down only when it has no processes itself.
EMPTY_OWN_GROUP = """
cd /sys/fs/cgroup; mkdir init
for pid in $(cat cgroup.procs); do echo $pid >init/cgroup.procs; done 2>/dev/null
echo '+memory +pids +cpu' >cgroup.subtree_control; cd /; exec "$@"
"""


def test_with_groups_to_write_to_it_is_a_container_as_anywhere(container_of_root):
    """The host's by `-v /sys/fs/cgroup:/sys/fs/cgroup`, or its own, once it is empty."""
    container = container_of_root
    container.filter, container.masked, container.read_only = "podman", [], []
    if pathlib.Path("/sys/fs/cgroup/memory").is_dir():
        groups = mount("bind", "/sys/fs/cgroup", "/sys/fs/cgroup", ["rbind", "rw"])
        container.extra_mounts = [groups]
        isolation = checked(container.tool, "container")
    else:
        container.namespaces = [*container.namespaces, "cgroup"]
        container.extra_mounts = [mount("cgroup", "/sys/fs/cgroup", options=["rw"])]
        isolation = checked(lambda *words: container.run(
            "sh", "-c", EMPTY_OWN_GROUP, "sh", f"{INSIDE}/sandbox-run", *words), "container")
    assert isolation["missing"] == ["a host name of its own"]


def test_a_read_only_container_needs_a_place_that_it_names(container):
    container.root_read_only = True
    done = container.tool("exec", "--allow-degraded", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (125, b"")
    assert len(done.stderr.splitlines()) == 1 and b"TMPDIR" in done.stderr
    container.extra_mounts = [mount("tmpfs", "/tmp", options=["mode=1777"])]
    isolation_of(container.tool, "process")


@pytest.mark.parametrize("end", ["exit 3", "exec sleep 1000"])
def test_nothing_stays_in_the_container(container, end):
    """Neither files nor processes, whether the program ends by itself or we are killed."""
    inner = f"touch f ${{TMPDIR:-/tmp}}/g; setsid sleep 1000 & echo on; {end}"
    look = (f"{INSIDE}/sandbox-run exec --allow-degraded -- sh -c '{inner}' | (read word; "
            "test $word = on && pkill -x -KILL sandbox-run; cat); for i in $(seq 200); do "
            # By number: what will be a `sleep` may still be called `sh`.
            "others=; for p in /proc/[0-9]*; do case $p in /proc/1|/proc/$$) ;; *) others=$p ;; esac; "
            "done; test -z \"$others$(ls -A /tmp)\" && break; sleep 0.05; "
            "done; ls -A /tmp; cat /proc/[0-9]*/comm; echo end")
    lines = container.run("sh", "-c", look).stdout.decode().split()
    assert lines[-1] == "end" and set(lines) <= {"sh", "cat", "end"}, lines


def test_doctor_in_a_container_names_its_options(container):
    """Not a sysctl of the host, which would not help."""
    for flavour, words in (("docker", ["seccomp"]), ("podman", ["unmask"])):
        container.filter = flavour
        done = container.tool("doctor")
        text = done.stdout.decode()
        assert done.returncode == 125 and "--security-opt" in text, text
        assert "sysctl" not in text and any(word in text for word in words), text


# ---- bubblewrap

BUBBLES = {
    "only a mount namespace": (["--dev-bind", "/", "/"], "same", "same"),
    "all, with the outer /proc": (["--unshare-all", "--dev-bind", "/", "/"], "reduced", "reduced"),
    "all, with a /proc of its own": (["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc",
                                      "--dev", "/dev", "--tmpfs", "/tmp"], "process", "reduced"),
    "further user namespaces forbidden": (["--unshare-all", "--unshare-user", "--disable-userns",
                                           "--ro-bind", "/", "/", "--proc", "/proc", "--dev",
                                           "/dev", "--tmpfs", "/tmp"], "process", "process"),
    "no rights": (["--dev-bind", "/", "/", "--cap-drop", "ALL"], "process", "reduced"),
    "one user id": (["--unshare-user", "--uid", "4242", "--gid", "4242", "--dev-bind", "/", "/"],
                    "reduced", "reduced"),
}


@pytest.mark.parametrize("name", BUBBLES)
def test_in_bubblewrap(caller, name):
    if not support.have("bwrap"):
        pytest.skip("needs bwrap: apt-get install bubblewrap")
    options, as_root, as_user = BUBBLES[name]
    tier = as_root if caller == Callers.ROOT else as_user
    if tier == "same":
        tier = "container" if caller == Callers.ROOT else "reduced"
    prefix = support.AS_ORDINARY if caller == Callers.USER and os.geteuid() == 0 else []

    def run(*words):
        return subprocess.run([*prefix, "bwrap", *options, "--", support.visible_program(), *words],
                              input=b"", capture_output=True, timeout=support.DEADLINE, check=False)

    isolation = checked(run, tier)
    has_one_id = "--unshare-all" in options or "--unshare-user" in options
    if caller == Callers.ROOT and has_one_id and tier == "reduced":
        assert "a user other than root" in isolation["missing"], isolation


def test_another_process_with_our_helpers_number_is_left_alone(caller):
    """Where /proc is that of an outer namespace, numbers mean others there."""
    if not support.have("bwrap"):
        pytest.skip("needs bwrap: apt-get install bubblewrap")
    prefix = support.AS_ORDINARY if caller == Callers.USER and os.geteuid() == 0 else []
    script = "for i in $(seq 20); do \"$@\" || exit; done"
    done = subprocess.run([*prefix, "bwrap", "--unshare-all", "--dev-bind", "/", "/", "--", "sh",
                           "-c", script, "sh", support.SANDBOX_RUN, "exec", "--allow-degraded",
                           "--", "echo", "ran"], capture_output=True, timeout=support.DEADLINE,
                          check=False)
    assert (done.returncode, done.stdout) == (0, b"ran\n" * 20), done.stderr


# ---- ours


@functools.cache
def programs():
    """A volume that the id of a run may read."""
    return f"{support.BUILD}:{INSIDE}"


def nested(caller, *words):
    outer = support.command("exec", "--memory", "1g", "--volume", programs(), "--", caller=caller)
    return subprocess.run([*outer, f"{INSIDE}/sandbox-run", *map(str, words)], input=b"",
                          capture_output=True, timeout=support.DEADLINE, check=False)


def test_in_our_own_sandbox_processes_are_what_is_left(caller):
    checked(functools.partial(nested, caller), "process")
    refused(functools.partial(nested, caller), "'process'")


def test_a_third_of_ours_has_nothing_left_and_says_so(caller):
    """A program at the lowest tier does not see /proc, by which a further one would be watched."""
    done = nested(caller, "exec", "--allow-degraded", "--volume", f"{INSIDE}:{INSIDE}", "--",
                  f"{INSIDE}/sandbox-run", "exec", "--allow-degraded", "--", "echo", "three")
    told = [line for line in done.stderr.splitlines() if not line.startswith(b"sandbox-run: refused:")]
    assert (done.returncode, done.stdout, len(told)) == (125, b"", 1), done


CONFINEMENT = """
import ctypes
libc = ctypes.CDLL(None)
header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[1] * 6)
libc.syscall(ctypes.c_long(125 if ctypes.sizeof(ctypes.c_void_p) == 8 and
                           __import__('os').uname().machine == 'x86_64' else 90), header, sets)
print(list(sets), 'no new privileges', libc.prctl(39, 0, 0, 0, 0), 'filter', libc.prctl(21))
for path in ('/work/secret', '/etc/shadow', '/proc/1/environ'):
    try: print('read', path, open(path).read(1))
    except OSError: pass
if libc.unshare(0x10000000) == 0: print('a new user namespace')
"""


def test_the_inner_program_is_no_less_confined_than_the_outer(caller):
    """The outer sandbox's files are not the inner program's."""
    inner = f"{INSIDE}/sandbox-run run --allow-degraded --lang python --code \"$1\""
    outer = support.command("run", "--volume", programs(), "--lang", "sh", "--code",
                            f"echo s3cret >/work/secret; {inner}", "--", CONFINEMENT, caller=caller)
    done = subprocess.run(outer, input=b"", capture_output=True, timeout=support.DEADLINE,
                          check=False)
    assert (done.returncode, done.stderr) == (0, b""), done
    assert done.stdout == b"[0, 0, 0, 0, 0, 0] no new privileges 1 filter 2\n"
