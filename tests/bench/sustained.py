"""Runs per second that several callers get from the library, with an engine and without one.

    make bench BENCH_ARGS="--only sustained"

The same request in both: a new sandbox each time, of an unchanged program.  They take turns, slice by slice, so that what
else the machine does meets both.
"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import report
import warm

CALLERS = (1, 2, 8)
HELLO = {
    "python": "print(1)",
    "javascript": "console.log(1)",
    "typescript": "const n: number = 1;\nconsole.log(n)",
    "go": "package main\nfunc main() { println(1) }",
    "rust": "fn main() { println!(\"1\"); }",
    "java": "class Main { public static void main(String[] args) { System.out.println(1); } }",
    "c": "#include <stdio.h>\nint main(void) { puts(\"1\"); return 0; }",
    "c++": "#include <cstdio>\nint main() { std::puts(\"1\"); }",
    "bash": "echo 1",
    "sh": "echo 1",
    "ruby": "puts 1",
    "php": "<?php echo 1;",
    "perl": "print 1",
    "lua": "print(1)",
    "r": "cat(1)",
    "sql": "SELECT 1;",
}
WITH, WITHOUT = "engine", "none"
NOTE = (
    "Runs per second by `sbr_run`, each in a sandbox of its own, the program unchanged and compiled before. `none` is the"
    " same library without an engine. The share is that of `engine` to `none`; the ways say how its sandboxes came about."
)


def rate(lab, language, who, callers, milliseconds, line):
    """Runs per second of one slice, and how they were made."""
    env = lab.engine.environment()
    if who == WITHOUT:
        env = {**env, "SANDBOX_RUN_COLD": "1"}
    found = lab.samples(f"sustained {language} {who} {callers}", "rate", callers, milliseconds, lines=[line], env=env)
    seconds = (max(s.end for s in found) - min(s.begin for s in found)) / 1e9
    return len(found) / seconds, collections.Counter(s.way for s in found)


def measure(lab, language, milliseconds, slices):
    line = warm.request(language=language, code=HELLO[language])
    lab.warm_up(line)
    for callers in CALLERS:
        taken, ways = collections.defaultdict(list), collections.Counter()
        for number in range(slices):
            for who in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
                figure, how = rate(lab, language, who, callers, milliseconds, line)
                taken[who].append(figure)
                ways.update(how if who == WITH else {})
        engine, none = (report.median(taken[who]) for who in (WITH, WITHOUT))
        lab.rows.append([language, str(callers), report.rounded(engine), report.rounded(none),
                         report.rounded(engine / none), ", ".join(f"{n} {way}" for way, n in ways.items())])
        text = f"{language}, {callers} callers: with an engine at least as many runs as without"
        lab.goals.append(report.goal_at_least(text, engine / none, 1.0, " ×"))


def sustained(bench):
    effort = bench.effort
    sys.path.insert(0, str(warm.TESTS))
    os.environ["SBR_BUILD"] = str(bench.peers.sandbox_run.parent)
    import engine as engines  # pylint: disable=import-outside-toplevel,import-error

    with tempfile.TemporaryDirectory(prefix="sandbox-run-bench.", ignore_cleanup_errors=True) as folder:
        scratch = pathlib.Path(folder)
        scratch.chmod(0o755)
        with engines.Engine(scratch / "engine") as engine:
            lab = warm.Lab(bench, scratch, engine)
            for language in filter(HELLO.__contains__, effort.languages or HELLO):
                try:
                    measure(lab, language, effort.rate_slice_ms, max(effort.rate_slices, 2))
                except (RuntimeError, subprocess.SubprocessError, ZeroDivisionError) as problem:
                    lab.rows.append([language, f"NOT MEASURED: {problem}"[:120], "-", "-", "-", "-"])
    header = ["language", "callers", "engine runs/s", "none runs/s", "engine ÷ none", "ways"]
    return report.Table("Sustained runs, with an engine and without", NOTE, header, lab.rows, lab.goals)
