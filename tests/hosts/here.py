"""This machine itself, with what guest.py gives of an emulated one: the same lines, as the host's user,
with the same reports; without a boot.

The lines run in mount and process namespaces of their own, in which su asks nobody for a password, so
that doctor's `sudo` lines can be typed; nothing of that is seen outside.  Control groups that those lines
make are removed in the end, unless they were there before.
"""
import contextlib
import glob
import json
import os
import selectors
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from packages import Failed
from paths import LOGS

ONE_AT_A_TIME = threading.Lock()  # the tests look for what others leave behind
# Root's part: what is mounted here is gone with the namespace.
ENTER = """
user=$1 folder=$2
sed '1i auth sufficient pam_permit.so' /etc/pam.d/su >"$folder/su"
mount --bind "$folder/su" /etc/pam.d/su
as=()
if [[ $user != root ]]; then
    as=(setpriv --reuid "$user" --regid "$user" --clear-groups --)
    export HOME=$folder/home USER=nobody LOGNAME=nobody
    mkdir "$HOME" && chown "$user" "$HOME"
fi
exec "${as[@]}" bash "$folder/command"
"""
UNSHARE = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc",
           "--kill-child"]


class Here:
    """Use as a context, as guest.Guest."""

    def __init__(self, host, command, log):
        del log
        self.host = host
        self.command = command
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stack.close()
            raise
        return self

    def _start(self):
        self.stack.enter_context(ONE_AT_A_TIME)
        LOGS.mkdir(parents=True, exist_ok=True)
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="sbr-here-")))
        folder.chmod(0o755)
        (folder / "command").write_text(self.command, encoding="utf-8")
        self.stack.callback(_remove_groups, self.host.user, _groups(self.host.user))
        reports, ends = os.pipe()
        words = ["bash", "-c", f"exec 9>&{ends}; exec {' '.join(UNSHARE)} bash -c \"$0\" bash \"$@\"",
                 ENTER, self.host.user, folder]
        try:
            self.qemu = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         start_new_session=True, pass_fds=[ends])
        finally:
            os.close(ends)
        self.stack.callback(self._end)
        self.reports = self.stack.enter_context(open(reports, "rb", buffering=0))

    def __exit__(self, *about):
        self.stack.close()

    def _end(self):
        """Ends the first process of the namespace, and with it all others."""
        self.qemu.kill()
        self.qemu.wait()
        self.qemu.stdout.close()

    def events(self, silence_s):
        """As guest.Guest's."""
        begin, pending = time.monotonic(), b""
        yield "report", {"host": "up"}
        with selectors.DefaultSelector() as selector:
            selector.register(self.qemu.stdout, selectors.EVENT_READ, "output")
            selector.register(self.reports, selectors.EVENT_READ, "report")
            while selector.get_map():
                left = begin + self.host.deadline - time.monotonic()
                ready = selector.select(max(0, min(silence_s, left)))
                if not ready:
                    raise Failed(f"{self.host.name} is silent, or did not end in time")
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.data == "output":
                        yield "output", data
                    else:
                        *lines, pending = (pending + data).split(b"\n")
                        yield from (("report", json.loads(line)) for line in lines)
        yield "report", {"host": "end", "status": self.qemu.wait(20)}


def _groups(user):
    """The groups that doctor's lines for an ordinary user make."""
    return set(glob.glob(f"/sys/fs/cgroup/*/sandbox-run-{user}"))


def _remove_groups(user, before):
    """Removes the groups that a remedy made: all who were in them have ended."""
    for path in _groups(user) - before:
        for group, _, _ in os.walk(path, topdown=False):
            os.rmdir(group)
