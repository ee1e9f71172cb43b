"""The kernels of sessions: one driver per language, spoken to as the supervisor does."""
import base64
import os
import re
import select

import pytest

import machine_gives
from kernels import SOON, Kernel

PYTHON = ["/usr/bin/python3", "-B", "-s", "${driver}/session-python.py"]


def start(words, folder, env=None):
    machine_gives.skip_if(None if os.path.exists(words[0]) else f"{words[0]} is not installed")
    return Kernel(words, folder, env)


@pytest.fixture(name="python")
def python_kernel(tmp_path):
    with start(PYTHON, tmp_path) as kernel:
        yield kernel


def test_python_keeps_names_and_shows_the_last_expression(python):
    assert python.run("x = 40\nprint('hello')").out == "hello\n"
    done = python.run("x += 2\nx")
    assert (done.status, done.value, done.out, done.err) == ("ok", "42", "", "")
    assert python.run("None").shown == []
    assert python.run("x;").shown == []
    assert python.run("_ + 1").value == "43"


def test_python_names_the_lines_of_the_cell_in_an_error(python):
    python.run("def divide(a, b):\n    return a / b")
    done = python.run("divide(1, 0)")
    assert done.status == "error"
    assert done.details["type"] == "ZeroDivisionError"
    assert [(f["file"], f["line"], f["function"]) for f in done.details["frames"]] == [
        ("cell-2", 1, "<module>"), ("cell-1", 2, "divide")]
    assert 'File "cell-1", line 2, in divide\n    return a / b' in done.err
    assert "session-python" not in done.err
    done = python.run("if x\n")
    assert done.details["type"] == "SyntaxError" and done.details["frames"][0]["file"] == "cell-3"


def test_python_shows_bundles(python):
    done = python.run("""
class Table:
    def __repr__(self): return "a table"
    def _repr_html_(self): return "<table></table>"
    def _repr_png_(self): return b"png"
    def _repr_svg_(self): raise ValueError
    def _repr_json_(self): return {"rows": 1}
display(Table())
Table()
""")
    assert done.shown == 2 * [{"text/plain": "a table", "text/html": "<table></table>",
                               "image/png": base64.b64encode(b"png").decode(), "application/json": {"rows": 1}}]


def test_python_awaits_at_the_top(python):
    python.run("import asyncio\nasync def twice(n):\n    await asyncio.sleep(0)\n    return 2 * n")
    assert python.run("await twice(21)").value == "42"
    assert python.run("y = await twice(4)\nasync with asyncio.Lock():\n    y += 1\ny").value == "9"


def test_python_is_interrupted_and_keeps_its_state(python):
    python.run("x = 1")
    python.interrupt()  # nothing runs
    python.begin("x = 2; print('begun', flush=True)\nwhile True: pass")
    python.wait_for("begun")
    python.interrupt()
    done = python.end()
    assert done.status == "interrupted" and "KeyboardInterrupt" in done.err
    assert python.run("x").value == "2"


def test_python_can_be_asked(python):
    assert python.ask("check", "for x in y:") == ("incomplete", {"indent": "    "})
    assert python.ask("check", "for x in y:\n    pass")[0] == "incomplete"
    assert python.ask("check", "for x in y:\n    pass\n")[0] == "complete"
    assert python.ask("check", "await f(")[0] == "incomplete"
    assert python.ask("check", "x = )")[0] == "invalid"
    assert python.ask("check", "x = 1")[0] == "complete"
    python.run("number = 5\nimport json")
    assert python.ask("complete", "print(num", 9) == ("ok", {"matches": ["number"], "start": 6})
    assert python.ask("complete", "é; json.du", 11)[1] == {"matches": ["json.dump(", "json.dumps("], "start": 4}
    variables = python.ask("vars")[1]["vars"]
    assert [(v["name"], v["type"], v["value"]) for v in variables] == [("number", "int", "5")]


def test_python_reloads_changed_modules(python, tmp_path):
    module = tmp_path / "part.py"
    module.write_text("value = 1\n")
    assert python.run("import part\npart.value").value == "1"
    module.write_text("value = 22\n")
    assert python.ask("reload") == ("ok", {"modules": ["part"]})
    assert python.run("part.value").value == "22"


