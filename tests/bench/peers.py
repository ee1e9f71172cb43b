"""How each tool is asked to run a program.

All see the folder of the payloads as /bench and the host's /usr, both read-only.
"""

import json
import pathlib
import re
import shutil
import subprocess

INSIDE = "/bench"
UNIFIED = "/sys/fs/cgroup/unified"
FIRST_HOST_ID = 1_000_000
PREFLIGHT_SECONDS = 30

BWRAP_OPTIONS = (
    "--unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/lib /lib"
    " --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc --dev /dev --tmpfs /tmp"
    " --cap-drop ALL --clearenv"
).split()


class NotMeasured(Exception):
    """The tool does not run here; the text says why."""


def located(program):
    path = shutil.which(program, path="/usr/bin:/usr/sbin:/bin:/sbin")
    if not path:
        raise NotMeasured(f"{program} is not installed")
    return path


def check_runs(command):
    """Raises NotMeasured with the tool's own words unless the command works."""
    words = [str(word) for word in command]
    if words[0].startswith("mntns="):
        words = [located("nsenter"), "--mount=" + words[0].partition("=")[2], "--", *words[1:]]
    try:
        done = subprocess.run(
            words,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PREFLIGHT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"not finished after {PREFLIGHT_SECONDS} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NotMeasured(said[-1] if said else f"exit status {done.returncode}")


class Bare:
    name = "bare"
    note = "no sandbox"

    def __init__(self, folder):
        self.folder = folder

    def command(self, program):
        inside = pathlib.PurePath(program[0])
        if inside.is_relative_to(INSIDE):
            return [str(self.folder / inside.relative_to(INSIDE)), *program[1:]]
        return list(program)


class Ours:
    name = "sandbox-run"
    note = "default limits: everything on"

    def __init__(self, folder, sandbox_run):
        self.folder = folder
        self.sandbox_run = sandbox_run

    def command(self, program, *options):
        words = [str(self.sandbox_run), "exec", *options]
        if program[0].startswith(INSIDE):
            words += ["--volume", f"{self.folder}:{INSIDE}:ro"]
        return [*words, "--", *program]


class Bubblewrap:
    name = "bwrap"
    note = "all its namespaces, no capabilities; no seccomp filter, no limits, no capture"

    def __init__(self, folder):
        self.path = located("bwrap")
        self.folder = folder

    def command(self, program):
        return [self.path, *BWRAP_OPTIONS, "--ro-bind", str(self.folder), INSIDE, *program]


class Oci:
    """crun or runc, with one bundle per program."""

    def __init__(self, name, folder, scratch, syscalls):
        self.name = name
        self.note = "OCI bundle, 256 MiB, 64 pids, seccomp list of ours without argument rules"
        self.path = located(name)
        self.folder = folder
        self.scratch = scratch / name
        self.syscalls = syscalls
        self.before = []  # a mount namespace
        self.options = []  # of the tool itself

    def command(self, program):
        bundle = self.scratch / re.sub(r"\W+", "-", "-".join(program)).strip("-")
        if not bundle.exists():
            self.make_bundle(bundle, program)
        words = [self.path, *self.options, "run", "--bundle", str(bundle), f"bench-{self.name}"]
        return [*self.before, *words]

    def make_bundle(self, bundle, program):
        rootfs = bundle / "rootfs"
        for name in ("usr", "proc", "dev", "tmp", INSIDE[1:]):
            (rootfs / name).mkdir(parents=True)
        for name in ("lib", "lib64", "bin"):
            (rootfs / name).symlink_to(f"usr/{name}")
        config = oci_config(self.name, program, self.folder, self.syscalls)
        (bundle / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def bind_read_only(source, destination):
    return {
        "destination": destination,
        "type": "bind",
        "source": str(source),
        "options": ["bind", "ro", "nosuid", "nodev"],
    }


def fresh(kind, destination, *options):
    return {"destination": destination, "type": kind, "source": kind, "options": list(options)}


def oci_config(name, program, folder, syscalls):
    namespaces = ("user", "pid", "mount", "network", "ipc", "uts", "cgroup")
    id_map = [{"containerID": 0, "hostID": FIRST_HOST_ID, "size": 65536}]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": 1000, "gid": 1000},
            "args": list(program),
            "env": [],
            "cwd": "/",
            "capabilities": {
                kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")
            },
            "noNewPrivileges": True,
        },
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "bench",
        "mounts": [
            fresh("proc", "/proc"),
            fresh("tmpfs", "/dev", "nosuid", "mode=755", "size=65536k"),
            fresh("tmpfs", "/tmp", "nosuid", "nodev", "mode=1777", "size=65536k"),
            bind_read_only("/usr", "/usr"),
            bind_read_only(folder, INSIDE),
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in namespaces],
            "uidMappings": id_map,
            "gidMappings": id_map,
            "cgroupsPath": f"/bench-{name}",
            "resources": {"memory": {"limit": 256 << 20}, "pids": {"limit": 64}},
            "seccomp": {
                "defaultAction": "SCMP_ACT_ERRNO",
                "syscalls": [{"names": syscalls, "action": "SCMP_ACT_ALLOW"}],
            },
        },
    }


