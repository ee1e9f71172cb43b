"""One running guest: QEMU, the daemons that share directories with it, and two ports to listen to.

Everything has a deadline.  Whatever happens, the processes are ended by their pids; should this
program be killed, the kernel ends them (setpriv --pdeathsig).
"""
import contextlib
import json
import selectors
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import diagnosis
import rootfs
from initramfs import initramfs
from packages import Failed, kernel
from paths import HERE, LOGS, REPO, WORK

VIRTIOFSD = "/usr/lib/qemu/virtiofsd"
# All limits are of the guest's own time (Guest.elapsed): a busy machine makes a guest slow, which is no finding.
UP_S = 90  # until the guest says its first word; it needs 20
START_S = 120  # of real time, until QEMU itself is there
LOOK_S = 5  # how often a silent guest's own time is looked at
MACHINE = {
    "x86_64": ["-M", "q35", "-cpu", "Nehalem"],
    "aarch64": ["-M", "virt,gic-version=3", "-cpu", "cortex-a72"],
}
KERNEL = {
    # The kernel trusts its timer, as it does under KVM.  Otherwise it counts the ticks of a moment; where QEMU has
    # to wait for a processor just then, it takes the timer for broken, tries other ways to wire it, and stops.
    "x86_64": ["console=ttyS0", "no_timer_check"],
    "aarch64": ["console=ttyAMA0"],
}
DIE_WITH_US = ["setpriv", "--pdeathsig", "KILL", "--"]
# Shared read-only by the machine itself, not only by the guest's good will.
SHARE = 'mount --bind "$1" /mnt && mount -o remount,bind,ro /mnt && shift && exec "$@"'


class Dead(Failed):
    """The guest panicked, hung or went silent; the text has the end of its console."""


