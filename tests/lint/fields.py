"""The fields of a request: one table, and what is written by hand says the same.

src/model/request_fields.def has the rows.  Readers, setters, options and schemas are made from them; this compares the
table of docs/request.md, the public header, options, Docker's options and keys of the configuration that are written
out, the tools of MCP, and the types of the TypeScript SDK.

Usage: fields.py [ROOT]
"""

import re
import sys
from pathlib import Path

import tree

TABLE = "src/model/request_fields.def"
# How the document and TypeScript call a kind.
SAID = {"TEXT": "string", "WORD": "string", "BYTES": "string", "LIST": "array of strings", "TEXTS": "array of strings",
        "HOSTS": "array of strings", "SECRETS": "array of strings", "PAIRS": "object of strings", "SWITCH": "boolean", "LIMITS": "object",
        "FILES": "array of objects", "TTY": "object"}
TYPED = {"string": r'string|"', "array of strings": r"string\[\]", "object of strings": "Record<string, string>",
         "boolean": "boolean", "object": r"Schemas\[|\{", "array of objects": r"\{"}
# Functions of the header that set no field.
OTHERS = {"sbr_request_from_json", "sbr_request_error", "sbr_request_apply_config", "sbr_request_set_caller",
          "sbr_request_free"}


def rows(text):
    """Yields the name, the kind and the other names of each field."""
    for row in re.findall(r"^FIELD\((.*?)\)\n(?=\S|\n|\Z)", text, re.MULTILINE | re.DOTALL):
        name, kind = re.match(r"(\w+), (\w+),", row).groups()
        yield name, kind, dict(re.findall(r"\.(\w+) = (\"[^\"]+\"|\w+)", row))


def functions(text):
    """(field, function) of each row for the library."""
    return re.findall(r"^C_\w+\((\w+),(?: \w+,)*? (sbr_\w+)(?:, \w+)?\)$", text, re.MULTILINE)


def compare(place, said, known):
    """Both ways, one sentence each."""
    return [f"{place}: '{name}' is missing" for name in sorted(known - said)] + \
        [f"{place}: '{name}' is no field of {TABLE}" for name in sorted(said - known)]


def document_problems(text, kinds):
    part = text.partition("\n## Fields\n")[2].partition("\n## ")[0]
    said = dict(re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", part, re.MULTILINE))
    return compare("docs/request.md: Fields", set(said), set(kinds)) + \
        [f"docs/request.md: '{name}' is of type {SAID[kind]}, not {said[name]}" for name, kind in kinds.items()
         if said.get(name, SAID[kind]) != SAID[kind]]


def sdk_problems(text, kinds):
    part = text.partition("\n  request: {\n")[2].partition("\n  };\n")[0]
    typed = dict(re.findall(r"^    (\w+)\?: (.*)", part, re.MULTILINE))
    place = "sdk/typescript/src/api.ts: request"
    return compare(place, set(typed), set(kinds)) + \
        [f"{place}: '{name}' is {typed[name]}" for name, kind in kinds.items()
         if name in typed and not re.match(TYPED[SAID[kind]], typed[name])]


def written(place, text, form, names):
    """Names that a file has to have, in this form."""
    return [f"{place}: '{name}' of {TABLE} is missing" for name in sorted(names) if form % name not in text]


def check(root):
    """Returns one sentence per problem."""
    root = Path(root)
    table = tree.read(root / TABLE)
    fields = list(rows(table))
    kinds = {name: kind for name, kind, _ in fields}
    named = {key: {more[key].strip('"') for _, _, more in fields if key in more}
             for key in ("option", "mcp", "docker", "config")}
    named["option"] -= {more.get("option", "").strip('"') for _, _, more in fields if "group" in more}  # made from it
    header = tree.read(root / "include/sandboxrun.h")
    made = functions(table)
    problems = compare("functions of the library", {field for field, _ in made}, set(kinds))
    declared = set(re.findall(r"^int (sbr_request_\w+)\(", header, re.MULTILINE)) - OTHERS
    problems += compare("include/sandboxrun.h", declared, {
        function for _, function in made if function.startswith("sbr_request_")})
    problems += document_problems(tree.read(root / "docs/request.md"), kinds)
    problems += sdk_problems(tree.read(root / "sdk/typescript/src/api.ts"), kinds)
    problems += written("src/cli/option_groups.c", tree.read(root / "src/cli/option_groups.c"), '"%s",', named["option"])
    problems += written("src/mcp/tools.json", tree.read(root / "src/mcp/tools.json"), '{"$field": "%s"', named["mcp"])
    problems += written("src/cli/docker_options.c", tree.read(root / "src/cli/docker_options.c"), '"%s",', named["docker"])
    problems += written("docs/configuration.md", tree.read(root / "docs/configuration.md"), "%s", {
        word for key in named["config"] for word in key.split(".")})
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
