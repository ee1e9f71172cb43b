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

import support
from support import Callers

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
        self.extra_mounts = []

    def config(self, words):
        mounts = [mount("proc", "/proc"), mount("sysfs", "/sys", options=["ro", "nosuid"]),
                  mount("tmpfs", "/dev", options=["mode=755"]),
                  mount("devpts", "/dev/pts", options=["newinstance", "ptmxmode=0666"]),
                  mount("bind", "/usr", "/usr", ["rbind", "ro"]),
                  mount("bind", INSIDE, support.BUILD, ["rbind", "ro"]), *self.extra_mounts]
        kinds = ["pid", "mount", "network", "ipc", "uts"] + (["user"] if self.ids else [])
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
        if self.ids:
            os.chmod(self.folder, 0o755)
        (self.folder / "config.json").write_text(json.dumps(self.config([*map(str, words)])))
        state = self.folder / "state"
        return subprocess.run(["runc", "--root", state, "run", "--bundle", self.folder,
                               f"sbr-test-{os.getpid()}"], input=kwargs.get("stdin", b""),
                              capture_output=True, timeout=support.DEADLINE, check=False)

    def tool(self, *words):
        return self.run(f"{INSIDE}/sandbox-run", *words)


@pytest.fixture(params=[0, support.ORDINARY_UID], ids=["root", "user"])
def container(request, folder):
    if os.geteuid() != 0:
        pytest.skip("a container is made by root")
    if not support.have("runc"):
        pytest.skip("needs runc: apt-get install runc")
    if not pathlib.Path("/sys/fs/cgroup").is_dir():
        pytest.skip("runc needs control groups")
    return Container(folder, request.param)


def checked(run, tier):
    """A run by `run(words)` at this tier: its result is right, its limits hold, its causes are true."""
    def result(options, code):
        done = run("run", "--json", "--allow-degraded", *options, "--lang", "bash", "--code", code)
        try:
            return json.loads(done.stdout)
        except ValueError as problem:
            raise AssertionError(f"{done.returncode} {done.stdout!r} {done.stderr!r}") from problem

    plain = result([], "echo out; echo err >&2; touch ${TMPDIR:-/tmp}/x ./y || exit; rm ${TMPDIR:-/tmp}/x y; exit 7")
    assert (plain.get("outcome"), plain.get("exit_code")) == ("exited", 7), plain
    assert (plain["stdout"], plain["stderr"]) == ("out\n", "err\n")
    assert plain["isolation"]["tier"] == tier, plain["isolation"]
    assert tier == "container" or plain["isolation"]["missing"]
    for options, code, outcome in (
            (["--timeout", "200ms"], "sleep 1000 & sleep 1000", "timeout"),
            (["--cpu-time", "200ms"], "while :; do :; done", "cpu_limit"),
            (["--memory", "64m"], "x=$(head -c 400000000 /dev/zero | tr '\\0' x)", "memory_limit"),
            (["--max-output", "1k"], "yes", "output_limit"), ([], "kill -9 $$", "signaled")):
        assert result(options, code).get("outcome") == outcome, (outcome, result(options, code))
    return plain


def refused(run, *words):
    """Without --allow-degraded: one sentence, and nothing ran."""
    done = run("exec", "--", "echo", "ran")
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout, len(lines)) == (125, b"", 1), done
    for word in ("--allow-degraded", "doctor", *words):
        assert word in lines[0], lines


# ---- containers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("flavour", ["docker", "podman"])
def test_in_a_container_as_it_comes_processes_are_what_is_left(container, flavour):
    container.filter = flavour
    checked(container.tool, "process")
    refused(container.tool, "'process'")


@pytest.mark.parametrize("flavour", ["podman", "none"])
def test_in_a_container_whose_proc_is_not_masked_only_the_groups_are_missing(container, flavour):
    container.filter, container.masked, container.read_only = flavour, [], []
    plain = checked(container.tool, "reduced")
    assert ("a host name of its own" in plain["isolation"]["missing"]) == (flavour == "podman")
    refused(container.tool, "'reduced'")


def test_a_new_filter_over_dockers_is_not_enough_while_proc_is_masked(container):
    container.filter = "none"
    checked(container.tool, "process")


def test_a_whole_proc_is_not_enough_under_dockers_filter(container):
    container.masked, container.read_only = [], []
    checked(container.tool, "process")


def test_a_proc_of_which_parts_are_only_read_only_counts_as_masked(container):
    """The kernel thinks so; as with systemd's ProtectKernelTunables= and bubblewrap's --proc."""
    container.filter, container.masked = "none", []
    checked(container.tool, "process")


@pytest.mark.parametrize("flavour", ["docker", "none"])
def test_a_filter_that_lets_all_pass_but_the_last_step_is_seen_in_time(container, flavour):
    container.filter = "docker with SYS_ADMIN"
    container.capabilities = CAPABILITIES + ["CAP_SYS_ADMIN"]
    if flavour == "none":
        container.masked, container.read_only = [], []
    checked(container.tool, "process")


