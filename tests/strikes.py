"""Ends a command before each of its system calls that has an effect, and looks at what it leaves.

strace sends the signal, so any program of ours can be ended between any two of its effects: no hook is needed.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import engine as engines
import support

SOON = 60
# Between two of these nothing changes that another process could see.
EFFECTS = ("open,openat,openat2,creat,write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile,splice,truncate,"
           "ftruncate,fallocate,mkdir,mkdirat,rmdir,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,"
           "mknod,mknodat,chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,utimensat,setxattr,fsetxattr,lsetxattr,"
           "flock,fcntl,fsync,fdatasync,syncfs,clone,clone3,fork,vfork,execve,kill,pidfd_send_signal,waitid,wait4,"
           "socket,bind,listen,connect,accept4,sendto,sendmsg,recvmsg,shutdown,mount,umount2,move_mount,open_tree,"
           "mount_setattr,fsmount,fsconfig,epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll,setns,unshare,ioctl,exit_group")
QUIET = ["-qq", "-e", "signal=none"]


def have():
    return support.have("strace")


def calls_of(words, env, trace, **kwargs):
    """(what the command answered, its calls in order: (name, how often it was called until then))."""
    done = subprocess.run(["strace", "-D", *QUIET, "-o", str(trace), "-e", f"trace=?{EFFECTS.replace(',', ',?')}", *words],
                          env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SOON, check=False, **kwargs)
    assert engines.within(SOON, lambda: re.search(r"^exit_group|^\+\+\+", trace.read_text(errors="replace"), re.M))
    seen, calls = {}, []
    for line in trace.read_text(errors="replace").splitlines():
        name = line.split("(")[0]
        if not re.fullmatch(r"[a-z0-9_]+", name):
            continue
        seen[name] = seen.get(name, 0) + 1
        calls.append((name, seen[name], line))
    return done, calls[1:]  # the first is the execution of the program itself


class Struck:
    """How a command ended that got a signal before a call."""

    def __init__(self, process, out, err, hangs):
        self.pid, self.status, self.hangs = process.pid, process.returncode, hangs
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")
        self.killed = self.status == -signal.SIGKILL

    def __str__(self):
        return f"{'hangs' if self.hangs else self.status}: {self.out[-300:]!r} {self.err[-600:]!r}"


def strike(words, env, call, number=signal.SIGKILL, **kwargs):
    """The command gets the signal before the call."""
    name, nth = call[:2]
    inject = f"inject={name}:signal={int(number)}:when={nth}"
    with subprocess.Popen(["strace", "-D", *QUIET, "-o", "/dev/null", "-e", f"trace={name}", "-e", inject, *words], env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs) as process:
        hangs = False
        try:
            out, err = process.communicate(timeout=SOON)
        except subprocess.TimeoutExpired:
            hangs = True
            process.kill()
            out, err = process.communicate()
    return Struck(process, out, err, hangs)


@contextlib.contextmanager
def attached(pid, nth, calls="all", number=signal.SIGKILL):
    """A process that runs gets the signal as soon as it has made any of the calls for the nth time."""
    words = ["strace", "-p", str(pid), "-o", "/dev/null", "-e", f"trace={calls}",
             "-e", f"inject={calls}:signal={int(number)}:when={nth}"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
        assert b"attached" in tracer.stderr.readline()
        try:
            yield tracer
        finally:
            tracer.terminate()
            tracer.wait(SOON)


def tree_of(folder):
    """{path: content} of all below a directory; of a directory None, of a link its target."""
    found = {}
    for where, dirs, files in os.walk(folder):
        for name in dirs + files:
            path = pathlib.Path(where, name)
            with contextlib.suppress(OSError):  # it may go meanwhile
                found[str(path.relative_to(folder))] = (os.readlink(path) if path.is_symlink() else
                                                        None if path.is_dir() else path.read_bytes()
                                                        if path.is_file() else "special")
    return found


def shape_of(folder):
    """Names below a directory, those that were drawn by chance as one."""
    return sorted(re.sub(r"[0-9a-f]{12,}", "ID", path) for path in tree_of(folder))


class Place:
    """A folder with a state of its own, in which commands are ended."""

    def __init__(self, folder, env=None, own_cache=False):
        self.folder = pathlib.Path(folder)
        self.state, self.tmp = self.folder / "state", self.folder / "tmp"
        self.extra, self.own_cache = env or {}, own_cache
        self.renew()

    def renew(self):
        """As if nothing had been."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in (self.folder, self.state, self.tmp):
            path.mkdir(mode=0o700)
        env = {"SANDBOX_RUN_STATE": str(self.state), "TMPDIR": str(self.tmp), "HOME": str(self.folder), **self.extra}
        if self.own_cache:
            (self.folder / "cache").mkdir(mode=0o700)
            env["SANDBOX_RUN_CACHE"] = str(self.folder / "cache")
        self.env = support.surroundings(None, env)

    def file(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, *words, env=None, **kwargs):
        return subprocess.run(support.command(*words), env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SOON, check=False, **kwargs)

    def well(self, *words, **kwargs):
        done = self.run(*words, **kwargs)
        assert done.returncode == 0, (words, done)
        return done.stdout.decode()

    def processes(self):
        """Of ours, by their environment."""
        mark, found = f"SANDBOX_RUN_STATE={self.state}".encode(), []
        for pid in support.pids():
            with contextlib.suppress(OSError):
                if mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append((pid, pathlib.Path(f"/proc/{pid}/comm").read_text().strip()))
        return found

    def left(self, pids=()):
        """What is left after the next run, which should be nothing."""
        self.well("exec", "--", "true")
        wrong = []
        if not engines.within(SOON, lambda: not self.processes()):
            wrong.append(f"processes {self.processes()}")
        if not engines.within(SOON, lambda: not [group for pid in pids for group in engines.groups_of(pid)]):
            wrong.append(f"groups {[group for pid in pids for group in engines.groups_of(pid)]}")
        if tree_of(self.tmp):
            wrong.append(f"files {sorted(tree_of(self.tmp))}")
        return wrong
