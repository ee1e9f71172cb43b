"""Calls that read bytes which others chose: each is made by the files of its row and by no other.

A reader without bounds is one call away from every file: json_loads() on a reply, fopen() on a path of a project.  ROWS
has the calls that are reserved, the files that make them, and what all others use.  The page
docs/internals/hostile-input.md names every such file, with its bounds and what proves them.

To reserve one more call, add a row here and its files to the page.

Usage: hostile.py [ROOT]
"""

import dataclasses
import re
import sys
from pathlib import Path

import tree

PAGE = "docs/internals/hostile-input.md"


@dataclasses.dataclass(frozen=True)
class Row:
    call: str  # for people
    pattern: str  # in C without comments
    files: tuple  # that may match it, below src/
    instead: str
    folders: tuple = ()  # of src/; none: all

    def concerns(self, name):
        return not self.folders or name.split("/")[0] in self.folders


# Layers that meet files of projects, and paths that users name.  Those below them are given descriptors.
OUTER = ("admit", "backend", "cli", "config", "dialect", "edit", "egress", "front", "http", "lib", "mcp", "secrets", "session", "toolchain", "work")
_WORDS = r"[^;()]*(?:\([^;()]*\)[^;()]*)*"  # of a call


ROWS = (
    Row("json_load*()", r"\bjson_load\w*\s*\(", ("base/json_read.c",),
        "json_read() with the bounds that fit, or json_read_own() for a text of ours (base/json_read.h)"),
    Row("cyaml_load_*()", r"\bcyaml_load_\w+\s*\(", ("base/document.c",), "document_load() or document_load_text()"),
    Row("libyaml", r"\byaml_parser_\w+\s*\(", (), "document_load() or document_load_text()"),
    Row("XML_ParserCreate*()", r"\bXML_ParserCreate\w*\s*\(", ("work/test_report_junit.c",),
        "test_report_parse_junit(), whose parser has bounded memory and refuses entities"),
    Row("git as a program", r'"(?:[\w./]*/)?git"\s*,\s*(?:"-|&actions)', ("lib/git_repo.c",),
        "the one function that starts git"),
    Row("fopen()", r"\bfopen\s*\(",
        ("base/document.c", "generate/c_text.c", "generate/generate_sources.c", "generate/generate_templates.c",
         "monitor/notify_network.c", "plan/language_file.c", "sandbox/mount_below.c", "worker/node_end.c",
         "worker/prefault.c", "worker/private_memory.c"),
        "openat() beneath a descriptor, without links, and fd_read_text() with a bound"),
    Row("getline()", r"\bgetline\s*\(",
        ("cli/repl_input.c", "cli/session_stream.c", "sandbox/mount_below.c", "work/results.c"),
        "fd_read_text() with a bound: a line has none"),
    # A literal path, a directory that the caller named, and "." lead nowhere else; '…' is not C.
    Row("open() through links",
        rf"\bopen\s*\((?!\s*[&\"'])(?!{_WORDS}\b(?:O_NOFOLLOW|O_DIRECTORY|O_PATH|O_TMPFILE)\b)"
        rf"|\bopenat\s*\((?![^,;]*,\s*\"\.\")(?!{_WORDS}\bO_NOFOLLOW\b)",
        ("backend/backend_guest.c", "backend/backend_left.c", "backend/backend_oci.c",
         "cli/batch_requests.c", "cli/cmd_agent.c", "cli/cmd_explain.c", "cli/cmd_workspace.c", "cli/source_read.c",
         "cli/source_tests.c", "cli/start.c", "cli/workspace_files.c", "config/audit_chain.c",
         "dialect/judge0_callback.c", "front/front_attack.c", "http/server.c", "job/request_complete.c", "lib/image_fetch.c", "lib/image_layout.c", "lib/image_making.c", "lib/image_mirrors.c",
         "mcp/mcp_examples.c", "toolchain/allowed_commands.c", "toolchain/client_config.c",
         "toolchain/client_config_key.c", "toolchain/credential_parts.c", "toolchain/elf_file.c", "toolchain/tool_root.c", "work/results.c"),
        "inode_open_regular() or inode_open_beneath() below a descriptor, or project_file_read()", OUTER),
    Row("O_CREAT or rename()", r"\bO_CREAT\b|\b(?:creat|mkstemp|mkostemp|rename|renameat|renameat2|linkat)\s*\(",
        ("backend/backend_guest.c", "backend/backend_left.c", "backend/backend_oci.c", "cli/display.c", "cli/git_hook.c", "cli/test_memory.c", "config/audit_chain.c", "config/audit_code.c",
         "config/audit_files.c", "config/retention.c", "http/joblog_store.c", "http/ownership.c", "lib/image_daemon.c",
         "lib/image_fetch_dir.c", "lib/image_layout.c", "lib/image_making.c", "lib/prompt_history.c",
         "session/cell_record.c",
         "session/connection_lines.c", "session/session_dir.c", "session/session_files.c", "session/snapshot.c",
         "work/results.c"),
        "save_file_open() (base/save.h), which looks at the way before the run", OUTER),
)


def call_problems(shown, text):
    name, code = shown.removeprefix("src/"), tree.blank(text, keep_strings=True)
    for row in ROWS:
        if name in row.files or not row.concerns(name):
            continue
        for match in re.finditer(row.pattern, code):
            line = code.count("\n", 0, match.start()) + 1
            yield f"{shown}:{line}: {row.call} is reserved: use {row.instead}"


def row_problems(root, page):
    """Rows that say more than the code does, and files that the page does not name."""
    for row in ROWS:
        for name in row.files:
            path = Path(root, "src", name)
            code = tree.blank(tree.read(path), keep_strings=True) if path.is_file() else ""
            if not re.search(row.pattern, code):
                yield f"tests/lint/hostile.py:1: src/{name} has no {row.call}; take it out of the row"
            if f"`{name}`" not in page:
                yield f"{PAGE}:1: names no `{name}`, which calls {row.call}"


def check(root):
    """Returns one sentence per problem."""
    root = Path(root)
    problems = []
    for path in tree.c_files(root, "src"):
        problems += call_problems(path.relative_to(root).as_posix(), tree.read(path))
    if (root / PAGE).is_file():
        problems += row_problems(root, tree.read(root / PAGE))
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
