"""Odd surroundings: the same result as anywhere, or one sentence that says what to do.

Most surroundings are lines of shell that change a private mount namespace, so they need root; the
run itself is then made by root and by an ordinary user.  `SHOWN` prints what a program can notice.
"""
import contextlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

import pytest

import support
from support import Callers, result_of, sandbox_run

SHOWN = """
id; umask; pwd; env | sort; ulimit -a; ls -A /; ls -A /dev; ls /proc/self/fd
stat -c '%A %u %g %n' / /work /tmp /dev/shm /etc /etc/passwd
cut -d ' ' -f 4-6 /proc/self/mountinfo | grep -v -e ' /usr' -e ' /etc/' | sort
grep -e ^Sig[BIC] -e ^Cap -e ^Seccomp: -e ^NoNew -e ^Groups /proc/self/status
for d in /work /tmp /dev/shm; do echo text >$d/file && stat -c '%A %s' $d/file; done
cp /bin/true /tmp/program && /tmp/program && echo programs run in /tmp
cat; echo problem >&2; exit 7
"""

HOG = "head -c 200000000 /dev/zero | tail"

# Read-only for everything but what the kernel makes: /proc and the control groups.
READ_ONLY = """
for m in $(cut -d ' ' -f 5 /proc/self/mountinfo | grep -v -e ^/proc -e ^/sys); do
    mount -o remount,bind,ro "$m" 2>/dev/null || test ! -e "$m"
done
! touch /root/new 2>/dev/null && ! touch /tmp/new 2>/dev/null
"""
FULL = """
mount -t tmpfs -o size=64k,mode=1777 full /mnt
cat /dev/zero >/mnt/rest 2>/dev/null || true
: >/mnt/out; chmod 666 /mnt/out
cd /mnt; export TMPDIR=/mnt HOME=/mnt
! echo x >/mnt/out 2>/dev/null
"""
DEVICES = """
mount -t tmpfs -o mode=755 dev /dev
n() { mknod -m 666 /dev/$1 c $2 $3; }
n zero 1 5; n full 1 7; n random 1 8; n urandom 1 9; n tty 5 0
"""
NO_CGROUPS = "umount -R -l /sys/fs/cgroup; test ! -e /sys/fs/cgroup/memory"
NO_PROC = "umount -R -l /proc; test ! -e /proc/self"

AS_USUAL = {
    "hidepid=2": "mount -t proc -o hidepid=2 proc /proc",
    "hidepid=ptraceable": "mount -t proc -o hidepid=ptraceable proc /proc",
    "a second proc of processes only": "mkdir /mnt/p && mount -t proc -o subset=pid proc /mnt/p",
    "read-only root": READ_ONLY,
    "full disk": FULL,
    "/tmp noexec": "mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 tmp /tmp",
    "/tmp that nobody may use": "mount -t tmpfs -o mode=000 tmp /tmp",
    "no /dev/shm and no /dev/pts": DEVICES + "n null 1 3; test ! -e /dev/shm",
    "no accounts": "mount --bind /dev/null /etc/passwd; mount --bind /dev/null /etc/group",
    "no /etc at all": "mount -t tmpfs etc /etc",
    "no HOME": "unset HOME",
    "HOME and TMPDIR that are not there": "export HOME=/no/such TMPDIR=/no/such",
    "C locale": "export LC_ALL=C",
    "unknown locale": "export LC_ALL=de_DE.ISO-8859-1 LANG=xx_XX.latin LANGUAGE=zz",
    "locale that is not text": "export LC_ALL=$(printf '\\377\\376') LANG=../../etc/passwd",
    "umask 077": "umask 077",
    "umask 777": "umask 777",
    "deleted directory": "mkdir /mnt/gone; cd /mnt/gone; rmdir /mnt/gone; test ! -e /mnt/gone",
    "directory that we may not read": "mkdir -m 700 /mnt/closed; cd /mnt/closed",
    "soft limit of 16 descriptors": "ulimit -Sn 16",
    "small stack, no core, nothing locked": "ulimit -Ss 200; ulimit -Sc 0; ulimit -Sl 0",
    "ignored signals": "trap '' HUP INT QUIT PIPE CHLD USR1 USR2 TERM ALRM XFSZ XCPU TTOU",
    "hundreds of open descriptors": "exec bash -c 'for i in {100..400}; do eval \"exec $i<&0\"; "
                                    "done; exec \"$@\"' bash \"$@\"",
    "a large environment": "for i in 1 2 3 4 5 6 7 8; do export V$i=$(printf %0100000d 1); done",
    "hostile environment": "export LD_LIBRARY_PATH=/no IFS=/ GCONV_PATH=. "
                           "MALLOC_CHECK_=3 PYTHONHOME=/no BASH_ENV=/no ENV=/no PATH=",
    "25 mounts": "mounts 25",
    "5,000 mounts": "mounts 5000",
    "mount point with odd characters": "d=$(printf '/mnt/a b\\n\\\\c\\377'); mkdir \"$d\"; "
                                       "mount -t tmpfs x \"$d\"",
}

