"""One door: whatever a client starts was checked by src/admit, and is counted.

  - Requests are made by src/admit, which checks them, and by the files of MAKES, each for the reason that stands there.
    Nothing of src/http, src/dialect and src/mcp is among them.
  - What a token bounds is compared in src/admit.  Other files ask the functions of admit/grant.h; only the files of the
    token itself (OWN) read and write the members.
  - Every route says how it counts: ROUTE_STARTS, ROUTE_LOOKS or ROUTE_COUNTED.
  - tests/doors.def has a row for each route that starts something and for each tool that takes a request, and for each
    of its families every bound of src/model/bounds.h.

Usage: doors.py [ROOT]
"""

import json
import re
import sys
from pathlib import Path

import tree

DOORS = ("src/dialect", "src/http", "src/mcp")
# Who makes a request, and of whose words.
MAKES = {
    "admit/admit_request.c": "of a client, checked there", "admit/admit_tool.c": "of an agent, checked there",
    "cli/batch_cases.c": "the user's", "cli/batch_requests.c": "the user's", "cli/cmd_doctor.c": "ours, to look",
    "cli/documents.c": "the user's", "cli/measured.c": "the user's", "cli/options.c": "the user's", "cli/picture.c": "ours",
    "cli/workspace_files.c": "ours, with the user's paths", "job/selftest.c": "ours, to look",
    "job/selftest_version.c": "ours, to look", "job/warm_trivial.c": "ours", "lib/api_execute.c": "the library's caller's",
    "lib/api_request.c": "the library's caller's",
    "lib/api_runtime.c": "ours, to look", "lib/tool_job.c": "ours", "plan/blueprint_check.c": "a client's of the engine, to compare",
    "session/session_package.c": "of a session that was checked", "work/golden.c": "a copy of a checked one",
    "work/verify_request.c": "a copy of a checked one",
}
OWN = {"http/token.c", "http/token_command.c"}
COUNTS = ("ROUTE_STARTS", "ROUTE_LOOKS", "ROUTE_COUNTED")

_MAKING = re.compile(r"\b(?P<call>sbr_request_new|sbr_request_from_json|request_new|request_from_value|"
                     r"request_from_json)\s*\(")
_MEMBER = re.compile(r"(?:->|\.)(?P<any>ceilings)\b"
                     r"|\b(?:tenant|grant|bounded)(?:->|\.)"
                     r"(?P<own>hosts|network|concurrency|per_minute|sessions)\b")
_TABLE = re.compile(r"const struct route \w+\[\] = \{\n(?P<rows>.*?)\n\};", re.DOTALL)
_ROW = re.compile(r'^ *(?:\{ |\w+\()"(?P<method>[A-Z]+)", "(?P<path>[^"]*)"', re.MULTILINE)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def call_problems(shown, code):
    name = shown.removeprefix("src/")
    for match in _MAKING.finditer(code) if name not in MAKES and not name.startswith("model/") else ():
        yield (f"{shown}:{line_of(code, match.start())}: {match['call']}() makes a request past src/admit: use "
               "admit/admit.h, or say in MAKES whose it is")
    for match in _MEMBER.finditer(code) if name not in OWN and shown.startswith(DOORS) else ():
        yield (f"{shown}:{line_of(code, match.start())}: '{match['any'] or match['own']}' of a grant is compared in "
               "src/admit: ask a function of admit/grant.h or grant_check.h")


def route_problems(shown, code):
    for table in _TABLE.finditer(code):
        rows = list(_ROW.finditer(table["rows"]))
        if not rows:
            yield f"{shown}:{line_of(code, table.start())}: a table of routes without a row that this lint can read"
        for row, following in zip(rows, [*(row.start() for row in rows[1:]), len(table["rows"])]):
            words = re.findall(r"\bROUTE_\w+", table["rows"][row.start():following])
            if sum(words.count(word) for word in COUNTS) != 1:
                yield (f"{shown}:{line_of(code, table.start('rows') + row.start('method'))}: {row['method']} "
                       f"{row['path']} needs one of {', '.join(COUNTS)}")


def routes(text):
    """METHOD PATH of each route, and its words."""
    for table in _TABLE.finditer(text):
        rows = list(_ROW.finditer(table["rows"]))
        for row, following in zip(rows, [*(row.start() for row in rows[1:]), len(table["rows"])]):
            yield f"{row['method']} {row['path']}", table["rows"][row.start():following]


def matrix_problems(root):
    """tests/doors.def against routes, tools and bounds."""
    text = tree.read(root / "tests/doors.def")
    rows = re.findall(r'^(FAMILY|ELSEWHERE)\((\w+), "([^"]*)"', text, re.MULTILINE)
    doors = {door for door, _ in re.findall(r'^DOOR\("([^"]+)", (\w+)\)$', text, re.MULTILINE)}
    bounds = set(re.findall(r"BOUND\(BOUND_(\w+),", tree.read(root / "src/model/bounds.h"))) - {"NONE"}
    for family in {name for _, name, _ in rows}:
        said = [word for _, name, words in rows if name == family for word in words.split()]
        for bound in sorted(bounds ^ set(said)) + sorted({word for word in said if said.count(word) > 1}):
            yield f"tests/doors.def:1: the bound {bound} has to stand once in the rows of the family {family}"
    there = {door for path in tree.c_files(root, "src/http", "src/dialect") for door, words in
             routes(tree.blank(tree.read(path), keep_strings=True)) if "ROUTE_STARTS" in words}
    tools = json.loads(tree.read(root / "src/mcp/tools.json"))["tools"]
    there |= {f"tool {tool['name']}" for tool in tools if '"$field"' in json.dumps(tool) or "timeout_seconds" in json.dumps(tool)}
    for door in sorted(there - doors):
        yield f"tests/doors.def:1: the door '{door}' has no row"
    for door in sorted(doors - there - {"POST /mcp"}):
        yield f"tests/doors.def:1: there is no door '{door}', or it starts nothing"


def list_problems(root):
    """Files of the lists that do nothing of the kind."""
    for name in sorted(MAKES):
        path = Path(root, "src", name)
        if not path.is_file() or not _MAKING.search(tree.blank(tree.read(path))):
            yield f"tests/lint/doors.py:1: src/{name} makes no request; take it out of MAKES"


def check(root):
    """Returns one sentence per problem."""
    root = Path(root)
    problems = []
    for path in tree.c_files(root, "src"):
        shown = path.relative_to(root).as_posix()
        code = tree.blank(tree.read(path), keep_strings=True)
        problems += [*call_problems(shown, tree.blank(tree.read(path))), *route_problems(shown, code)]
    if (root / "src/http/route.c").is_file():
        problems += list_problems(root)
        problems += matrix_problems(root)
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