def test_python_goes_back_to_saved_states(python):
    python.run("x = [1]")
    assert python.ask("checkpoint", number=2) == ("ok", {})
    python.run("x.append(2)")
    assert python.ask("checkpoint", number=3) == ("ok", {})
    python.run("x.append(3)")
    assert python.ask("rollback", number=2) == ("ok", {})
    assert python.run("x").value == "[1]"
    assert python.ask("rollback", number=3)[0] == "invalid"
    python.begin("print('begun', flush=True)\nwhile True: pass")
    python.wait_for("begun")
    python.interrupt()  # of the process that was started first
    assert python.end().status == "interrupted"
    assert python.run("exit(5)").details == {"code": 5}
    assert python.process.wait() == 5


@pytest.mark.parametrize("code", [
    "import sys; sys.stdout = sys.stderr = None",
    "import sys; sys.stdout.close(); sys.stderr.close()",
    "import os; os.close(0); os.close(1); os.close(2)",
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.pthread_sigmask(0, [signal.SIGINT])",
    "import os, json; os.write = os.read = json.dumps = None",
    "import os\nif os.fork() == 0: raise ValueError",
    "import os; os.fork() or os.execv('/bin/true', ['true'])",
    "print('done 1 ok 2\\n{}')",
    "import builtins; del builtins.print",
    "class E(BaseException):\n    def __str__(self): raise self\nraise E",
    "import os; [os.set_blocking(n, False) for n in range(3)]",
])
def test_a_cell_in_python_does_not_break_the_next(python, code):
    python.run(code)
    assert python.run("import sys; sys.stdout.write('out'); sys.stderr.write('err'); 6 * 7").value == "42"
    python.begin("import sys; sys.stdout.write('begun\\n')\nwhile True: pass")
    python.wait_for("begun")
    python.interrupt()
    assert python.end().status == "interrupted"


def test_a_cell_in_python_that_takes_the_channel_ends_the_session(python):
    python.begin("import os; os.closerange(3, 1024)")
    with pytest.raises(EOFError):
        python.end()


def test_python_exits_as_the_cell_says(python):
    done = python.run("import sys; sys.exit('no')")
    assert (done.status, done.details, done.err) == ("exit", {"code": 1}, "no\n")
    assert python.process.wait() == 1


BASH = ["/usr/bin/bash", "${driver}/session-bash.sh"]


@pytest.fixture(name="bash")
def bash_kernel(tmp_path):
    with start(BASH, tmp_path) as kernel:
        yield kernel


def test_bash_keeps_variables_functions_and_its_directory(bash):
    assert bash.run("x=5 y='ü'; declare -A map=([a]=1); greet() { echo \"$x $1\"; }").status == "ok"
    assert bash.run("greet $y; cd /usr; echo ${map[a]}").out == "5 ü\n1\n"
    assert bash.run("pwd; cd - >/dev/null; pwd").out == f"/usr\n{bash.folder}\n"
    done = bash.run("true\nnosuch\nfalse")
    assert (done.status, done.err) == ("error", "cell-4: line 2: nosuch: command not found\n")
    assert "cell-5: line 1: syntax error" in bash.run("if then").err
    assert bash.run("set -u").status == "ok"
    assert bash.run("sleep 100 & echo $!; jobs | wc -l").out.endswith("\n1\n")
    assert bash.run("kill %1; wait %1; echo $?").out == "143\n"
    assert bash.run("cat; ls /proc/self/fd").out == "0\n1\n2\n3\n"
    assert bash.run("exit 4").details == {"code": 4}
    assert bash.process.wait() == 4


@pytest.mark.parametrize("code", ["sleep 1000", "while :; do :; done", "f() { while true; do sleep 1000; done; }; f",
                                  "cat <(sleep 1000)", "eval 'g() { for i in 1 2 3; do sleep 1000; done; }; g | cat'"])
def test_bash_is_interrupted_and_keeps_its_state(bash, code):
    bash.interrupt()
    bash.run(":")  # now the signal has come, perhaps during this cell
    bash.begin(f"x=2; echo begun\n{code}\nx=3; echo never")
    bash.wait_for("begun")
    done = bash.stop()
    assert (done.status, done.out) == ("interrupted", "")
    assert bash.run("echo $x").out == "2\n"


