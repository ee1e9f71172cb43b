"""What the black-box and escape tests share: running the tool, as root and as an ordinary user."""
import atexit
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import machine_gives

REPO = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("SBR_BUILD", REPO / "build")).resolve()
TEST_BUILD = pathlib.Path(os.environ.get("SBR_TEST_BUILD", REPO / "build-test")).resolve()
SANDBOX_RUN = BUILD / "sandbox-run"
SANDBOX_RUN_HOOKS = TEST_BUILD / "sandbox-run"

SCHEMAS = {"request": BUILD / "src/generate/request.json"}  # the others are files of the tree

ORDINARY_UID = 65534
DEADLINE = 150  # seconds after which a test run is stuck, not slow: a first one may prepare its toolchain
ENGINE_OF = "SBR_ENGINE_"  # and ROOT or USER: the socket of a caller's engine, when the suite `warm` runs

SANITIZERS = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")  # of a build with them: `make asan`

starts = 0  # of the tool, for run.py --durations

AS_ORDINARY = ["setpriv", "--reuid", str(ORDINARY_UID), "--regid", str(ORDINARY_UID), "--clear-groups", "--"]


class Callers:
    """Who calls the tool.  An ordinary user has no cgroup here, so runs need --allow-degraded."""
    ROOT = "root"
    USER = "user"


def schema(name):
    """A JSON schema that is installed."""
    return json.loads(SCHEMAS.get(name, REPO / f"data/schemas/{name}.json").read_text())


def available_callers():
    return [Callers.ROOT, Callers.USER] if os.geteuid() == 0 else [Callers.USER]


def lacks(caller, need=None):
    """A sentence when this machine gives the caller less than tests need: `container`; an ordinary user, `reduced`."""
    need = need or ("reduced" if caller == Callers.USER else "container")
    return machine_gives.lack((*as_caller(caller), str(SANDBOX_RUN)), need)


# What a run says in a pipe when it had to wait for what is made once: on a slow machine, or not.
WAITED = re.compile(r"^sandbox-run: (?:[\w+#]+: )?(?:making the language ready, once|installing packages)(?: in \S+)?\n", re.M)


def as_caller(caller):
    return AS_ORDINARY if caller == Callers.USER and os.geteuid() == 0 else []


def _command(*args, caller=None, hooks=False):
    global starts  # pylint: disable=global-statement
    starts += 1
    program = str(SANDBOX_RUN_HOOKS if hooks else SANDBOX_RUN)
    words = [str(a) for a in args]
    if caller == Callers.USER and words and words[0] in ("run", "exec", "plan", "agent", "profile") and not lacks(caller):
        words.insert(1, "--allow-degraded")
    return [*as_caller(caller), program, *words]


def command(*args, caller=None, hooks=False):
    """The command line for a run by `caller`; options go behind the subcommand.  Where the machine gives too little for
    it, the test is skipped."""
    if args and args[0] in ("run", "exec", "serve"):
        machine_gives.skip_if(lacks(caller))
    return _command(*args, caller=caller, hooks=hooks)


