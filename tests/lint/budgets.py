"""Length of files and lines, banned functions, and what may print or exit.

An exception stands in the line or in the one above it, with its reason:
    /* lint-ok: abort: a broken invariant stops a test build */

Usage: budgets.py [ROOT]
"""

import re
import sys
from pathlib import Path

import tree

MAX_COLUMNS = 100
MAX_LINES = 500
MAX_LINES_OF_ONE_IDEA = 700  # with /* lint-ok: length: why it stays in one file */

BANNED = {
    "alloca": "malloc, or an array with a constant size",
    "atoi": "text_parse_count",
    "atol": "text_parse_count",
    "gets": "fgets or getline",
    "mktemp": "mkdtemp, mkostemp or O_TMPFILE",
    "popen": "posix_spawn or the spawn layer, without a shell",
    "rand": "getrandom",
    "signal": "sigaction or signalfd",
    "sprintf": "snprintf or buf_printf",
    "srand": "getrandom",
    "strcat": "buf_add_text",
    "strcpy": "snprintf or memcpy with a known length",
    "strtok": "strtok_r or strcspn",
    "system": "posix_spawn or the spawn layer, without a shell",
    "tmpnam": "mkdtemp, mkostemp or O_TMPFILE",
}

# Libraries return, programs speak.
PRINTS = {"printf", "fprintf", "vprintf", "vfprintf", "puts", "putchar", "perror"}
EXITS = {"exit", "abort", "_exit", "_Exit", "quick_exit"}
MAY_PRINT_AND_EXIT = ("src/cli/", "src/generate/")
MAY_UNDERSCORE_EXIT = ("src/init/", "src/egress/egress_main.c", "src/front/", "src/publish/publish_main.c", "src/secrets/secrets_main.c",
                       "src/sandbox/spawn.c")

# Not a member (`x.exit(`, `x->exit(`) and not part of a longer name.
_CALL = re.compile(r"(?<![\w.])(?<!->)(?P<name>%s)\s*\(" % "|".join({*BANNED, *PRINTS, *EXITS}))
_EXCEPTION = re.compile(r"/\* lint-ok: (?P<name>\w+): +[^\s*]")


def fault(shown, name):
    """Why this file must not call this function, or None."""
    if name in BANNED:
        return f"{name}() is banned: use {BANNED[name]}"
    if shown.startswith(MAY_PRINT_AND_EXIT):
        return None
    if name in PRINTS:
        return f"{name}(): only src/cli and src/generate print"
    if name == "_exit" and shown.startswith(MAY_UNDERSCORE_EXIT):
        return None
    return f"{name}(): only src/cli and src/generate end the process"


def call_problems(shown, text):
    lines = text.splitlines()
    for number, line in enumerate(tree.blank(text).splitlines(), 1):
        around = "\n".join(lines[max(number - 2, 0) : number])
        allowed = {match["name"] for match in _EXCEPTION.finditer(around)}
        for match in _CALL.finditer(line):
            reason = fault(shown, match["name"])
            if reason and match["name"] not in allowed:
                yield f"{shown}:{number}: {reason}"


def length_problems(shown, text):
    excused = any(match["name"] == "length" for match in _EXCEPTION.finditer(text))
    length, most = text.count("\n"), MAX_LINES_OF_ONE_IDEA if excused else MAX_LINES
    if length > most:
        yield f"{shown}:{most}: {length} lines, at most {most}"


def check(root):
    """Returns one sentence per problem."""
    root = Path(root)
    problems = []
    for path in tree.c_files(root):
        shown = path.relative_to(root).as_posix()
        text = tree.read(path)
        problems += [
            f"{shown}:{line}: write /* */, not //"
            for kind, line in tree.c_tokens(text)
            if kind == "line"
        ]
        if not shown.startswith(("src/", "include/")):
            continue
        problems += length_problems(shown, text)
        problems += [f"{shown}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
                     for number, line in enumerate(text.splitlines(), 1) if len(line) > MAX_COLUMNS]
        problems += call_problems(shown, text)
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