def test_bash_can_be_asked(bash):
    for code, status in {"for x in 1; do": "incomplete", "echo 'a": "incomplete", "cat <<E\na": "incomplete",
                         "echo a \\": "incomplete", "fi": "invalid", "echo a": "complete"}.items():
        assert bash.ask("check", code)[0] == status, code
    bash.run("number=5 list=(a b)")
    assert bash.ask("complete", "echo $num", 9)[1] == {"matches": ["$number"], "start": 5}
    assert "printf" in bash.ask("complete", "é; print", 9)[1]["matches"]
    assert [(v["name"], v["type"]) for v in bash.ask("vars")[1]["vars"]] == [("list", "array"), ("number", "text")]


@pytest.mark.parametrize("code", ["exec 0<&- 1>&- 2>&-", "trap '' INT", "printf 'done 1 ok 2\\n{}'", "set -u; PATH=/usr/bin",
                                  "IFS=0123456789", "read() { :; }; printf() { :; }", "cd /; rm -r \"$OLDPWD\""])
def test_a_cell_in_bash_does_not_break_the_next(bash, code):
    bash.run(code)
    assert bash.run("echo out; echo err >&2").out == "out\n"
    bash.begin("echo begun; sleep 1000")
    bash.wait_for("begun")
    assert bash.stop().status == "interrupted"


NODE = ["/usr/bin/node", "${driver}/session-node.cjs"]


@pytest.fixture(name="node")
def node_kernel(tmp_path):
    with start(NODE, tmp_path) as kernel:
        yield kernel


def test_node_declares_again_awaits_and_imports(node, tmp_path):
    (tmp_path / "part.mjs").write_text("export default 1; export const two = 2;\n")
    assert node.run("const x = 1").shown == []
    assert node.run("const x = {a: [1]}; x").value == "{ a: [ 1 ] }"
    assert node.run("{b: 2}").value == "{ b: 2 }"
    done = node.run("import one, { two as zwei } from './part.mjs';\nimport * as path from 'node:path'\n"
                    "[one, zwei, path.basename('/a/b'), 'import(\"x\")']")
    assert (done.value, done.err) == ("[ 1, 2, 'b', 'import(\"x\")' ]", "")
    assert node.run("let y = (await import('node:os')).EOL; y.length").value == "1"
    assert re.search("│ +0 +│ 1 │", node.run("console.table([{ a: 1 }])").out)  # older ones put the 0 in the middle
    assert node.run("class A {}\nclass A { b = 1 }\nnew A").status == "error"
    assert node.run("export const z = [1n, null, NaN]; z").value == "[ 1n, null, NaN ]"


def test_node_fits_tables_to_the_width_that_the_client_gives(node):
    table = "console.table([{ id: 1, name: 'x'.repeat(60), wide: '日本'.repeat(20) }, { id: 2, name: 's', wide: null }])"
    whole = node.run(table).out.splitlines()
    assert len(whole[0]) > 120 and node.run(table, 200).out.splitlines() == whole
    assert node.run(table, 40).out.splitlines() == [
        "┌─────────┬────┬───────────┬───────────┐",
        "│ (index) │ id │ name      │ wide      │",
        "├─────────┼────┼───────────┼───────────┤",
        "│ 0       │ 1  │ 'xxxxxxx… │ '日本日…  │",
        "│ 1       │ 2  │ 's'       │ null      │",
        "└─────────┴────┴───────────┴───────────┘"]
    assert node.run("console.table(5); console.log('a')", 40).out == "5\na\n"
    value = "({ a: 'x'.repeat(30), b: 'y'.repeat(9) })"
    assert node.run(value, 40).value.count("\n") == 3 and "\n" not in node.run(value, 100).value


def test_node_names_the_lines_of_the_cell_in_an_error(node):
    node.run("function f() {\n  throw new TypeError('no')\n}")
    done = node.run("f()")
    assert done.err == "Uncaught TypeError: no\n    at f (cell-1:2:9)\n    at cell-2:1:1\n"
    assert done.details == {"type": "TypeError", "message": "no", "frames": [
        {"file": "cell-1", "line": 2, "function": "f"}, {"file": "cell-2", "line": 1, "function": ""}]}
    assert node.run("1 +").details["frames"][0]["file"] == "cell-3"
    assert node.run("throw 5").err == "Uncaught 5\n"
    assert "Uncaught Error: late" in node.run(
        "setTimeout(() => { throw new Error('late') }); await new Promise((r) => setTimeout(r, 9))").err


