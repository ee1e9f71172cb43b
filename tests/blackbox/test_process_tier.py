"""A machine that forbids user namespaces: the tier `process` gives the same results as the others."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import pytest

import no_userns
import support
from screen import screen_of
from support import Callers
from test_foreign_home import way_that_changes
from test_library import LIBRARY, program  # noqa: F401 (a fixture)
from waiting import SOON, read_line, wait_until

pytestmark = pytest.mark.skipif(no_userns.LANDLOCK_ABI < 1, reason="the tier needs Landlock")


@pytest.fixture(scope="module")
def machine():
    with tempfile.TemporaryDirectory(prefix="sbr-test-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        with no_userns.machine(folder) as made:
            yield made


@pytest.fixture(autouse=True)
def no_directory_stays(machine):
    yield
    assert machine.left() == []


@pytest.fixture
def data():
    """Files of the caller's in a place that no sandbox has for its own."""
    with tempfile.TemporaryDirectory(prefix="sbr-test-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder, "file")
        path.write_text("brought in\n")
        yield path


def python(machine, code, *options, caller=Callers.USER, **kwargs):
    return machine.result_of("run", *options, "--lang", "python", "--code", code, caller=caller,
                             **kwargs)


def shell(machine, code, *options, caller=Callers.USER, **kwargs):
    return machine.result_of("run", *options, "--lang", "bash", "--code", code, caller=caller,
                             **kwargs)


def ended(result):
    return result["outcome"], result["exit_code"], result["signal"], result["_status"]


# ---- which tier it is ----


@pytest.mark.core
def test_without_leave_to_degrade_the_run_is_refused_with_the_way_on(machine, caller):
    done = machine.run("run", "--lang", "python", "--code", "print(1)", caller=caller,
                       degraded=False)
    said = done.stderr.decode()
    assert (done.returncode, done.stdout, said.count("\n")) == (125, b"", 1)
    if machine.made:  # in a chroot only a trial tells that namespaces are refused
        assert "'process'" in said and "user-namespace" in said
    assert "doctor" in said
    assert said.endswith("--allow-degraded runs without\n")


@pytest.mark.core
def test_the_result_says_what_is_missing(machine, caller):
    isolation = python(machine, "", caller=caller)["isolation"]
    assert isolation["tier"] == "process"
    assert {"landlock", "seccomp", "rlimits", "no-new-privileges"} <= set(isolation["mechanisms"])
    assert {"user-namespace", "mount-namespace", "pid-namespace", "network-namespace",
            "ipc-namespace", "private-root"} <= set(isolation["missing"])


def keys(value):
    """The shape of a result, without its values."""
    if isinstance(value, dict):
        return {key: keys(inner) for key, inner in value.items()}
    return [keys(inner) for inner in value[:1]] if isinstance(value, list) else None


@pytest.mark.core
@pytest.mark.parametrize("code", ["print(1)", "import sys; sys.exit(3)", "1/0"])
def test_the_fields_of_a_result_are_those_of_every_tier(machine, caller, code):
    here = python(machine, code, caller=caller)
    there = support.python(code, "--allow-degraded", caller=Callers.ROOT)
    for result in (here, there):
        assert set(result.pop("isolation")) == {"tier", "mechanisms", "missing"}
    assert keys(here) == keys(there)
    assert ended(here) == ended(there)
    assert here["stdout"] == there["stdout"]


def test_a_plan_shows_the_tier(machine, caller):
    plan = machine.result_of("plan", "--lang", "python", "--code", "print(1)", caller=caller)
    paths = {rule["path"]: rule["access"] for rule in plan["landlock"]["rules"]}
    writable = [path for path, access in paths.items() if access == "write"]
    assert plan["namespaces"] == [] and plan["supervise"]
    assert paths["/usr"] == "read" and "/" not in paths and "/proc" not in paths
    assert sorted(path.rsplit("/", 1)[1] for path in writable) == ["tmp", "work"]
    assert all(path.startswith(f"{machine.places}/sandbox-run-") for path in writable)


def test_the_doctor_names_the_tier_and_changes_nothing(machine, caller):
    done = machine.run("doctor", "--json", caller=caller)
    assert b"process" in done.stdout and json.loads(done.stdout)


# ---- streams, codes and signals ----


@pytest.mark.core
def test_output_is_exact_on_both_streams(machine, caller):
    code = ("import sys\nsys.stdout.buffer.write(bytes(range(1, 128)) * 1000)\n"
            "sys.stderr.write('\u00fc' * 1000)")
    done = machine.run("run", "--lang", "python", "--code", code, caller=caller)
    assert done.returncode == 0
    assert done.stdout == bytes(range(1, 128)) * 1000
    assert done.stderr.decode() == "\u00fc" * 1000


@pytest.mark.core
def test_stdin_arrives_whole(machine, caller):
    given = os.urandom(300_000)
    code = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    result = python(machine, code, caller=caller, stdin=given)
    assert result["stdout"].strip() == hashlib.sha256(given).hexdigest()


@pytest.mark.core
@pytest.mark.parametrize("code", [0, 1, 125, 255])
def test_an_exit_code_is_the_programs_own(machine, caller, code):
    assert ended(shell(machine, f"exit {code}", caller=caller)) == ("exited", code, None, code)


@pytest.mark.core
def test_a_crash_is_a_signal(machine, caller):
    result = python(machine, "import ctypes; ctypes.string_at(0)", caller=caller)
    assert ended(result) == ("signaled", None, "SIGSEGV", 139)


@pytest.mark.core
@pytest.mark.skipif(no_userns.LANDLOCK_ABI < 6, reason="signals are refused here altogether")
def test_a_program_may_signal_its_own(machine, caller):
    code = ("import os, signal, time\npid = os.fork()\n"
            "if pid == 0: time.sleep(1000)\nos.kill(pid, 9)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)\nos.abort()")
    result = python(machine, code, caller=caller)
    assert (ended(result), result["stdout"]) == (("signaled", None, "SIGABRT", 134), "-9\n")


@pytest.mark.core
@pytest.mark.parametrize("lang, code", [("python", "import sys; print(*sys.argv[1:])"),
                                        ("bash", 'echo "$@"'), ("sh", 'echo "$@"')])
def test_every_language_gets_its_arguments(machine, caller, lang, code):
    done = machine.run("run", "--lang", lang, "--code", code, "--", "one", "two words",
                       caller=caller)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"one two words\n", b"")


