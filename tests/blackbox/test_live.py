"""Each line arrives when it is printed, also in a pipe, and what was printed survives every end."""
import json
import signal
import subprocess

import pytest

import language_tables
import live_programs
from live_programs import read_until
from support import result_of, sandbox_run
from waiting import SOON, started, wait_until

BURST = 1000  # lines: more than are written one by one
PYTHON_BURST = f"for i in range({BURST}): print(i)\n"
C_BURST = f'#include <stdio.h>\n#include <unistd.h>\nint main(void) {{ for (int i = 0; i < {BURST}; i++) printf("%d\\n", i);\n'
LINES = "".join(f"{i}\n" for i in range(BURST)).encode()


@pytest.mark.parametrize("language", sorted(live_programs.CONVERSATIONS))
def test_lines_and_prompts_arrive_when_they_are_printed(root, language):
    language_tables.need(language_tables.TABLES[language], "root")
    with started("run", "--lang", language, "--code", live_programs.CONVERSATIONS[language],
                 stderr=subprocess.DEVNULL) as process:
        live_programs.talk(process, language)


def test_every_language_has_a_conversation():
    assert set(live_programs.CONVERSATIONS) == set(language_tables.SHIPPED)


BUSY = {
    "python": PYTHON_BURST + "while True: pass",
    "c": C_BURST + "for (;;) ; }",
    "c++": f'#include <iostream>\nint main() {{ for (int i = 0; i < {BURST}; i++) std::cout << i << "\\n"; for (;;) asm(""); }}',
    "lua": f'for i = 0, {BURST - 1} do io.write(i, "\\n") end while true do end',
    "perl": f'print "$_\\n" for 0..{BURST - 1}; 1 while 1;',
    "ruby": f'0.upto({BURST - 1}) {{ |i| puts i }}; loop {{}}',
}


@pytest.mark.parametrize("language", BUSY)
def test_a_burst_arrives_although_the_program_then_only_computes(caller, language):
    with started("run", "--lang", language, "--code", BUSY[language], caller=caller) as process:
        assert read_until(process.stdout, LINES[-4:]) == LINES
        process.send_signal(signal.SIGTERM)
        process.wait(SOON)


ENDS = {
    "timeout": ("while True: pass", "for (;;) ;", ("--timeout", "1500ms")),
    "memory_limit": ("x = [bytearray(1 << 20) for _ in range(500)]",
                     "for (;;) { volatile char *p = malloc(1 << 20); for (int i = 0; i < 1 << 20; i += 4096) p[i] = 1; }",
                     ("--memory", "64m")),
    "signaled": ("import ctypes; ctypes.string_at(0)", "*(volatile int *)0 = 1;", ()),
}


@pytest.mark.parametrize("language", ["python", "c"])
@pytest.mark.parametrize("outcome", ENDS)
def test_what_was_printed_before_the_end_is_in_the_result(caller, outcome, language):
    in_python, in_c, options = ENDS[outcome]
    code = {"python": f'print("before")\n{in_python}',
            "c": f'#include <stdio.h>\n#include <stdlib.h>\nint main(void) {{ printf("before\\n"); {in_c} }}'}[language]
    result = result_of("run", *options, "--lang", language, "--code", code, caller=caller)
    assert (result["outcome"], result["stdout"]) == (outcome, "before\n")


WAITS = {
    "python": "print('before')\nopen('/shared/ready', 'w')\nwhile True: pass",
    "c": '#include <stdio.h>\nint main(void) { printf("before\\n"); fopen("/shared/ready", "w"); for (;;) ; }',
}


@pytest.mark.parametrize("language", WAITS)
def test_what_was_printed_before_an_interrupt_is_in_the_result(root, folder, language):
    with started("run", "--json", "-v", f"{folder}:/shared:rw", "--lang", language, "--code", WAITS[language]) as process:
        assert wait_until((folder / "ready").exists, live_programs.SECONDS)
        process.send_signal(signal.SIGINT)
        result = json.loads(process.stdout.read())
    assert (result["outcome"], result["stdout"]) == ("cancelled", "before\n")


