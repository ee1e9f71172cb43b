"""Real compilers, asked by a program's text to read or do what they should not.

Each of these is what a compiler does for whoever asks: the same text is given to the bare tool on
the host, where it works, and to the tool inside, where the file is not there.
"""
import itertools
import json
import os
import pathlib
import subprocess

import pytest

import harness
import machine_gives
import stages
import support
from harness import callers
from stages import Store, give, said, stage_of
from support import Callers

# They look at everything in a store that all of them share.
pytestmark = pytest.mark.group("compilers", weight=10)

_numbers = itertools.count()
TOUCH = "int main(void) { return 0; }\n"


def all_as_one_caller(name, values):
    """Every value as the first caller, and one as each other: compilers take their time."""
    first, *others = support.available_callers()
    return pytest.mark.parametrize(f"{name}, caller", [*((value, first) for value in values),
                                                       *((values[0], caller) for caller in others)])



def with_toolchains(store):
    """What takes long to be made ready comes from the store that all tests share, as links: nothing else of theirs."""
    made = pathlib.Path(support.cache_of(store.caller), "prepared")
    if made.is_dir():
        subprocess.run(["cp", "-al", made, store.path], check=True)
    return store


@pytest.fixture(scope="module")
def stores(room):
    """One for each caller."""
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    return {caller: with_toolchains(Store(room / f"compilers-{caller}", caller))
            for caller in support.available_callers()}


@pytest.fixture
def store(stores, caller):
    store = stores[caller]
    store.before = store.entries("artifact"), store.entries("layer")
    return store


def compile_in(store, language, files, *options, main=None, timeout=300, **env):
    """A program of several files; the first one is its main one unless named."""
    if language == "rust" and store.caller == Callers.ROOT:
        env["HOME"] = os.environ.get("HOME", "/root")  # where rustup installs it
    stages.have(store, language, env)
    folder = store.folder / f"program-{next(_numbers)}"
    folder.mkdir()
    give(folder, store.caller)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return support.result_of("run", "--lang", language, *options, folder, caller=store.caller,
                             env=store.environment(env), timeout=timeout)


def assert_stopped(store, result, stage="compile"):
    """The compiler says that there is no such file, and its secret is nowhere."""
    assert harness.SECRET not in said(result) and harness.SECRET.encode() not in store.content()
    assert result["outcome"] == "compile_failed", said(result)[:800]
    assert stage_of(result, stage)["outcome"] == "exited"
    assert (store.entries("artifact"), store.entries("layer")) == store.before and not store.leavings()


def limits(*pairs):
    return [word for pair in pairs for word in ("--compile-limit", pair)]


def outside(*words, text=b"", **kwargs):
    done = subprocess.run([str(word) for word in words], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=support.DEADLINE, check=False, **kwargs)
    return done.stdout


# --- C -------------------------------------------------------------------------------------------

C_READS = {
    "include": '#include "<secret>"\n' + TOUCH,
    "include from the work directory": '#include "../../../../../..<secret>"\n' + TOUCH,
    "incbin": '__asm__(".section .rodata\\n.global x\\nx: .incbin \\"<secret>\\"\\n");\n' + TOUCH,
    "assembler's include": '__asm__(".include \\"<secret>\\"\\n");\n' + TOUCH,
    "linker's script": '__asm__(".section .rodata");\n#include "<secret>"\n' + TOUCH,
}


@callers
@pytest.mark.parametrize("language, ending", [pytest.param("c", ".c", marks=pytest.mark.core), ("c++", ".cpp")])
def test_c_cannot_read_the_host(scene, store, language, ending):
    """Each way in a file of its own and with a path of its own, which the compiler says that it misses."""
    paths = {way: f"{scene.room}{'/.' * number}/{scene.secret.name}" for number, way in enumerate(C_READS)}
    files = {f"way{number}{ending}": C_READS[way].replace("<secret>", path).replace("main", f"f{number}")
             for number, (way, path) in enumerate(paths.items())}
    result = compile_in(store, language, {f"main{ending}": TOUCH, **files})
    assert_stopped(store, result)
    text = stage_of(result, "compile")["stderr"]
    harness.assert_none([f"{way}: {text}" for way, path in paths.items() if path not in text])


@pytest.mark.parametrize("caller", support.available_callers()[:1])
@pytest.mark.parametrize("way", ["include", "incbin"])
def test_bare_c_reads_the_host(scene, store, way):
    text = C_READS[way].replace("<secret>", str(scene.secret)).encode()
    target = store.folder / "object"
    said_outside = outside("gcc", "-x", "c", "-c", "-o", target, "-", text=text)
    assert b"secret" in (said_outside + (target.read_bytes() if target.exists() else b""))


