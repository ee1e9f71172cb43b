"""Programs in each language, against the bare toolchain: what a user would type instead."""

import collections
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import report
from tables import MS, ratio

ROOT = pathlib.Path(__file__).resolve().parents[2]

NUMBER = "10000000"  # eight digits, which rbench counts up
NOBODY = 65534
PREPARE_SECONDS = 900  # toolchains are prepared and packages fetched in the first run
SLICE = 10  # rounds between two clean-ups
MAX_OVERHEAD_MS = 3

COLD, CHANGED, UNCHANGED = "cold run", "changed source", "unchanged source"
CASES = (COLD, CHANGED, UNCHANGED)


class Unusable(Exception):
    """The language cannot be measured here; the text says why."""


@dataclasses.dataclass
class Place:
    """What the bare commands are made of."""

    tool: pathlib.Path  # the real interpreter or compiler, the one that sandbox-run takes
    source: pathlib.Path
    out: pathlib.Path  # a directory for what the compiler makes
    cache: pathlib.Path  # of sandbox-run
    artifact: pathlib.Path | None = None  # what the compile stage left

    def prepared(self, name):
        found = sorted(self.cache.glob(f"prepared/*/tree/{name}"))
        if not found:
            raise Unusable(f"no prepared layer has {name}")
        return found[0]


# A command is a list of programs, each a list of words as rbench takes them.


def interpreter(place):
    return [[place.tool, place.source]]


def native_compiler(place):
    # The linker is found by its name.
    return [["PATH=/usr/bin:/bin", place.tool, "-o", place.out / "program", place.source], [place.out / "program"]]


def go_build(place):
    where = [f"GOCACHE={place.out / 'cache'}", f"HOME={place.out}"]
    build = [*where, place.tool, "build", "-o", place.out / "program", place.source]
    return [build, [place.out / "program"]]


def javac_and_java(place):
    return [
        [place.tool, "-d", place.out, place.source],
        [place.tool.parent / "java", "-cp", place.out, "Main"],
    ]


def esbuild_and_node(place):
    bundle = place.out / "main.mjs"
    options = ["--bundle", "--platform=node", "--format=esm", "--log-level=warning", f"--outfile={bundle}"]
    return [[place.prepared("esbuild/bin/esbuild"), place.source, *options], [place.tool, bundle]]


def sqlite(place):
    return [[f"stdin={place.source}", place.tool, ":memory:"]]


def postgres(place):
    """Our own driver, outside: nobody types the life of a server.  The server refuses root."""
    layer = place.out / "prepared"
    if not layer.exists():
        shutil.copytree(place.prepared("template.tar").parent, layer)
    driver = shutil.copy(ROOT / "languages/drivers/postgres-run.sh", place.out)
    words = [f"TMPDIR={place.out}", "/usr/bin/sh", driver, place.tool.parent, layer, place.source]
    if os.geteuid() == 0:
        os.chown(place.out, NOBODY, NOBODY)
        words.insert(0, f"uid={NOBODY}")
    return [words]


def built_program(place):
    return [[place.artifact / "program"]]


def built_with_shared_library(place):
    """The run path in the program is the toolchain's place inside."""
    libraries = sorted((place.tool.parents[1] / "lib/rustlib").glob("*-linux-*/lib/libstd-*.so"))
    where = [f"LD_LIBRARY_PATH={libraries[0].parent}"] if libraries else []
    return [[*where, place.artifact / "program"]]


def built_classes(place):
    return [[place.tool.parent / "java", "-cp", place.artifact, "Main"]]


def built_bundle(place):
    return [[place.tool, place.artifact / "main.mjs"]]


@dataclasses.dataclass
class Program:
    """`code` has NUMBER twice: in a statement and in the comment at its end."""

    file: str
    code: str
    bare: object  # Place -> command, with the source
    built: object = None  # Place -> command, with the artifact; None: nothing is compiled
    typed: str = ""
    most: float | None = None  # of the time of the bare toolchain, for a new source


