"""JavaScript and TypeScript in a Node that was started before its program was known: every byte is that of a run of its own."""
import pathlib
import re

import pytest

import engine as engines
import support
import yaml_text

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs" / "node"
COMPARED = ("outcome", "exit_code", "signal", "stdout", "stderr", "explanation", "diagnosis")
SLOWLY = 600  # seconds: the first run of TypeScript fetches its compiler


def programs():
    for path in sorted(PROGRAMS.glob("*.yaml")):
        for case in yaml_text.load(path.read_text()):
            yield pytest.param(path.stem, case, id=f"{path.stem}: {case['name']}")


def words_of(language, case, folder):
    """The program and its options, as on a command line."""
    words = ["--lang", language]
    for variable in case.get("env", []):
        words += ["--env", variable]
    if "code" in case:
        words += ["--code", case["code"]]
    for name, text in case.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if "files" in case:
        words.append(folder)
    return [*words, "--", *case.get("args", [])]


def compared(result, unsteady=None):
    """All but the number of the process, which Node puts before its warnings, and the lines of `unsteady`."""
    found = {name: result.get(name) for name in COMPARED}
    stderr = re.sub(r"^\(node:\d+\)", "(node:PID)", found["stderr"], flags=re.M)
    if unsteady:
        stderr = re.sub(rf"^{unsteady}\n", "", stderr, flags=re.M)
    return {**found, "stderr": stderr}


@pytest.mark.table
@pytest.mark.parametrize("language, case", programs())
def test_a_program_does_the_same(engine, folder, language, case):
    words = words_of(language, case, folder)
    stdin = (case.get("stdin", "") * case.get("times", 1)).encode()
    cold = engine.result_of("run", "--cold", *words, stdin=stdin, timeout=SLOWLY)
    warm = engine.parked(lambda: engine.result_of("run", *words, stdin=stdin))
    assert compared(warm, case.get("unsteady")) == compared(cold, case.get("unsteady"))


def javascript(engine, code, *options, **kwargs):
    return engine.parked(lambda: engine.code("javascript", code, *options, **kwargs))


def test_clocks_leave_out_the_waiting(engine):
    """Marks and measures count as the clock does."""
    code = """
        const start = performance.now();
        const since = performance.measure('m', { start });
        const mark = performance.mark('k', { startTime: start });
        console.log(process.uptime() < 3, start < 3000, Math.abs(performance.timeOrigin + start - Date.now()) < 100);
        console.log(since.startTime === start, since.duration < 100, mark.startTime === start);
    """
    assert javascript(engine, code)["stdout"] == "true true true\ntrue true true\n"


# In the main context, in new ones, in a worker thread, and all that comes from OpenSSL.
DRAWS = """
    const { Worker } = require('worker_threads');
    const crypto = require('crypto');
    const vm = require('vm');
    console.log(Math.random(), vm.runInNewContext('Math.random()'), vm.runInNewContext('Math.random()'));
    console.log(crypto.randomBytes(8).toString('hex'), crypto.randomUUID(), crypto.randomInt(2 ** 47));
    for (let i = 0; i < 2; i++)
        new Worker('console.log(Math.random(), require("crypto").randomUUID())', { eval: true });
"""


def test_every_run_has_its_own_randomness(engine):
    seen = [word for _ in range(4) for word in javascript(engine, DRAWS)["stdout"].split()]
    assert len(seen) == 4 * 10 and len(set(seen)) == len(seen)


def test_nothing_of_the_waiting_is_open(engine):
    """Descriptors are Node's own, none is the one that the program came by."""
    code = """
        const fs = require('fs');
        const links = fs.readdirSync('/proc/self/fd').map((fd) => { try { return fs.readlinkSync(`/proc/self/fd/${fd}`); } catch { return ''; } });
        console.log(links.filter((link) => link.startsWith('socket:')).length);
    """
    assert javascript(engine, code)["stdout"] == "0\n"


def test_the_limit_of_memory_bounds_garbage(engine):
    """What is alive fits, and V8 collects in time what is not."""
    code = """
        const alive = Array.from({ length: 100 }, (_, i) => 'x'.repeat(1 << 10).split('').map((c) => c + i));
        let garbage;
        for (let i = 0; i < 200; i++) garbage = Array.from({ length: 1 << 16 }, (_, k) => ({ k }));
        console.log(alive.length, garbage.length);
    """
    assert javascript(engine, code, "--memory", "128m")["stdout"] == f"100 {1 << 16}\n"