@pytest.mark.parametrize("code", ["", "await null;"])
def test_node_is_interrupted_and_keeps_its_state(node, code):
    node.interrupt_idle()
    after = "await new Promise(() => {})" if code else "while (true);"
    node.begin(f"globalThis.x = 2; {code} console.log('begun'); {after}")
    node.wait_for("begun")
    assert node.stop().status == "interrupted"
    assert node.run("x").value == "2"


@pytest.mark.parametrize("word", ["", "await 0;"])
def test_an_interrupt_before_a_cell_is_not_for_it_however_late_node_takes_it(node, word):
    node.run(f"{word} 0")
    with node.slow_threads():
        for _ in range(20):
            node.interrupt()
            done = node.run(f"{word} for (const end = Date.now() + 30; Date.now() < end;) ; 7")
            assert (done.status, done.value) == ("ok", "7"), done


def test_no_cell_is_the_first_to_need_what_node_loads_for_output(node):
    # An interrupt while Node loads a part of its own leaves the part half loaded for the rest of the session.
    node.run("globalThis.before = process.moduleLoadList.length")
    node.run("console.log(1, {}, new Error('none')); console.error(1); console.table([[1]]); process.stdout.write('')")
    assert node.run("process.moduleLoadList.slice(before)").value == "[]"


def test_node_is_interrupted_by_its_thread_as_without(node):
    # The thread comes with the word `await`, so it watches later than the cell does, and gets the signal.
    node.begin("const end = Date.now() + 500; while (Date.now() < end) ; console.log('begun'); for (;;) ; await 0")
    node.wait_for("begun")
    node.interrupt()
    done = node.end()
    assert (done.status, done.details, done.err) == ("interrupted", {}, "Interrupted\n")


@pytest.mark.parametrize("word", ["", "await 0;"])
def test_a_value_that_never_shows_is_interrupted(node, word):
    node.begin(f"{word} ({{ [Symbol.for('nodejs.util.inspect.custom')]() {{ console.log('begun'); for (;;) ; }} }})")
    node.wait_for("begun")
    assert node.stop().status == "interrupted"
    assert node.run("6 * 7").value == "42"


def test_a_frame_that_was_broken_off_is_sent_whole(node):
    node.begin("display('x'.repeat(9 << 20)); for (;;) ;")
    assert select.select([node.ours], [], [], SOON)[0]
    node.interrupt()
    assert node.end().status == "interrupted"
    assert node.run("6 * 7").value == "42"


def test_a_frame_that_is_broken_off_again_and_again_begins_once(node):
    """Interrupts come while the frame is written, also between a write and the count of its bytes."""
    for _ in range(40):
        node.begin("for (;;) display('x'.repeat(1 << 19));")
        assert select.select([node.ours], [], [], SOON)[0]
        node.interrupt()
        assert node.end().status == "interrupted"
    assert node.run("6 * 7").value == "42"


def test_node_can_be_asked(node):
    for code, status in {"function f() {": "incomplete", "await f(": "incomplete", "`a": "incomplete", "}": "invalid",
                         "await 1": "complete", "import a from 'b'": "complete", "x = )": "invalid"}.items():
        assert node.ask("check", code)[0] == status, code
    node.run("const number = 5; var other = [1]")
    assert node.ask("complete", "é; numb", 8)[1] == {"matches": ["number"], "start": 4}
    assert node.ask("complete", "other.findL", 11)[1] == {"matches": ["findLast", "findLastIndex"], "start": 6}
    assert [(v["name"], v["type"], v["value"]) for v in node.ask("vars")[1]["vars"]] == [
        ("other", "Array", "[ 1 ]"), ("number", "number", "5")]


@pytest.mark.parametrize("code", ["process.stdout.write = null", "process.removeAllListeners('SIGINT')",
                                  "console.log('done 1 ok 2\\n{}')", "JSON.stringify = JSON.parse = null",
                                  "delete globalThis.process", "Object.defineProperty(globalThis, 'x', {value: 1})"])