# What is inherited by root and by an ordinary user in the same way, so that one of them shows it.
SAME_FOR_ALL = {"no HOME", "HOME and TMPDIR that are not there", "C locale", "unknown locale",
                "locale that is not text", "umask 077", "umask 777", "soft limit of 16 descriptors", "small stack, no core, nothing locked",
                "ignored signals", "hundreds of open descriptors", "a large environment", "hostile environment",
                "25 mounts", "mount point with odd characters", "a second proc of processes only"}


def by_callers(names, same_for_all):
    """(caller, name) for each surrounding; the first caller alone where all are alike."""
    callers = support.available_callers()
    return [(caller, name) for name in names for caller in (callers[:1] if name in same_for_all else callers)]


# What setup lines may call.
TOOLS = r"""
mounts() {
    mkdir -p ${at:=/mnt/many}
    mount -t tmpfs many $at
    /usr/bin/python3 -c '
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for i in range(int(sys.argv[2])):
    os.mkdir(f"{sys.argv[1]}/{i}")
    if libc.mount(b"none", f"{sys.argv[1]}/{i}".encode(), b"tmpfs", 0, b"size=4k") < 0:
        sys.exit(f"mount {i}: errno {ctypes.get_errno()}")' $at $1
}
"""


def surrounded(setup, command, stdin=b"input", **kwargs):
    """The command's end, in a mount namespace of its own that the lines of `setup` have changed."""
    script = f"set -e\nmount -t tmpfs -o mode=755 mnt /mnt\n{TOOLS}\n{setup}\nexec \"$@\""
    kwargs.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh",
                           "-c", script, "surrounding", *command], input=stdin,
                          stderr=subprocess.PIPE, timeout=support.DEADLINE, check=False,
                          env=support.environment(), **kwargs)


def full_path(command):
    """Words that mean the same whatever PATH is, and whatever is put over /tmp."""
    paths = {"setpriv": "/usr/bin/setpriv", str(support.SANDBOX_RUN): str(support.visible_program())}
    return [paths.get(word, word) for word in command]


def noticed(done):
    """What a program saw and what we said of it, without what differs from run to run."""
    try:
        result = json.loads(done.stdout)
    except ValueError as problem:
        raise AssertionError(f"{done.returncode} {done.stdout!r} {done.stderr!r}") from problem
    return {"status": done.returncode, "our stderr": done.stderr,
            **{name: result[name] for name in ("outcome", "exit_code", "signal", "stdout", "stderr",
                                               "stdout_encoding", "explanation", "isolation")}}


def shown(caller, setup=":", options=(), **kwargs):
    words = support.command("run", "--json", *options, "--lang", "sh", "--code", SHOWN,
                            "--stdin", "-", caller=caller)
    return noticed(surrounded(setup, full_path(words), **kwargs))