def test_variables_of_nodes_start_are_obeyed(engine):
    """Whether that takes a sandbox of its own or another Node in this one."""
    words = ["--lang", "javascript", "--env", "NODE_OPTIONS=--no-warnings --stack-trace-limit=1", "--code",
             "process.emitWarning('unheard');\n(function f() { throw new Error('short') })()"]
    cold, warm = (engine.result_of("run", *options, *words) for options in (["--cold"], []))
    assert compared(warm) == compared(cold)
    assert len(re.findall("^    at ", warm["stderr"], re.M)) == 1 and "Warning" not in warm["stderr"]


IS_COPY = "console.log(require('fs').readFileSync('/proc/self/cmdline', 'utf8').split('\\0').includes('zygote'))"


START = (
    "import * as fs from 'node:fs'; import * as v8 from 'node:v8';"
    "const young = v8.getHeapSpaceStatistics().find((s) => s.space_name === 'new_space')!;"
    "console.log(fs.readdirSync('/proc/self/task').length, young.space_used_size < 250_000,"
    " fs.promises.readFile.toString().includes('signal'))"
)


def test_a_module_begins_with_no_pool_of_threads_and_much_room(engine):
    threads = javascript(engine, "console.log(require('fs').readdirSync('/proc/self/task').length)")["stdout"].strip()
    module = engine.parked(lambda: engine.code("typescript", START))
    assert module["stdout"].split() == [threads, "true", "true"]


def test_a_node_that_cannot_be_copied_waits_in_each_sandbox(engine, place):
    """The old way, which an unknown Node takes by itself."""
    assert javascript(engine, IS_COPY)["stdout"] == "true\n"
    env = {"SANDBOX_RUN_TEST_WITHOUT": "blueprint-check,forked-node"}
    with engines.Engine(place / f"plain-{engine.caller}", engine.caller, ["--warm", ""], hooks=True, env=env) as plain:
        assert javascript(plain, IS_COPY, env=env)["stdout"] == "false\n"
        warm = javascript(plain, "console.log(process.argv.length); f()", env=env)
        cold = engine.code("javascript", "console.log(process.argv.length); f()", "--cold")
        assert compared(warm) == compared(cold)


def test_timers_do_not_count_the_waiting(engine):
    code = "const start = performance.now(); setTimeout(() => console.log(performance.now() - start >= 199), 200);"
    assert javascript(engine, code)["stdout"] == "true\n"


def test_a_signal_ends_a_program_in_its_own_way(engine):
    code = "process.on('SIGTERM', () => { console.log('asked'); process.exit(3); }); setInterval(() => {}, 1000);"
    words = ["--lang", "javascript", "--timeout", "2s", "--grace", "20s", "--code", code]
    cold = engine.result_of("run", "--cold", *words)
    warm = engine.parked(lambda: engine.result_of("run", *words))
    assert compared(warm) == compared(cold) and warm["stdout"] == "asked\n"


@pytest.mark.parametrize("language, code", [
    ("bash", "echo $0 $# \"$@\" $- $SHLVL; read x; echo $x; exit 5"),
    ("sh", "echo $0 $# \"$@\"; read x; echo $x; exit 5"),
    ("sql", "SELECT ?1, 1 + 1; SELECT nothing;"),
    ("lua", "print(arg[0], #arg, arg[1], io.read()); error('bad')"),
    ("ruby", "puts $0, ARGV.inspect, gets; raise 'bad'"),
    ("perl", "print \"$0 @ARGV \", scalar <STDIN>; die 'bad'"),
    ("php", "<?php print_r($argv); echo fgets(STDIN); throw new Exception('bad');"),
    ("r", "cat(commandArgs(TRUE), readLines('stdin', 1)); stop('bad')"),
])
def test_languages_without_a_driver_do_the_same(engine, language, code):
    words = ["--lang", language, "--code", code, "--", "one", "two words"]
    cold = engine.result_of("run", "--cold", *words, stdin=b"line\n")
    if "there is no" in str(cold.get("error", "")) or cold["outcome"] == "error":
        pytest.skip(f"{language} is not here")
    warm = engine.parked(lambda: engine.result_of("run", *words, stdin=b"line\n"))
    assert compared(warm) == compared(cold)