@callers
def test_c_does_not_even_learn_whether_a_file_is_there(scene, store):
    text = f'#if __has_include("{scene.secret}")\n#error found\n#endif\n' + TOUCH
    assert compile_in(store, "c", {"main.c": text})["outcome"] == "exited"


@all_as_one_caller("option", [
    "@<secret>", "-include<secret>", "-imacros<secret>", "-B<room>", "-specs=<secret>", "-Wl,-T,<secret>",
    "-Wl,@<secret>", "-fplugin=<secret>", "-isystem<room>", "<secret>"])
def test_an_argument_of_the_compiler_reads_nothing_of_the_host(scene, store, option):
    option = option.replace("<secret>", str(scene.secret)).replace("<room>", str(scene.room))
    result = compile_in(store, "c", {"main.c": TOUCH}, f"--compile-arg={option}")
    assert harness.SECRET not in said(result) and harness.SECRET.encode() not in store.content()
    assert result["outcome"] in ("exited", "compile_failed"), said(result)[:400]


@callers
def test_a_wrapper_runs_where_the_compiler_runs(scene, store):
    """-wrapper, -fplugin, specs: whoever may name arguments may run programs, and so may the text of a
    program in some languages.  They run inside, with the compiler's rights, which are none."""
    script = (f"{{ cat {scene.secret}; ls {scene.room}; id -u; : > /usr/x; exec 3<>/dev/tcp/127.0.0.1/{scene.port} "
              "&& echo GOT; } > /tmp/log 2>&1; cat /tmp/log >&2; exit 1\n")
    result = compile_in(store, "c", {"main.c": TOUCH, "wrap.sh": script}, "--compile-arg=-wrapper",
                        "--compile-arg=bash,/work/wrap.sh")
    text = stage_of(result, "compile")["stderr"]
    assert_stopped(store, result)
    assert "1000" in text and "GOT" not in text and "Read-only" in text, text


@callers
def test_the_name_of_a_file_is_no_argument(store):
    names = ["-wrapper.c", "@args.c", "-o.c", "--help.c", "a b.c", "$(x).c", "a;b.c", "*.c"]
    parts = {name: f"int f{number}(void) {{ return {1 << number}; }}\n" for number, name in enumerate(names)}
    calls = " + ".join(f"f{number}()" for number in range(len(names)))
    main = "".join(text.partition(" {")[0] + ";\n" for text in parts.values())
    result = compile_in(store, "c", {"main.c": f"{main}int main(void) {{ return {calls} - 1; }}\n", **parts})
    assert (result["outcome"], result["exit_code"]) == ("exited", 254), said(result)[:800]


@callers
@pytest.mark.parametrize("text, outcomes", [
    ('__asm__(".rept 2000000000\\nnop\\n.endr");\n' + TOUCH, ("timeout", "memory_limit", "disk_limit", "exited")),
    ('#include __FILE__\n' + TOUCH, ("exited",)),
    ('char x[1ul << 40] = {1};\n' + TOUCH, ("memory_limit", "disk_limit", "exited", "timeout")),
], ids=["assembler without end", "includes itself", "a terabyte of data"])
def test_a_bomb_for_c_goes_off_inside(store, text, outcomes):
    result = compile_in(store, "c", {"main.c": text}, *limits("timeout=3s", "memory=256m", "disk=128m"))
    assert result["outcome"] == "compile_failed", said(result)[:500]
    assert stage_of(result, "compile")["outcome"] in outcomes
    assert (store.entries("artifact"), store.entries("layer")) == store.before and not store.leavings()


@callers
def test_templates_without_end_are_ended(store):
    text = ("template<int A, int B> struct F { static const int v = F<A, B - 1>::v + F<A - 1, B>::v; };\n"
            "template<int B> struct F<0, B> { static const int v = 1; };\n"
            "template<int A> struct F<A, 0> { static const int v = F<A - 1, 800>::v; };\n"
            "int main() { return F<800, 800>::v; }\n")
    result = compile_in(store, "c++", {"main.cpp": text}, *limits("timeout=2s", "memory=256m"))
    assert result["outcome"] == "compile_failed"
    assert stage_of(result, "compile")["outcome"] in ("timeout", "memory_limit", "exited")


# --- Java ----------------------------------------------------------------------------------------

