"""The gateway's loop: it waits for nothing but events, and all of its state hangs from struct server.

  - A call that may wait is made by the functions of its rows and by no other, each for the reason that its row gives:
    in a thread, before the gateway serves, after the loop, or with a flag that lets it return at once.
  - No file of FOLDERS has a variable of its own that can change: two servers in one process would share it, and
    nothing would free it.

tests/blackbox/test_http_loop.py looks at the same from outside, with strace.

Usage: loop.py [ROOT]
"""

import re
import sys
from pathlib import Path

import tree

LOOP = ("src/http/", "src/dialect/")
FOLDERS = (*LOOP, "src/admit/", "src/mcp/")

THREAD, BEFORE, AFTER, AT_ONCE = "in a thread", "before it serves", "after the loop", "returns at once"

# (file, function, call): when.
MAY = {
    ("src/http/fronts.c", "wait_until_ready", "poll"): BEFORE,
    ("src/http/fronts.c", "link_has_room", "poll"): AT_ONCE,  # a timeout of 0
    ("src/http/fronts.c", "reap", "waitpid"): AT_ONCE,  # WNOHANG, but for fronts_close
    ("src/http/fronts.c", "wait_for_end", "poll"): AFTER,
    ("src/http/joblog.c", "wait_for_changes", "pthread_cond_timedwait"): THREAD,
    ("src/http/joblog.c", "joblog_close", "pthread_join"): AFTER,
    ("src/http/listener.c", "is_served", "connect"): BEFORE,
    ("src/http/listener.c", "is_served", "poll"): BEFORE,
    ("src/http/spans.c", "dial", "getaddrinfo"): THREAD,
    ("src/http/spans.c", "dial", "connect"): THREAD,
    ("src/http/token.c", "save", "fsync"): BEFORE,  # `token create`, a process of its own
    ("src/http/cells.c", "line_came", "pthread_cond_wait"): THREAD,
    ("src/http/cells.c", "execute", "sbr_session_exec_in"): THREAD,
    ("src/http/kept_changes.c", "change", "sbr_changes_undo"): THREAD,
    ("src/http/kept_changes.c", "change", "sbr_changes_apply"): THREAD,
    ("src/http/meta.c", "check_runtime", "sbr_runtime_check"): THREAD,
    ("src/http/meta.c", "list_languages", "language_inspect"): THREAD,
    ("src/http/sessions.c", "call_session", "sbr_session_call"): THREAD,
    ("src/http/sessions.c", "create_session", "sbr_session_create"): THREAD,
    ("src/http/sessions.c", "fork_session", "sbr_session_call"): THREAD,
    ("src/http/sessions.c", "list_sessions", "sbr_session_list"): THREAD,
    ("src/http/sessions.c", "end_session", "sbr_session_finish"): THREAD,
    ("src/http/work_calls.c", "run_build", "sbr_build_run"): THREAD,
    ("src/http/work_calls.c", "run_test", "sbr_test_run"): THREAD,
    ("src/http/work_calls.c", "run_golden", "sbr_golden_run"): THREAD,
    ("src/http/work_calls.c", "run_verify", "sbr_verify_run"): THREAD,
    ("src/http/work_calls.c", "run_comparison", "sbr_compare_run"): THREAD,
    ("src/http/work_calls.c", "run_profile", "sbr_profile_run"): THREAD,
    ("src/http/workspaces.c", "run_command", "sbr_run"): THREAD,
    ("src/http/workspaces.c", "list_workspaces", "workspace_list"): THREAD,
    ("src/http/workspaces.c", "remove_workspace", "workspace_remove"): THREAD,
    ("src/dialect/catalog.c", "read_catalog", "language_inspect"): THREAD,
}

WAITS = ("poll", "ppoll", "select", "pselect", "wait", "waitpid", "waitid", "wait4", "sleep", "usleep", "nanosleep",
         "clock_nanosleep", "pause", "sigwaitinfo", "sigtimedwait", "fsync", "fdatasync", "sync", "syncfs", "flock", "lockf",
         "connect", "getaddrinfo", "pthread_join", "pthread_cond_wait", "pthread_cond_timedwait", "sem_wait", "sbr_run",
         "sbr_job_wait", "sbr_session_create", "sbr_session_call", "sbr_session_exec", "sbr_session_exec_in",
         "sbr_session_finish", "sbr_session_list", "sbr_build_run", "sbr_test_run", "sbr_golden_run", "sbr_verify_run",
         "sbr_compare_run", "sbr_profile_run", "sbr_changes_apply", "sbr_changes_undo", "sbr_runtime_check",
         "language_inspect", "workspace_list", "workspace_remove")

_CALL = re.compile(r"(?<![\w.])(?<!->)(?P<name>%s)\s*\(" % "|".join(WAITS))
_FUNCTION = re.compile(r"^(?!\s|#|typedef\b)[A-Za-z_][\w \*]*?[ \*](?P<name>\w+)\([^;{]*\)\s*\{", re.MULTILINE)
_STATIC = re.compile(r"^[ \t]*static\s+(?!inline\b|_Thread_local\b)(?P<rest>[^;={(]*?)(?P<name>\w+)\s*(?:\[[^\]]*\]\s*)*[;=]",
                     re.MULTILINE)


def calls(text):
    """Yields (line, function, call) of every call that may wait."""
    code = tree.blank(text)
    starts = [(match.start(), match["name"]) for match in _FUNCTION.finditer(code)]
    for match in _CALL.finditer(code):
        before = [name for start, name in starts if start < match.start()]
        yield code.count("\n", 0, match.start()) + 1, before[-1] if before else "", match["name"]


def wait_problems(shown, text):
    if shown.startswith(LOOP) and shown.endswith(".c"):
        for line, function, call in calls(text):
            if (shown, function, call) not in MAY:
                yield f"{shown}:{line}: {function}() calls {call}(), which may hold up the loop: do it in a thread (http/offload.h)"


def static_problems(shown, text):
    if shown.startswith(FOLDERS) and shown.endswith(".c"):
        code = tree.blank(text)
        for match in _STATIC.finditer(code):
            last = match["rest"].rpartition("*")[2] if "*" in match["rest"] else match["rest"]
            if "const" not in last.split():
                line = code.count("\n", 0, match.start("name")) + 1
                yield f"{shown}:{line}: '{match['name']}' can change and belongs to no server: put it into struct server"


def check(root):
    """Returns one sentence per problem."""
    root = Path(root)
    problems, seen = [], set()
    for path in tree.c_files(root, "src"):
        shown = path.relative_to(root).as_posix()
        if not shown.startswith(FOLDERS):
            continue
        text = tree.read(path)
        problems += [*wait_problems(shown, text), *static_problems(shown, text)]
        seen |= {(shown, function, call) for _line, function, call in calls(text)}
    if (root / "src/http/fronts.c").is_file():
        problems += [f"tests/lint/loop.py:1: {file} has no {call}() in {function}(); take the row out"
                     for file, function, call in MAY if (file, function, call) not in seen]
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
