"""Runs every lint and prints the problems, one list, nothing else.

Usage: run_lint.py [--build DIR] [CHECK ...]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import budgets
import calls
import documents
import doors
import fields
import hostile
import layers
import loop
import names
import selftest
import tidy
import tree


class Skip(Exception):
    """The check could not be made; the text says why."""


def need(program):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed: tools/packages.sh check")


def run(*words):
    return subprocess.run(
        [str(word) for word in words],
        cwd=tree.ROOT,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def shown(path):
    return str(path.relative_to(tree.ROOT))


def or_failure(problems, done):
    """A tool that fails without naming a place is a problem of its own."""
    if done.returncode and not problems:
        return [f"{done.args[0]} failed: {done.stdout}{done.stderr}".strip()]
    return problems


def check_format(_build):
    need("clang-format")
    paths = [shown(path) for path in tree.c_files(tree.ROOT)]
    if not paths:
        return []
    done = run("clang-format", "--dry-run", "-Werror", *paths)
    lines = {}
    for name, line in re.findall(r"^([^\s:][^:\n]*):(\d+):\d+: error: ", done.stderr, re.MULTILINE):
        lines.setdefault(name, dict.fromkeys([]))[line] = None
    problems = [
        f"{name}:{next(iter(found))}: not formatted (clang-format -i {name}); "
        f"lines {', '.join(list(found)[:12])}{', ...' if len(found) > 12 else ''}"
        for name, found in lines.items()
    ]
    return or_failure(problems, done)


def check_tidy(build):
    need("clang-tidy")
    if not (build / "compile_commands.json").exists():
        raise Skip(f"{build.name}/compile_commands.json does not exist: run make first")
    return tidy.check(tree.ROOT, build)


def check_cppcheck(build):
    need("cppcheck")
    if not tree.files(tree.ROOT / "src", ".c"):
        return []
    words = [
        "cppcheck",
        "--quiet",
        "--enable=warning,performance,portability",
        "--inline-suppr",
        "--error-exitcode=1",
        "--std=c11",
        "--library=posix,gnu",
        "--template={file}:{line}: {message} [{id}]",
        "-j2",
        "-Isrc",
        "-Iinclude",
        "-D__linux__",
        "-D__x86_64__",
        # Headers of the system are not read; the gaps are no problem of ours.
        "--suppress=missingIncludeSystem",
        "--suppress=unknownMacro",
        # Fooled by `p = q = malloc(n)`; the analyzer of clang follows that.
        "--suppress=uninitdata",
        # The linker gives the two ends of an embedded file as two names.
        "--suppress=comparePointers",
        # Variables in named registers are taken for expressions.
        "--suppress=constStatement:src/base/arch.h",
        # Each thread reads a directory of its own, which is what readdir is safe for.
        "--suppress=readdirCalled",
    ]
    if build.is_dir():
        (build / "lint-cache/cppcheck").mkdir(parents=True, exist_ok=True)
        words.append(f"--cppcheck-build-dir={build / 'lint-cache/cppcheck'}")
    done = run(*words, "src")
    found = list(dict.fromkeys(line for line in done.stderr.splitlines() if line))
    left = [line for line in found if not scoped(line)]
    return left if found else or_failure([], done)


def scoped(finding):
    path = tree.ROOT / finding.split(":")[0]
    return path.is_file() and tidy.scoped_leak(finding, tree.read(path))


def check_shell(_build):
    need("shellcheck")
    paths = [shown(path) for path in tree.shell_scripts(tree.ROOT)]
    if not paths:
        return []
    done = run("shellcheck", "--external-sources", "--format=gcc", *paths)
    return or_failure(done.stdout.splitlines(), done)


def check_python(_build):
    problems = []
    for path in tree.files(tree.ROOT, ".py"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                compile(path.read_bytes(), shown(path), "exec")
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", 0) or 1
            problems.append(f"{shown(path)}:{line}: {getattr(error, 'msg', error)}")
    return problems


QUICK = {
    "selftest": lambda _build: selftest.check(),
    "layers": lambda _build: layers.check(tree.ROOT),
    "budgets": lambda _build: budgets.check(tree.ROOT),
    "calls": lambda _build: calls.check(tree.ROOT),
    "names": lambda _build: names.check(tree.ROOT),
    "documents": lambda _build: documents.check(tree.ROOT),
    "doors": lambda _build: doors.check(tree.ROOT),
    "fields": lambda _build: fields.check(tree.ROOT),
    "hostile": lambda _build: hostile.check(tree.ROOT),
    "loop": lambda _build: loop.check(tree.ROOT),
    "python": check_python,
    "shell": check_shell,
    "format": check_format,
}
SLOW = {  # minutes, until their results are in the cache
    "cppcheck": check_cppcheck,
    "tidy": check_tidy,
}
CHECKS = {**QUICK, **SLOW}


def main():
    parser = argparse.ArgumentParser(description="Runs every lint; prints problems only.")
    parser.add_argument("--build", default="build", help="folder with compile_commands.json")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    options = parser.parse_args()
    unknown = set(options.checks) - set(CHECKS)
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}")

    failed = False
    for name in options.checks or CHECKS:
        try:
            problems = CHECKS[name](tree.ROOT / options.build)
        except Skip as reason:
            print(f"{name}: skipped: {reason}", file=sys.stderr)
            failed |= os.environ.get("SBR_MUST_WORK") == "1"
            continue
        for problem in problems:
            print(f"{name}: {problem}", flush=True)
        failed |= bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
