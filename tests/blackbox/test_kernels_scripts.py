"""The kernels of Perl, Lua, R and the other shells, spoken to as the supervisor does."""
import os
import signal

import pytest

import machine_gives
import support
from kernels import Kernel
from waiting import wait_until


def start(words, folder):
    machine_gives.skip_if(None if os.path.exists(words[0]) else f"{words[0]} is not installed")
    return Kernel(words, folder)


def pending(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.split(":\t", 1) for line in file if "Pnd" in line)


def loops(kernel, code):
    """A cell that does not end by itself is interrupted, and its children with it, as the supervisor does it."""
    kernel.begin(code)
    kernel.wait_for("begun")
    done = kernel.stop(group=True)
    assert done.status == "interrupted", (code, done)


PERL = ["/usr/bin/perl", "${driver}/session-perl.pl"]


@pytest.fixture(name="perl")
def perl_kernel(tmp_path):
    with start(PERL, tmp_path) as kernel:
        yield kernel


def test_perl_keeps_lexical_variables_and_shows_values(perl):
    assert perl.run("use strict; my $x = 5; my @l = (1, 2); my %h = (a => [1]); print \"hé\\n\";").out == "hé\n"
    for code, value in {"$x + 1": "6", "@l": "(1,2)", "$h{a}": "[1]", "\\%h": "{'a' => [1]}", "'é'": "'é'",
                        "my $y = 1; $y + $x # note": "6", "\"\\x{20ac}\"": "'€'", "{b => 2}": "{'b' => 2}"}.items():
        done = perl.run(code)
        assert (done.status, done.value, done.err) == ("ok", value, ""), code
    for code in ("$x;", "if ($x) { 1 }", "for my $i (1 .. 2) { $x += $i }", "undef", "sub twice { my $n = shift; 2 * $n }"):
        assert (perl.run(code).status, perl.run(code).shown) == ("ok", []), code
    assert perl.run("twice(21)").value == "42"
    assert perl.run("my $x = 'new'").value == "'new'" and perl.run("$x").value == "'new'"


def test_perl_names_the_lines_of_the_cell_in_an_error(perl):
    perl.run("sub f {\n  die 'no' if $_[0];\n}")
    done = perl.run("\nf(1)")
    assert (done.status, done.err) == ("error", "no at cell-1 line 2.\n")
    assert done.details["frames"] == [{"file": "cell-1", "line": 2, "function": ""}]
    assert perl.run("use strict;\n$nosuch = 1;").details["frames"][0] == {"file": "cell-3", "line": 2, "function": ""}
    assert perl.run("my $z = (").details["type"] == "SyntaxError"
    assert perl.run("die {code => 3}").err == "{'code' => 3}\n"


def test_perl_can_be_asked_and_is_interrupted(perl):
    perl.run("my $number = 5; my @list = (1);")
    for code, status in {"sub f {": "incomplete", "print 'a": "incomplete", "my $x =": "incomplete", "}": "invalid",
                         "$x + 1": "complete", "my $n = 1;": "complete"}.items():
        assert perl.ask("check", code)[0] == status, code
    assert perl.ask("complete", "é; $num", 8) == ("ok", {"matches": ["$number"], "start": 4})
    assert [(v["name"], v["value"]) for v in perl.ask("vars")[1]["vars"]] == [("$number", "5"), ("@list", "[1]")]
    perl.run("$number_of_main = 6; @others = (2); our %ours = (a => 1); sub no_variable { 1 }; $undefined")
    assert perl.ask("complete", "$num", 4)[1]["matches"] == ["$number", "$number_of_main"]
    assert [(v["name"], v["value"]) for v in perl.ask("vars")[1]["vars"]] == [
        ("$number", "5"), ("$number_of_main", "6"), ("%ours", "{'a' => 1}"), ("@list", "[1]"), ("@others", "[2]")]
    perl.interrupt()  # nothing runs
    for code in ("while (1) { }", "sleep 1000;", "system 'sleep 1000';"):
        loops(perl, f"$| = 1; print \"begun\\n\"; {code}")
    assert perl.run("$number").value == "5"
    assert perl.run("exit 3").details == {"code": 3}
    assert perl.process.wait() == 3


@pytest.mark.parametrize("code", [
    "close STDIN; close STDOUT; close STDERR;", "$SIG{INT} = 'IGNORE'; $SIG{__DIE__} = sub { exit 1 };", "fork;",
    "next;", "return 1;", "$/ = undef; $, = 'x'; $\\ = 'y';", "print \"done 1 ok 2\\n{}\";", "package Other; no strict;",
    "require POSIX; POSIX::close(1); POSIX::close(2);", "use strict; use warnings FATAL => 'all';", "select(STDERR);"])