# ---- limits ----

GROW = "x = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))"
FILL = ("import time\nfor i in range(64):\n with open(str(i), 'wb') as f: f.write(b'x' * (1 << 18))\n"
        "time.sleep(1000)")
NAMES = "import time\nfor i in range(200): open(str(i), 'w').close()\ntime.sleep(1000)"
HIDDEN = "import os\nos.mkdir('h', 0o300)\nos.chdir('h')\n" + FILL
UNNAMED = ("import tempfile, time\nfiles = [tempfile.TemporaryFile(dir='.') for _ in range(64)]\n"
           "for f in files: f.write(b'x' * (1 << 18)); f.flush()\ntime.sleep(1000)")
FAMILY = "import os, time\nfor _ in range(3): os.fork()\n"
LIMITS = {
    "memory": (GROW, ("--memory", "64m"), "memory_limit", "--memory"),
    "memory of a family": (FAMILY + "x = bytearray(b'x' * (20 << 20))\ntime.sleep(1000)",
                           ("--memory", "96m"), "memory_limit", "--memory"),
    "CPU time": ("while True: pass", ("--cpu-time", "200ms"), "cpu_limit", "--cpu-time"),
    "CPU time of a family": (FAMILY + "while True: pass", ("--cpu-time", "500ms"),
                                   "cpu_limit", "--cpu-time"),
    "real time": ("import time; time.sleep(1000)", ("--timeout", "200ms"), "timeout", "--timeout"),
    "bytes on disk": (FILL, ("--disk", "4m"), "disk_limit", "--disk"),
    "bytes of one file": ("open('x', 'wb').write(b'x' * (8 << 20))", ("--disk", "4m"),
                          "disk_limit", "--disk"),
    "bytes in a directory without a list": (HIDDEN, ("--disk", "4m"), "disk_limit", "--disk"),
    "bytes in files without a name": (UNNAMED, ("--disk", "4m"), "disk_limit", "--disk"),
    "files": (NAMES, ("--inodes", "50"), "disk_limit", "--inodes"),
    "output": ("while True: print('x' * 1000)", ("--max-output", "1k"), "output_limit",
               "--max-output"),
    "processes": ("import os, time\nfor _ in range(100):\n if os.fork() == 0: time.sleep(1000)",
                  ("--pids", "8"), "process_limit", "--pids"),
}


