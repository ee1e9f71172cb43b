"""Two runs through one engine share nothing, and no run reaches whoever made its sandbox.

Each probe is shown to work: it finds its mark where the mark is."""
import json
import secrets
import subprocess

import pytest

import engine as engines
import support

PROGRAMS = support.REPO / "tests/warm/programs"
RUNS = 12  # for sequences that must differ
FEWER = {"java": 5}  # a JVM takes seconds to make
# What two runs at once may share all the same, in the cold path as well: SECURITY.md, locks on files of the host's.
KNOWN_CHANNELS = {"lock"}


def program(engine, name, *words, options=(), files=(), **kwargs):
    more = [word for path in files for word in ("--file", PROGRAMS / path)]
    return engine.result_of("run", *options, "--file", PROGRAMS / name, *more, "--", *words, **kwargs)


def parked(engine, *args, **kwargs):
    return engine.parked(lambda: program(engine, *args, **kwargs))


def lines(result):
    assert result["outcome"] == "exited", result
    return set(result["stdout"].split("\n")) - {""}


def new_mark():
    return "0" + secrets.token_hex(15)


# What a run leaves


def test_the_probe_finds_what_its_own_run_left(engine):
    found = lines(program(engine, "leave.py", new_mark(), "look.py", files=["look.py"]))
    kinds = {line.split()[0] for line in found}
    assert {"file", "times", "shm", "sem", "msg", "variable", "abstract", "lock", "process"} <= kinds, found


@pytest.mark.core
def test_nothing_of_a_run_is_found_by_the_next(engine):
    mark = new_mark()
    left = lines(parked(engine, "leave.py", mark))
    assert {"shm", "sem", "msg", "abstract", "lock", "file in /tmp", "file in /work"} <= left, left
    assert lines(parked(engine, "look.py", mark)) == set()


def test_nothing_of_a_run_is_found_by_one_beside_it(engine):
    """The first has come as far as its marks and stays."""
    mark = new_mark()
    parked(engine, "look.py", mark)
    words = support.command("run", "--file", PROGRAMS / "leave.py", "--file", PROGRAMS / "stay.py", "--", mark, "stay.py",
                            caller=engine.caller)
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=engine.environment())
    try:
        assert process.stdout.readline() == b"marks are left\n"
        assert lines(parked(engine, "look.py", mark)) <= KNOWN_CHANNELS
        assert lines(program(engine, "look.py", mark, options=["--policy", "strict"])) == set()
    finally:
        process.communicate(timeout=support.DEADLINE)
    assert process.returncode == 0


# Memory


def test_the_scan_finds_what_is_in_memory(engine):
    word = new_mark()
    result = program(engine, "scan.py", f"{word[:16]},{word[16:]}", options=["--env", "KEEP=1"])
    assert lines(result) == {f"found {word[:16]}"}


def test_no_memory_of_an_earlier_run_nor_of_the_engine(place):
    """The engine's variables, and program, input, argument and variable of a run, are looked for by the next."""
    words = {name: new_mark() for name in ("engine", "code", "stdin", "argument", "variable", "output")}
    with engines.Engine(place / "scan", env={"OURS": words["engine"]}) as engine:
        code = f"secret = '{words['code']}' * 1000\nprint('{words['output']}' * 1000)\ninput()\n"
        engine.parked(lambda: engine.python(code, "--env", f"THEIRS={words['variable']}", words=[words["argument"]],
                                            stdin=words["stdin"].encode() * 1000))
        halves = [f"{word[:16]},{word[16:]}" for word in words.values()]
        assert lines(parked(engine, "scan.py", *halves)) == set()


# Whoever made the sandbox


def reached(result):
    """What reach.py could do, by process."""
    found = {}
    for line in lines(result):
        pid, what = line.split()[:2]
        found.setdefault(pid, set()).add(what)
    return found


def test_the_reach_is_as_long_as_it_should_be(engine):
    """It gets at a process of its own, and signals it."""
    found = reached(parked(engine, "reach.py", "child"))
    (child,) = found.pop("child")
    assert found.pop("signal") and set(found) == {child}
    assert {"mem", "environ", "maps", "exe", "cwd", "fd", "ns"} <= found[child]