def test_a_cell_in_perl_does_not_break_the_next(perl, code):
    perl.run("my $kept = 6;")
    perl.run(code)
    done = perl.run("print 'out'; print STDERR 'err'; $kept * 7")
    assert (done.out, done.err, done.value) == ("out", "err", "42")


LUA = ["/usr/bin/lua5.4", "${driver}/session-lua.lua", str(support.REPO / "build/src/live/session-lua.so")]


@pytest.fixture(name="lua")
def lua_kernel(tmp_path):
    with start(LUA, tmp_path) as kernel:
        yield kernel


def test_lua_keeps_globals_and_shows_values(lua):
    assert lua.run("x = 5; print('hé')").out == "hé\n"
    for code, value in {"x + 1": "6", "{1, 'a', b = {true}}": '{1, "a", b = {true}}', "1, nil": "1\tnil", "'é'": '"é"',
                        "local y = 3; return y * x": "15", "'\\255'": '"?"'}.items():
        assert lua.run(code).value == value, code
    assert lua.run("y").shown == [] and lua.run("local z = 1").shown == []
    lua.run("function f()\n  error('no')\nend")
    done = lua.run("f()")
    assert done.err == "lua: cell-10:2: no\nstack traceback:\n\tcell-10:2: in function 'f'\n"
    assert done.details["frames"] == [{"file": "cell-10", "line": 2, "function": "f"}]
    assert lua.run("x = = 3").details["type"] == "SyntaxError"
    assert lua.run("error({code = 3})").details["message"] == "{code = 3}"


def test_lua_can_be_asked_and_is_interrupted(lua):
    for code, status in {"function f(": "incomplete", "x = ": "incomplete", "[[": "incomplete", "end": "invalid",
                         "x + 1": "complete", "x = 1": "complete"}.items():
        assert lua.ask("check", code)[0] == status, code
    lua.run("number = 5")
    assert lua.ask("complete", "é; numb", 8) == ("ok", {"matches": ["number"], "start": 4})
    assert lua.ask("complete", "string.form", 11)[1] == {"matches": ["format"], "start": 7}
    assert lua.ask("vars")[1]["vars"] == [{"name": "number", "type": "number", "size": 1, "value": "5"}]
    lua.interrupt()  # nothing runs
    for code in ("while true do end", "os.execute('sleep 1000')", "io.popen('sleep 1000'):read('a')"):
        loops(lua, f"io.stdout:write('begun\\n') {code} x = 1")
    assert lua.run("number").value == "5"
    assert lua.run("os.exit(3)").details == {"code": 3}
    assert lua.process.wait() == 3


@pytest.mark.parametrize("code", ["io.stdout:close()", "print('done 1 ok 2\\n{}')", "pcall = nil; string.format = nil",
                                  "for name in pairs(_G) do if name ~= '_G' then _G[name] = nil end end",
                                  "setmetatable(_G, {__index = error, __newindex = error})", "debug.sethook()",
                                  "setmetatable({}, {__tostring = error})", "string.match = error; table.concat = error"])
def test_a_cell_in_lua_does_not_break_the_next(lua, code):
    lua.run(code)
    assert lua.run("6 * 7").value == "42"


SHELLS = {
    "sh": ["/usr/bin/bash", "${driver}/session-shell.sh", "sh", "/usr/bin/sh", "/usr/bin/sh", "-i", "+m"],
    "zsh": ["/usr/bin/bash", "${driver}/session-shell.sh", "zsh", "/usr/bin/zsh", "/usr/bin/zsh", "-f", "-i", "+m", "+Z",
            "-o", "no_prompt_sp", "-o", "no_prompt_cr"],
}


@pytest.fixture(name="shell", params=list(SHELLS))
def shell_kernel(tmp_path, request):
    words = SHELLS[request.param]
    machine_gives.skip_if(None if os.path.exists(words[3]) else f"{words[3]} is not installed")
    with start(words, tmp_path) as kernel:
        yield kernel