def test_a_cell_in_node_does_not_break_the_next(node, code):
    node.run(code)
    assert node.run("6 * 7").value == "42"


def test_node_exits_as_the_cell_says(node):
    assert node.run("process.exit(3)").details == {"code": 3}
    assert node.process.wait() == 3


SQLITE = ["/usr/bin/bash", "${driver}/session-sql.sh", "${driver}", "sqlite", "/usr/bin/sqlite3"]


@pytest.fixture(name="sqlite")
def sqlite_kernel(tmp_path):
    machine_gives.skip_if(None if os.path.exists(SQLITE[-1]) else "sqlite3 is not installed")
    with start(SQLITE, tmp_path) as kernel:
        yield kernel


def test_sqlite_names_its_tables_and_completes_them(sqlite):
    sqlite.run("CREATE TABLE numbers (a, bee); CREATE VIEW v AS SELECT a AS alpha FROM numbers; INSERT INTO numbers VALUES (1, 2);")
    assert sqlite.ask("vars") == ("ok", {"vars": [
        {"name": "numbers", "type": "table", "size": 2, "value": "a, bee"},
        {"name": "v", "type": "view", "size": 1, "value": "alpha"}]})
    assert sqlite.ask("complete", "-- é\nSELECT * FROM num", 23) == ("ok", {"matches": ["numbers"], "start": 20})
    assert sqlite.ask("complete", "SELECT al", 9)[1]["matches"] == ["ALTER", "alpha"]
    assert sqlite.ask("complete", "", 0)[1]["matches"] == []
    assert sqlite.run("SELECT * FROM numbers;").shown[0]["application/json"] == [{"a": 1, "bee": 2}]


def test_sqlite_shows_result_sets_and_keeps_transactions(sqlite):
    assert sqlite.run("CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (1, 'x;y'), (2, 'Ünï''s'), (3, NULL);"
                      "-- note; only").status == "ok"
    done = sqlite.run("SELECT * FROM t;\nSELECT count(*) AS n FROM t")
    assert [shown["text/plain"] for shown in done.shown] == [
        "a | b\n--+------\n1 | x;y\n2 | Ünï's\n3 | NULL", "n\n-\n3"]
    assert done.shown[0]["application/json"] == [{"a": 1, "b": "x;y"}, {"a": 2, "b": "Ünï's"}, {"a": 3, "b": None}]
    assert "<td>x;y</td>" in done.shown[0]["text/html"]
    sqlite.run("BEGIN; DELETE FROM t;")
    assert sqlite.run("SELECT count(*) FROM t;").shown[0]["application/json"] == [{"count(*)": 0}]
    assert sqlite.run("ROLLBACK; SELECT count(*) FROM t").shown[0]["application/json"] == [{"count(*)": 3}]
    assert sqlite.run(".tables").out == "t\n"
    done = sqlite.run("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; SELECT CASE WHEN 1 THEN 2 END; END; SELECT 5;")
    assert [shown["application/json"] for shown in done.shown] == [[{"5": 5}]]


def test_sqlite_ends_a_cell_at_its_first_error(sqlite):
    done = sqlite.run("SELECT 1;\nSELEC 2;\nSELECT 3;")
    assert (done.status, len(done.shown)) == ("error", 1)
    assert done.details["frames"] == [{"file": "cell-1", "line": 2, "function": ""}]
    assert done.err.startswith('Parse error near line 2 of cell-1: near "SELEC": syntax error\n')
    assert sqlite.ask("check", "SELECT 1")[0] == "incomplete"
    assert sqlite.ask("check", "SELECT 1;")[0] == "complete"


def test_sqlite_is_interrupted_and_keeps_its_state(sqlite):
    sqlite.run("CREATE TABLE t AS SELECT 7 AS a;")
    sqlite.begin(".print begun\nWITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n;")
    sqlite.wait_for("begun")
    assert sqlite.stop().status == "interrupted"
    assert sqlite.run("SELECT a FROM t;").value == "a\n-\n7"


RUBY = ["/usr/bin/ruby", "${driver}/session-ruby.rb"]