def counts_alone(machine, caller):
    """Where the namespace is not ours, an ordinary user's limit counts what he runs elsewhere too; on an emulated host he
    runs nothing else.  Where the tests are his as well, he runs what keeps our namespace."""
    elsewhere = not machine.made or os.geteuid() != 0
    if elsewhere and caller == Callers.USER and "SBR_EXPECT" not in os.environ:
        pytest.skip("other processes of the same user count as well on this machine")


@pytest.mark.core
@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_ends_the_run_and_names_itself(machine, caller, limit):
    if limit == "processes":
        counts_alone(machine, caller)
    code, options, outcome, named = LIMITS[limit]
    began = time.monotonic()
    result = python(machine, code, *options, caller=caller)
    assert result["outcome"] == outcome, result
    assert named in result["explanation"] and not result["success"]
    assert time.monotonic() - began < 20


INNOCENT = {
    "a child that nobody waits for": "import os, time\nif os.fork() == 0: os._exit(0)\n",
    "a directory that comes and goes": "import os, time\nend = time.monotonic() + 0.4\n"
                                       "while time.monotonic() < end:\n os.mkdir('d')\n"
                                       " os.rename('d', 'e')\n os.rmdir('e')\n",
    "a process that hides itself": "import ctypes, time\n"
                                   "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n",
    "links to one file": "import os, time\nopen('f', 'wb').write(b'x' * (1 << 20))\n"
                         "for i in range(20): os.link('f', f'l{i}')\n",
    "a file that is removed in time": "import os, time\nfor i in range(40):\n"
                                      " open('f', 'wb').write(b'x' * (1 << 20))\n"
                                      " os.unlink('f')\n",
}


@pytest.mark.parametrize("what", INNOCENT)
def test_who_stays_within_the_limits_is_not_ended(machine, caller, what):
    """Long enough to be looked at several times."""
    code = INNOCENT[what] + "time.sleep(0.4)\nprint('fine')"
    result = python(machine, code, "--disk", "8m", caller=caller)
    assert (result["outcome"], result["stdout"]) == ("exited", "fine\n"), result


def test_as_many_processes_as_the_limit_says(machine, caller):
    counts_alone(machine, caller)
    code = ("import os, time\nn = 1\ntry:\n while True:\n"
            "  if os.fork() == 0: time.sleep(1000)\n  n += 1\nexcept OSError: print(n)")
    with contextlib.ExitStack() as outside:  # of the same user, which the kernel counts with the other namespace
        for _ in range(5 if machine.made else 0):
            words = support.as_caller(caller)
            waits = outside.enter_context(subprocess.Popen([*words, "cat"], stdin=subprocess.PIPE))
            outside.callback(waits.stdin.close)
        assert python(machine, code, "--pids", "12", caller=caller)["stdout"] == "12\n"


# ---- files, volumes, environment ----


@pytest.mark.core
def test_the_program_has_a_directory_of_its_own(machine, caller):
    code = ("import os, tempfile\nopen('a', 'w').write('x')\nos.rename('a', 'b')\n"
            "with tempfile.NamedTemporaryFile() as f: print(os.path.dirname(f.name))\n"
            "print(os.getcwd()); print(os.environ['HOME'])")
    tmp, cwd, home = python(machine, code, caller=caller)["stdout"].splitlines()
    assert cwd == home == tmp.removesuffix("tmp") + "work"
    assert re.fullmatch(rf"{machine.places}/sandbox-run-\w+/work", cwd)


@pytest.mark.core
def test_several_files_are_brought_in(machine, caller, folder):
    (folder / "main.py").write_text("import other, pathlib\n"
                                    "print(other.word, pathlib.Path('data.txt').read_text())")
    (folder / "other.py").write_text("word = 'other'")
    (folder / "data.txt").write_text("data")
    names = [word for name in ("main.py", "other.py", "data.txt")
             for word in ("--file", folder / name)]
    result = machine.result_of("run", *names, caller=caller)
    assert result["stdout"] == "other data\n", result


def test_the_environment_is_the_requests(machine, caller):
    result = shell(machine, 'echo "$WORD"; env | grep -c SECRET', "--env", "WORD=given",
                   caller=caller, env={"SECRET": "the caller's"})
    assert result["stdout"] == "given\n0\n"