def test_shells_keep_variables_functions_and_their_directory(shell):
    assert shell.run("x=5 y='ü z'; greet() { echo \"$x $1\"; }").status == "ok"
    assert shell.run("greet \"$y\"; cd /usr").out == "5 ü z\n"
    assert shell.run("pwd; cat; ls /proc/self/fd | tr '\\n' ' '").out == "/usr\n0 1 2 3 "
    done = shell.run("true\nnosuch\nfalse")
    assert done.status == "error" and "cell-4:" in done.err and "nosuch" in done.err
    assert shell.run("if then").status == "error"
    assert shell.run("set -u; echo $undefined; echo on").out == ""
    assert shell.run("set +u; sleep 100 & echo $x").out == "5\n"
    assert [v["value"] for v in shell.ask("vars")[1]["vars"] if v["name"] == "x"] == ["5"]
    assert shell.ask("complete", "echo /usr/shar", 14)[1] == {"matches": ["/usr/share"], "start": 5}
    for code, status in {"for x in 1; do": "incomplete", "echo 'a": "incomplete", "cat <<E\na": "incomplete",
                         "echo a \\": "incomplete", "fi": "invalid", "echo a": "complete"}.items():
        assert shell.ask("check", code)[0] == status, code
    assert shell.run("exit 4").details == {"code": 4}
    assert shell.process.wait() == 4


def test_shells_are_interrupted_and_keep_their_state(shell):
    shell.run("x=5")
    shell.interrupt()  # nothing runs
    for code in ("sleep 1000", "while :; do :; done", "f() { while true; do sleep 1000; done; }; f", "sleep 1000 | cat"):
        assert shell.run("echo in").out == "in\n"
        loops(shell, f"echo begun; {code}\nx=9; echo never")
    assert shell.run("echo $x").out == "5\n"


def test_an_interrupt_before_a_shell_has_read_its_cell_ends_the_cell(shell):
    with open(f"/proc/{shell.process.pid}/task/{shell.process.pid}/children", encoding="ascii") as file:
        inner = int(file.read().split()[0])
    os.kill(inner, signal.SIGSTOP)
    shell.begin("sleep 1000")
    wait_until(lambda: list(shell.folder.glob(f".cells.*/cell-{shell.cell}")))
    shell.interrupt()
    wait_until(lambda: "SigPnd" in (status := pending(shell.process.pid)) and not int(status["ShdPnd"], 16))
    os.kill(inner, signal.SIGCONT)
    assert shell.end().status == "interrupted"
    assert shell.run("echo $((6 * 7))").out == "42\n"


@pytest.mark.parametrize("code", ["exec 0<&- 1>&- 2>&-", "trap '' INT", "echo 'done 1 ok 2'", "return 4", "exec 9>&-",
                                  "cd /; PATH=/usr/bin", "echo() { :; }"])
def test_a_cell_in_a_shell_does_not_break_the_next(shell, code):
    shell.run(code)
    assert shell.run("printf 'out\\n'").out == "out\n"
    loops(shell, "printf 'begun\\n'; sleep 1000")


R = ["/usr/bin/bash", "${driver}/session-relay.sh", "/usr/bin/Rscript", "--vanilla", "${driver}/session-r.R"]


def test_r_keeps_names_shows_values_and_plots(tmp_path):
    machine_gives.skip_if(None if os.path.exists(R[2]) else f"{R[2]} is not installed")
    with start(R, tmp_path) as r:
        assert r.run("x <- 5; cat('hé\\n')").out == "hé\n"
        assert [one["text/plain"] for one in r.run("x + 1; 'ü\"'; invisible(3)").shown] == ["[1] 6", '[1] "ü\\""']
        table = r.run("data.frame(a = 1:2, b = c('x', '<y>'))").shown[0]
        assert table["text/plain"] == "  a   b\n1 1   x\n2 2 <y>" and "<td>&lt;y></td>" in table["text/html"]
        r.run("f <- function(a) {\n  stop('no')\n}")
        done = r.run("\nf(1)")
        assert done.err == "Error in f(1) : no\n" and done.details["message"] == "no"
        assert [(f["file"], f["line"]) for f in done.details["frames"]] == [("cell-5", 2), ("cell-4", 2)]
        assert r.run("x <- (").details["type"] == "SyntaxError"
        assert r.run("plot(1:3)").shown[0]["image/png"].startswith("iVBORw0KGgo")
        r.run("sink('/dev/null')")
        assert r.run("6 * 7").value == "[1] 42"
        for code, status in {"f <- function(": "incomplete", "'a": "incomplete", "}": "invalid", "x + 1": "complete"}.items():
            assert r.ask("check", code)[0] == status, code
        assert r.ask("complete", "é; rowSu", 9) == ("ok", {"matches": ["rowSums"], "start": 4})
        assert [(v["name"], v["type"]) for v in r.ask("vars")[1]["vars"]] == [("f", "function"), ("x", "numeric")]
        r.interrupt()  # nothing runs
        for code in ("while (TRUE) {}", "Sys.sleep(1000)"):
            assert r.run("x").value == "[1] 5"
            loops(r, f"cat('begun\\n'); {code}; x <- 9")
        assert r.run("q(status = 3)").details == {"code": 3}
        assert r.process.wait() == 3