PROCESSOR = """
import java.nio.file.*;
import java.util.*;
import javax.annotation.processing.*;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.TypeElement;

@SupportedAnnotationTypes("*")
public class Evil extends AbstractProcessor {
    @Override public SourceVersion getSupportedSourceVersion() { return SourceVersion.latest(); }
    @Override public boolean process(Set<? extends TypeElement> types, RoundEnvironment round) {
        for (String word : System.getProperty("evil", "SECRET").split(",")) {
            try { System.err.println("GOT " + Files.readString(Path.of(word))); }
            catch (Throwable problem) { System.err.println("NOT " + problem); }
        }
        try { new java.net.Socket("127.0.0.1", PORT).close(); System.err.println("GOT a connection"); }
        catch (Throwable problem) { System.err.println("NOT " + problem); }
        return false;
    }
}
"""


@callers
def test_an_annotation_processor_runs_inside(scene, store, tmp_path):
    stages.have(store, "java")
    source = tmp_path / "Evil.java"
    source.write_text(PROCESSOR.replace("SECRET", str(scene.secret)).replace("PORT", str(scene.port)))
    javac = "/usr/bin/javac"
    if not os.path.exists(javac):
        pytest.skip("there is no javac to make the processor with")
    made = outside(javac, "-d", tmp_path, source)
    assert (tmp_path / "Evil.class").exists(), made
    main = "public class Main { public static void main(String[] a) { System.out.println(1); } }\n"
    (tmp_path / "Main.java").write_text(main)
    result = compile_in(store, "java", {"Main.java": main, "Evil.class": (tmp_path / "Evil.class").read_bytes()},
                        "--compile-arg=-processorpath", "--compile-arg=/work", "--compile-arg=-processor",
                        "--compile-arg=Evil")
    assert "GOT" not in said(result) and harness.SECRET not in said(result), said(result)[:900]
    bare = outside(javac, "-d", tmp_path / "out", "-processorpath", tmp_path, "-processor", "Evil",
                   "-proc:only", tmp_path / "Main.java")
    assert harness.SECRET.encode() in bare, "the processor proves nothing"


# --- Go ------------------------------------------------------------------------------------------

@all_as_one_caller("pattern", ["<secret>", "../../../../../..<secret>", "link"])
def test_go_cannot_embed_the_host(scene, store, pattern):
    pattern = pattern.replace("<secret>", str(scene.secret))
    text = ('package main\n\nimport _ "embed"\n\n'
            f'//go:embed {pattern}\nvar text string\n\nfunc main() {{ print(text) }}\n')
    result = compile_in(store, "go", {"main.go": text})
    assert_stopped(store, result)


@all_as_one_caller("flags", ["-toolexec=/work/evil.sh", "-overlay=/work/o.json", "-modfile=/etc/passwd"])
def test_flags_of_go_are_not_taken_from_a_request(scene, store, flags):
    """Variables of a request are the program's, those of the caller nobody's."""
    text = 'package main\n\nfunc main() { println("fine") }\n'
    result = compile_in(store, "go", {"main.go": text, "evil.sh": f"#!/bin/sh\ncat {scene.secret} >&2\nexit 1\n"},
                        "--env", f"GOFLAGS={flags}", GOFLAGS=flags)
    assert result["outcome"] == "exited" and result["stderr"] == "fine\n", said(result)[:500]


@callers
def test_go_does_not_run_what_a_comment_asks_for(scene, store):
    text = ('package main\n\n//go:generate cat <secret>\n//go:debug madvdontneed=1\n\n'
            '// #cgo LDFLAGS: -Wl,-T,<secret>\n// #include "<secret>"\nimport "C"\n\nfunc main() {}\n')
    result = compile_in(store, "go", {"main.go": text.replace("<secret>", str(scene.secret))})
    assert_stopped(store, result)


# --- Rust ----------------------------------------------------------------------------------------

@all_as_one_caller("text", ['include_str!("<secret>")', 'include_str!("../../../../../..<secret>")',
                            'include!("<secret>")', 'include_bytes!("/etc/shadow").len()'])
def test_rust_cannot_include_the_host(scene, store, text):
    text = text.replace("<secret>", str(scene.secret))
    assert_stopped(store, compile_in(store, "rust", {"main.rs": f'fn main() {{ println!("{{}}", {text}); }}\n'}))


@callers
def test_rust_does_not_see_the_callers_environment(store):
    text = 'fn main() { println!("{}", env!("SECRET_TOKEN")); }\n'
    result = compile_in(store, "rust", {"main.rs": text}, "--env", "SECRET_TOKEN=given", SECRET_TOKEN="callers")
    assert_stopped(store, result)