def printed(*options, language="c", code):
    done = sandbox_run("run", *options, "--lang", language, "--code", code)
    return done.stdout


CRASH = '#include <stdio.h>\nint main(void) { printf("before\\n"); __builtin_trap(); }'


def test_buffered_leaves_the_program_alone(root):
    assert printed(code=CRASH) == b"before\n"
    assert printed("--buffered", code=CRASH) == b""
    shown = "import sys; print(sys.stdout.line_buffering, 'write' in vars(sys.stdout.buffer.raw))"
    assert printed(language="python", code=shown) == b"True True\n"
    assert printed("--buffered", language="python", code=shown) == b"False False\n"
    request = json.dumps({"language": "c", "code": CRASH, "buffered": True}).encode()
    assert sandbox_run("run", "--request", "-", stdin=request).stdout == b""


def test_a_static_program_and_other_modes_of_the_compiler_are_left_alone(root):
    assert printed("--compile-arg=-static", code=CRASH) == b""
    assert printed("--compile-arg=-fsanitize=undefined", code=CRASH) == b"before\n"


@pytest.mark.parametrize("language, code", [
    ("c", '#include <stdio.h>\nextern char **environ;\nint main(void) { for (char **e = environ; *e; e++) puts(*e); }'),
    ("lua", 'for line in io.lines("/proc/self/environ") do end io.write(os.getenv("LD_PRELOAD") or "none", "\\n")\n'
            'os.execute("env")'),
    ("python", "import os, subprocess; print(os.environ, flush=True); subprocess.run(['env'])"),
    ("ruby", "puts ENV.to_h; system('env')"),
    ("perl", 'print map { "$_=$ENV{$_}\\n" } sort keys %ENV; print keys %INC; system("env")'),
])
def test_the_program_and_its_children_see_nothing_of_it(root, language, code):
    language_tables.need(language_tables.TABLES[language], "root")
    shown = printed(language=language, code=code)
    assert b"LD_PRELOAD" not in shown and b"/driver" not in shown and b"SANDBOX_RUN" not in shown, shown


# Each of these prints in a way of its own, and must print the same bytes as without live.o.
WAYS = {
    "reopened": 'printf("one\\n"); freopen("/work/f", "w", stdout); printf("two\\n"); fclose(stdout); return printf("x");',
    "wide": 'wprintf(L"one %d\\n", 1); fputws(L"two\\n", stdout); putwchar(L\'x\'); return fwide(stdout, 0) > 0;',
    "own buffer": 'static char b[1 << 16]; setvbuf(stdout, b, _IOFBF, sizeof(b)); printf("a\\n"); write(1, "b\\n", 2);',
    "forked": 'for (int i = 0; i < 3000; i++) printf("%d\\n", i); fflush(stdout);\n'
              'if (!fork()) { for (int i = 0; i < 3000; i++) printf("c%d\\n", i); exit(0); } wait(0); printf("p\\n");',
    "unlocked": 'for (int i = 0; i < 300000; i++) { putchar_unlocked(\'a\' + i % 26); if (i % 10 == 9) putchar_unlocked(10); }',
    "blocks": 'static char b[70000]; for (int i = 0; i < 50; i++) { fwrite(b, 1, 70000, stdout); puts("x"); }',
    "no end of line": 'for (int i = 0; i < 9999; i++) puts("x"); printf("%d %ld", fileno(stdout), ftell(stdout));',
}


@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_are_the_same_with_and_without(root, way):
    code = ("#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include <wchar.h>\n#include <sys/wait.h>\n"
            f"int main(void) {{ {WAYS[way]} }}")
    results = [result_of("run", *options, "--lang", "c", "--code", code) for options in ((), ("--buffered",))]
    live, bare = ({name: result[name] for name in ("stdout", "stderr", "exit_code", "outcome")} for result in results)
    assert live == bare