@pytest.fixture(scope="module")
def usual():
    """What `shown` is for each caller where nothing is odd."""
    if os.geteuid() != 0:
        pytest.skip("a surrounding is made by root")
    plain = {caller: shown(caller) for caller in support.available_callers()}
    for one in plain.values():
        assert (one["status"], one["outcome"], one["stderr"]) == (7, "exited", "problem\n"), one
        assert "input" in one["stdout"] and "programs run in /tmp" in one["stdout"]
    return plain


def is_one_sentence(done, *words):
    """Refused before anything ran, with one line that has these words."""
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 125 and not done.stdout, done
    assert len(lines) == 1 and lines[0].startswith("sandbox-run: "), lines
    for word in words:
        assert word in lines[0], lines


@pytest.mark.parametrize("caller, name", by_callers(AS_USUAL, SAME_FOR_ALL))
def test_a_program_notices_nothing_of(caller, usual, name):
    assert shown(caller, AS_USUAL[name]) == usual[caller]


def test_mounts_below_usr_are_shown_and_said(caller, usual):
    """No overlay shows what is mounted in its tree, so the program sees the host's own inodes."""
    got = shown(caller, "mount --bind /usr /usr; at=/usr/games; mounts 500")
    got["isolation"]["missing"].remove("inodes apart from the host's")
    assert got == usual[caller]


@pytest.mark.parametrize("caller, name", by_callers(
    ["hidepid=2", "read-only root", "full disk", "/tmp noexec", "no /etc at all", "C locale", "umask 077",
     "soft limit of 16 descriptors", "5,000 mounts"], {*SAME_FOR_ALL, "full disk", "/tmp noexec", "no /etc at all"}))
def test_limits_are_named_as_usual_with(caller, usual, name):
    """The causes of an end come from counters, files below /proc and timers."""
    del usual
    for options, code, outcome in ((["--timeout", "200ms"], "sleep 1000", "timeout"),
                                   (["--memory", "32m"], HOG, "memory_limit"),
                                   (["--cpu-time", "200ms"], "while :; do :; done", "cpu_limit")):
        words = support.command("run", "--json", *options, "--lang", "bash", "--code", code,
                                caller=caller)
        done = surrounded(AS_USUAL[name], full_path(words), stdin=b"")
        assert json.loads(done.stdout)["outcome"] == outcome, (done.stdout, done.stderr)


def test_the_surroundings_are_what_they_say():
    """Or the tests above would pass for nothing."""
    if os.geteuid() != 0:
        pytest.skip("a surrounding is made by root")

    def seen(name, look, user=False):
        words = [*(full_path(support.AS_ORDINARY) if user else []), "/bin/bash", "-c", look]
        return surrounded(AS_USUAL[name], words).stdout.decode().strip()

    assert seen("hidepid=2", "test -e /proc/1 || echo hidden", user=True) == "hidden"
    assert seen("/tmp noexec", "cp /bin/true /tmp/t; /tmp/t || echo no") == "no"
    assert int(seen("5,000 mounts", "wc -l </proc/self/mountinfo")) > 5000
    assert seen("soft limit of 16 descriptors", "ulimit -n") == "16"
    assert seen("umask 077", "umask") == "0077"
    assert seen("directory that we may not read", "ls . || echo no", user=True) == "no"
    assert seen("no accounts", "id -nu 2>/dev/null; wc -c </etc/passwd").endswith("0")
    assert int(seen("hundreds of open descriptors", "ls /proc/self/fd | wc -l")) > 300
    assert "0000000000000001" != seen("ignored signals", "grep SigIgn /proc/self/status")[-16:]


# ---- what cannot be as usual


@pytest.mark.parametrize("setup", [NO_PROC, "mount -t tmpfs none /proc"], ids=["none", "a tmpfs"])
def test_without_proc_there_is_one_sentence(caller, usual, setup):
    del usual
    words = support.command("exec", "--", "echo", "ran", caller=caller)
    is_one_sentence(surrounded(setup, full_path(words)), "/proc", "mount")


