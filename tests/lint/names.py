"""Names: a file's name says what it holds, and a function's name says in which file it is.

  - No two folders have a file of the same name.
  - A function that other files call begins with the first word of its file's or its folder's name; one
    letter s more or less is the same word (`clients.c`: `client_send`).  INTERPOSED functions replace
    those of the C library and have their names.
  - No name has a word that the glossary of ARCHITECTURE.md replaced.

Usage: names.py [ROOT]
"""

import re
import sys
from pathlib import Path

import tree

# Functions of the public header, and of the library that a language's own runtime loads.
PUBLIC_PREFIX = "sbr"

OLD_WORDS = {"nursery", "nurseries", "midwife", "birth", "grave", "bury", "upkeep", "intake", "parked", "processor",
             "processors", "watcher", "nobody", "somebody", "told"}

_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINITION = re.compile(r"^(?!static\b|typedef\b|INTERPOSED\b|#|\s)[A-Za-z_][\w \*]*?[ \*](?P<name>\w+)\(",
                         re.MULTILINE)


def exported(text):
    """Yields (line, name) of every function that is defined and not static."""
    code = tree.blank(text)
    for match in _DEFINITION.finditer(code):
        end, depth = match.end(), 1
        while depth and end < len(code):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        if re.match(r"\s*\{", code[end:]):
            yield code.count("\n", 0, match.start()) + 1, match["name"]


# front_read.c defines the two functions with which libmicrohttpd reads.
FIXED = {"main", "recv", "gnutls_record_recv"}


def first_word(name):
    return name.split("_")[0].removesuffix("s")


def function_problems(shown, text):
    words = {first_word(Path(shown).stem), first_word(Path(shown).parent.name), PUBLIC_PREFIX}
    for line, name in exported(text):
        if name not in FIXED and first_word(name) not in words:
            yield f"{shown}:{line}: {name}() begins with neither its file's nor its folder's name"


def word_problems(shown, text):
    for number, line in enumerate(tree.blank(text).splitlines(), 1):
        for name in _NAME.findall(line):
            for word in OLD_WORDS.intersection(name.lower().split("_")):
                yield f"{shown}:{number}: {name}: the glossary of ARCHITECTURE.md has another word for '{word}'"


def check(root):
    """Returns one sentence per problem."""
    root = Path(root)
    problems, folders = [], {}
    for path in tree.c_files(root, "src"):
        shown = path.relative_to(root).as_posix()
        folders.setdefault(path.stem, set()).add(path.parent.name)
        if len(folders[path.stem]) > 1:
            problems.append(f"{shown}:1: {' and '.join(sorted(folders[path.stem]))} both have '{path.stem}'")
        problems += word_problems(shown, tree.read(path))
        if path.suffix == ".c":
            problems += function_problems(shown, tree.read(path))
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
