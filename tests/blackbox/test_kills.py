"""A program that is killed after a line: the result has what strace saw the bare program write at a terminal."""
import concurrent.futures
import os
import pty
import re
import signal
import subprocess

import pytest

import language_tables
import support
from live_programs import read_until
from support import result_of
from waiting import SOON, started

# Each prints N lines and then ends by itself, eats memory or sleeps.
PROGRAMS = {
    "bash": ('for ((i = 1; i <= {n}; i++)); do echo "line $i"; done\n{end}',
             "kill -KILL $$", "x=xxxxxxxx; while :; do x=$x$x; done", "sleep 1000"),
    "c": ('#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n'
          'int main(void) {{ for (int i = 1; i <= {n}; i++) printf("line %d\\n", i); {end} }}',
          "*(volatile int *)0 = 1;",
          "for (;;) { volatile char *p = malloc(1 << 20); for (int i = 0; i < 1 << 20; i += 4096) p[i] = 1; }",
          "pause();"),
    "go": ('package main\nimport ("fmt"; "os"; "syscall"; "time")\nvar kept [][]byte\nfunc main() {{\n'
           '\tfor i := 1; i <= {n}; i++ {{ fmt.Println("line", i) }}\n\t{end}\n'
           '\t_, _, _ = os.Getpid, syscall.Kill, time.Sleep\n}}\n',
           "syscall.Kill(os.Getpid(), syscall.SIGKILL); select {}",
           "for { b := make([]byte, 1<<20); for i := range b { b[i] = 1 }; kept = append(kept, b) }",
           "time.Sleep(1000 * time.Second)"),
    "java": ('class Main {{ public static void main(String[] a) throws Exception {{\n'
             'for (int i = 1; i <= {n}; i++) System.out.println("line " + i);\n{end} }} }}',
             'new ProcessBuilder("kill", "-KILL", "" + ProcessHandle.current().pid()).start().waitFor();',
             None,  # ends by an exception of its own before it reaches the limit
             "Thread.sleep(1000000);"),
    "javascript": ('for (let i = 1; i <= {n}; i++) console.log(`line ${{i}}`);\n{end}',
                   "process.kill(process.pid, 'SIGKILL')",
                   "const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))", "setInterval(() => {}, 100000)"),
    "lua": ('for i = 1, {n} do io.write("line ", i, "\\n") end\n{end}',
            'os.execute("kill -KILL $PPID")', 'local t = {} while true do t[#t + 1] = ("x"):rep(1 << 20) .. #t end',
            'os.execute("sleep 1000")'),
    "perl": ('print "line $_\\n" for 1..{n};\n{end}',
             "kill 'KILL', $$;", 'my @a; push @a, "x" x (1 << 20) while 1;', "sleep;"),
    "python": ('for i in range(1, {n} + 1): print("line", i)\n{end}',
               "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
               "a = []\nwhile True: a.append(bytearray(1 << 20))", "import signal; signal.pause()"),
    "ruby": ('1.upto({n}) {{ |i| puts "line #{{i}}" }}\n{end}',
             "Process.kill(:KILL, $$)", 'a = []; loop {{ a << "x" * (1 << 20) + a.size.to_s }}', "sleep"),
}
KILL, EAT, SLEEP = 1, 2, 3
BARE = {"bash": ["bash"], "java": ["java"], "javascript": ["node"], "lua": ["lua5.4"], "perl": ["perl"],
        "python": ["python3"], "ruby": ["ruby"]}
COMPILERS = {"c": ["gcc", "-w", "-x", "c", "-o"], "go": ["go", "build", "-o"]}
MEMORY = {"go": "128m", "javascript": "300m"}
# Beyond 200 lines they may be in a block for some milliseconds (docs/buffering.md), unless the program ends itself:
# what ends it from outside has to wait.
FEW, MANY = (1, 2, 137), 2500


def counts(language):
    """Of lines, the last one for ends that need one number only.  What takes long to compile has no others."""
    return (MANY,) if language in ("go", "java") else (*FEW, MANY)


def program(language, n, end):
    return PROGRAMS[language][0].format(n=n, end=PROGRAMS[language][end].replace("{{", "{").replace("}}", "}"))


def traced(words, trace):
    """Runs the bare program at a terminal; returns the bytes that it wrote there, by strace."""
    ours, theirs = pty.openpty()
    name = os.ttyname(theirs)
    with subprocess.Popen(["strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "100000", "-e", "trace=write,writev", "-e", "signal=none",
                           "-o", trace, *words], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
                          env={**os.environ, "GODEBUG": "asyncpreemptoff=1"}) as process:  # no signals that repeat a call
        os.close(theirs)
        try:
            while os.read(ours, 1 << 16):
                pass
        except OSError:  # EIO: the last process has left the terminal
            pass
        os.close(ours)
        assert process.wait(SOON) != 0
    place = re.compile(r"writev?\(\d+<" + "".join(rf"(?:{re.escape(c)}|\\x{ord(c):02x})" for c in name) + r">")
    text = "".join(piece for line in trace.read_text().splitlines() if place.search(line)
                   for piece in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', place.split(line)[1]))
    return bytes.fromhex(text.replace("\\x", ""))


@pytest.fixture(scope="module", params=sorted(PROGRAMS))
def case(request, session_folder):
    """The language, and what its bare program writes for each number of lines."""
    language = request.param
    language_tables.need(language_tables.TABLES[language], "root")
    if not support.have("strace"):
        pytest.skip("needs strace")
    wrote = {}
    for n in counts(language):
        source = session_folder / f"killed-{n}.{language}"
        source.write_text(program(language, n, KILL))
        words = [*BARE.get(language, []), source]
        if language in COMPILERS:
            words = [source.with_suffix(".bare")]
            subprocess.run([*COMPILERS[language], *words, source], check=True)
        wrote[n] = traced(words, session_folder / f"trace-{n}.{language}")
        assert wrote[n] == b"".join(b"line %d\n" % i for i in range(1, n + 1))
    return language, wrote


def run(language, n, end, *options):
    result = result_of("run", *options, "--lang", language, "--code", program(language, n, end))
    return result["outcome"], result["stdout"].encode()


@pytest.mark.container
def test_nothing_is_missing_after_a_kill(root, case):
    language, wrote = case
    numbers = counts(language)
    memory = MEMORY.get(language, "64m")
    support.surroundings(root)  # makes its folders, which the threads share
    ends = [(n, KILL, (), "signaled") for n in numbers]
    ends += [(n, SLEEP, ("--timeout", "4s"), "timeout") for n in numbers[-2:]]
    if PROGRAMS[language][EAT]:
        few = numbers[-2:][0]
        ends += [(few, EAT, ("--memory", memory), "memory_limit")]
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        done = list(threads.map(lambda row: run(language, row[0], row[1], *row[2]), ends))
    assert done == [(outcome, wrote[n]) for n, _, _, outcome in ends]


@pytest.mark.container
def test_nothing_is_missing_after_an_interrupt(root, case):
    language, wrote = case
    with started("run", "--lang", language, "--code", program(language, MANY, SLEEP)) as process:
        assert read_until(process.stdout, wrote[MANY][-10:]) == wrote[MANY]
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b""
        assert process.wait(SOON) != 0