@pytest.mark.core
def test_a_volume_keeps_its_own_name_and_is_only_read(machine, caller, data):
    code = f"cat {data}; echo x > {data} || echo refused; echo x > {data}.new || echo refused"
    os.chmod(data, 0o666)
    os.chmod(data.parent, 0o777)
    result = shell(machine, code, "--volume", f"{data.parent}:{data.parent}:ro", caller=caller)
    assert result["stdout"] == "brought in\nrefused\nrefused\n"
    assert data.read_text() == "brought in\n" and os.listdir(data.parent) == ["file"]


@pytest.mark.core
def test_a_volume_under_another_name_is_refused_with_the_way_on(machine, caller, data):
    source = data.parent
    done = machine.run("run", "--volume", f"{source}:/data:ro", "--lang", "sh", "--code", "ls",
                       caller=caller)
    said = done.stderr.decode()
    assert (done.returncode, done.stdout, said.count("\n")) == (125, b"", 1)
    assert f"'{source}' cannot be brought in as '/data'" in said
    assert "a volume keeps its name, as in --volume " in said


@pytest.mark.parametrize("given, seen", [("/work", "work"), ("/tmp", "tmp")])
def test_a_work_directory_is_where_the_tier_has_it(machine, caller, given, seen):
    result = shell(machine, "pwd", "--workdir", given, caller=caller)
    assert result["stdout"].endswith(f"/{seen}\n"), result
    assert result["stdout"].startswith(str(machine.places))


def test_a_work_directory_of_the_host_stays_itself(machine, caller):
    assert shell(machine, "pwd", "--workdir", "/usr", caller=caller)["stdout"] == "/usr\n"


@pytest.mark.core
@pytest.mark.parametrize("place", ["/nonexistent", "/proc"])
def test_a_place_that_cannot_be_had_is_told_in_one_sentence(machine, caller, place):
    done = machine.run("run", "--lang", "sh", "--code", "true", caller=caller,
                       env={"TMPDIR": place})
    said = done.stderr.decode()
    assert (done.returncode, done.stdout, said.count("\n")) == (125, b"", 1)
    assert f"'{place}/sandbox-run-" in said and "TMPDIR" in said


def test_a_place_that_is_not_the_callers_is_told_in_one_sentence(machine, data):
    os.chmod(data.parent, 0o555)
    done = machine.run("run", "--lang", "sh", "--code", "true", env={"TMPDIR": str(data.parent)})
    assert done.returncode == 125 and done.stderr.count(b"\n") == 1
    assert os.listdir(data.parent) == ["file"]


def test_a_relative_place_is_not_taken(machine, caller):
    result = shell(machine, "pwd", caller=caller, env={"TMPDIR": "relative"})
    assert re.fullmatch(r"/tmp/sandbox-run-\w+/work\n", result["stdout"])


# ---- while it runs, and the library ----


def test_output_comes_while_the_program_runs(machine, caller):
    process = subprocess.Popen(
        machine.command("run", "--lang", "python", "--code",
                        "print('first', flush=True)\nprint('got', input())", caller=caller),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=machine.environment())
    try:
        assert read_line(process.stdout) == b"first\n"
        process.stdin.write(b"an answer\n")
        assert read_line(process.stdout) == b"got an answer\n"
        process.stdin.close()
        assert process.wait(SOON) == 0
    finally:
        process.kill()
        process.wait(SOON)
        process.stdout.close()
        if not process.stdin.closed:
            process.stdin.close()


def test_the_library_runs_many_at_a_time(machine, caller, program):  # noqa: F811
    done = subprocess.run([*machine.prefix(caller), program, "degraded"], capture_output=True,
                          timeout=support.DEADLINE, check=False,
                          env=machine.environment({"LD_LIBRARY_PATH": str(LIBRARY.parent)}))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("options", [("--network", "localhost"), ("--network", "full"),
                                     ("--allow-host", "example.org")])
def test_there_is_no_network_to_be_had(machine, options):
    """Without a network namespace nothing could hold the program to its list."""
    result = shell(machine, "echo ran", *options)
    assert result["_status"] == 125 and "network" in result["error"]["message"], result
    assert shell(machine, "echo ran", "--network", "none")["stdout"] == "ran\n"


