"""The examples of docs/languages.md and docs/dependencies.md do what the documents show.

A section is one test, in a directory of its own.  A block that names a file behind its language is that
file.  In a block of the kind `console` a line with `$ ` is a command, one with `> ` goes on with it, and what
follows is all that it prints; a line `...` stands for any lines."""
import os
import pathlib
import re
import subprocess

import pytest

import machine_gives
import support
import yaml_text

DOCUMENTS = ("languages.md", "dependencies.md")
BLOCK = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
DEADLINE = 600  # a first run prepares its toolchain and fetches packages

# An ordinary user may have no cgroup, and `run` may be left out.
WRAPPER = """#!/bin/sh
case $1 in
languages | cache | plan | doctor | help) exec {program} "$@" ;;
run) shift ;;
esac
exec {program} run {options} "$@"
"""


def sections():
    """(document and heading, text) of each section with a session."""
    for name in DOCUMENTS:
        text = (support.REPO / "docs" / name).read_text()
        for part in re.split(r"^(?=##+ )", text, flags=re.M):
            if "```console" in part:
                heading = part.partition("\n")[0].lstrip("# ")
                yield pytest.param(part, id=f"{name}: {heading}")


def commands(block):
    """(command, what it prints) of a session."""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") or line == ">\n":
            found[-1][0] += line[2:] or "\n"
        else:
            found[-1][1] += line
    return found


def pattern(expected):
    return "".join(r"(?:.*\n)*?" if line == "...\n" else re.escape(line)
                   for line in expected.splitlines(keepends=True))


@pytest.fixture(scope="module")
def surroundings(session_folder):
    """Of a reader: the tool on the path, the clients' own settings, and what other tests have prepared."""
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    tools = session_folder / "tools"
    tools.mkdir()
    options = "" if os.geteuid() == 0 else "--allow-degraded"
    wrapper = tools / "sandbox-run"
    wrapper.write_text(WRAPPER.format(program=support.SANDBOX_RUN, options=options))
    wrapper.chmod(0o755)
    cache = support.cache_of(support.available_callers()[0])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_RUN_", "XDG_"))}
    return {**kept, "PATH": f"{tools}:/usr/bin:/bin", "SANDBOX_RUN_CACHE": str(cache), "LC_ALL": "C.UTF-8"}


def run(command, folder, env):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE, check=False)
    return done.stdout.decode()


@pytest.mark.parametrize("section", sections())
def test_an_example_does_what_it_shows(section, folder, surroundings):
    for kind, name, block in BLOCK.findall(section):
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)
        if kind != "console":
            continue
        for command, expected in commands(block):
            printed = run(command, folder, surroundings)
            assert re.fullmatch(pattern(expected), printed), f"$ {command}expected:\n{expected}printed:\n{printed}"


def shipped():
    return {language["name"]: language for language in
            (yaml_text.load(path.read_text()) for path in pathlib.Path(support.REPO, "languages").glob("*.yaml"))}


def test_every_language_has_an_example():
    text = (support.REPO / "docs/languages.md").read_text()
    sessions = "".join(block for kind, _, block in BLOCK.findall(text) if kind == "console")
    files = [name for _, name, _ in BLOCK.findall(text) if name]
    for name, language in shipped().items():
        by_extension = any(f.endswith(tuple(language.get("extensions", ["?"]))) for f in files)
        assert by_extension or f"--lang {name}" in sessions, f"{name} has no example"


def test_every_field_is_explained():
    schema = (support.REPO / "src/plan/language_schema.c").read_text()
    rows = re.findall(r"\b(?:TEXT|WORDS|FLAG|GROUP|PART|RULES)\((?:[^,()]*, )?(\w+), ", schema)
    rows += re.findall(r'CYAML_FIELD_\w+\("(\w+)"', schema)
    text = (support.REPO / "docs/languages.md").read_text()
    missing = {row for row in rows if row not in ("field", "type") and f"`{row}`" not in text}
    assert len(rows) > 30 and not missing, f"docs/languages.md does not say what they are: {sorted(missing)}"
