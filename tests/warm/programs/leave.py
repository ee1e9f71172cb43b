"""Leaves a mark wherever a program can leave one, and says where that succeeded.  The mark is argv[1]."""
import ctypes
import fcntl
import os
import platform
import socket
import sys

mark = sys.argv[1]
key = int(mark[:7], 16)
ADD_KEY = 217 if platform.machine() == "aarch64" else 248
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
left = []


def attempt(name, action):
    try:
        if action() != -1:
            left.append(name)
    except OSError:
        pass


def create(path):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def everywhere():
    """Directories and files of the root, but for what is the host's and large."""
    for top, folders, files in os.walk("/"):
        if top == "/":
            folders[:] = [name for name in folders if name not in ("proc", "sys", "usr", "lib", "lib64", "bin")]
        yield top, True
        for name in files:
            yield os.path.join(top, name), False


for path, is_folder in list(everywhere()):
    if is_folder:
        attempt(f"file in {path}", lambda: create(os.path.join(path, mark)))
    attempt(f"times of {path}", lambda: os.utime(path, (12345, 12345)))
    attempt(f"attribute of {path}", lambda: os.setxattr(path, "user.mark", mark.encode()))


def shm():
    found = libc.shmget(key, 4096, 0o1666)
    if found != -1:
        ctypes.memmove(libc.shmat(found, None, 0), mark.encode(), len(mark))
    return found


attempt("shm", shm)
attempt("sem", lambda: libc.semget(key, 1, 0o1666))
attempt("msg", lambda: libc.msgget(key, 0o1666))
attempt("queue", lambda: libc.mq_open(b"/" + mark.encode(), os.O_CREAT | os.O_RDWR, 0o666, None))
attempt("key", lambda: libc.syscall(ADD_KEY, b"user", mark.encode(), b"x", 1, -3))
attempt("session keyring", lambda: libc.syscall(ADD_KEY, b"user", mark.encode(), b"x", 1, -4))
os.environ[mark] = mark
listener = socket.socket(socket.AF_UNIX)
attempt("abstract", lambda: listener.bind("\0" + mark) or listener.listen())
holder = os.open(sys.executable, os.O_RDONLY)
attempt("lock", lambda: fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB))
memory = bytearray(mark.encode() * 4096)
child = os.fork()  # it stays when its parent goes
if child == 0:
    os.setsid()
    if len(sys.argv) > 2:
        os.execv(sys.executable, [sys.executable, *sys.argv[2:], mark])
    while True:
        os.read(os.pipe()[0], 1)
if len(sys.argv) > 2:
    os.waitpid(child, 0)
else:
    print("\n".join(left))
