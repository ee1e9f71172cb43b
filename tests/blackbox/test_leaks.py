"""Hundreds of runs, of which each fourth ends by SIGKILL of the supervisor at a random moment."""
import concurrent.futures
import os
import pathlib
import random
import re
import select
import signal
import subprocess

import pytest

import support
from waiting import wait_until

SEED = 20240229
RUNS, KILLED = 320, 4  # and each so many-th is killed; what one of these leaves is seen, as is each kind of network
AT_ONCE = 4
NETWORKS = ("none", "allow", "none", "localhost", "none", "full")
OURS = re.compile("sandbox|sbr[._]|cgroup|plan|init")


def namespaces():
    """Namespaces with a process, and network namespaces that the kernel still keeps."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for kind in ("net", "pid", "mnt", "user"):
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                continue
    return found


def kept_networks():
    try:
        lines = pathlib.Path("/proc/slabinfo").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("net_namespace "))


def processes():
    """Everything alive; the dead wait for the pid 1 of this machine."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
            if state not in "ZX" and os.readlink(f"/proc/{pid}/exe"):
                found.add(f"{pid} {os.readlink(f'/proc/{pid}/exe')}")
        except OSError:
            continue
    return {line for line in found if "sandbox-run" in line or "memfd" in line}


def files():
    """In /tmp, which others use meanwhile, only what could be ours: by its name or its owner."""
    found = set()
    for place in ("/tmp", "/run", "/dev/shm", "/var/tmp"):
        for entry in os.scandir(place):
            try:
                owner = entry.stat(follow_symlinks=False).st_uid
            except OSError:
                continue
            if place != "/tmp" or owner >= support.ORDINARY_UID or OURS.search(entry.name):
                found.add(entry.path)
    return found


def world():
    return {
        "leftovers": {name for name in filter(support.is_ours, support.leftovers()) if not name.startswith("process")},
        "processes": processes(),
        "namespaces": namespaces(),
        "mounts": set(pathlib.Path("/proc/self/mountinfo").read_text().splitlines()),
        "files": files(),
        "descriptors": {f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}"
                        for fd in os.listdir("/proc/self/fd") if os.path.lexists(
                            f"/proc/self/fd/{fd}")},
    }


def one_run(job):
    """None when it ended as it should, else what went wrong."""
    number, delay, caller = job
    words = ["exec", "--network", NETWORKS[number // KILLED % len(NETWORKS)], "--",
             *(["true"] if delay is None else ["sleep", "1000"])]
    process = subprocess.Popen(support.command(*words, caller=caller), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if delay is None:
        said = process.communicate(timeout=support.DEADLINE)[1]
        return f"run {number}: {process.returncode} {said}" if process.returncode or said else None
    pidfd = os.pidfd_open(process.pid)
    select.select([pidfd], [], [], delay)  # its end would be an event, too
    process.send_signal(signal.SIGKILL)
    said = process.communicate(timeout=support.DEADLINE)[1]
    os.close(pidfd)
    if process.returncode != -signal.SIGKILL or said:
        return f"run {number} after {delay * 1000:.1f} ms: {process.returncode} {said}"
    return None


@pytest.mark.alone
def test_hundreds_of_runs_and_kills_leave_no_leaks(caller):
    chance = random.Random(SEED)
    jobs = [(i, chance.uniform(0, 0.008) if i % KILLED == KILLED - 1 else None, caller) for i in range(RUNS)]
    before, networks = world(), kept_networks()

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [answer for answer in pool.map(one_run, jobs) if answer]
    assert not wrong, wrong[:5]

    left = {kind: now - before[kind] for kind, now in world().items()}

    def gone():
        for kind, now in world().items():
            left[kind] &= now
        return not any(left.values())

    assert wait_until(gone, 30), {kind: sorted(names) for kind, names in left.items() if names}
    assert wait_until(lambda: kept_networks() <= networks + 30, 30), (networks, kept_networks())