def test_with_a_read_only_proc_there_is_one_sentence(caller, usual):
    del usual
    words = support.command("exec", "--", "echo", "ran", caller=caller)
    done = surrounded("mount -o remount,bind,ro /proc", full_path(words))
    is_one_sentence(done, "/proc", "read-only")


@pytest.mark.parametrize("setup", [
    NO_CGROUPS, "umount -R -l /sys; test ! -e /sys/fs",
    "for m in $(grep -o '/sys/fs/cgroup[^ ]*' /proc/self/mountinfo); do "
    "mount -o remount,bind,ro $m; done",
], ids=["no cgroup mount", "no /sys", "read-only cgroups"])
def test_without_control_groups_the_tier_is_named(caller, usual, setup):
    words = support.command("exec", "--", "echo", "ran", caller=caller)
    words = full_path([word for word in words if word != "--allow-degraded"])
    is_one_sentence(surrounded(setup, words), "'reduced'", "--allow-degraded", "doctor")
    reduced = shown(caller, setup, ["--allow-degraded"] if caller == Callers.ROOT else [])
    assert reduced["isolation"]["tier"] == "reduced"
    assert any("memory" in what for what in reduced["isolation"]["missing"])
    assert reduced["status"] == 7 and "programs run in /tmp" in reduced["stdout"]
    assert reduced["isolation"] == shown(Callers.USER)["isolation"]
    tier = "container" if caller == Callers.ROOT else "reduced"
    assert usual[caller]["isolation"]["tier"] == tier


@pytest.mark.parametrize("setup, word", [
    (DEVICES, "/dev/null"), (DEVICES + ": >/dev/null", "/dev/null"),
    (DEVICES + "mknod /dev/null c 1 5", "/dev/null"),
    ("mount --bind /dev/zero /dev/urandom", "/dev/urandom"),
], ids=["missing", "a file", "another device", "another device bound"])
def test_a_device_that_is_not_there_or_another_is_named(caller, usual, setup, word):
    del usual
    words = support.command("exec", "--", "echo", "ran", caller=caller)
    done = surrounded(setup, full_path(words))
    assert done.returncode in (125, 126) and not done.stdout
    assert len(done.stderr.splitlines()) == 1 and word.encode() in done.stderr, done.stderr


def test_a_closed_descriptor_without_dev_null_is_no_riddle(caller, usual):
    del usual
    words = support.command("exec", "--", "echo", "ran", caller=caller)
    done = surrounded(DEVICES + "exec <&-", full_path(words))
    assert done.returncode == 125 and b"/dev/null" in done.stderr


