"""The tree points one way: a file includes its own layer or a lower one, never a higher one.

Usage: layers.py [ROOT]
"""

import re
import sys
from pathlib import Path

import tree

ORDER = (
    "base",
    "model",
    "wire",
    "plan",
    "explain",
    "confine",
    "sandbox",
    "backend",
    "monitor",
    "store",
    "toolchain",
    "changes",
    "workspace",
    "image",
    "job",
    "config",
    "admit",
    "lib",
    "session",
    "work",
    "mcp",
    "engine",
    "http",
    "dialect",
    "edit",
    "cli",
)
PUBLIC = "sandboxrun.h"

# What a layer may include, itself apart.  `init`, `worker` and `live` run inside the sandbox, `egress` and `publish` beside
# it, `front` beside the gateway and `generate` while the project is built: they are beside the order, so nothing includes
# them.
MAY_INCLUDE = {layer: set(ORDER[:rank]) for rank, layer in enumerate(ORDER)}
MAY_INCLUDE["egress"] = {"base", "model", "wire"}
MAY_INCLUDE["publish"] = {"base", "model", "wire"}
MAY_INCLUDE["secrets"] = {"base", "model", "wire"}
MAY_INCLUDE["front"] = {"base", "wire"}
MAY_INCLUDE["init"] = {"base", "model", "wire", "plan", "confine"}
MAY_INCLUDE["worker"] = {"base", "model", "wire", "plan", "confine"}
MAY_INCLUDE["live"] = {"base"}
MAY_INCLUDE["generate"] = {"base", "model", "plan"}
# The command line is a client like every other: it runs, plans and probes through lib/ and never looks into a job.
MAY_INCLUDE["cli"] = {"base", "model", "plan", "explain", "lib", "work", "edit"}
# An editor for any client with a terminal.
MAY_INCLUDE["edit"] = {"base"}
# So is the server for agents, whatever its transport, and the HTTP gateway.
MAY_INCLUDE["mcp"] = {"base", "model", "plan", "explain", "admit", "lib"}
MAY_INCLUDE["work"] = {"base", "model", "plan", "explain", "lib"}
MAY_INCLUDE["http"] = {"base", "model", "wire", "config", "admit", "lib", "mcp"}
# Dialects are maps in front of the gateway's own calls.
MAY_INCLUDE["dialect"] = {"base", "model", "plan", "admit", "lib", "http"}
MAY_INCLUDE_ONLY = {
    "http": {
        "changes/apply.h",  # /v1/changes
        "changes/textdiff.h",
        "changes/kept_output.h",  # all that a run wrote
        "changes/state_dir.h",  # where tokens are kept
        "job/engine_socket.h",  # its own socket stands beside the engine's
        "plan/policy.h",  # the filter of its fronts
        "sandbox/peer.h",  # which process is at the other end of that socket
        "session/session_program.h",  # a cell whose token was revoked ends, whatever its grace is
        "session/session_memory.h",  # sessions count in the memory that is reserved
        "work/work_limits.h",  # what builds and tests may use is reserved, too
        "workspace/workspace.h",  # lists and removes workspaces
    },
    "work": {
        "changes/apply.h",  # where the contents of kept changes are: artifacts of a build
        "changes/deliver.h",  # which puts them where the caller wants them
        "changes/node.h",
        "changes/textdiff.h",  # the first difference of a golden case
        "toolchain/project_excludes.h",  # what a project leaves out is no sign of it
        "toolchain/project_file.h",  # cases and files of a project, which others chose
    },
    "dialect": {
        "changes/state_dir.h",  # where files of a run are collected
    },
    "mcp": {
        "config/config.h",  # whether one network is inside another
        "changes/apply.h",  # show_changes, apply_changes
        "changes/textdiff.h",
    },
    # The numbers of its scripts, which are written while the project is built.
    "generate": {"confine/netlink.h"},
    "cli": {
        "changes/given_trees.h",  # where a file for the user follows no link
        # Commands about one noun list and change it; none of these headers starts a sandbox.
        "changes/apply.h",  # changes, apply, undo
        "changes/kept_output.h",  # output
        "changes/state_dir.h",  # test: what failed last time; docker: names of runs
        "changes/textdiff.h",  # how diffs and names are shown
        "config/audit.h",  # audit
        "config/config.h",  # config; what holds for a run
        "config/config_find.h",  # the same, for the lean program
        "config/gateway_options.h",  # serve hands them on
        "config/retention.h",  # what goes by itself after a run
        "config/trust.h",  # trust
        "image/image_store.h",  # image
        "store/store.h",  # cache
        "toolchain/project_excludes.h",  # what a directory as a program leaves out
        "toolchain/toolchain_paths.h",  # where languages of the user's own are
        "workspace/workspace.h",  # workspace
        # serve: the command is the engine.
        "engine/engine_main.h",
        # mcp: the command is the server for agents.
        "mcp/mcp_stdio.h",
        # The program is executed for each session.
        "session/session_entry.h",
    },
}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<open>[<"])(?P<name>[^>"\n]+)', re.MULTILINE)


def includes(path):
    """Yields (line, quoted, name)."""
    text = tree.blank(tree.read(path), keep_strings=True)
    for match in _INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start("open")) + 1
        yield line, match["open"] == '"', match["name"]


def fault(layer, quoted, name):
    """Why a file of this layer must not have this include, or None."""
    target = name.split("/")[0]
    if name == PUBLIC:
        return None if quoted else f'write "{PUBLIC}", not <{PUBLIC}>'
    if not quoted:
        return f'<{name}> is ours: write "{name}"' if "/" in name and target in MAY_INCLUDE else None
    if ".." in name.split("/") or "/" not in name or target not in MAY_INCLUDE:
        return f'"{name}" does not name its layer, as in "base/err.h"'
    if name.endswith(".c"):
        return f'"{name}" is a source, not a header'
    if name in MAY_INCLUDE_ONLY.get(layer, ()):
        return None
    if layer in ("cli", "mcp") and target in ORDER and target not in MAY_INCLUDE[layer] | {layer}:
        return f'"{name}" is no business of {layer}/: lib/runner.h is the way in'
    if target != layer and target not in MAY_INCLUDE[layer]:
        return f'"{name}" is not below {layer}/'
    return None


def check(root):
    """Returns one sentence per problem."""
    root = Path(root)
    problems = []
    for path in tree.c_files(root, "src"):
        shown = path.relative_to(root)
        layer = shown.parts[1]
        if len(shown.parts) < 3 or layer not in MAY_INCLUDE:
            problems.append(f"{shown}:1: not in the folder of a layer")
            continue
        for line, quoted, name in includes(path):
            reason = fault(layer, quoted, name)
            if reason:
                problems.append(f"{shown}:{line}: {reason}")
    for path in tree.c_files(root, "include"):
        shown = path.relative_to(root)
        if str(shown) != f"include/{PUBLIC}":
            problems.append(f"{shown}:1: only include/{PUBLIC} is public")
        problems += [
            f'{shown}:{line}: "{name}": a public header includes system headers only'
            for line, quoted, name in includes(path)
            if quoted
        ]
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
