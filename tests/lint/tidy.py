"""clang-tidy over src/, two files at a time; an unchanged file is not analysed again.

A result is kept in BUILD/lint-cache under a hash of all that can change it: the source, every
header of the project (generated ones too), .clang-tidy, the flags and the version of the tool.
"""

import contextlib
import hashlib
import json
import re
import shlex
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

JOBS = 2
MODEL = "tests/lint/analyzer_model.h"
# What stands in for a function of libc need not name its parameters as a header of the system does.
_NAMES = "[readability-inconsistent-declaration-parameter-name]"

# Flags of gcc that clang 14 refuses, and those that belong to one compilation only.
_DROPPED = re.compile(
    r"-c|-M\w*|-pipe|-g\w*|-flto\S*|-fanalyzer\S*|-fhardened|-ftrivial-auto-var-init=\S*"
    r"|-fzero-call-used-regs=\S*|-fstrict-flex-arrays\S*|-fno-tree-\S*|-fipa-\S*|-fsanitize\S*"
    r"|--coverage|-fprofile-\S*|-specs=\S*|-Werror\S*"
)
_WITH_VALUE = {"-o", "-MF", "-MQ", "-MT"}
_FINDING = re.compile(r"(?P<path>[^:\n]+):(?P<rest>\d+:\d+: (?P<kind>warning|error|note): .*)")
_LEAK = re.compile(r"[Ll]eak.*?'(?P<name>\w+)[\w.>-]*'|leak: (?P<other>\w+)")
_ALLOCATED = re.compile(r"(?P<path>[^:\n]+):(?P<line>\d+):\d+: note: (?:Memory is|Returned) allocated\b.*")
# A code that is read from an error is that of a failure, unless it is set or compared.
_CODE = re.compile(r"(?<![\w.>])(?:\w+(?:->|\.))*err->code\b(?!\s*(=[^=]|[!=]=))")


def scoped_leak(message, source):
    """A "leak" of a variable with a cleanup attribute: neither clang 14 nor cppcheck knows those."""
    match = _LEAK.search(message)
    name = match and (match["name"] or match["other"])
    return bool(name and is_scoped(name, source))


def is_scoped(name, source):
    return bool(re.search(rf"\bscoped_\w+\b[^;]*\b{name}\b|\b{name}\s*__attribute__\(\(cleanup", source))


def scoped_owner(root, text):
    """A "leak" of what a variable with a cleanup attribute got, and which another one names, too."""
    first, *notes = text.split("\n    ")
    if "leak" not in first:
        return False
    for note in filter(None, map(_ALLOCATED.fullmatch, notes)):
        source = tree.read(root / note["path"])
        line = source.splitlines()[int(note["line"]) - 1]
        names = re.findall(r"&(\w+)\b(?!->|\.)|(?<![\w.>])(\w+) = ", line)
        if any(is_scoped(a or b, source) for a, b in names):
            return True
    return False


def flags_of(entry):
    """The compiler flags of one entry of compile_commands.json, as clang understands them."""
    words = entry.get("arguments") or shlex.split(entry["command"])
    flags, skip = [], False
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))  # behind `ccache cc`
    for word in words[first:]:
        if skip or word in _WITH_VALUE or word == entry["file"]:
            skip = not skip and word in _WITH_VALUE
        elif not _DROPPED.fullmatch(word):
            flags.append(word)
    return [*flags, "-Wno-unknown-warning-option", "-Qunused-arguments"]


def jobs_of(root, build):
    """[(source, flags, folder to run in)] for every source; one that meson does not compile itself
    (the static helper, say) is analysed with the flags of the first."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    known = {}
    for entry in entries:
        path = Path(entry["directory"], entry["file"]).resolve()
        known.setdefault(path, (flags_of(entry), entry["directory"]))
    sources = tree.files(root / "src", ".c")
    ours = [known[path] for path in sources if path in known]
    if not ours:
        return []
    return [(path, *known.get(path, ours[0])) for path in sources]


def shared_hash(root, build):
    state = hashlib.sha256()
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True)
    state.update(version.stdout)
    headers = tree.files(root / "src", ".h") + tree.files(root / "include", ".h")
    headers += sorted(path for path in build.rglob("*.h") if "lint-cache" not in path.parts)
    own = [root / ".clang-tidy", root / "tests/lint/tidy.py", root / MODEL]
    for path in own + headers:
        state.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return state


def parse(root, folder, output):
    """One entry per finding, its notes indented below it."""
    findings = []
    for line in output.splitlines():
        match = _FINDING.fullmatch(line)
        if not match:
            continue
        path = Path(folder, match["path"]).resolve()
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        text = f"{shown}:{match['rest']}".replace(",-warnings-as-errors", "")
        if match["kind"] != "note":
            findings.append((path, text))
        elif findings:
            findings[-1] = (findings[-1][0], f"{findings[-1][1]}\n    {text}")
    return [
        text
        for path, text in findings
        if not scoped_leak(text.split("\n")[0], tree.read(path) if path.exists() else "")
        and not scoped_owner(root, text)
        and not (_NAMES in text and not path.is_relative_to(root))
    ]


def modelled_text(text):
    return _CODE.sub(r"analyzer_negative(\g<0>)", text)


@contextlib.contextmanager
def told_that_errors_are_failures(path, modelled):
    """An overlay in which `return err->code` returns what is negative, as the model has it for err_set."""
    with tempfile.TemporaryDirectory(prefix="sandbox-run-lint.") as folder:
        changed, overlay = Path(folder, path.name), Path(folder, "overlay.json")
        text = path.read_text(encoding="utf-8")
        changed.write_text(modelled_text(text) if modelled else text, encoding="utf-8")
        file = {"type": "file", "name": str(path), "external-contents": str(changed)}
        overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": [file]}), encoding="utf-8")
        yield overlay


def analyse(root, cache, base, job):
    path, flags, folder = job
    modelled = path != root / "src/base/err.c"  # which defines what the model wraps
    if modelled:
        flags = [*flags, f"-I{root / 'src'}", f"-I{root / 'include'}", "-include", f"{root / MODEL}"]
    state = base.copy()
    state.update(path.read_bytes() + b"\0" + json.dumps([flags, str(path)]).encode())
    stored = cache / state.hexdigest()
    if stored.exists():
        return json.loads(stored.read_text(encoding="utf-8"))
    with told_that_errors_are_failures(path, modelled) as overlay:
        done = subprocess.run(
            ["clang-tidy", "--quiet", f"--vfsoverlay={overlay}", str(path), "--", *flags],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    findings = parse(root, folder, done.stdout)
    if done.returncode and not _FINDING.search(done.stdout):
        return [f"{path.relative_to(root)}:1: clang-tidy failed:\n{done.stdout}{done.stderr}"]
    partial = stored.with_suffix(".new")
    partial.write_text(json.dumps(findings), encoding="utf-8")
    partial.rename(stored)
    return findings


def check(root, build):
    """Returns the findings, each once though a header may be seen from many sources."""
    root, build = Path(root).resolve(), Path(build).resolve()
    cache = build / "lint-cache"
    cache.mkdir(exist_ok=True)
    base = shared_hash(root, build)
    with ThreadPoolExecutor(JOBS) as pool:
        results = pool.map(lambda job: analyse(root, cache, base, job), jobs_of(root, build))
        return list(dict.fromkeys(finding for findings in results for finding in findings))