# Each way by which what was printed must be in the pipe before something else is, in the middle of many lines.
ORDERS = {
    "perl": ("$| = 1;", r'''
use IO::Handle;
for my $i (1..3000) { print "line $i\n"; }
print STDERR "err\n";
system("echo child");
for my $i (1..3000) { print "more $i\n"; }
my $pid = fork(); if (!$pid) { for my $i (1..3000) { print "c $i\n" } exit 0 } waitpid $pid, 0;
print "after\n";
open(my $copy, ">&STDOUT"); $copy->autoflush(1);
for my $i (1..500) { print "x $i\n"; print $copy "y $i\n"; }
for my $i (1..3000) { print "z $i\n"; }
print "x" x 100000, "\n";
print `echo back`;
open(STDOUT, ">", "/tmp/f"); print "file\n"; close STDOUT; open(STDOUT, ">&", $copy); print "again\n" for 1..3000;
syswrite(STDOUT, "sys\n");
for my $i (1..3000) { print "e $i\n"; }
exec "echo", "exec";
'''),
    "ruby": ("$stdout.sync = true;", r'''
3000.times { |i| puts "line #{i}" }
$stderr.puts "err"
system("echo child")
3000.times { |i| puts "more #{i}" }
pid = fork { 3000.times { |i| puts "c #{i}" } }
Process.wait pid
puts "after"
copy = $stdout.dup
copy.sync = true
500.times { |i| puts "x #{i}"; copy.puts "y #{i}" }
3000.times { |i| puts "z #{i}" }
puts "x" * 100000
puts `echo back`
system("echo to err", out: :err)
3000.times { |i| puts "q #{i}" }
File.write("/tmp/in", "copied\n")
IO.copy_stream("/tmp/in", $stdout)
4.times.map { |k| Thread.new { 2000.times { $stdout.write("t\n") } } }.each(&:join)
3000.times { |i| puts "e #{i}" }
$stdout.reopen(copy)
3000.times { |i| puts "r #{i}" }
exec "echo", "exec"
'''),
}


@pytest.mark.parametrize("language", ORDERS)
def test_many_lines_stay_in_the_order_of_the_program(root, language):
    """The same bytes as from a program that itself has every line written."""
    language_tables.need(language_tables.TABLES[language], "root")
    itself, code = ORDERS[language]
    wanted = printed("--buffered", language=language, code=itself + code)
    assert printed(language=language, code=code) == wanted and wanted.endswith(b"exec\n")


SPINS = "BEGIN { print \"one\"; while (1) ; }"
COMMANDS = {
    "python -u": ((), ["python3", "-u", "-c", "print('one')\nwhile True: pass"], b"one\n"),
    "stdbuf": ((), ["stdbuf", "-oL", "awk", SPINS], b"one\n"),
    "terminal": (("--tty",), ["awk", SPINS], b"one\r\n"),
}


@pytest.mark.parametrize("way", COMMANDS)
def test_commands_are_live_by_the_ways_that_the_manual_names(root, way):
    options, command, line = COMMANDS[way]
    with started("exec", "-q", *options, "--", *command) as process:
        assert read_until(process.stdout, b"\n", SOON) == line
        process.send_signal(signal.SIGTERM)
        process.wait(SOON)


@pytest.mark.parametrize("language", ["c", "lua", "perl"])
def test_without_room_for_a_thread_every_line_is_written(root, language):
    """The thread is asked for once, and the refusal is in the result."""
    code = {"c": C_BURST + "return 0; }", "lua": f'for i = 0, {BURST - 1} do io.write(i, "\\n") end',
            "perl": f'print "$_\\n" for 0..{BURST - 1};'}[language]
    result = result_of("run", "--pids", "1", "--lang", language, "--code", code)
    assert (result["outcome"], result["stdout"].encode()) == ("exited", LINES)
    assert [denial["count"] for denial in result["denials"]] == [1]