def test_ruby_keeps_names_and_shows_values(tmp_path):
    with start(RUBY, tmp_path) as ruby:
        assert ruby.run("x = 5; puts 'hé'; x").value == "5"
        assert ruby.run("def f(a)\n  raise ArgumentError, 'no' if a == 1\n  a * x\nend").status == "ok"
        done = ruby.run("f(1)")
        assert done.err == "cell-2:2:in `f': no (ArgumentError)\n\tfrom cell-3:1:in `<main>'\n" or "cell-2:2" in done.err
        assert done.details["frames"][0]["line"] == 2
        assert ruby.ask("check", "def f")[0] == "incomplete" and ruby.ask("check", "end")[0] == "invalid"
        assert "digits" in ruby.ask("complete", "x.di", 4)[1]["matches"]
        assert ruby.ask("vars")[1]["vars"] == [{"name": "x", "type": "Integer", "size": 1, "value": "5"}]
        ruby.run("fork; $stdout.close")
        ruby.begin("puts 'begun'; loop {}")
        ruby.wait_for("begun")
        assert ruby.stop().status == "interrupted"
        assert ruby.run("exit 3").details == {"code": 3}
        assert ruby.process.wait() == 3


PHP = ["/usr/bin/php", "${driver}/session-php.php"]
JAVA = ["/usr/bin/java", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "--add-opens", "java.base/java.io=ALL-UNNAMED",
        "${driver}/SessionJava.java"]


def test_php_keeps_names_and_shows_values(tmp_path):
    with start(PHP, tmp_path) as php:
        assert php.run("$x = 5; echo 'hé';").out == "hé"
        assert php.run("$x + 1").value == "6"
        assert php.run("function f($a) {\n  return intdiv(1, $a);\n}").status == "ok"
        done = php.run("\nf(0);")
        assert done.err == "PHP Fatal error:  Uncaught DivisionByZeroError: Division by zero in cell-3:2\n"
        assert [(f["file"], f["line"]) for f in done.details["frames"]] == [("cell-3", 2), ("cell-3", 2), ("cell-4", 2)]
        assert php.ask("check", "function g() {")[0] == "incomplete" and php.ask("check", "}")[0] == "invalid"
        assert php.ask("vars")[1]["vars"] == [{"name": "x", "type": "int", "size": 1, "value": "5"}]
        php.run("$number = 2; function numbers() { return 1; }")
        assert php.ask("complete", "é; $num", 8) == ("ok", {"matches": ["$number"], "start": 4})
        assert php.ask("complete", "numb", 4)[1]["matches"] == ["number_format", "numbers"]
        assert php.ask("complete", "", 0)[1]["matches"] == [] and php.ask("complete", "Sandbox", 7)[1]["matches"] == []
        assert php.run("$y = ;").details["frames"][0] == {"file": "cell-6", "line": 1, "function": ""}
        php.begin("echo 'begun'; while (true);")
        php.wait_for("begun")
        assert php.stop().status == "interrupted"
        assert php.run("$x").value == "5"
        php.begin("exit(3);")
        with pytest.raises(EOFError):
            php.end()
        assert php.process.wait() == 3


def test_java_keeps_names_and_shows_values(tmp_path):
    with start(JAVA, tmp_path) as java:
        assert java.run('int x = 41; System.out.println("hé");').out == "hé\n"
        assert java.run("x + 1").value == "42"
        java.run("int f(int a) {\n  return 1 / a;\n}")
        done = java.run("\nf(0)")
        assert done.err == ("Exception java.lang.ArithmeticException: / by zero\n"
                            "\tat f (cell-3:2)\n\tat cell-4:2\n")
        assert java.run('x = 1;\nint y = "s";').err.startswith("cell-5:2: error: incompatible types")
        assert java.ask("check", "int g() {")[0] == "incomplete" and java.ask("check", "}")[0] == "invalid"
        assert java.ask("complete", "x; Sys", 6)[1] == {"matches": ["System"], "start": 3}
        assert [v["value"] for v in java.ask("vars")[1]["vars"]] == ["1"]
        java.begin('System.out.println("begun"); while (true) Thread.sleep(10);')
        java.wait_for("begun")
        assert java.stop().status == "interrupted"
        assert java.run("x").value == "1"