class Guest:
    """Use as a context.  `events` yields the guest's reports and pieces of its output."""

    def __init__(self, host, command, log):
        self.host = host
        self.command = command
        self.log = LOGS / f"{log}.log"
        self.processes = []
        self.stack = contextlib.ExitStack()
        self.sockets = {}
        self.waited_ns = 0

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *about):
        self._end()

    def _start(self):
        LOGS.mkdir(parents=True, exist_ok=True)
        for path in (self.log, self.log.with_suffix(".err")):
            path.unlink(missing_ok=True)
        job = self._write_job()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="sbr-host-")))
        shares = {"root": rootfs.directory(self.host.root, self.host.arch), "repo": REPO}
        words = self._qemu(job)
        for tag, source in shares.items():
            self._share(tag, source)
            words += ["-chardev", f"socket,id=fs-{tag},path={self.folder}/fs-{tag}"]
            words += ["-device", f"vhost-user-fs-pci,queue-size=1024,chardev=fs-{tag},tag={tag}"]
        for name in ("output", "report"):
            listener = self.stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(f"{self.folder}/{name}")
            listener.listen()
            listener.settimeout(START_S)
            self.sockets[name] = listener
            words += ["-chardev", f"socket,id={name},path={self.folder}/{name}"]
            words += ["-device", f"virtserialport,chardev={name},name=sbr.{name}"]
        self.begin = time.monotonic()
        self.qemu = self._run(words)
        for name, listener in self.sockets.items():
            try:
                connection = self.stack.enter_context(listener.accept()[0])
            except TimeoutError as problem:
                raise Dead(f"QEMU does not start\n{self.tail()}") from problem
            connection.setblocking(False)
            self.sockets[name] = connection

    def _write_job(self):
        """What the guest reads: who runs what, after which lines."""
        (WORK / "jobs").mkdir(exist_ok=True)
        job = Path(tempfile.mkdtemp(prefix=f"{self.host.name}-", dir=WORK / "jobs"))
        self.stack.callback(shutil.rmtree, job)
        job.chmod(0o755)
        settings = {"user": self.host.user, "cgroup": self.host.cgroup}
        lines = [f"{key}={shlex.quote(value)}\n" for key, value in settings.items()]
        (job / "settings").write_text("".join(lines), encoding="utf-8")
        (job / "setup").write_text(
            f"kernel={kernel(self.host.arch)}\nsource {HERE}/guest/functions\n{self.host.setup}\n",
            encoding="utf-8")
        (job / "command").write_text(self._wrapped(job), encoding="utf-8")
        return job

    def _wrapped(self, job):
        """The command itself, or what runs it inside of something: there it has no descriptors of
        ours, so that its reports are its stderr."""
        if not self.host.inside:
            return self.command
        (job / "inside").write_text(f"exec 9>&2 2>&1\n{self.command}", encoding="utf-8")
        lines = [line for line in self.command.splitlines()
                 if line.startswith(("export SBR_BUILD=", "export PATH="))]
        lines += [f"export SBR_INSIDE={shlex.quote(self.host.inside)}",
                  f"exec {HERE}/guest/inside bash {job}/inside\n"]
        return "\n".join(lines)

    def _qemu(self, job):
        arch, memory = self.host.arch, self.host.memory
        init = f"{HERE}/guest/pid1" if self.host.init == "ours" else "/lib/systemd/systemd"
        arguments = [*KERNEL[arch], "panic=-1", "loglevel=7",
                     "nokaslr",  # addresses in a diagnosis are those of every other boot
                     "mitigations=off",  # they are half of the time, and nothing here is secret
                     f"sbr.repo={REPO}", f"sbr.job={job}", f"sbr.init={init}",
                     f"sbr.modules={','.join(self.host.modules)}", *self.host.kernel]
        return [f"qemu-system-{arch}", "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot", *MACHINE[arch], "-accel", "tcg,thread=multi", "-smp", str(self.host.processors),
                "-m", f"{memory}M", "-object",
                f"memory-backend-memfd,id=mem,size={memory}M,share=on", "-numa", "node,memdev=mem",
                "-kernel", next((kernel(arch) / "boot").glob("vmlinuz-*")),
                "-initrd", initramfs(arch), "-append", " ".join(arguments),
                "-serial", f"file:{self.log}", "-device", "virtio-rng-pci",
                "-device", "virtio-serial-pci", "-monitor", f"unix:{self.folder}/monitor,server=on,wait=off"]

    def _share(self, tag, source):
        listener = self.stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(f"{self.folder}/fs-{tag}")
        listener.listen()
        cache = "always" if tag == "root" else "auto"
        self._run(["unshare", "--mount", "--propagation", "private", "sh", "-c", SHARE, "sh", source,
                   VIRTIOFSD, f"--fd={listener.fileno()}", "-o", "source=/mnt", "-o",
                   f"cache={cache}", "-o", "no_readdirplus",  # each entry of a listing would keep a descriptor open
                   "-o", "log_level=err"], pass_fds=[listener.fileno()])

    def _run(self, words, **kwargs):
        with open(self.log.with_suffix(".err"), "ab") as errors:
            process = subprocess.Popen([*DIE_WITH_US, *map(str, words)], stdin=subprocess.DEVNULL,
                                       stdout=errors, stderr=errors, start_new_session=True,
                                       **kwargs)
        self.processes.append(process)
        return process

    def _end(self):
        for process in reversed(self.processes):  # QEMU first
            process.kill()
            process.wait()
        self.stack.close()

    def tail(self, lines=40):
        """The end of the console, for whoever wants to know why."""
        parts = []
        for path in (self.log, self.log.with_suffix(".err")):
            if path.exists():
                text = path.read_text(encoding="utf-8", errors="replace").replace("\r", "")
                parts += [f"--- the end of {path} ---", *text.splitlines()[-lines:]]
        return "\n".join(parts)

    def stand(self):
        """Where the guest stands; the whole is kept beside its console."""
        text = diagnosis.stand(self.folder / "monitor", self.processes)
        path = self.log.with_suffix(".state")
        path.write_text(text, encoding="utf-8")
        return "\n".join([f"--- the beginning of {path} ---", *text.splitlines()[:12]])

    def elapsed(self):
        """Seconds of the guest's own time: without those in which its busiest thread waited for a processor."""
        for task in Path(f"/proc/{self.qemu.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                self.waited_ns = max(self.waited_ns, int(task.read_text(encoding="ascii").split()[1]))
        return time.monotonic() - self.begin - self.waited_ns / 1e9

    def events(self, silence_s):
        """("report", object) and ("output", bytes), until the guest says that it is done.  Raises
        Dead when it dies, stays silent that long, or does not end by the host's deadline."""
        pending, limit, heard = b"", UP_S, 0
        with selectors.DefaultSelector() as selector:
            for name, connection in self.sockets.items():
                selector.register(connection, selectors.EVENT_READ, name)
            while True:
                ready = selector.select(LOOK_S)
                now = self.elapsed()
                if now > self.host.deadline or (not ready and now - heard > limit):
                    why = f"is silent for {limit} s" if now - heard > limit else "did not end in time"
                    raise Dead(f"{self.host.name} {why}\n{self.tail()}\n{self.stand()}")
                if not ready:
                    continue
                heard = now
                # Output first: what was said before the end is seen before the end.
                for key, _ in sorted(ready, key=lambda pair: pair[0].data):
                    data = self._read(key.fileobj)
                    if key.data == "output":
                        yield "output", data
                        continue
                    *lines, pending = (pending + data).split(b"\n")
                    for report in map(self._parse, lines):
                        limit = silence_s
                        yield "report", report
                        if report.get("host") in ("end", "failed"):
                            yield "output", self._rest()
                            return

    def _parse(self, line):
        try:
            return json.loads(line)
        except ValueError as problem:
            raise Dead(f"{self.host.name} sent what is no report: {line[:200]}") from problem

    def _read(self, connection):
        data = connection.recv(1 << 16)
        if not data:
            self.qemu.wait(START_S)
            raise Dead(f"{self.host.name} died\n{self.tail()}")
        return data

    def _rest(self):
        data = b""
        with contextlib.suppress(BlockingIOError):
            while piece := self.sockets["output"].recv(1 << 16):
                data += piece
        return data