PROGRAMS = {
    "python": Program("main.py", f'print("hello", {NUMBER})\n# {NUMBER}\n', interpreter),
    "javascript": Program("main.js", f"console.log('hello', {NUMBER});\n// {NUMBER}\n", interpreter),
    "typescript": Program(
        "main.ts",
        f"const n: number = {NUMBER};\nconsole.log('hello', n);\n// {NUMBER}\n",
        esbuild_and_node,
        built_bundle,
        "`esbuild` and `node`",
    ),
    "go": Program(
        "main.go",
        f'package main\n\nimport "fmt"\n\nfunc main() {{\n\tfmt.Println("hello", {NUMBER})\n}}\n// {NUMBER}\n',
        go_build,
        built_program,
        "`go build` and run",
        0.6,
    ),
    "rust": Program(
        "main.rs",
        f'fn main() {{\n    println!("hello {{}}", {NUMBER});\n}}\n// {NUMBER}\n',
        native_compiler,
        built_with_shared_library,
        "`rustc` and run",
        0.8,
    ),
    "java": Program(
        "Main.java",
        "public class Main {\n    public static void main(String[] args) {\n"
        f'        System.out.println("hello " + {NUMBER});\n    }}\n}}\n// {NUMBER}\n',
        javac_and_java,
        built_classes,
        "`javac` and `java`",
        0.6,
    ),
    "bash": Program("main.bash", f"echo hello {NUMBER}\n# {NUMBER}\n", interpreter),
    "sh": Program("main.sh", f"echo hello {NUMBER}\n# {NUMBER}\n", interpreter),
    "sql": Program("main.sql", f"SELECT 'hello', {NUMBER};\n-- {NUMBER}\n", sqlite),
    "postgres": Program("main.sql", f"SELECT 'hello', {NUMBER};\n-- {NUMBER}\n", postgres),
    "c": Program(
        "main.c",
        f'#include <stdio.h>\n\nint main(void)\n{{\n    printf("hello %d\\n", {NUMBER});\n}}\n// {NUMBER}\n',
        native_compiler,
        built_program,
        "`gcc` and run",
    ),
    "c++": Program(
        "main.cpp",
        f'#include <iostream>\n\nint main()\n{{\n    std::cout << "hello " << {NUMBER} << std::endl;\n}}\n// {NUMBER}\n',
        native_compiler,
        built_program,
        "`g++` and run",
    ),
}


