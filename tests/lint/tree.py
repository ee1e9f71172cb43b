"""Which files are ours, and C text without its comments and strings."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_SKIPPED = re.compile(r"build(-.*)?|__pycache__|node_modules|\..*")
_SHEBANG = re.compile(rb"#!.*\b(ba|da)?sh\b")

# Block comment, line comment, string, character: whichever starts first wins.
_C_TOKENS = re.compile(
    r"""(?P<block>/\*.*?(?:\*/|\Z))
      | (?P<line>//[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.VERBOSE,
)


def files(root, *suffixes):
    """Our files with one of these suffixes, sorted; build folders and hidden ones left out."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f == ".ci" or not _SKIPPED.fullmatch(f))
        found += [Path(folder, name) for name in names if name.endswith(suffixes)]
    return sorted(found)


def c_files(root, *below):
    """C sources and headers below the named folders, or everywhere."""
    places = [Path(root, place) for place in below] or [root]
    return [path for place in places for path in files(place, ".c", ".h")]


def shell_scripts(root):
    """Known by their suffix or their first line."""
    return [path for path in files(root, "")
            if path.suffix in (".sh", "") and "corpus" not in path.parts and _is_shell(path)]


def _is_shell(path):
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return bool(_SHEBANG.match(stream.readline(80)))


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def c_tokens(text):
    """Yields (kind, line number) for every comment ("block", "line") and string."""
    for match in _C_TOKENS.finditer(text):
        yield match.lastgroup, text.count("\n", 0, match.start()) + 1


def blank(text, keep_strings=False):
    """The text with comments (and strings) made empty; line numbers stay the same."""

    def replace(match):
        if match.lastgroup == "string":
            return match.group() if keep_strings else '""'
        return " " + "\n" * match.group().count("\n")

    return _C_TOKENS.sub(replace, text)