def test_the_first_process_is_seen_where_it_is_left_unguarded(place):
    """As far as the list of its descriptors: it has capabilities that the program has not, which guard the rest."""
    without = {"SANDBOX_RUN_TEST_WITHOUT": "undumpable"}
    with engines.Engine(place / "open", env=without, hooks=True) as engine:
        found = reached(parked(engine, "reach.py", env=without))
        assert "fd" in found["1"], found


@pytest.mark.core
def test_nobody_outside_is_reached(engine):
    for _ in range(3):
        result = parked(engine, "reach.py")
        assert result["outcome"] == "exited" and result["stdout"] == "", result
    assert engine.answers()["startup"] != "cold"


@pytest.mark.parametrize("language, code", [
    ("python", "import os; print(sorted(os.listdir('/proc/self/fd')), os.getppid(), os.getpgid(0) == "
               "os.getpid(), os.getsid(0) == os.getpid())"),
    ("bash", "echo /proc/self/fd/*; echo $PPID; cat /proc/self/environ | tr '\\0' '\\n' | sort"),
    ("javascript", "console.log(require('fs').readdirSync('/proc').filter(n => /^[0-9]+$/.test(n)).length < 4, "
                   "JSON.stringify(process.env))"),
], ids=["python", "bash", "javascript"])
def test_what_surrounds_the_program_is_as_in_the_cold_path(engine, language, code):
    cold = engine.code(language, code, "--cold")
    warm = engine.parked(lambda: engine.code(language, code))
    assert (warm["stdout"], warm["stderr"]) == (cold["stdout"], cold["stderr"])


# Chance

PYTHON = """import json, random, secrets, uuid, tempfile, ssl, os
print(json.dumps([random.random(), random.Random().random(), secrets.token_hex(8), str(uuid.uuid4()),
                  os.urandom(8).hex(), ssl.RAND_bytes(8).hex(), next(tempfile._get_candidate_names())]))
"""
JAVASCRIPT = """console.log(JSON.stringify([Math.random(), require('crypto').randomUUID(),
                            require('crypto').randomBytes(8).toString('hex')]))
"""
JAVA = """public class Main { public static void main(String[] a) {
    System.out.println("[" + Math.random() + ", " + new java.util.Random().nextLong() + ", \\"" + java.util.UUID.randomUUID()
        + "\\", " + new java.security.SecureRandom().nextLong() + ", "
        + java.util.concurrent.ThreadLocalRandom.current().nextLong() + ", " + new Object().hashCode() % 1 + "]"); } }
"""
BASH = """echo "[$RANDOM$RANDOM, $SRANDOM, \\"$(mktemp -u)\\"]"
"""


@pytest.mark.parametrize("language, code, same", [
    ("python", PYTHON, ()), ("javascript", JAVASCRIPT, ()), ("java", JAVA, (5,)), ("bash", BASH, ()),
], ids=["python", "javascript", "java", "bash"])
def test_no_two_runs_draw_the_same(engine, language, code, same):
    engine.parked(lambda: engine.code(language, code))
    runs = [json.loads(engine.code(language, code)["stdout"]) for _ in range(FEWER.get(language, RUNS))]
    for column, drawn in enumerate(zip(*runs)):
        assert column in same or len(set(drawn)) == len(runs), (column, drawn)


# Harm


def test_a_program_that_does_not_read_its_stdin_harms_nobody(engine):
    big = b"x" * (4 << 20)
    for code in ("pass", "import os; os._exit(0)", "import os; os.close(0)"):
        result = engine.parked(lambda code=code: engine.python(code, stdin=big))
        assert (result["outcome"], result["exit_code"]) == ("exited", 0), result
    engine.answers()


@pytest.mark.parametrize("code", [
    "import os\nwhile True:\n    os.fork()",
    "x = []\nwhile True:\n    x.append(' ' * 1000000)",
    "open('/tmp/x', 'wb').write(b'x' * (1 << 30))",
    "import os\nwhile True:\n    os.write(1, b'x' * 65536)",
    "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "import os\nfor fd in range(3, 200):\n    os.close(fd) if os.path.exists(f'/proc/self/fd/{fd}') else None",
], ids=["processes", "memory", "disk", "output", "stopped", "descriptors"])
def test_a_program_that_wants_too_much_harms_nobody(engine, code):
    engine.parked(lambda: engine.python(code, "--timeout", "300ms", "--grace", "0ms", "--memory", "64m", "--pids", "30"))
    engine.answers()