class Lane:
    """One language: its three sources, and the two commands for each."""

    def __init__(self, name, sandbox_run, scratch):
        self.name = name
        self.program = PROGRAMS[name]
        self.sandbox_run = sandbox_run
        self.scratch = scratch
        self.cache = scratch / "cache"
        self.tool = self.find_tool()
        self.prepare_seconds = 0.0
        self.commands = {case: self.both(case) for case in CASES}

    def ours(self, words, **options):
        environment = {**os.environ, "SANDBOX_RUN_CACHE": str(self.cache)}
        return subprocess.run(
            [self.sandbox_run, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PREPARE_SECONDS,
            check=False,
            **options,
        )

    def find_tool(self):
        done = self.ours(["languages", "--json", "--no-selftest", self.name], text=True)
        if done.returncode:
            raise Unusable(done.stderr.strip() or f"exit status {done.returncode}")
        language = json.loads(done.stdout)["languages"][0]
        if not language["versions"]:
            raise Unusable(f"not installed; its package is {language['package']}")
        return pathlib.Path(language["versions"][0]["path"])

    def both(self, case):
        """(ours, bare) after each has shown that it works; what must be prepared is so afterwards."""
        folder = self.scratch / self.name / case.partition(" ")[0]
        source = folder / self.program.file
        source.parent.mkdir(parents=True)
        source.write_text(self.program.code, encoding="utf-8")
        before = set(self.cache.glob("artifact/*"))
        said = self.first_run(source)
        place = Place(self.tool, source, folder / "out", self.cache)
        place.out.mkdir()
        make = self.program.bare
        if case == UNCHANGED and self.program.built:
            place.artifact = self.new_artifact(before)
            make = self.program.built
        bare = make(place)
        self.check_bare(bare, said)
        edit = self.edit_word(case, source)
        # What `~` is made of, and nothing else: as empty an environment as the bare tool's.
        home = [f"HOME={os.environ['HOME']}"] if "HOME" in os.environ else []
        where = [f"SANDBOX_RUN_CACHE={self.cache}", *home]
        ours = [*edit, *where, self.sandbox_run, "run", "--lang", self.name, source]
        return ours, [*edit, *joined(bare)]

    def edit_word(self, case, source):
        if case == UNCHANGED:
            return []
        find = self.program.code.index if case == COLD else self.program.code.rindex
        return [f"edit={find(NUMBER)}:{source}"]

    def first_run(self, source):
        """What the program prints."""
        done = self.ours(["run", "--json", "--lang", self.name, source], text=True)
        try:
            result = json.loads(done.stdout)
        except ValueError:
            raise Unusable(f"no result: {done.stderr.strip()}") from None
        if not result["success"]:
            problem = result.get("error") or {}
            raise Unusable(problem.get("message") or result["explanation"] or result["outcome"])
        for stage in result["stages"]:
            if stage["name"] == "prepare":
                self.prepare_seconds = stage["execution_time"]
        if NUMBER not in result["stdout"]:
            raise Unusable(f"the program printed {result['stdout']!r}")
        return result["stdout"]

    def new_artifact(self, before):
        """The sources of the three cases are the same at first, and so is their artifact."""
        found = set(self.cache.glob("artifact/*")) - before or before
        newest = max(found, key=lambda entry: entry.stat().st_mtime, default=None)
        if not newest:
            raise Unusable("the store has no artifact")
        return newest / "tree"

    def check_bare(self, command, said):
        with tempfile.TemporaryFile() as output:
            for step in command:
                done = run_step(step, output)
                if done.returncode:
                    why = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                    raise Unusable(f"bare: exit status {done.returncode}: {why[-80:]}")
            output.seek(0)
            printed = output.read().decode()
        if printed != said:
            raise Unusable(f"bare printed {printed!r}, sandbox-run {said!r}")

    def clean(self):
        """What the driver of a server leaves behind outside."""
        for leftover in self.scratch.glob(f"{self.name}/*/out/postgres.*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def samples(self, bench, rounds):
        """(case, "ours" or "bare") -> nanoseconds, and the number of failures."""
        keys = [(case, who) for case in CASES for who in ("ours", "bare")]
        commands = [command for case in CASES for command in self.commands[case]]
        taken = {key: [] for key in keys}
        failures = collections.Counter()
        for start in range(0, rounds, SLICE):
            for i, ns, status in bench.rbench_lines("latency", min(SLICE, rounds - start), 0, commands):
                if status:
                    failures[keys[i]] += 1
                else:
                    taken[keys[i]].append(ns)
            self.clean()
        return taken, failures


def joined(command):
    """Programs one after the other, as rbench takes them."""
    words = list(command[0])
    for step in command[1:]:
        words += ["&&", *step]
    return words


def run_step(step, output):
    """One program of a bare command, as rbench would start it, but heard."""
    words = [str(word) for word in step]
    options = {"env": {}, "stdin": subprocess.DEVNULL}
    while "=" in words[0] and not words[0].startswith("/"):
        name, _, value = words.pop(0).partition("=")
        if name == "stdin":
            options["stdin"] = pathlib.Path(value).open("rb")
        elif name == "uid":
            options.update(user=int(value), group=int(value), extra_groups=[])
        else:
            options["env"][name] = value
    return subprocess.run(words, stdout=output, stderr=subprocess.PIPE, check=False, **options)


# The table


def goal_of(name, case):
    """(text, limit, unit) or None."""
    program = PROGRAMS[name]
    if case == COLD and not program.built:
        return f"{name}, {case}: at most {MAX_OVERHEAD_MS} ms over the bare tool", MAX_OVERHEAD_MS, " ms"
    if case == COLD and program.most:
        return f"{name}, new source: at most {program.most} × {program.typed}", program.most, " ×"
    if case == UNCHANGED and program.built:
        return f"{name}, cache hit: less than {MAX_OVERHEAD_MS} ms over bare exec", MAX_OVERHEAD_MS, " ms"
    return None


def goal_for(name, case, ours, bare):
    """`ours` and `bare` are medians in nanoseconds; None: not measured."""
    goal = goal_of(name, case)
    if not goal:
        return []
    text, limit, unit = goal
    if ours is None or bare is None:
        return [report.goal_at_most(text, None, limit, unit)]
    value = ours / bare if unit == " ×" else (ours - bare) / MS
    return [report.goal_at_most(text, value, limit, unit)]


def row_of(name, case, taken, failures):
    ours, bare = taken[case, "ours"], taken[case, "bare"]
    failed = failures[case, "ours"] + failures[case, "bare"]
    goal = goal_of(name, case)
    shown = f"≤ {goal[1]}{goal[2]}" if goal else "-"
    if not ours or not bare:
        return [name, case, *["-"] * 6, shown, f"{failed} FAILED"]
    middle, base = report.median(ours), report.median(bare)
    return [
        name,
        case,
        *(report.rounded(report.percentile(times, share) / MS) for times in (bare, ours) for share in (0.5, 0.9)),
        f"{(middle - base) / MS:+.2f}",
        ratio(middle, base),
        shown,
        f"{len(ours)}" + (f", {failed} FAILED" if failed else ""),
    ]


def measured_language(bench, name, scratch):
    """(rows, goals, seconds to prepare) of one language."""
    lane = Lane(name, bench.peers.named("sandbox-run")[0].sandbox_run, scratch)
    taken, failures = lane.samples(bench, bench.effort.language_rounds)
    lines = [f"{case.replace(' ', '-')} {who} {ns}" for (case, who), times in taken.items() for ns in times]
    bench.save(f"language-{name}.txt", ["# case who nanoseconds", *lines])
    rows = [row_of(name, case, taken, failures) for case in CASES]
    goals = []
    for case in CASES:
        middles = [report.median(taken[case, who]) if taken[case, who] else None for who in ("ours", "bare")]
        goals += goal_for(name, case, *middles)
    return rows, goals, lane.prepare_seconds


NOTE = (
    "Milliseconds from vfork to reaped, with an empty environment; a program that prints one line. Cold run: everything"
    " is prepared, the program is new (a number in its code differs each time). Changed source: a number in a comment"
    " differs. Unchanged source: of a compiled language, a cache hit. Bare is what a user types, with the real binaries"
    " that sandbox-run takes: the interpreter; or the compiler with its default options, then the program; for the"
    " cache hit, the program itself out of the store. Bare postgres is our own driver, outside the sandbox. All six"
    " take turns, in an order drawn anew for each round."
)


def languages(bench):
    rows, goals, prepared = [], [], []
    if not bench.peers.named("sandbox-run"):
        raise RuntimeError("sandbox-run does not run here")
    for name in filter(PROGRAMS.__contains__, bench.effort.languages or PROGRAMS):
        with tempfile.TemporaryDirectory(prefix="sandbox-run-bench.", ignore_cleanup_errors=True) as scratch:
            pathlib.Path(scratch).chmod(0o755)
            try:
                found = measured_language(bench, name, pathlib.Path(scratch))
            except (Unusable, OSError, subprocess.SubprocessError) as problem:
                rows.append([name, "-", *["-"] * 7, f"NOT MEASURED: {' '.join(str(problem).split())[:120]}"])
                for case in CASES:
                    goals += goal_for(name, case, None, None)
                continue
        rows += found[0]
        goals += found[1]
        if found[2]:
            prepared.append(f"{name} {found[2]:.1f} s")
    note = NOTE + (f" To prepare, once for each toolchain: {', '.join(prepared)}." if prepared else "")
    header = ["language", "case", "bare p50", "p90", "sandbox-run p50", "p90", "difference", "× bare", "goal", "N"]
    return report.Table("Languages", note, header, rows, goals)
