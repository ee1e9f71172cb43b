"""One program through both paths: the results are equal, field for field, but for what is measured or drawn."""
import glob
import os
import pathlib

import pytest

import support
import yaml_text

LANGUAGES = {path.stem: yaml_text.load(path.read_text())
             for path in sorted(pathlib.Path(support.REPO, "languages").glob("*.yaml"))}
VARY = {"id", "execution_time", "cpu_time", "memory_used", "startup", "started_at", "total_ms", "_stderr"}
MEASURED = {"wall_ms", "cpu_user_ms", "cpu_system_ms", "cpu_percent", "peak_memory_bytes", "io_read_bytes", "io_write_bytes",
            "context_switches", "startup_ms", "queue_ms"}
SERVE = ["--park-min", "1"]  # each kind of run is used once or twice
SMALL = ("--timeout", "1500ms", "--grace", "0ms", "--memory", "64m", "--pids", "20", "--disk", "8m")

# Language, name, code, options.  Files and stdin are the same for all.
PYTHON = {
    "surroundings": "import sys, os; print(__name__, __file__, sys.argv, os.getcwd(), sys.stdin.read(), sys.path,"
                    " sorted(os.environ), sys.flags, __doc__, __spec__, __builtins__, sorted(globals()))",
    "modules": "import sys; print(sys.modules['__main__'].__dict__ is globals(), sys.executable, sys.stdout.encoding,"
               " sys.stdout.line_buffering, sys.stdin.fileno(), sys.orig_argv[-3:], sys.dont_write_bytecode)",
    "imports": "import helper, helper2.part; print(helper.__file__, helper.name, helper2.part.__name__)",
    "exit": "import sys; print('a', end=''); sys.exit(3)",
    "exit with words": "import sys; sys.exit('words')",
    "at exit": "import atexit; atexit.register(print, 'bye'); raise SystemExit(4)",
    "traceback": "def f(x):\n    return 1 / x\n\nf(0)\n",
    "chained": "try:\n    {}['x']\nexcept KeyError as e:\n    raise ValueError('bad') from e\n",
    "syntax error": "print(1\nx = = 2\n",
    "missing module": "import nothing_of_the_kind\n",
    "no newline, no end": "print('x', end='')",
    "interrupted": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "aborted": "import os; os.abort()",
    "fork": "import os\npid = os.fork()\nif not pid:\n    print('child', flush=True)\n    os._exit(7)\n"
            "print(os.waitpid(pid, 0)[1] >> 8)",
    "children": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.Pool(2) as p:\n        print(p.map(abs, [-1, 2]))",
    "spawned": "import multiprocessing as m, helper\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as p:\n"
               "        print(p.map(helper.twice, [4]))",
    "subprocess": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(6)'], capture_output=True))",
    "threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
               "t = threading.Thread(target=print, args=('in a thread',)); t.start(); t.join(); print(threading.active_count(),"
               " threading.main_thread() is threading.current_thread())",
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5\nprint(asyncio.run(f()))",
    "signals": "import signal; print([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD)],"
               " signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "limits": "import resource; print([(n, resource.getrlimit(getattr(resource, n))) for n in dir(resource) if"
              " n.startswith('RLIMIT')])",
    "identity": "import os; print(os.getuid(), os.getgid(), os.getgroups(), os.umask(0), os.nice(0),"
                " [l for l in open('/proc/self/status') if l.startswith(('Cap', 'NoNew', 'Seccomp', 'Sig'))])",
    "input": "print(input()); print(repr(input()))",
    "buffers": "import sys; sys.stderr.write('e'); sys.stdout.write('o'); sys.stdout.buffer.write(b'\\xff\\x00')",
    "refused file": "open('/usr/x', 'w')",
    "no such file": "open('/nothing/x')",
    "refused call": "import ctypes, os; os.mkdir('/tmp/x'); print(ctypes.CDLL(None, use_errno=True).mount(b'a', b'/tmp/x', b'tmpfs', 0, 0),"
                    " ctypes.get_errno())",
    "no network": "import socket; socket.create_connection(('192.0.2.1', 80), 1)",
    "timeout": "while True: pass",
    "memory": "x = bytearray(500 << 20)",
    "disk": "open('/tmp/x', 'wb').write(bytes(50 << 20))",
    "processes": "import os\nwhile True:\n    if not os.fork():\n        os.read(os.pipe()[0], 1)\n",
}
CASES = [("python", name, code, SMALL if name in ("timeout", "memory", "disk", "processes") else ())
         for name, code in PYTHON.items()]
CASES += [("python", "CPU time", "while True: pass", ("--cpu-time", "100ms")),
          ("python", "output", "while True: print('x' * 1000)", ("--max-output", "64k", "--timeout", "20s")),
          ("python", "strict", "import os; print(os.listdir('/proc/self/fd'))", ("--policy", "strict")),
          ("python", "localhost", "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.family)",
           ("--network", "localhost")),
          ("python", "work directory", "import os; print(os.getcwd(), __file__)", ("--workdir", "/tmp"))]
CASES += [("javascript", name, code, ()) for name, code in {
    "surroundings": "console.log(process.argv, process.argv0, process.cwd(), require.main === module, __filename,"
                    " process.execArgv, Object.keys(process.env).sort(), typeof require, this === module.exports)",
    "module": "import fs from 'fs'; console.log(import.meta.url, fs.readFileSync(0, 'utf8')); await null;",
    "exit code": "process.exitCode = 3; console.log('a')",
    "thrown": "function f() { throw new Error('bad'); }\nf();\n",
    "rejected": "Promise.reject(new Error('nobody caught it'))",
    "exit handler": "process.on('exit', c => console.log('exit', c)); setTimeout(() => process.exit(4), 5)",
    "syntax error": "console.log(1;\n",
    "signal": "process.kill(process.pid, 'SIGTERM')",
    "workers": "const { Worker } = require('worker_threads'); new Worker('console.log(5)', { eval: true })",
    "child": "console.log(require('child_process').execFileSync(process.execPath, ['-p', '1+1']).toString())",
    "stdin": "process.stdin.on('data', d => process.stdout.write(d)).on('end', () => console.log('end'))",
    "globals": "console.log(Object.getOwnPropertyNames(globalThis).sort().join())",
}.items()]
CASES += [("java", name, "public class Main { public static void main(String[] args) throws Exception {" + code + "} }", ())
          for name, code in {
    "surroundings": "System.out.println(String.join(\",\", args) + System.getProperty(\"user.dir\") + new String(System.in.readAllBytes()));",
    "exit": "Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(\"hook\"))); System.exit(3);",
    "thrown": "int[] a = {}; System.out.println(a[1]);",
    "daemon": "Thread t = new Thread(() -> { try { Thread.sleep(60000); } catch (InterruptedException e) { } }); t.setDaemon(true);"
              " t.start(); System.err.print(\"e\");",
    "does not compile": "int x = ;",
}.items()]
CASES += [("bash", "surroundings", "echo $0 $# $@ $$ $PPID; env | sort; pwd; ulimit -a; trap; cat; exit 3", ()),
          ("bash", "signal", "kill -9 $$", ()), ("sh", "missing", "nothing-of-the-kind", ()),
          ("c", "exit", '#include <stdio.h>\nint main(int c, char **v) { printf("%d %s\\n", c, v[0]); return 3; }', ()),
          ("c", "segfault", "int main(void) { return *(volatile int *)0; }", ()),
          ("c", "does not compile", "int main(void) { return x; }", ())]


def normal(value, key=None):
    """What must be the same: measured and drawn values become their type."""
    if isinstance(value, dict) and value.get("outcome") == "output_limit":
        value = {**value, **dict.fromkeys(("stdout_bytes", "stdout_omitted_bytes"), "what was written until the end came")}
    if key in VARY or key in MEASURED:
        return value is None
    if isinstance(value, dict):
        return {name: normal(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value


def differences(cold, warm, at=""):
    if isinstance(cold, dict) and isinstance(warm, dict):
        return [line for name in {**cold, **warm}
                for line in differences(cold.get(name, "absent"), warm.get(name, "absent"), f"{at}.{name}")]
    if isinstance(cold, list) and isinstance(warm, list) and len(cold) == len(warm):
        return [line for i, pair in enumerate(zip(cold, warm)) for line in differences(*pair, f"{at}[{i}]")]
    return [] if cold == warm else [f"{at}: cold {str(cold)[:2000]!r}, warm {str(warm)[:2000]!r}"]


def installed(language):
    return any(glob.glob(os.path.expanduser(pattern)) for pattern in LANGUAGES[language]["binaries"])


def directory_with(folder, code):
    """A program with modules beside it."""
    (folder / "helper2").mkdir(parents=True, exist_ok=True)
    for name, text in (("helper.py", "name = __name__\ndef twice(x):\n    return 2 * x\n"), ("helper2/part.py", ""),
                       ("main.py", code)):
        (folder / name).write_text(text)
    return folder


def compared(engine, language, *words, code, **kwargs):
    """Runs cold and, until the sandbox is one that had waited, warm.  Returns how the results differ, and the warm one.
    What is compiled is new to the store each time."""
    numbers = iter(range(10 ** 6))
    comment = COMMENTS.get(language)

    def run(*options):
        last = code[-1] + "\n" * FAR + f"{comment} {next(numbers)}\n" if comment else code[-1]
        return engine.result_of("run", *options, *code[:-1], last, *words, **kwargs)

    cold = run("--cold")
    warm = engine.parked(run)
    same = [normal(result) for result in (cold, warm)]
    for result in same:
        result["stages"] = [stage for stage in result["stages"] if stage["name"] != "prepare"]
    # A virtual machine starts as many threads as it likes; much output may start the one that writes it.
    if language not in COUNTED or any("while True: print" in str(word) for word in code):
        for result in same:
            for part in (result, *result["stages"]):
                del part["metrics"]["peak_processes"]
    return differences(*same), warm


COMMENTS = {"java": "//", "c": "//", "cpp": "//", "go": "//", "rust": "//", "typescript": "//"}
FAR = 10  # lines behind what a diagnosis shows
COUNTED = ("python", "bash", "sh", "c")


@pytest.mark.table
@pytest.mark.parametrize("language, name, code, options", CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_a_program_has_the_same_result(engine, place, language, name, code, options):
    if not installed(language):
        pytest.skip(f"{language} is not installed")
    what = ["--lang", language, "--code", code]
    if name in ("imports", "spawned"):
        what = [str(directory_with(place / name, code))]
    wrong, _ = compared(engine, language, *options, "--", "one", "two words", code=what, stdin=b"first\nsecond\n")
    assert not wrong, "\n".join(wrong)


@pytest.mark.group("selftests", weight=0)  # last, when every toolchain is ready: else this worker makes them once more
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_selftest_has_the_same_result(engine, name):
    language = LANGUAGES[name]
    if not installed(name):
        pytest.skip(f"{name} is not installed")
    test = language["selftest"]
    words = ["--lang", language["name"], "--code", test["code"]]
    stdin = test.get("stdin", "").encode()
    wrong, warm = compared(engine, name, code=words, stdin=stdin, timeout=300)  # a toolchain may have to be prepared
    assert not wrong and warm["stdout"] == test["stdout"], "\n".join(wrong)


# Metrics: what the warm-up used is not the run's.


@pytest.mark.parametrize("code, metric, least, most", [
    ("pass", "cpu_user_ms", 0, 60), ("pass", "cpu_system_ms", 0, 60), ("pass", "peak_memory_bytes", 0, 16 << 20),
    ("x = bytearray(40 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1", "peak_memory_bytes", 40 << 20, 60 << 20),
    ("pass", "peak_processes", 1, 1), ("import os\nif os.fork(): os.wait()", "peak_processes", 2, 2),
], ids=["user time", "system time", "memory", "memory of its own", "one process", "two processes"])
def test_the_warm_up_is_not_measured(engine, code, metric, least, most):
    warm = engine.parked(lambda: engine.python(code))
    assert least <= warm["metrics"][metric] <= most, warm["metrics"]


def test_cpu_time_is_the_programs(engine):
    code = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: sum(range(1000))"
    metrics = engine.parked(lambda: engine.python(code))["metrics"]
    assert 190 <= metrics["cpu_user_ms"] + metrics["cpu_system_ms"] <= 300, metrics


def test_the_footer_says_that_the_start_was_warm(engine):
    def run():
        words = ["run", "--text", "--lang", "bash", "--code", ":"]
        done = support.sandbox_run(*words, caller=engine.caller, hooks=engine.hooks, env=engine.variables())
        return {"startup": "parked" if b" warm start " in done.stderr else "cold", "said": done.stderr}

    engine.parked(run)
    cold = support.sandbox_run("run", "--cold", "--text", "--lang", "bash", "--code", ":", caller=engine.caller,
                               hooks=engine.hooks, env=engine.variables())
    assert b"warm" not in cold.stderr and b" start " in cold.stderr
