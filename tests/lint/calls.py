"""Who calls whom between the files of a folder: no circles, and few ways into each file.

A walk goes from a function to every function that it names, in the order of the text, and into each function once.  It
enters a file when it goes there from another file of the folder, or from outside of it; the first time is no re-entry.

Usage: calls.py [--walk FUNCTION] [--edges] [FOLDER ...]     FOLDER is "src/job" and the like
"""

import argparse
import re
import sys
from pathlib import Path

import tree

# The only circles of calls: two halves of one idea, and the idea.
HALVES = {
    ("src/egress/connection.c", "src/egress/flow.c"): "what is relayed, against one limit of bytes",
    ("src/explain/diagnose.c", "src/explain/diagnose_frames.c"): "the place of an error",
    ("src/explain/diagnose_source.c", "src/explain/diagnose_wording.c"): "the words of a suggestion",
    ("src/monitor/notify_network.c", "src/monitor/seccomp_notify.c"): "answers to notifications",
    ("src/session/connection_answers.c", "src/session/connection_lines.c"): "lines of clients and their answers",
}
# From a function: how often each file of the folder may be re-entered.  Every client calls these two.
WALKS = (("sbr_job_start", "src/job", 2), ("sbr_job_finish", "src/job", 2))

_DEFINITION = re.compile(r"^(?!typedef|#)(?P<head>[A-Za-z_][\w \t*]*?)(?P<name>\w+)\([^;{}]*\)\s*\n\{", re.MULTILINE)
_TABLE = re.compile(r"^(?:static [^;(){}=]*?|\} )(\w+)(?:\[\w*\])*\s*=\s*\{(.*?)^\};",
                    re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")
_INCLUDE = re.compile(r'^#include "(?P<name>[^"]+)"', re.MULTILINE)


class Function:
    """A definition: where it is, and the words in its body."""

    def __init__(self, path, name, static, words):
        self.path, self.name, self.static, self.words = path, name, static, words


class Program:
    """Every function below src/, and what a name means in a file."""

    def __init__(self, root):
        self.root = Path(root)
        self.local, self.shared, self.includes = {}, {}, {}
        for path in tree.c_files(self.root, "src"):
            shown = str(path.relative_to(self.root))
            text = tree.blank(tree.read(path), keep_strings=True)
            self.includes[shown] = ["src/" + match["name"] for match in _INCLUDE.finditer(text)]
            self._add(shown, tree.blank(text))

    def _add(self, shown, text):
        found = list(_DEFINITION.finditer(text))
        tables = _DEFINITION.sub("\x00", text)
        local = self.local.setdefault(shown, {})
        for match in found:
            end = text.find("\n}", match.end())
            words = list(dict.fromkeys(_WORD.findall(text[match.end():end])))
            one = Function(shown, match["name"], "static" in match["head"], words)
            local[one.name] = one
            if not one.static and (one.name not in self.shared or shown.endswith(".c")):
                self.shared[one.name] = one
        # A table of functions is named by those who use it.
        for match in _TABLE.finditer(tables):
            local.setdefault(match[1], Function(shown, match[1], True, _WORD.findall(match[2])))

    def folders(self):
        return sorted({str(Path(name).parent) for name in self.local})

    def called(self, function):
        for word in function.words:
            there = self.local[function.path].get(word) or self.shared.get(word)
            if there and there is not function:
                yield there

    def edges(self, folder):
        """{file: {file: functions}} between sources of the folder."""
        edges = {}
        for shown, functions in self.local.items():
            for function in functions.values() if shown.startswith(folder + "/") else ():
                for there in self.called(function):
                    if there.path != shown and there.path.startswith(folder + "/"):
                        edges.setdefault(shown, {}).setdefault(there.path, set()).add(there.name)
        return edges

    def include_edges(self, folder):
        return {shown: {name: {name} for name in names if name.startswith(folder + "/")}
                for shown, names in self.includes.items()
                if shown.startswith(folder + "/") and shown.endswith(".h")}

    def walk(self, start, folder):
        """{file: how often it was entered} from the function named."""
        entered, seen = {}, set()

        def go(function):
            seen.add(function)
            for there in self.called(function):
                if there in seen:
                    continue
                if there.path != function.path and there.path.startswith(folder):
                    entered[there.path] = entered.get(there.path, 0) + 1
                go(there)

        sys.setrecursionlimit(10000)
        go(self.shared[start])
        return entered


def circles(edges):
    """Groups of files that lead to each other (Tarjan)."""
    order, low, stack, groups = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for there in edges.get(node, ()):
            if there not in order:
                visit(there)
                low[node] = min(low[node], low[there])
            elif there in stack:
                low[node] = min(low[node], order[there])
        if low[node] == order[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                groups.append(sorted(group))

    for node in list(edges):
        if node not in order:
            visit(node)
    return groups


def check_walk(program, start, folder, most):
    if not any(name.startswith(folder + "/") for name in program.local):
        return []
    if start not in program.shared:
        return [f"{folder}: there is no function {start}() to walk from: see WALKS in calls.py"]
    return [f"{name}:1: a walk from {start}() re-enters it {n - 1} times; at most {most}"
            for name, n in sorted(program.walk(start, folder).items()) if n - 1 > most]


def check(root):
    """Returns one sentence per problem."""
    program = Program(root)
    found = [(what, tuple(group))
             for folder in program.folders()
             for what, edges in (("calls", program.edges(folder)),
                                 ("includes", program.include_edges(folder)))
             for group in circles(edges)]
    problems = [f"{group[0]}:1: a circle of {what}: {', '.join(Path(name).name for name in group)}"
                for what, group in found if what != "calls" or group not in HALVES]
    problems += [f"{pair[0]}:1: forms no circle with {pair[1]}: remove it from HALVES in calls.py"
                 for pair in HALVES if set(pair) <= set(program.local) and ("calls", pair) not in found]
    for walk in WALKS:
        problems += check_walk(program, *walk)
    return problems


def main():
    parser = argparse.ArgumentParser(description="Calls between the files of a folder.")
    parser.add_argument("--walk", metavar="FUNCTION", help="count entries on the way from it")
    parser.add_argument("--edges", action="store_true", help="list who calls what")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="all, unless named")
    options = parser.parse_args()
    program = Program(tree.ROOT)
    for folder in options.folders or program.folders():
        edges = program.edges(folder)
        for name in sorted(edges) if options.edges else ():
            for there, functions in sorted(edges[name].items()):
                print(f"{name} -> {there}: {', '.join(sorted(functions))}")
        for group in circles(edges):
            print(f"circle of calls: {' '.join(group)}")
        for group in circles(program.include_edges(folder)):
            print(f"circle of includes: {' '.join(group)}")
        if options.walk:
            entered = program.walk(options.walk, folder)
            for name, n in sorted(entered.items(), key=lambda item: -item[1]):
                print(f"{n - 1:4} re-entries  {name}")
            print(f"{sum(entered.values()) - len(entered):4} re-entries of {len(entered)} files")


if __name__ == "__main__":
    main()