def allowed_syscalls(policy):
    """Names that a file of policies/ lets pass, always or by its argument rules."""
    text = re.sub(r"#.*", "", policy.read_text(encoding="utf-8"))
    allowed = re.search(r"^  allow:\n(.*?)(?=^  \w|\Z)", text, re.MULTILINE | re.DOTALL)[1]
    names = set(re.findall(r"^    - call: (\w+)", text, re.MULTILINE))
    for calls in re.findall(r"calls: \[([^\]]*)\]", allowed):
        names.update(re.findall(r"\w+", calls))
    return sorted(names)


class HiddenUnifiedMount:
    """A mount namespace in which the v2 mount of a hybrid machine lies under an empty tmpfs.

    crun refuses a hybrid machine and takes this one for plain v1.
    """

    def __init__(self):
        script = f"mount -t tmpfs none {UNIFIED} && echo ready && exec sleep infinity"
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        self.holder.stdout.readline()
        self.word = f"mntns=/proc/{self.holder.pid}/ns/mnt"

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Peers:
    """The tools that run here, and the reason for each that does not."""

    def __init__(self, folder, scratch, sandbox_run, policy):
        self.usable = []
        self.missing = {}  # name -> why
        self.hidden = None
        self.syscalls = allowed_syscalls(policy)
        self.add("bare", lambda: Bare(folder))
        self.sandbox_run = sandbox_run
        self.add("sandbox-run", lambda: Ours(folder, sandbox_run))
        self.add("bwrap", lambda: Bubblewrap(folder))
        for name in ("crun", "runc"):
            self.add(name, lambda name=name: self.oci_that_runs(Oci(name, folder, scratch, self.syscalls)))

    def add(self, name, make):
        try:
            peer = make()
            check_runs(peer.command([f"{INSIDE}/static-true"]))
            self.usable.append(peer)
        except NotMeasured as why:
            self.missing[name] = str(why)

    def oci_that_runs(self, peer):
        """Tries the plain way, then the ways around a hybrid machine; fails with the plain error."""
        try:
            check_runs(peer.command([f"{INSIDE}/static-true"]))
            return peer
        except NotMeasured as why:
            refusal = why
        for change in (self.hide_unified, disable_cgroups):
            try:
                change(peer)
                check_runs(peer.command([f"{INSIDE}/static-true"]))
                return peer
            except NotMeasured:
                peer.before, peer.options = [], []
        raise refusal

    def hide_unified(self, peer):
        if not pathlib.Path(UNIFIED).is_dir():
            raise NotMeasured("no v2 mount to hide")
        if not self.hidden:
            self.hidden = HiddenUnifiedMount()
        peer.before = [self.hidden.word]
        peer.note += "; the v2 mount hidden from it"

    def named(self, *names):
        return [peer for peer in self.usable if peer.name in names]

    def close(self):
        if self.hidden:
            self.hidden.close()


def disable_cgroups(peer):
    if peer.name != "crun":
        raise NotMeasured("no such option")
    peer.options = ["--cgroup-manager=disabled"]
    peer.note = "OCI bundle, seccomp list of ours without argument rules; WITHOUT cgroups, so without limits"