def test_root_without_any_right_is_an_ordinary_user(container):
    container.capabilities = []
    checked(container.tool, "process")
    container.filter, container.masked, container.read_only = "none", [], []
    plain = checked(container.tool, "reduced" if container.user else
                    "process")  # root's own id is never mapped
    assert plain["isolation"]["missing"]


def test_with_its_own_range_of_ids_root_is_not_the_hosts(container):
    container.ids = [{"containerID": 0, "hostID": 300000, "size": 65536}]
    container.filter, container.masked, container.read_only = "podman", [], []
    checked(container.tool, "reduced")


def test_with_groups_to_write_to_it_is_a_container_as_anywhere(container):
    """Of this machine's kind of groups: `-v /sys/fs/cgroup:/sys/fs/cgroup:rw`."""
    if not pathlib.Path("/sys/fs/cgroup/memory").is_dir():
        pytest.skip("on cgroup v2 the container's own group must be emptied first")
    if container.user:
        pytest.skip("an ordinary user's groups are those of its host")
    container.filter, container.masked, container.read_only = "podman", [], []
    container.extra_mounts = [mount("bind", "/sys/fs/cgroup", "/sys/fs/cgroup", ["rbind", "rw"])]
    checked(container.tool, "container")


def test_a_read_only_container_needs_a_place_that_it_names(container):
    container.root_read_only = True
    done = container.tool("exec", "--allow-degraded", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (125, b"")
    assert len(done.stderr.splitlines()) == 1 and b"TMPDIR" in done.stderr
    container.extra_mounts = [mount("tmpfs", "/tmp", options=["mode=1777"])]
    checked(container.tool, "process")


def test_nothing_stays_in_the_container(container):
    look = f"{INSIDE}/sandbox-run exec --allow-degraded -- sh -c 'touch f ${{TMPDIR:-/tmp}}/g; sleep 1000 & exit 3'; " \
           "echo $?; ls -A /tmp /work /root 2>/dev/null; ls -d /proc/[0-9]* | wc -l"
    done = container.run("sh", "-c", look)
    lines = done.stdout.decode().split()
    assert lines[0] == "3" and lines[-1] in ("3", "4"), done  # sh, ls, wc, and at times none of ours
    assert lines[1:-1] == ["/tmp:"], lines


def test_doctor_in_a_container_names_its_options(container):
    """Not a sysctl of the host, which would not help."""
    for flavour, words in (("docker", ["seccomp"]), ("podman", ["unmask"])):
        container.filter = flavour
        done = container.tool("doctor")
        text = done.stdout.decode()
        assert done.returncode == 125 and "--security-opt" in text, text
        assert "sysctl" not in text and any(word in text for word in words), text


# ---- bubblewrap ------------------------------------------------------------------------------------

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
        return subprocess.run([*prefix, "bwrap", *options, "--", support.SANDBOX_RUN, *words],
                              input=b"", capture_output=True, timeout=support.DEADLINE, check=False)

    plain = checked(run, tier)
    one_id_of_root = caller == Callers.ROOT and "--unshare-all" in options or "--uid" in options
    if caller == Callers.ROOT and one_id_of_root and tier == "reduced":
        assert any("root" in what for what in plain["isolation"]["missing"]), plain["isolation"]


def test_another_process_with_our_helpers_number_is_left_alone(caller):
    """Where /proc is that of an outer namespace, numbers mean others there."""
    if not support.have("bwrap"):
        pytest.skip("needs bwrap: apt-get install bubblewrap")
    prefix = support.AS_ORDINARY if caller == Callers.USER and os.geteuid() == 0 else []
    script = "for i in $(seq 20); do \"$@\" || exit; done"
    done = subprocess.run([*prefix, "bwrap", "--unshare-all", "--dev-bind", "/", "/", "--", "sh", "-c",
                           script, "sh", support.SANDBOX_RUN, "exec", "--allow-degraded", "--",
                           "echo", "ran"], capture_output=True, timeout=support.DEADLINE,
                          check=False)
    assert (done.returncode, done.stdout) == (0, b"ran\n" * 20), done.stderr


# ---- ours ------------------------------------------------------------------------------------------


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


def test_three_of_ours_in_each_other(caller):
    third = ["exec", "--allow-degraded", "--volume", f"{INSIDE}:{INSIDE}", "--",
             f"{INSIDE}/sandbox-run", "exec", "--allow-degraded", "--", "echo", "three"]
    done = nested(caller, *third)
    assert (done.returncode, done.stdout) == (0, b"three\n"), done


CONFINEMENT = """
import ctypes
libc = ctypes.CDLL(None)
header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[1] * 6)
libc.syscall(ctypes.c_long(125 if ctypes.sizeof(ctypes.c_void_p) == 8 and
                           __import__('os').uname().machine == 'x86_64' else 90), header, sets)
print(list(sets), 'no new privileges', libc.prctl(39, 0, 0, 0, 0), 'filter', libc.prctl(21, 0, 0, 0, 0))
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
