"""Templates: literals read back by the real languages, and the shipped harness of each language."""
import glob
import os
import pathlib
import random
import subprocess

import pytest

import support
from support import result_of, sandbox_run
import yaml_text

LANGUAGES = {language["name"]: language for language in (
    yaml_text.load(path.read_text()) for path in pathlib.Path(support.REPO, "languages").glob("*.yaml"))}

TRICKY = [
    "", "'", '"', "\\", "''", '""', "\\'", '\\"', "\\\\", "$HOME `id` $(id) ${x}", "#{1+1} #$0 #@x",
    "?> <?php {$x} ${x} {${x}}", "@array @{[1]} %h $x $$", "??= ??/ ??'", "%s%d%n%%", "\n", "\r\n",
    "a\n.quit\n.exit 3\n;\ngo\n/\n", "\t\v\f\b\a\x1b[0m", "\\u0041 \\u000a \\x41 \\101 \\N{DASH}",
    "*/ /* // -- # ; ]]", ":var :'var' \\q", "{{code}} {{{{ }}", "-n", "!! ~", " around ",
    "é ß 漢字 😀 \u2028\u2029 \ufeff \u202e \uffff \ue000 \ud7ff \U0010ffff", "\x01" "7", "\x7f" "89af",
    "\x0b1", "é9f", "a\\\nb", "E'x';", "x" * 5000, "😀é" * 12000,
    "".join(map(chr, range(1, 256))),
]
TRICKY += ["".join(random.Random(seed).choices("'\"\\$#@{}?%`nxu07 \n\r\t\x01\x7fé😀!;-", k=60))
           for seed in range(12)]