@functools.lru_cache(maxsize=None)
def visible_program():
    """The program under a path that is there also where a test puts another directory over /tmp: a checkout may be
    below it."""
    if not SANDBOX_RUN.is_relative_to("/tmp"):
        return SANDBOX_RUN
    place = pathlib.Path(tempfile.mkdtemp(prefix="sbr-visible-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, place)
    place.chmod(0o755)
    for name in ("sandbox-run", "sandbox-run-full"):
        if (BUILD / name).is_file():
            shutil.copy(BUILD / name, place)
    return place / SANDBOX_RUN.name


def engine_of(caller):
    """Variables that make a caller's runs use the engine of the suite `warm`; without one, every run is cold."""
    socket = os.environ.get(ENGINE_OF + (caller or available_callers()[0]).upper())
    return {"SANDBOX_RUN_SOCKET": socket} if socket else {"SANDBOX_RUN_COLD": "1"}


def is_warm(caller):
    """Whether the caller's runs go through an engine."""
    return "SANDBOX_RUN_SOCKET" in engine_of(caller)


# What this process starts: by number, and by a variable that its descendants have.
STARTED = set()
MARK = f"SBR_TESTS_OF={os.getpid()}"
_popen = subprocess.Popen.__init__


def _popen_and_note(self, *args, **kwargs):
    _popen(self, *args, **kwargs)
    STARTED.add(self.pid)


subprocess.Popen.__init__ = _popen_and_note


def environment(extra=None, caller=None):
    """An empty environment but for the path and the engine; nothing goes on after a run."""
    mark, number = MARK.split("=")
    given = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "SANDBOX_RUN_NO_BACKGROUND": "1", mark: number,
             **engine_of(caller),
             **{name: os.environ[name] for name in SANITIZERS if name in os.environ}, **(extra or {})}
    return {name: value for name, value in given.items() if value is not None}


@functools.cache
def _caches():
    """The runner has one place for all suites, since some languages take long to be made ready."""
    if "SBR_TEST_CACHE" in os.environ:
        return os.environ["SBR_TEST_CACHE"]
    folder = tempfile.mkdtemp(prefix="sbr-cache-")
    os.chmod(folder, 0o711)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _folder_of(caller, ending=""):
    caller = caller or available_callers()[0]
    folder = os.path.join(_caches(), caller + ending)
    if not os.path.isdir(folder):
        with contextlib.suppress(FileExistsError):  # another worker was quicker
            os.mkdir(folder, 0o700)
        if caller == Callers.USER and os.geteuid() == 0:
            os.chown(folder, ORDINARY_UID, ORDINARY_UID)
    return folder


def cache_of(caller):
    """Where the runs of a caller keep what they compile, for as long as the tests run."""
    return _folder_of(caller)


def state_of(caller):
    """Where they keep changes and workspaces, unless a test names a place of its own."""
    return _folder_of(caller, "-state")


def surroundings(caller, extra=None):
    """The environment of a run, with the caller's own store and state."""
    places = {"SANDBOX_RUN_CACHE": cache_of(caller), "SANDBOX_RUN_STATE": state_of(caller)}
    return environment({**places, **(extra or {})}, caller)


def sandbox_run(*args, caller=None, hooks=False, env=None, stdin=b"", timeout=DEADLINE, prefix=(),
                **kwargs):
    """Runs to the end; returns the CompletedProcess with bytes.  `prefix` are the words of a program
    that runs the tool elsewhere.  A run that is refused because the machine gives too little skips the test."""
    cold = {}
    if hooks and not (env or {}).get("SANDBOX_RUN_SOCKET"):
        cold = {"SANDBOX_RUN_COLD": "1"}  # the engine is of the other build
    done = subprocess.run([*prefix, *_command(*args, caller=caller, hooks=hooks)], input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                          env=surroundings(caller, {**cold, **(env or {})}), **kwargs)
    if done.returncode == 125 and machine_gives.REFUSAL in done.stdout + done.stderr:
        machine_gives.skip_if(lacks(caller))
    return done


def result_of(*args, **kwargs):
    """Runs with --json and returns the result object; the first word is the subcommand."""
    words = list(args)
    words.insert(1, "--json")
    done = sandbox_run(*words, **kwargs)
    try:
        result = json.loads(done.stdout)
    except ValueError as problem:
        raise AssertionError(f"no JSON: {done.stdout[:500]!r} {done.stderr[:500]!r}") from problem
    if (result.get("isolation") or {}).get("tier") == "process":
        machine_gives.skip_if(lacks(kwargs.get("caller")))
    count_start(result)
    result["_status"] = done.returncode
    result["_stderr"] = done.stderr
    return result


def count_start(result):
    """One letter for the suite `warm`, which wants to know how many of its runs were."""
    if "SBR_STARTS" in os.environ and result.get("startup"):
        with open(os.environ["SBR_STARTS"], "a", encoding="ascii") as starts:
            starts.write(result["startup"][0])


def python(code, *options, **kwargs):
    """Result of a Python program; options are the tool's."""
    return result_of("run", *options, "--lang", "python", "--code", code, **kwargs)


def shell(code, *options, **kwargs):
    return result_of("run", *options, "--lang", "bash", "--code", code, **kwargs)


def pids():
    """Of all processes, as text."""
    return set(filter(str.isdigit, os.listdir("/proc")))


def groups_below(place):
    """Paths of the sandboxes' cgroups below a directory.  One that has none of its own has two links: its many files are
    not listed.  Nor is what a sandbox has below its own: an engine keeps hundreds, and every test looks at all of them."""
    with contextlib.suppress(OSError), os.scandir(place) as entries:  # it may go meanwhile
        for entry in entries:
            if entry.name.startswith("sandbox-run."):
                yield entry.path
            elif entry.is_dir(follow_symlinks=False) and os.stat(entry.path).st_nlink != 2:
                yield from groups_below(entry.path)


def leftovers(known=frozenset()):
    """What a run could leave behind on the host, as a set that must be the same afterwards.  Of the pids that are
    known nothing is asked: that takes long on a machine with many."""
    found = {*groups_below("/sys/fs/cgroup")}
    for pid in pids() - known:
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm, \
                    open(f"/proc/{pid}/cmdline", "rb") as cmdline:
                name, line = comm.read().strip(), cmdline.read()
        except OSError:
            continue
        if line.startswith(b"sandbox-run-") or name.startswith("sandbox-run"):
            found.add(f"process {pid} {name}")
    return found


def _is_of_orphan(pid):
    """Whether a process without a parent is ours: by its environment, or by the cgroup of a supervisor of ours."""
    with contextlib.suppress(OSError):
        if MARK.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            return True
        groups = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
        return any(int(number) in STARTED for number in re.findall(r"/sandbox-run\.(\d+)\.", groups))
    return False


def is_ours(leftover):
    """Of leftovers: not what is dead and waits for the pid 1 of this machine, nor the runs, sessions and engines of
    somebody else, nor what an engine keeps: the suite `warm` looks at what is left when its engines end."""
    pid = re.search(r"^process (\d+)|/sandbox-run\.(\d+)\.", leftover)
    pid = first = int(pid[1] or pid[2])
    try:
        while pid not in (1, os.getpid()):
            name, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)
            if rest.startswith(("Z 1 ", "X ")):
                return "process" not in leftover
            if b"\0serve\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                return False
            if "sandbox-run" not in name and "setpriv" not in name:
                return False
            pid = int(rest.split()[1])
        return pid != 1 or first in STARTED or _is_of_orphan(first)
    except OSError:
        return "process" not in leftover and first in STARTED  # a group whose supervisor is gone


def compile_c(source, target, *flags):
    """Compiles a small C program for use inside; static, so that it runs anywhere.  An emulated
    host (tests/hosts) finds it made already, and so does a worker of run.py what another one made."""
    made = pathlib.Path(os.environ.get("SBR_PROGRAMS", "/nonexistent"), pathlib.Path(target).name)
    words = ["gcc", "-O1", "-static", str(source), *map(str, flags), "-o"]
    if made.exists():
        shutil.copy(made, target)
    elif "SBR_COMPILED" in os.environ:
        shutil.copy(_compiled_once(pathlib.Path(os.environ["SBR_COMPILED"]), words), target)
    else:
        subprocess.run([*words, str(target)], check=True)
    os.chmod(target, 0o755)
    return target


def _compiled_once(folder, words):
    """What a run of run.py compiled with these words, in its own folder; the first worker compiles."""
    made = folder / hashlib.sha256("\0".join(words).encode()).hexdigest()
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            subprocess.run([*words, f"{made}.new"], check=True)
            os.rename(f"{made}.new", made)
    return made


def have(program):
    return shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin") is not None
