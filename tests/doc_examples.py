"""The examples of the documents: found, executed, compared, and written anew with UPDATE_DOCS=1.

A section is one example, in a directory of its own.  A block that names a file behind its language is that
file.  In a block of the kind `console` a line with `$ ` is a command, one with `> ` goes on with it, and what
follows is all that it prints, stdout and stderr together; a line `...` stands for any lines.  Times, sizes,
dates and ids differ from run to run: any figure of the same form fits, and an id that one command printed is
the one that later commands name."""
import os
import pathlib
import re
import subprocess

import support

DEADLINE = 600  # a first run prepares its toolchain and fetches packages
BLOCK = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
HOME = "/home/me"  # stands for the directory of an example
ID = r"\b[0-9a-f]{12}\b"
CHANGING = re.compile("|".join((
    rf"(?P<id>{ID})",
    r"(?P<seconds>\b\d+\.\d+(?= m?s\b))",
    r"(?P<size>\b\d+(?:\.\d+)?(?= (?:[KMG]i?B|kB|bytes)\b))",
    r"(?P<date>\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?)",
    r"(?P<version>(?<=python )3\.\d+\.\d+)",
)))
FORMS = {"id": "[0-9a-f]{12}", "seconds": r"\d+\.\d+", "size": r"\d+(?:\.\d+)?", "version": r"3\.\d+\.\d+",
         "date": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?"}

# An ordinary user may have no cgroup, and `run` may be left out.
WRAPPER = """#!/bin/sh
case $1 in
run | exec) command=$1; shift; exec {program} "$command" {options} "$@" ;;
-* | *.* | */*) exec {program} run {options} "$@" ;;
*) exec {program} "$@" ;;
esac
"""


def sections(path):
    """(heading, text) of each section with a session."""
    for part in re.split(r"^(?=##+ )", pathlib.Path(path).read_text(), flags=re.M):
        if "```console" in part:
            yield part.partition("\n")[0].lstrip("# "), part


def commands(block):
    """(command as written, what it prints) of a session."""
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
    """A regular expression for what is printed, with a group for each id, and the ids themselves."""
    words, ids = [], []
    for line in expected.splitlines(keepends=True):
        if line == "...\n":
            words.append(r"(?:.*\n)*?")
            continue
        end = 0
        for match in CHANGING.finditer(line):
            words.append(re.escape(line[end:match.start()]))
            form = FORMS[match.lastgroup]
            if match.lastgroup == "id":
                ids.append(match.group())
                form = f"({form})"
            words.append(form)
            end = match.end()
        words.append(re.escape(line[end:]))
    return "".join(words), ids


def install_tool(folder, program, options):
    """A directory for PATH in which the tool is, as a reader has it."""
    folder.mkdir()
    wrapper = folder / "sandbox-run"
    wrapper.write_text(WRAPPER.format(program=program, options=options))
    wrapper.chmod(0o755)
    return folder


class Example:
    """One section, executed in a directory of its own."""

    def __init__(self, text, folder, env):
        self.text, self.folder, self.env = text, folder, env
        self.ids = {}  # of the document, with those of this run

    def check(self):
        """What differs, as a text; nothing when all is as shown."""
        for kind, name, block in BLOCK.findall(self.text):
            self._write(name, block)
            for command, expected in commands(block) if kind == "console" else ():
                printed = self._run(command)
                wanted, ids = pattern(expected)
                fits = re.fullmatch(wanted, printed)
                if not fits:
                    return f"$ {command}expected:\n{expected}printed:\n{printed}"
                self.ids.update(zip(ids, fits.groups()))
        return ""

    def renewed(self):
        """The section with what the commands print now, where that does not fit."""
        def block_anew(match):
            kind, name, block = match.groups()
            self._write(name, block)
            if kind != "console":
                return match.group()
            lines = "".join(self._command_anew(*pair) for pair in commands(block))
            head = f"```{kind} {name}" if name else f"```{kind}"
            return f"{head}\n{lines}```"

        return BLOCK.sub(block_anew, self.text)

    def _command_anew(self, command, expected):
        printed = self._run(command)
        wanted, ids = pattern(expected)
        fits = re.fullmatch(wanted, printed)
        if fits:
            self.ids.update(zip(ids, fits.groups()))
        words = "> ".join(command.splitlines(keepends=True))
        return f"$ {words}{expected if fits else printed}"

    def _write(self, name, block):
        if name:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)

    def _run(self, command):
        command = re.sub(ID, lambda match: self.ids.get(match.group(), match.group()), command)
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE, check=False)
        shown = done.stdout.decode().replace("\r\n", "\n")  # as a terminal shows it
        shown = support.WAITED.sub("", shown)
        return shown.replace(str(self.folder), HOME)


def surroundings(tools, cache, state):
    """Of a reader: the tool on the path, the clients' own settings, and what other tests have prepared."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_RUN_", "XDG_"))}
    return {**kept, "PATH": f"{tools}:/usr/bin:/bin", "SANDBOX_RUN_CACHE": str(cache), "SANDBOX_RUN_STATE": str(state),
            "LC_ALL": "C.UTF-8", "SANDBOX_RUN_COLD": "1", "SANDBOX_RUN_NO_BACKGROUND": "1"}