BYTES = [bytes(range(1, 256)), b"\xff", b"\xc3", b"ok\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]

# What stands before, for each value, and after; V is the literal.  Each prints one line of hex.
READERS = {
    "bash": ('p() { printf %s "$1" | od -An -v -tx1 | tr -d " \\n"; echo; }', 'v=V; p "$v"', ""),
    "c": ("static void p(const char *s, unsigned long n) { for (unsigned long i = 0; i + 1 < n; i++)"
          ' printf("%02x", (unsigned char)s[i]); puts(""); }\nint main(void) {', "p(V, sizeof(V));", "}"),
    "c++": ("static void p(const char *s, unsigned long n) { for (unsigned long i = 0; i + 1 < n; i++)"
            ' printf("%02x", (unsigned char)s[i]); puts(""); }\nint main() {', "p(V, sizeof(V));", "}"),
    "go": ("func main() {", 'fmt.Printf("%x\\n", V)', "}"),
    "java": ("class Main { static void p(String s) { StringBuilder b = new StringBuilder(); for (byte c :"
             " s.getBytes(java.nio.charset.StandardCharsets.UTF_8)) b.append(String.format(\"%02x\", c));"
             " System.out.println(b); } public static void main(String[] a) {", "p(V);", "}}"),
    "javascript": ("", 'console.log(Buffer.from(V).toString("hex"));', ""),
    "lua": ("local function p(s) print((s:gsub('.', function(c)"
            " return string.format('%02x', c:byte()) end))) end", "p(V)", ""),
    "perl": ("", 'print unpack("H*", V), "\\n";', ""),
    "php": ("", 'echo bin2hex(V), "\\n";', ""),
    "postgres": ("\\pset format unaligned\n\\pset tuples_only on", "SELECT encode(convert_to(V, 'UTF8'), 'hex');", ""),
    "python": ("", "print(V.encode().hex())", ""),
    "r": ("", "cat(paste(as.character(charToRaw(V)), collapse = ''), '\\n', sep = '')", ""),
    "ruby": ("", "puts V.unpack1('H*')", ""),
    "rust": ('fn p(s: &str) { for b in s.bytes() { print!("{:02x}", b); } println!(); }\nfn main() {',
             "p(V);", "}"),
    "sh": ('p() { printf %s "$1" | od -An -v -tx1 | tr -d " \\n"; echo; }', 'v=V; p "$v"', ""),
    "sql": ("", "SELECT lower(hex(V));", ""),
    "typescript": ("", 'console.log(Buffer.from(V).toString("hex"));', ""),
}
PROLOGUES = {"c": "#include <stdio.h>\n", "c++": "#include <cstdio>\n",
             "go": 'package main\nimport "fmt"\n', "php": "<?php\n"}
HOLD_ANY_BYTE = {"bash", "c", "c++", "go", "lua", "perl", "php", "r", "ruby", "sh", "sql"}


# language: (code, function or query, inputs, what it gives, something else, the line about that)
CALLS = {
    "bash": ('f() { echo "$1-$2"; }', "f", "'a b' c", "a b-c", "a\nb", "expected $'a\\nb', got a\\ b-c"),
    "c": ("struct p { char c; int x; double d; };\nstruct p f(int a) { return (struct p){ 1, a, 2 }; }",
          "f", "3", "{ 1, 3, 2 }", "{ 1, 4, 2 }", "expected bytes 01 00 00 00 04"),
    "c++": ("#include <map>\n#include <string>\n#include <vector>\n"
            'std::map<std::string, std::vector<int>> f(int a) { return {{"k", {a, 2}}}; }',
            "f", "1", '{{"k", {1, 2}}}', "{}", 'expected {}, got {("k", {1, 2})}'),
    "go": ('import "strings"\n\nfunc f(a string, n int64) map[string][]int64 {\n'
           "\treturn map[string][]int64{strings.ToUpper(a): {n}}\n}",
           "f", '"k", 3', 'map[string][]int64{"K": {3}}', "nil",
           'expected map[string][]int64(nil), got map[string][]int64{"K":[]int64{3}}'),
    "java": ("import java.util.*;\nclass S {\n"
             "    static Map<String, List<Integer>> f(int a) { return Map.of(\"k\", List.of(a)); }\n}",
             "S.f", "3", 'Map.of("k", List.of(3))', "List.of()", "expected [], got {k=[3]}"),
    "javascript": ("const f = async (a, b) => ({ x: [a, b] })", "f", '1, "é"', '{ x: [1, "é"] }', "{}",
                   "expected {}, got { x: [ 1, 'é' ] }"),
    "lua": ("function f(a, b) return {x = {a, b}}, nil end", "f", '1, "b"', '{x = {1, "b"}}, nil', "{}, nil",
            'expected {}, nil, got {["x"] = {1, "b"}}, nil'),
    "perl": ("sub f { return { x => [@_] } }", "f", '1, "b"', '{ x => ["1", "b"] }', "undef",
             'expected undef, got {"x" => [1,"b"]}'),
    "php": ("<?php\nfunction f($a) { return ['x' => [$a, 'é']]; }", "f", "1", "['x' => [1, 'é']]", "[1.0]",
            'expected [1.0], got {"x":[1,"é"]}'),
    "postgres": ("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (2, 'x'), (1, NULL)",
                 "SELECT * FROM t ORDER BY a", None, "VALUES (1, NULL), (2, 'x')", "VALUES (1, 'y'), (2, 'x')",
                 'expected row 1: {"column1": 1, "column2": "y"}'),
    "python": ("def f(a, b):\n    return {'x': [a, b]}", "f", "1, 'é'", "{'x': [1, 'é']}", "None",
               "expected None, got {'x': [1, 'é']}"),
    "r": ("f <- function(a, b) list(x = c(a, b))", "f", "1L, 2", "list(x = c(1, 2))", "NULL",
          "expected NULL, got list(x = c(1, 2))"),
    "ruby": ("def f(a, b)\n  { x: [a, b] }\nend", "f", '1, "é"', '{ x: [1, "é"] }', "nil", "expected nil, got {"),
    "rust": ("#[derive(Debug, PartialEq)]\nstruct P { x: i64 }\nfn f(a: i64) -> Vec<P> { vec![P { x: a }] }",
             "f", "3", "vec![P { x: 3 }]", "vec![]", "expected [], got [P { x: 3 }]"),
    "sh": ('f() { echo "$1-$2"; }', "f", "'a b' c", "a b-c", "a", "expected 'a', got 'a b-c'"),
    "sql": ("CREATE TABLE t (a, b); INSERT INTO t VALUES (2, 'x'), (1, NULL)", "SELECT * FROM t ORDER BY a",
            None, "VALUES (1, NULL), (2, 'x')", "VALUES (1, 'y'), (2, 'x')", "expected row|1|1|y"),
    "typescript": ("interface P { x: number }\nfunction f(a: number): P { return { x: a } }", "f", "1",
                   "{ x: 1 }", "{ x: 2 }", "expected { x: 2 }, got { x: 1 }"),
}

# A fault in line 2 of the code.
FAULTS = {
    "bash": ("f() {\n    nosuch; }", "f", "", "x"),
    "c": ("int f(void) {\n    return nosuch; }", "f", "", "1"),
    "c++": ("int f() {\n    return nosuch; }", "f", "", "1"),
    "go": ("func f(a []int) int {\n\treturn a[3] }", "f", "nil", "1"),
    "java": ("class S { static int f(int a) {\n    return 1 / a; } }", "S.f", "0", "1"),
    "javascript": ("function f(a) {\n    return a.b.c }", "f", "1", "1"),
    "python": ("def f(a):\n    return a / 0", "f", "1", "1"),
    "rust": ("fn f(a: Vec<i32>) -> i32 {\n    a[3] }", "f", "vec![]", "1"),
    "typescript": ("function f(a: any): any {\n    return a.b.c }", "f", "1", "1"),
}


def need(name):
    if name not in LANGUAGES:
        pytest.skip(f"there is no language {name}")
    if not any(glob.glob(os.path.expanduser(pattern)) for pattern in LANGUAGES[name]["binaries"]):
        pytest.skip(f"{name} is not installed")


def values(**pairs):
    return [word for name, value in pairs.items() for word in ("--set", f"{name}={value}")]


def call(name, code, function, inputs, expected, **kwargs):
    words = values(query=function) if inputs is None else values(function=function, inputs=inputs)
    return result_of("run", "--lang", name, "--template", "call", *words, *values(expected=expected),
                     "--code", code, **kwargs)


def surroundings():
    return support.environment({"SANDBOX_RUN_CACHE": support.cache_of(None)})


@pytest.mark.parametrize("name", sorted(READERS))
def test_a_literal_is_read_back_as_the_same_bytes(root, name, folder):
    need(name)
    texts = [text.encode() for text in TRICKY] + (BYTES if name in HOLD_ANY_BYTE else [])
    before, each, after = READERS[name]
    lines = [each.replace("V", "{{v%d}}" % i) for i in range(len(texts))]
    template = folder / "template"
    template.write_text("\n".join(["{{code}}", before, *lines, after, ""]))
    words = [word for i, text in enumerate(texts) for word in ("--set", b"v%d=" % i + text)]
    command = support.command("run", "--lang", name, "--template", template, caller=root)
    done = subprocess.run([*command, *words, "--code", PROLOGUES.get(name, "")],
                          stdout=-1, stderr=-1, timeout=support.DEADLINE, env=surroundings())
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.decode().splitlines() == [text.hex() for text in texts]


@pytest.mark.parametrize("name", sorted({"java", "javascript", "python", "rust", "postgres"}))
def test_a_value_that_no_literal_can_hold_is_refused(root, name, folder):
    if name not in LANGUAGES:
        pytest.skip(f"there is no language {name}")
    template = folder / "template"
    template.write_text("{{code}}\n{{v}}\n")
    for text in BYTES:
        command = support.command("run", "--lang", name, "--template", template, caller=root)
        done = subprocess.run([*command, "--set", b"v=" + text, "--code", "x"], stdout=-1, stderr=-1,
                              timeout=support.DEADLINE, env=surroundings())
        assert done.returncode == 125
        assert b"template:2: the value of 'v' is not UTF-8" in done.stderr


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_that_gives_what_is_expected_says_ok(any_caller, name):
    need(name)
    code, function, inputs, good, _, _ = CALLS[name]
    result = call(name, code, function, inputs, good, caller=any_caller)
    assert (result["exit_code"], result["stdout"], result["stderr"]) == (0, "ok\n", ""), result


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_that_gives_something_else_says_both(any_caller, name):
    need(name)
    code, function, inputs, _, bad, line = CALLS[name]
    result = call(name, code, function, inputs, bad, caller=any_caller)
    assert result["exit_code"] == (3 if name == "postgres" else 1), result
    assert result["stdout"].startswith(line), result
    if inputs is not None:
        assert (result["stdout"].count("\n"), result["stderr"]) == (1, "")


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_has_the_line_of_the_code_without_its_harness(root, name):
    need(name)
    result = call(name, *FAULTS[name], caller=root)
    assert result["diagnosis"] and result["diagnosis"]["line"] == 2, result
    assert "ok" not in result["stdout"]


def test_a_template_of_the_users_own(caller, folder):
    template = folder / "harness.py"
    template.write_text("greeting = {{greeting}}\ndef body(n):\n    {{code}}\n\nprint({'a': 1}, body({{n:raw}}))\n")
    result = result_of("run", "--lang", "python", "--template", template,
                       *values(greeting='say "é"\n', n="20 + 1"),
                       "--code", "if n:\n    return greeting, n", caller=caller)
    assert result["stdout"] == "{'a': 1} ('say \"é\"\\n', 21)\n", result


FAULTY_TEMPLATES = [
    ("print(1)\n", [], "harness.py: has no {{code}}"),
    ("{{code}}\n{{code}}\n", [], "harness.py:2: {{code}} a second time; the first is in line 1"),
    ("{{code}}\n\n{{expected}}\n", ["expcted=1"], "harness.py:3: 'expected' is not set, but 'expcted' is"),
    ("{{code}}\n", ["spare=1"], "'spare' is set, but "),
    ("\n{{code\n", [], "harness.py:2: '{{' without '}}' in the same line"),
    ("{{#if a}}\n{{code}}\n", [], "harness.py:1: '{{' without a name"),
]


def test_a_fault_of_a_template_is_told_before_anything_runs(folder):
    template, wrong = folder / "harness.py", {}
    for text, sets, message in FAULTY_TEMPLATES:
        template.write_text(text)
        words = [word for pair in sets for word in ("--set", pair)]
        done = sandbox_run("run", "--lang", "python", "--template", template, *words, "--code", "print(1)")
        if (done.returncode, done.stdout) != (125, b"") or message not in done.stderr.decode():
            wrong[text] = done
    assert not wrong