# ---- at a terminal ----


def shown(machine, *args, caller):
    env = {**machine.environment(), "TERM": "xterm-256color"}
    return screen_of(*machine.command(*args, caller=caller), env=env)


def test_a_prompt_is_shown_and_answered_at_a_terminal(machine, caller):
    code = "import os\nname = input('name? ')\nprint('hi', name, *os.get_terminal_size())"
    with shown(machine, "run", "-q", "-l", "python", "-c", code, caller=caller) as screen:
        screen.wait("name?")
        screen.wait(screen.is_raw)
        screen.resize(30, 100)
        screen.type("Adx\x7fa\r")
        assert screen.end() == 0
        assert screen.text == "name? Ada\nhi Ada 100 30"
        assert screen.settings_are_as_before()


def test_a_shell_at_a_terminal_controls_its_jobs(machine, caller):
    with shown(machine, "exec", "-q", "--", "bash", "--norc", caller=caller) as screen:
        screen.wait("$")
        screen.type("echo rea''dy; cat\r")
        screen.wait("\nready")
        screen.type("first\r")
        screen.wait("\nfirst\nfirst")
        screen.type("\x1a")
        screen.wait("Stopped")
        screen.type("kill %1; echo $((40 + 2)); cat\r")
        screen.wait("\n42")
        screen.type("second\r")
        screen.wait("\nsecond\nsecond")
        screen.type("\x03")
        screen.wait(lambda: "^C" in screen.text and screen.text.endswith("$"))
        screen.type("exit 7\r")
        assert screen.end() == 7
        assert screen.settings_are_as_before()


def test_an_interrupt_at_a_terminal_is_the_programs_and_two_end_the_run(machine, caller):
    code = ("import signal, time\n"
            "try:\n    print('ready')\n    while True: time.sleep(0.01)\n"
            "except KeyboardInterrupt:\n    signal.signal(2, signal.SIG_IGN); print('deaf')\n"
            "time.sleep(1000)")
    with shown(machine, "run", "-l", "python", "-c", code, caller=caller) as screen:
        screen.wait("ready")
        screen.type("\x03")
        screen.wait("deaf")
        screen.type("\x03")
        assert screen.end() == 143
        assert "\n── cancelled" in screen.text, screen.text
        assert screen.settings_are_as_before()


def test_a_killed_tool_gives_the_terminal_back(machine, caller):
    hold = "stty -echo -icanon; printf '\\033[?1049h\\033[?25lready'; exec sleep 1000"
    with shown(machine, "exec", "-q", "--", "sh", "-c", hold, caller=caller) as screen:
        screen.wait("ready")
        screen.wait(screen.is_raw)
        os.kill(screen.process.pid, signal.SIGKILL)
        screen.end()
        screen.wait(screen.settings_are_as_before)
        for undone in (b"\x1b[?1049l", b"\x1b[?25h"):
            screen.wait(lambda undone=undone: undone in screen.bytes)
    assert wait_until(lambda: machine.left() == [])


# ---- what a third user can change ----


@pytest.fixture(name="theirs")
def foreign_directory(root):
    with tempfile.TemporaryDirectory(prefix="sbr-test-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        own = pathlib.Path(folder, "own/project")
        own.mkdir(parents=True)
        (own / "secret").write_text("PRIVATE")
        theirs = pathlib.Path(folder, "theirs")
        theirs.mkdir()
        (theirs / "way").symlink_to(own.parent)
        yield theirs


def test_a_link_that_comes_and_goes_opens_no_directory(machine, theirs):
    """The rule is for what was looked at: the way is a link while the rule is made."""
    with way_that_changes(theirs, Callers.USER) as project:
        for _ in range(12):
            done = machine.run("run", "--volume", f"{project}:{project}:ro", "--lang", "bash", "--code",
                               f"cat {project}/secret {theirs}/../own/project/secret")
            assert b"PRIVATE" not in done.stdout, done


def test_a_run_makes_no_directory_where_another_user_changes_names(machine, theirs):
    os.chown(theirs, support.ORDINARY_UID - 1, support.ORDINARY_UID - 1)
    theirs.chmod(0o777)
    done = machine.run("run", "--lang", "bash", "--code", "pwd", env={"TMPDIR": str(theirs)})
    assert done.returncode == 0 and done.stdout.startswith(b"/tmp/"), done