@callers
def test_a_build_script_runs_inside(scene, store):
    script = ('use std::fs; use std::net::TcpStream;\nfn main() {\n'
              f'    println!("cargo:warning=secret {{:?}}", fs::read_to_string("{scene.secret}").is_ok());\n'
              f'    println!("cargo:warning=socket {{:?}}", TcpStream::connect("127.0.0.1:{scene.port}").is_ok());\n'
              '    println!("cargo:warning=write {:?}", fs::write("/usr/x", "x").is_ok());\n'
              '    std::process::exit(1);\n}\n')
    manifest = '[package]\nname = "evil"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n'
    result = compile_in(store, "rust", {"src/main.rs": "fn main() {}\n", "build.rs": script, "Cargo.toml": manifest})
    assert_stopped(store, result)
    text = said(result)
    assert all(f"{word} false" in text for word in ("secret", "socket", "write")), text[:1500]


# --- TypeScript and JavaScript -------------------------------------------------------------------

@all_as_one_caller("text", [
    'import text from "<secret>" with { type: "text" };\nconsole.log(text);\n',
    'import text from "<secret>";\nconsole.log(text);\n',
    '/// <reference path="<secret>" />\nimport * as x from "../../../../../..<secret>";\nconsole.log(x);\n'])
def test_typescript_cannot_bundle_the_host(scene, store, text):
    result = compile_in(store, "typescript", {"main.ts": text.replace("<secret>", str(scene.secret))}, timeout=200)
    if "cannot make typescript ready" in said(result):
        pytest.skip("esbuild cannot be fetched here")
    assert harness.SECRET not in said(result) and harness.SECRET.encode() not in store.content()
    assert not result["success"]


@callers
@pytest.mark.parametrize("file, text", [("tsconfig.json", '{"extends": "<secret>"}'),
                                        ("package.json", '{"type": "module", "imports": {"#x": "<secret>"}}')])
def test_a_projects_settings_do_not_lead_out(scene, store, file, text):
    result = compile_in(store, "typescript", {"main.ts": 'console.log("fine");\n',
                                              file: text.replace("<secret>", str(scene.secret))}, timeout=200)
    assert harness.SECRET not in said(result)


# --- packages ------------------------------------------------------------------------------------

HOOK = ("{ cat <secret>; ls <room>; env; ls /proc | grep -c '^[0-9]'; ls -A /work; : > /usr/x; "
        "kill -0 <victim> && echo GOT; } > $PWD/log 2>&1; cat $PWD/log >&2; exit 1")


@all_as_one_caller("hook", ["preinstall", "install", "postinstall", "prepare"])
def test_a_hook_of_the_project_runs_inside_or_not_at_all(scene, store, hook):
    stages.have(store, "javascript")
    script = HOOK
    for name in ("secret", "room", "victim"):
        script = script.replace(f"<{name}>", str(getattr(scene, name)))
    manifest = json.dumps({"name": "evil", "version": "1.0.0", "scripts": {hook: script},
                           "dependencies": {"x": "file:./x"}})
    result = compile_in(store, "javascript", {"main.js": "console.log(1);\n", "package.json": manifest,
                                              "x/package.json": '{"name": "x", "version": "1.0.0"}'},
                        CALLERS_TOKEN="t0ken")
    assert harness.SECRET not in said(result) and "t0ken" not in said(result) and "GOT" not in said(result)
    assert not store.leavings()


@all_as_one_caller("line", [
    "<secret>", "-r <secret>", "-c <secret>", "file://<secret>", "--requirement=<secret>", "-e <room>",
    "x @ file://<room>", "../../../../../..<secret>"])
def test_a_list_of_requirements_does_not_lead_out(scene, store, line):
    stages.have(store, "python")
    line = line.replace("<secret>", str(scene.secret)).replace("<room>", str(scene.room))
    result = compile_in(store, "python", {"main.py": "print(1)\n", "requirements.txt": line + "\n"})
    assert harness.SECRET not in said(result) and harness.SECRET.encode() not in store.content()
    assert store.entries("layer") == store.before[1], said(result)[:500]


@callers
def test_a_programs_own_tool_is_not_the_compiler(scene, store):
    """Whatever a program brings with the name of a tool is not found before the tool."""
    evil = f"#!/bin/sh\ncat {scene.secret} >&2\necho EVIL >&2\nexit 1\n"
    files = {"main.c": TOUCH, **{name: evil for name in ("gcc", "ld", "as", "cc1", "sh", "ld.gold", "collect2")}}
    result = compile_in(store, "c", files)
    assert result["outcome"] == "exited" and "EVIL" not in said(result)
