"""What a warm run sees of /usr has inodes of its own as well: it does not see what the host's users start."""
import select
import subprocess

import support

SYSTEM_FILE = "/usr/share/common-licenses/BSD"
CACHE = "/etc/ld.so.cache"
PROGRAM = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
assert all(libc.inotify_add_watch(watch, name, 0x20) > 0 for name in (b"%s", b"%s", b"/proc/self/exe"))
print("ready", flush=True)
sys.stdin.readline()
try:
    print(len(os.read(watch, 65536)))
except BlockingIOError:
    print("nothing")
""" % (SYSTEM_FILE, CACHE)


def test_a_warm_run_does_not_see_who_opens_files_of_the_system(engine):
    engine.parked(lambda: engine.result_of("run", "--lang", "python", "--code", "pass"))
    words = support.command("run", "--quiet", "--stdin", "-", "--lang", "python", "--code", PROGRAM, caller=engine.caller)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=engine.environment()) as process:
        assert select.select([process.stdout], [], [], support.DEADLINE)[0]
        assert process.stdout.readline() == b"ready\n"
        for name in (SYSTEM_FILE, CACHE):
            with open(name, "rb"):
                pass
        subprocess.run(["/usr/bin/python3", "-c", "pass"], check=True)
        out, _ = process.communicate(b"\n", timeout=support.DEADLINE)
    assert out == b"nothing\n", out
