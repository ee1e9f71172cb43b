"""Says what a process inherits besides memory and descriptors, in JSON, then changes what of it it may."""
import ctypes
import json
import os
import resource
import signal

libc = ctypes.CDLL(None, use_errno=True)
N_LIMITS = 16
# Of linux/prctl.h.
ASKED = {"pdeathsig": 2, "dumpable": 3, "keep capabilities": 7, "timing": 13, "name": 16, "securebits": 27,
         "timer slack": 30, "machine checks": 34, "subreaper": 37, "no new privileges": 39, "huge pages": 42, "io flusher": 58}
POINTED = {"pdeathsig", "name", "subreaper"}  # that are answered where an address says
STATUS = ("Umask", "State", "TracerPid", "Uid", "Gid", "Groups", "SigQ", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "CapInh",
          "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Speculation_Store_Bypass", "Cpus_allowed",
          "Mems_allowed", "CoreDumping", "THP_enabled", "untag_mask")


def ask(name, option):
    room = ctypes.create_string_buffer(16)
    answer = libc.prctl(option, room if name in POINTED else 0, 0, 0, 0)
    return [answer, room.raw.hex()]


def read(name):
    try:
        with open(f"/proc/self/{name}") as file:
            return file.read()
    except OSError as error:
        return error.errno


def attributes():
    fields = dict(line.split(":\t", 1) for line in read("status").splitlines() if ":\t" in line)
    return {
        "status": {name: fields.get(name) for name in STATUS},
        "limits": [resource.getrlimit(number) for number in range(N_LIMITS) if number != resource.RLIMIT_CPU],
        "prctl": {name: ask(name, option) for name, option in ASKED.items()},
        "files": {name: read(name) for name in ("oom_score_adj", "coredump_filter", "personality", "timerslack_ns", "timers",
                                                "loginuid", "sessionid", "attr/current")},
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "scheduler": [os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, sorted(os.sched_getaffinity(0))],
        "timers": [signal.getitimer(number) for number in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        "times": [os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0), os.umask(0o22)],
    }


def change():
    """Each may be refused."""
    def write(name, text):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)

    for action in (lambda: os.nice(5), lambda: write("oom_score_adj", "900"), lambda: write("coredump_filter", "7f"),
                   lambda: os.umask(0o777), lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
                   lambda: signal.setitimer(signal.ITIMER_PROF, 1000), lambda: libc.prctl(29, 12345, 0, 0, 0),
                   lambda: libc.prctl(41, 1, 0, 0, 0), lambda: libc.prctl(1, 9, 0, 0, 0), lambda: libc.prctl(15, b"other"),
                   lambda: libc.prctl(36, 1, 0, 0, 0), lambda: libc.personality(0x0040000),
                   lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1}),
                   lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)), lambda: os.setpgid(0, 0)):
        try:
            action()
        except OSError:
            pass


print(json.dumps(attributes()))
change()
