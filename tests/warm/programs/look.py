"""Says which marks of leave.py it finds.  The mark is argv[1]."""
import ctypes
import fcntl
import os
import platform
import socket
import sys

mark = sys.argv[1]
key = int(mark[:7], 16)
REQUEST_KEY = 218 if platform.machine() == "aarch64" else 249
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p


def found(name, is_there):
    try:
        if is_there():
            print(name)
    except OSError:
        pass


def everywhere():
    for top, folders, files in os.walk("/"):
        if top == "/":
            folders[:] = [name for name in folders if name not in ("proc", "sys", "usr", "lib", "lib64", "bin")]
        yield from ((os.path.join(top, name)) for name in [*files, *folders])


for path in list(everywhere()):
    found(f"file {path}", lambda: os.path.basename(path) == mark)
    found(f"times of {path}", lambda: os.lstat(path).st_mtime == 12345)
    found(f"attribute of {path}", lambda: os.getxattr(path, "user.mark") == mark.encode())
found("shm", lambda: libc.shmget(key, 0, 0) != -1)
found("sem", lambda: libc.semget(key, 0, 0) != -1)
found("msg", lambda: libc.msgget(key, 0) != -1)
found("queue", lambda: libc.mq_open(b"/" + mark.encode(), os.O_RDONLY) != -1)
found("key", lambda: libc.syscall(REQUEST_KEY, b"user", mark.encode(), None, 0) != -1)
found("variable", lambda: mark in os.environ)
found("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\0" + mark) is None)


def locked():
    descriptor = os.open(sys.executable, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def others():
    """Besides us and the pid 1 of every sandbox."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()} - {1, os.getpid()}


found("lock", locked)
found("process", others)
