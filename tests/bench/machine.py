"""What the machine is, and whether it was quiet enough for a verdict."""

import gzip
import os
import pathlib
import platform
import re
import subprocess
import time

MAX_LOAD = 0.7
MAX_FOREIGN_SHARE = 0.10  # of all processors, while we do nothing
MAX_STEAL_SHARE = 0.005
PROBE_SECONDS = 0.5
SETTLE_SECONDS = 0.3  # the kernel still takes apart the namespaces of the runs before


def read_text(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def processor_ticks():
    """Ticks since boot: busy, stolen by the hypervisor, all."""
    user, nice, system, idle, iowait, irq, softirq, steal = map(
        int, read_text("/proc/stat").splitlines()[0].split()[1:9]
    )
    busy = user + nice + system + irq + softirq
    return busy, steal, busy + steal + idle + iowait


class QuietCheck:
    """Collects the reasons why the figures of this run are no verdict."""

    def __init__(self):
        self.reasons = []
        self.at_start = processor_ticks()
        load = os.getloadavg()[0]
        if load > MAX_LOAD:
            self.reasons.append(f"load average {load:.2f} at the start (at most {MAX_LOAD})")

    def probe(self, moment):
        """Does nothing for a moment and looks who else works."""
        time.sleep(SETTLE_SECONDS)
        busy_before, _, all_before = processor_ticks()
        time.sleep(PROBE_SECONDS)
        busy_after, _, all_after = processor_ticks()
        share = (busy_after - busy_before) / max(all_after - all_before, 1)
        if share > MAX_FOREIGN_SHARE:
            self.reasons.append(f"others used {share:.0%} of the CPUs before: {moment}")

    def finish(self):
        _, steal_before, all_before = self.at_start
        _, steal_after, all_after = processor_ticks()
        share = (steal_after - steal_before) / max(all_after - all_before, 1)
        if share > MAX_STEAL_SHARE:
            self.reasons.append(f"the hypervisor took {share:.1%} of the CPU time")
        return self.reasons


def first_line_of(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as problem:
        return f"not found ({problem.strerror})"
    return (done.stdout + done.stderr).strip().partition("\n")[0]


def processor():
    found = re.search(r"^model name\s*: (.*)", read_text("/proc/cpuinfo"), re.MULTILINE)
    return f"{found[1] if found else platform.machine()}, {os.cpu_count()} CPUs"


def kernel_config(name):
    try:
        with gzip.open("/proc/config.gz", "rt") as config:
            found = re.search(rf"^CONFIG_{name}=(.*)", config.read(), re.MULTILINE)
    except OSError:
        return "unknown"
    return found[1] if found else "not set"


def cgroup_mounts():
    """Pairs (file system type, options) of the cgroup mounts."""
    lines = (line.split() for line in read_text("/proc/self/mounts").splitlines())
    return [(words[2], words[3]) for words in lines if words[2] in ("cgroup", "cgroup2")]


def cgroup_mode():
    mounts = cgroup_mounts()
    kinds = {kind for kind, _ in mounts}
    name = {
        frozenset(): "none",
        frozenset({"cgroup"}): "v1",
        frozenset({"cgroup2"}): "v2",
    }.get(frozenset(kinds), "hybrid (v1 controllers, v2 mounted beside them)")
    favoured = any("favordynmods" in options for _, options in mounts)
    return f"{name}, favordynmods {'on' if favoured else 'off'}"


def facts(sandbox_run, root):
    """Pairs (what, value) that a reader needs in order to compare."""
    describe = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=10"]
    governor = read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return [
        ("date", time.strftime("%Y-%m-%d %H:%M %Z")),
        ("commit", first_line_of(*describe)),
        ("kernel", f"{platform.release()} {platform.machine()}, HZ {kernel_config('HZ')}"),
        ("processor", processor()),
        ("governor", governor or "none visible"),
        ("huge pages", read_text("/sys/kernel/mm/transparent_hugepage/enabled") or "none"),
        ("cgroups", cgroup_mode()),
        ("mounts", str(len(read_text("/proc/self/mounts").splitlines()))),
        ("caller", f"uid {os.geteuid()}"),
        ("sandbox-run", first_line_of(str(sandbox_run), "--version")),
        ("bubblewrap", first_line_of("bwrap", "--version")),
        ("crun", first_line_of("crun", "--version")),
        ("runc", first_line_of("runc", "--version")),
    ]