LIMITS = {
    "16 descriptors": (resource.RLIMIT_NOFILE, 16, "ulimit -n"),
    "8 descriptors": (resource.RLIMIT_NOFILE, 8, "ulimit -n"),
    "no file may grow": (resource.RLIMIT_FSIZE, 0, "ulimit -f"),
    "1 process": (resource.RLIMIT_NPROC, 1, "ulimit -u"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_hard_limit_of_the_caller_is_named_with_what_raises_it(caller, name):
    which, value, advice = LIMITS[name]
    words = support.command("exec", "--", "echo", "ran", caller=caller)
    prefix = words[:words.index(str(support.SANDBOX_RUN))]
    limited = ["prlimit", f"--{ {7: 'nofile', 1: 'fsize', 6: 'nproc'}[which] }={value}:{value}"]
    done = subprocess.run([*prefix, *limited, *words[len(prefix):]], capture_output=True,
                          timeout=support.DEADLINE, check=False)
    is_one_sentence(done, advice)


@pytest.mark.parametrize("limit", ["--nofile=64:64", "--nproc=500:500", "--as=200000000:200000000",
                                   "--fsize=1000000:1000000", "--stack=200000:200000"])
def test_a_low_but_sufficient_hard_limit_is_kept_and_does_no_harm(caller, limit):
    words = support.command("run", "--json", "--lang", "sh", "--code", "ulimit -n; echo ran",
                            caller=caller)
    done = subprocess.run(["prlimit", limit, *words], capture_output=True, check=False,
                          timeout=support.DEADLINE)
    result = json.loads(done.stdout)
    assert (result["outcome"], result["exit_code"]) == ("exited", 0), (result, done.stderr)
    assert result["stdout"] == ("64\nran\n" if "nofile" in limit else "1024\nran\n")


# ---- output that cannot be written


def full_disk(words, caller, redirect):
    """Runs with stdout (or stderr) on a full disk; what the other stream got."""
    words = full_path(support.command(*words, caller=caller))
    script = (f"{FULL}\nset +e; \"$@\" {redirect}/mnt/out; s=$?; "
              "test ! -s /mnt/out && exit $s; exit 99")
    return subprocess.run(["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/bash",
                           "-e", "-c", script, "full", *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=support.DEADLINE,
                          check=False, env=support.environment())


LOST = [
    ["exec", "--", "echo", "little"], ["exec", "--", "head", "-c", "9000000", "/dev/zero"],
    ["exec", "--json", "--", "echo", "little"],
    ["exec", "--json", "--", "head", "-c", "3000000", "/dev/zero"],
    ["plan", "--json", "--lang", "sh", "--code", "ls"], ["doctor"], ["help"], ["--help"],
    ["--version"], ["completion", "bash"],
]


def test_output_on_a_full_disk_is_a_failure_that_says_so(any_caller, usual):
    del usual
    wrong = {}
    for words in LOST:
        try:
            is_one_sentence(full_disk(words, any_caller, ">"), "No space left on device")
        except AssertionError as problem:
            wrong[" ".join(words)] = str(problem)
    assert not wrong


def test_a_refusal_is_told_when_its_object_cannot_be_written(caller, usual):
    del usual
    done = full_disk(["run", "--json", "--lang", "no-such-language", "--code", "x"], caller, ">")
    assert done.returncode == 127 and b"no-such-language" in done.stderr


def test_the_program_on_a_full_disk_has_ended_when_we_say_so(caller, usual):
    """It is told as by a pipe without a reader, not left to write for its whole time."""
    del usual
    before = time.monotonic()
    done = full_disk(["exec", "--timeout", "50s", "--", "yes"], caller, ">")
    is_one_sentence(done, "No space left on device", "stdout")
    assert time.monotonic() - before < 20


def test_errors_on_a_full_disk_leave_stdout_whole_and_fail(caller, usual):
    del usual
    done = full_disk(["exec", "--", "sh", "-c", "echo one; echo lost >&2; echo two"], caller, "2>")
    assert (done.returncode, done.stdout, done.stderr) == (125, b"one\ntwo\n", b"")


def test_a_disk_that_becomes_full_gives_no_whole_looking_result(caller, usual):
    del usual
    setup = ("mount -t tmpfs -o size=64k,mode=1777 full /mnt; : >/mnt/out; chmod 666 /mnt/out; "
             "exec >/mnt/out")
    words = support.command("exec", "--json", "--", "head", "-c", "1000000", "/dev/urandom",
                            caller=caller)
    done = surrounded(setup, full_path(words))
    is_one_sentence(done, "No space left on device")


def test_a_file_that_may_not_grow_further_is_named(caller, folder):
    """`ulimit -f` is met by our own files first, or by the file that stdout is."""
    (folder / "out").touch()
    with open(folder / "out", "r+b") as out:
        words = support.command("exec", "--", "head", "-c", "3000000", "/dev/zero", caller=caller)
        done = subprocess.run(["prlimit", "--fsize=1000000:1000000", *words], stdout=out,
                              stderr=subprocess.PIPE, timeout=support.DEADLINE, check=False)
    assert done.returncode == 125 and b"ulimit -f" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_left_is_no_failure_of_ours(any_caller):
    """`sandbox-run help | head -1` is quiet."""
    for words in (["help"], ["completion", "zsh"]):
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run(support.command(*words, caller=any_caller), stdout=theirs,
                              stderr=subprocess.PIPE, timeout=support.DEADLINE, check=False)
        os.close(theirs)
        assert done.stderr == b"", words


# ---- names and arguments


@pytest.mark.parametrize("locale", ["C", "de_DE.ISO-8859-1", "C.UTF-8"])
def test_bytes_that_are_no_text_pass_unchanged_in_any_locale(any_caller, folder, locale):
    odd = b"\xff\xfe \xe4 \xc3"
    path = os.path.join(os.fsencode(folder), odd + b".py")
    pathlib.Path(os.fsdecode(path)).write_text(
        "import os, sys\nsys.stdout.buffer.write(b'|'.join([os.fsencode(sys.argv[0]), "
        "os.fsencode(sys.argv[1]), os.environb[b'ODD']]))")
    done = sandbox_run("run", "--env", os.fsdecode(b"ODD=" + odd), os.fsdecode(path), "--",
                       os.fsdecode(odd), caller=any_caller, env={"LC_ALL": locale})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"/work/" + odd + b".py|" + odd + b"|" + odd


def test_json_is_utf8_in_any_locale(any_caller):
    result = result_of("exec", "--", "printf", "%s|", "ü", os.fsdecode(b"\xc3\xbc"), caller=any_caller,
                       env={"LC_ALL": "de_DE.ISO-8859-1"})
    assert (result["stdout"], result["stdout_encoding"]) == ("ü|ü|", "utf-8")


def test_a_name_that_is_no_text_is_quoted_in_valid_json(any_caller):
    name = os.fsdecode(b"/no/such/\xff\xfe\n\x1b[31m.py")
    done = sandbox_run("run", "--json", name, caller=any_caller)
    assert done.returncode == 127 and json.loads(done.stdout)["success"] is False
    done = sandbox_run("run", name, caller=any_caller)
    assert done.returncode == 127 and b"\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_arguments_of_two_megabytes_arrive(caller):
    words = ["y" * 100_000] * 19
    code = "echo $# ${#1} ${#19}"
    done = sandbox_run("exec", "--", "sh", "-c", code, "sh", *words, caller=caller)
    assert (done.returncode, done.stdout) == (0, b"19 100000 100000\n"), done.stderr


def test_too_many_arguments_are_one_sentence(any_caller):
    done = sandbox_run("exec", "--", "true", *["y"] * 100_000, caller=any_caller)
    is_one_sentence(done, "arguments")


def test_a_large_environment_of_the_program_arrives(caller):
    variables = [word for i in range(15) for word in ("--env", f"V{i}={'y' * 100_000}")]
    done = sandbox_run("exec", *variables, "--", "sh", "-c", "echo ${#V0} ${#V14}", caller=caller)
    assert (done.returncode, done.stdout) == (0, b"100000 100000\n"), done.stderr


def test_an_empty_environment_and_argument_list_do_no_harm(caller):
    words = support.command("exec", "--", "env", caller=caller)
    done = subprocess.run(full_path(words), env={}, capture_output=True, timeout=support.DEADLINE,
                          check=False)
    assert done.returncode == 0 and b"HOME=/work\n" in done.stdout, done
    done = subprocess.run([""], executable=str(support.SANDBOX_RUN), env={}, input=b"echo ran",
                          capture_output=True, timeout=support.DEADLINE, check=False)
    assert done.returncode == 125 and b"--lang" in done.stderr


# ---- descriptors, signals, groups


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors_change_nothing_else(any_caller, folder, closed):
    words = support.command("run", "--lang", "sh", "--code",
                            "cat; echo out; echo err >&2; exec 3</dev/null; exit 7", caller=any_caller)
    done = subprocess.run(["sh", "-c", f"exec {closed}; exec \"$@\"", "sh", *words], input=b"in\n",
                          capture_output=True, timeout=support.DEADLINE, check=False)
    assert done.returncode == 7, done.stderr
    out = b"out\n" if "<" in closed else b"in\nout\n"
    assert done.stdout == (b"" if " >&-" in f" {closed}" else out)
    assert done.stderr == (b"" if "2>&-" in closed else b"err\n")


def test_a_descriptor_of_the_wrong_kind_is_no_riddle(caller):
    """stdin that can only be written to, stdout that can only be read."""
    words = support.command("exec", "--", "cat", caller=caller)
    done = subprocess.run(["sh", "-c", 'exec "$@" 0>/dev/null', "sh", *words], capture_output=True,
                          timeout=support.DEADLINE, check=False)
    assert done.stdout == b"" and done.returncode in (0, 125), done
    words = support.command("exec", "--", "echo", "lost", caller=caller)
    done = subprocess.run(["sh", "-c", 'exec "$@" 1</etc/os-release', "sh", *words],
                          capture_output=True, timeout=support.DEADLINE, check=False)
    is_one_sentence(done, "stdout")


def test_signals_that_the_caller_blocks_or_ignores_change_no_outcome(caller):
    def odd():
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass  # the C library keeps a few for itself
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

    for code, options, status in (("exit 7", [], 7), ("kill -s PIPE $$", [], 128 + 13),
                                  ("sleep 1000", ["--timeout", "200ms"], 124),
                                  ("(exit 3) & wait $!", [], 3), ("yes | head -n 1", [], 0)):
        done = sandbox_run("run", *options, "--lang", "bash", "--code", code, caller=caller,
                           preexec_fn=odd)
        assert done.returncode == status, (code, done)


@contextlib.contextmanager
def own_groups(name):
    """Groups with this name, one in each hierarchy; yields them and where a process has to go."""
    top = pathlib.Path("/sys/fs/cgroup")
    tops = [top / part for part in ("memory", "pids", "cpuacct", "cpu")]
    is_v2 = not tops[0].is_dir()
    groups = [each / f"sbr-test {os.getpid()} {name}" for each in ([top] if is_v2 else tops)]
    places = [group / "place" for group in groups] if is_v2 else groups
    made = []
    try:
        for group in dict.fromkeys(groups + places):
            group.mkdir()
            made.insert(0, group)
            if group not in places:
                (group / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        yield groups, places
    finally:
        for group in made:
            group.rmdir()


@pytest.mark.parametrize("name", ["with blanks", "a:b,c=d", "\u00fc \\040 %s", "x" * 200])
def test_the_name_of_our_group_does_not_matter(root, name):
    words = support.command("run", "--json", "--memory", "32m", "--lang", "bash", "--code",
                            HOG, caller=root)
    with own_groups(name) as (groups, places):
        move = "".join(f"echo 0 >'{place}/cgroup.procs'; " for place in places)
        done = subprocess.run(["sh", "-ec", move + 'exec "$@"', "sh", *words], capture_output=True,
                              timeout=support.DEADLINE, check=False)
        result = json.loads(done.stdout)
        assert result.get("outcome") == "memory_limit", (result, done.stderr)
        assert result["isolation"]["tier"] == "container"
        assert not any(list(group.glob("sandbox-run.*")) for group in groups)


# ---- many mounts

TIMER = """
import resource, subprocess, sys
def used():
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
def fastest(words):  # by the time on a processor, which others cannot lengthen much
    def once():
        start = used()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return used() - start
    return min(once() for _ in range(15))
split = sys.argv.index("and")
print(fastest(sys.argv[1:split]), fastest(sys.argv[split + 1:]))
"""


def test_many_mounts_cost_only_what_the_kernel_takes_to_copy_them(caller, usual):
    """A mount namespace costs the kernel a copy of every mount; we must not add to that."""
    del usual
    ours = full_path(support.command("exec", "--", "true", caller=caller))
    bare = ["/usr/bin/unshare", "--mount", "/bin/true"]

    def measured(setup):
        done = surrounded(setup, ["/usr/bin/python3", "-c", TIMER, *ours, "and", *bare])
        return [float(word) for word in done.stdout.split()]

    few, many = measured(":"), measured("mounts 5000")
    kernel, added = many[1] - few[1], many[0] - few[0]
    assert added < 2.5 * kernel + 0.010, f"{added * 1e3:.1f} ms for {kernel * 1e3:.1f} ms"
