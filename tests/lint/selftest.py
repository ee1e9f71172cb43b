"""Proves that the lints bite: small trees with one deliberate fault each.

Usage: selftest.py
"""

import re
import sys
import tempfile
from pathlib import Path

import budgets
import calls
import documents
import doors
import fields
import hostile
import layers
import loop
import names
import tidy

# Two routes.
ROUTES = """static const struct route routes[] = {
    { "GET", "/a", a, SCOPE_RUN, ROUTE_STARTS, 200, "a", "ROUTES" },
    ROW("POST", "/b", b, ROUTE_JSON | ROUTE_LOOKS,
        200, "b"),
    { 0 },
};
"""

# check, file, text, a part of the expected report (None: accepted)
CASES = (
    (layers, "src/plan/a.c", '#include "plan/a.h"\n#include "model/request.h"\n', None),
    (layers, "src/plan/a.c", '#include "monitor/monitor.h"\n', "src/plan/a.c:1: "),
    (layers, "src/base/a.h", '/* "\n */\n#  include "model/limits.h"\n', "src/base/a.h:3: "),
    (layers, "src/base/a.c", '/* #include "model/limits.h" */\n#include "sandboxrun.h"\n', None),
    (layers, "src/egress/a.c", '#include "wire/egress.h"\n', None),
    (layers, "src/egress/a.c", '#include "sandbox/spawn.h"\n', "is not below egress/"),
    (layers, "src/base/a.c", '#include "err.h"\n', "does not name its layer"),
    (layers, "src/base/a.c", '#include "../base/err.h"\n', "does not name its layer"),
    (layers, "src/base/a.c", '#include "base/../model/limits.h"\n', "does not name its layer"),
    (layers, "src/base/a.c", "#include <base/err.h>\n", "is ours"),
    (layers, "src/base/a.c", "#include <sys/stat.h>\n#include <stdio.h>\n", None),
    (layers, "src/base/a.c", '#include "base/b.c"\n', "is a source"),
    (layers, "src/init/init_main.c", '#include "confine/confine.h"\n', None),
    (layers, "src/init/init_main.c", '#include "monitor/monitor.h"\n', "not below init/"),
    (layers, "src/generate/generate_main.c", '#include "plan/policy.h"\n', None),
    (layers, "src/generate/generate_main.c", '#include "confine/confine.h"\n',
     "not below generate/"),
    (layers, "src/cli/cli.c", '#include "init/init.h"\n', "not below cli/"),
    (layers, "src/cli/cli.c", '#include "lib/runner.h"\n', None),
    (layers, "src/cli/cli.c", '#include "store/store.h"\n', None),
    (layers, "src/cli/cli.c", '#include "job/job.h"\n', "lib/runner.h is the way in"),
    (layers, "src/cli/cli.c", '#include "sandbox/cgroup.h"\n', "lib/runner.h is the way in"),
    (layers, "src/misc/a.c", "\n", "not in the folder of a layer"),
    (layers, "src/a.c", "\n", "not in the folder of a layer"),
    (layers, "include/other.h", "\n", "only include/sandboxrun.h is public"),
    (layers, "include/sandboxrun.h", '#include "base/err.h"\n', "system headers only"),
    (names, "src/base/buf.c", "int buf_add(int a)\n{\n}\nstatic int add(void)\n{\n}\n", None),
    (names, "src/base/buf.c", "int\nx;\nint add(int a)\n{\n}\n",
     "src/base/buf.c:3: add() begins with neither"),
    (names, "src/engine/clients.c", "void client_drop(void)\n{\n}\nint engine_run(void)\n{\n}\n",
     None),
    (names, "src/base/buf.c", "int add(int a);\n", None),
    (names, "src/base/buf.c", "/* birth */\nint n;\nint n_births, birth_of;\n",
     "src/base/buf.c:3: birth_of: the glossary"),
    (budgets, "src/base/a.c", "\n" * 500, None),
    (budgets, "src/base/a.c", "/* " + "é" * 94 + " */\n", None),
    (budgets, "src/base/a.c", "\n/* " + "x" * 95 + " */\n", "a.c:2: 101 columns"),
    (budgets, "src/base/a.c", "\n" * 501, "501 lines"),
    (budgets, "src/base/a.c", "/* lint-ok: length: one table */" + "\n" * 700, None),
    (budgets, "src/base/a.c", "/* lint-ok: length: one table */" + "\n" * 701, "at most 700"),
    (budgets, "src/base/a.c", "f = strcpy(a, b);\n", "strcpy() is banned"),
    (budgets, "src/cli/a.c", "\nsystem (a);\n", "a.c:2: system() is banned"),
    (budgets, "src/base/a.c", 'm("strcpy(a, b)"); /* gets(x) */\n', None),
    (budgets, "src/base/a.c", "my_signal(1); x->signal(2); x.exit(3);\n", None),
    (budgets, "src/base/a.c", "snprintf(a, b, c); strtok_r(a, b, c);\n", None),
    (budgets, "tests/unit/a.c", "int a; // no\n", "a.c:1: write /* */"),
    (budgets, "src/base/a.c", '/* a // b */ f("c://d");\n', None),
    (budgets, "src/base/a.c", 'printf("x");\n', "only src/cli and src/generate print"),
    (budgets, "src/cli/a.c", 'printf("x"); exit(1);\n', None),
    (budgets, "src/generate/a.c", 'fprintf(stderr, "x"); exit(1);\n', None),
    (budgets, "src/base/a.c", "abort();\n", "end the process"),
    (budgets, "src/base/a.c", "/* lint-ok: abort: because */\nabort();\n", None),
    (budgets, "src/base/a.c", "/* lint-ok: abort: */\nabort();\n", "end the process"),
    (budgets, "src/base/a.c", "/* lint-ok: exit: because */\nabort();\n", "end the process"),
    (budgets, "src/init/a.c", "_exit(1);\n", None),
    (budgets, "src/init/a.c", "exit(1);\n", "end the process"),
    (budgets, "src/sandbox/spawn.c", "_exit(1);\n", None),
    (budgets, "src/confine/mounts.c", "_exit(1);\n", "end the process"),
    (hostile, "src/base/json_read.c", "root = json_loadb(text, len, 0, &where);\n", None),
    (hostile, "src/http/a.c", "\nroot = json_loads (text, 0, NULL);\n", "src/http/a.c:2: json_load*() is reserved"),
    (hostile, "src/http/a.c", 'x("json_load"); /* json_loads(text) */ json_read_own(text, 0);\n', None),
    (hostile, "src/config/a.c", "cyaml_load_file(path, &config);\n", "use document_load()"),
    (hostile, "src/generate/a.c", "yaml_parser_parse(&p, &e);\n", "libyaml is reserved"),
    (hostile, "src/work/a.c", "XML_ParserCreateNS(NULL, 1);\n", "whose parser has bounded memory"),
    (hostile, "src/work/a.c", 'words[] = { "git", "-C", top };\n', "the one function that starts git"),
    (hostile, "src/work/a.c", 'posix_spawnp(ret, "/usr/bin/git", &actions);\n', "the one function that starts git"),
    (hostile, "src/work/a.c", 'err_set(err, SBR_E_INVALID, "git", "no");\n', None),
    (hostile, "src/work/a.c", 'fopen(path, "re");\n', "beneath a descriptor"),
    (hostile, "src/work/a.c", "my_fopen(path); history_getline(x);\n", None),
    (hostile, "src/work/a.c", "fd = open(path_of(dir), O_RDONLY | O_CLOEXEC);\n", "open() through links"),
    (hostile, "src/config/a.c", 'fd = openat(dir, "a.yaml", O_RDONLY);\n', "inode_open_beneath()"),
    (hostile, "src/mcp/a.c", "fd = openat(dir, name, O_RDONLY | O_DIRECTORY);\n", "open() through links"),
    (hostile, "src/toolchain/a.c", "fd = b ? open(path, flags) : openat(dir, name, O_NOFOLLOW);\n", "open() through links"),
    (hostile, "src/work/a.c", "fd = open(dir, O_PATH); fd = openat(fd, \".\", O_RDONLY); inode_open(fd, name);\n", None),
    (hostile, "src/work/a.c", "fd = openat(at, name, O_RDONLY | O_NOFOLLOW); x(\"open('a')\"); open(\"/dev/null\", O_RDWR);\n", None),
    (hostile, "src/base/a.c", "fd = open(path, O_RDONLY); rename(a, b);\n", None),
    (hostile, "src/cli/a.c", "fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);\n", "use save_file_open()"),
    (hostile, "src/session/a.c", "renameat(a, b, c, d);\n", "O_CREAT or rename() is reserved"),
    (hostile, "src/mcp/a.c", "fd = mkostemp(path, 0);\n", "O_CREAT or rename() is reserved"),
    (hostile, "src/session/a.c", "json_rename(a); n->renamed(b); link(a);\n", None),
    (loop, "src/http/a.c", "static void f(void)\n{\n    (void)waitpid(pid, NULL, 0);\n}\n", "a.c:3: f() calls waitpid()"),
    (loop, "src/dialect/a.c", "int f(int a,\n      int b)\n{\n    return sbr_run(rt, req, &r, err);\n}\n", "f() calls sbr_run()"),
    (loop, "src/http/a.c", "int f(void)\n{\n    return my_poll(a) + x->select(b); /* poll(c) */\n}\n", None),
    (loop, "src/http/a.c", "static struct link all = { &all, &all };\n", "'all' can change and belongs to no server"),
    (loop, "src/mcp/a.c", "void f(void)\n{\n    static unsigned int n;\n}\n", "a.c:3: 'n' can change"),
    (loop, "src/admit/a.c", "static const char *names[] = { \"a\" };\n", "'names' can change"),
    (loop, "src/http/a.c", "static const char *const names[N] = { 0 };\nstatic int f(int a);\nstatic const int n = 1;\n", None),
    (doors, "src/dialect/a.c", "f(); r = sbr_request_new(a, b);\n", "a.c:1: sbr_request_new() makes a request past"),
    (doors, "src/mcp/a.c", "\nr = request_from_value(a, &b, c);\n", "a.c:2: request_from_value() makes"),
    (doors, "src/cli/a.c", "r = request_new(a, b);\n", "a.c:1: request_new() makes a request past"),
    (doors, "src/cli/options.c", "request_new(a, b); grant->hosts[0];\n", None),
    (doors, "src/admit/admit_tool.c", "request_new(a, b); my_request_new(c);\n", None),
    (doors, "src/dialect/a.c", "n = x->tenant.ceilings.value[0];\n", "'ceilings' of a grant is compared in src/admit"),
    (doors, "src/http/a.c", "return grant->per_minute;\n", "'per_minute' of a grant"),
    (doors, "src/http/a.c", "x = x->tenant.network;\n", "'network' of a grant"),
    (doors, "src/http/a.c", "x = options->hosts; req->network.mode = 0; /* grant->hosts */\n", None),
    (doors, "src/http/token_command.c", "tenant->hosts[0] = tenant->network;\n", None),
    (doors, "src/admit/a.c", "grant->ceilings = grant->hosts;\n", None),
    (doors, "src/dialect/a.c", ROUTES, None),
    (doors, "src/dialect/a.c", ROUTES.replace(" | ROUTE_LOOKS", ""), "a.c:3: POST /b needs one of"),
    (doors, "src/dialect/a.c", ROUTES.replace("ROUTE_STARTS", "0"), "a.c:2: GET /a needs one of"),
    (doors, "src/dialect/a.c", ROUTES.replace("| ROUTE_LOOKS", "| ROUTE_LOOKS | ROUTE_COUNTED"), "a.c:3: POST /b needs"),
    (doors, "src/dialect/a.c", "static const struct route routes[] = {\n    { 0 },\n};\n", "without a row"),
)

# A matrix without a hole, and all that makes requests.
MATRIX = {
    **{f"src/{name}": "request_new(a, b);\n" for name in doors.MAKES},
    "src/http/route.c": 'const struct route routes[] = {\n    { "POST", "/b", b, ROUTE_STARTS },\n};\n',
    "src/model/bounds.h": 'BOUND(BOUND_NONE, "") BOUND(BOUND_RUNS, "runs") BOUND(BOUND_DISK, "disk")\n',
    "src/mcp/tools.json": '{"tools": [{"name": "work", "timeout_seconds": 1}]}\n',
    "tests/doors.def": 'FAMILY(one, "RUNS DISK")\nDOOR("POST /b", one)\nDOOR("tool work", one)\n',
}


def with_rows(old, new):
    return {**MATRIX, "tests/doors.def": MATRIX["tests/doors.def"].replace(old, new)}


# What the documents are compared with, in small.
CONFINE = """#define RUN (1u << ROLE_RUN)
#define SHELL (1u << ROLE_SHELL)
static const struct step steps[] = {
    { &network_confiner, RUN | SHELL }, /* a comment */
    { &seccomp_confiner, RUN },
};
"""
CONFINERS = {
    "network.c": 'const struct confiner network_confiner = { "network", NULL, f };\n',
    "seccomp.c": 'const struct confiner seccomp_confiner = { "seccomp", f, g };\n',
}
EXECUTES = 'executed[] = {\n    { ".husky/", "git hook" },\n    { ".envrc", "shell file" },\n};\n'
EXECUTED = """| marked as | paths |
|---|---|
| git hook | `.husky/` |
| shell file | `.envrc` |
"""
STEPS = """| step | role | file | does |
|---|---|---|---|
| `network` | run, shell | `network.c` | x |
| `seccomp` | run | `seccomp.c` | y |
"""
MONITOR = """enum monitor_event { EV_CANCEL, /* EV_NOT */ EV_DEAD, N_EVENTS };
static transition *const transitions[N_STATES][N_EVENTS] = {
    [RUNNING] = { ask,  finish },
    [DONE]    = { stay, stay   },
};
"""
STATES = "| state | CANCEL | DEAD |\n|---|---|---|\n| RUNNING | ask | finish |\n| DONE | – | – |\n"
ORDERS = "| order, to init | means |\n|---|---|\n| `ORDER_GO` | x |\n| `ORDER_KILL` | y |\n"
CONTROL = "enum init_order { ORDER_GO = 1, /* ORDER_NOT */ ORDER_KILL };\n"
RUNNER = 'CHECK = ("lint", "unit")  # what\nSUITES = (*CHECK, "hosts")\n'
SUITES = "| suite | what |\n|---|---|\n| `lint` | a |\n| `unit` | b |\n| `hosts` | c |\n"
FOLDERS = """| folder | holds |
|---|---|
| `src/base/` | x |
| `src/plan/` | y |

| folder | may include |
|---|---|
| `src/init/` | base, `plan/a.h` |
"""
MAY_INCLUDE = {"base": set(), "plan": {"base"}, "init": {"base"}}
MAY_INCLUDE_ONLY = {"init": {"plan/a.h"}}
READS = """#define PLACE_ENV "A_PLACE"
f(getenv("A_NAME")); f(getenv(PLACE_ENV)); x = { .variable = "A_ROW", .xdg = "A_XDG" };
common_env[] = { "a_proxy" };
"""
READS_TOO = 'os.environ.get("A_PYTHON"), os.environ["A_KEY"], "A_SIGN" in os.environ; process.env.A_NODE\nconfig_env: [A_LIST]\n'
VARIABLES = """| variable | means |
|---|---|
| `A_NAME`, `A_PLACE`, `A_ROW`, `A_XDG`, `a_proxy` | x |

| variable | means |
|---|---|
| `A_PYTHON`, `A_KEY`, `A_SIGN`, `A_NODE`, `A_LIST` | x |
"""
READERS = "| variable | means | read by |\n|---|---|---|\n| `A_NAME` | x | `src/job/` |\n"
HOOKS = 'plan_leaves_out(plan, "views") plan_list_has(in->test_without, "masks") plan_leaves_out(plan, "seccomp")'
HOOK_WORDS = "| word | leaves out |\n|---|---|\n| `views` | x |\n| `masks` | y |\n"
DIGEST = "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865"  # of "1\n"

POLICY = """syscalls:
  allow:
    - group: a   # calls: [no]
      calls: [read,
              write]
  refuse:
    - group: b
      errno: EPERM
      calls: [bpf]
  arguments:
    - call: socket
"""
STRICT = "syscalls:\n  refuse:\n    - group: c\n      calls: [flock, socket]\n"
POLICIES = """| | `default` | `strict` |
|---|---|---|
| calls allowed whatever their arguments | 2 names | x |
| refused by name | 1 names | 2 more: y |
| decided by arguments | 1 names, below | z |

Decided by arguments: `socket`.

"""

LIMITS = 'x[N] = {\n    [SBR_WALL_MS] = { "wall_ms", "timeout", "TIME", 1 },\n    [SBR_PIDS]    = { "pids",    "pids",    "N", 2 },\n};\n'
OPTIONS = "| option | bounds |\n|---|---|\n| `--timeout TIME` | x |\n| `--pids N` | y |\n"
EXACT = "| exact | option |\n|---|---|\n| `wall_ms` | `timeout` |\n| `pids` | `pids` |\n"
VERDICTS = '[SBR_EXITED] = "exited", [SBR_TIMEOUT] = "timeout"'
OUTCOMES = "| outcome | when |\n|---|---|\n| `exited` | x |\n| `timeout` | y |\n"

# function, arguments, a part of the one expected report (None: accepted)
DOCUMENT_CASES = (
    (documents.line_problems, ("a.md", "x" * 100 + "\n"), None),
    (documents.line_problems, ("a.md", "x" * 101 + "\n"), "a.md:1: 101 columns"),
    (documents.line_problems, ("a.md", "\n```\n" + "x" * 101 + "\n```\n"), "a.md:3: 101 columns"),
    (documents.line_problems, ("a.md", "\n```\nsandbox-run: " + "x" * 101 + "\n```\n"), None),
    (documents.line_problems, ("a.md", "| " + "x " * 80 + " | " + "y " * 80 + " |\n"), None),
    (documents.line_problems, ("a.md", "| " + "x" * 201 + " |\n"), "a cell of 201 columns"),
    (documents.target_problems, ("a.md", "`make lint`\n", "lint: all\n"), None),
    (documents.target_problems, ("a.md", "`make paint X=`\n", "lint: all\n"), "no target 'paint'"),
    (documents.compare_folders, (FOLDERS, ("base", "plan"), MAY_INCLUDE, MAY_INCLUDE_ONLY), None),
    (documents.compare_folders, (FOLDERS, ("plan", "base"), MAY_INCLUDE, MAY_INCLUDE_ONLY),
     "out of order"),
    (documents.compare_folders, (FOLDERS, ("base", "plan", "job"), MAY_INCLUDE, MAY_INCLUDE_ONLY),
     "job is missing"),
    (documents.compare_folders,
     (FOLDERS.replace("| `src/plan/` | y |\n", ""), ("base", "plan"), MAY_INCLUDE,
                                 MAY_INCLUDE_ONLY), "plan is missing"),
    (documents.compare_steps, (STEPS, CONFINE, CONFINERS), None),
    (documents.compare_steps,
     (STEPS, CONFINE.replace("    { &seccomp_confiner, RUN },\n", ""), CONFINERS),
     "not in the code"),
    (documents.compare_steps,
     (STEPS.replace("| `seccomp` | run | `seccomp.c` | y |\n", ""), CONFINE, CONFINERS),
     "is missing"),
    (documents.compare_states, (STATES, MONITOR), None),
    (documents.compare_states, (STATES.replace("| DONE | – | – |\n", ""), MONITOR),
     "'DONE', 'stay', 'stay') is missing"),
    (documents.compare_states, (STATES, MONITOR.replace("    [DONE]    = { stay, stay   },\n", "")),
     "not in the code"),
    (documents.compare_messages, (ORDERS, "order", 0, CONTROL, ("init_order",)), None),
    (documents.compare_messages,
     (ORDERS, "order", 0, CONTROL.replace(", /*", ", ORDER_MAKE, /*"), ("init_order",)),
     "ORDER_MAKE is missing"),
    (documents.compare_messages,
     (ORDERS + "| `ORDER_OLD` | z |\n", "order", 0, CONTROL, ("init_order",)),
     "ORDER_OLD is not in the code"),
    (documents.compare_suites, (SUITES, RUNNER), None),
    (documents.compare_suites, (SUITES, RUNNER.replace('"unit")', '"unit", "warm")')),
     "warm is missing"),
    (documents.compare_suites, (SUITES + "| `old` | d |\n", RUNNER), "old is not in the code"),
    (documents.word_problems, ("a.md", "the user `nobody`, the program\n```\nnobody\n```\n"), None),
    (documents.word_problems, ("a.md", "x\nNobody waits\n"), "a.md:2: 'Nobody'"),
    (documents.word_problems, ("docs/hosts.md", "| nobody |\n"), None),
    (documents.compare_limits, (OPTIONS, EXACT, LIMITS), None),
    (documents.compare_limits, (OPTIONS.replace("| `--pids N` | y |\n", ""), EXACT, LIMITS),
     "--pids N is missing"),
    (documents.compare_limits, (OPTIONS, EXACT + "| `old` | `old` |\n", LIMITS),
     "('old', 'old') is not in the code"),
    (documents.compare_executed, (EXECUTED, EXECUTES), None),
    (documents.compare_executed, (EXECUTED, EXECUTES.replace("\n};", '\n    { ".hg/", "git hook" },\n};')),
     "git hook .hg/ is missing"),
    (documents.compare_executed, (EXECUTED + "| git hook | `old` |\n", EXECUTES), "git hook old is not in the code"),
    (documents.compare_outcomes, (OUTCOMES, VERDICTS), None),
    (documents.compare_outcomes, (OUTCOMES, VERDICTS + '[SBR_NEW] = "new"'), "new is missing"),
    (documents.compare_keys, ("a.md", "`wall_ms`\n", 'put("wall_ms"); put("id")', True), None),
    (documents.compare_keys, ("a.md", "`wall_ms`\n", 'put("wall_ms"); put("cpu_ms")', True),
     "'cpu_ms' is not explained"),
    (documents.compare_keys, ("a.md", "`wall_ms`, `old_ms`\n", 'put("wall_ms")', True),
     "no key 'old_ms'"),
    (documents.compare_keys, ("a.md", "`wall_ms`, `old_ms`\n", 'put("wall_ms")', False), None),
    (documents.compare_policies, (POLICIES, POLICY, STRICT), None),
    (documents.compare_policies,
     (POLICIES.replace("`socket`", "`bind`"), POLICY.replace("call: socket", "call: bind"),
                                  STRICT), None),
    (documents.compare_policies,
     (POLICIES.replace("| refused by name | 1 names | 2 more: y |\n", ""), POLICY, STRICT),
     "('refused by name', 1, 2) is missing"),
    (documents.compare_policies,
     (POLICIES.replace("`socket`.", "`socket`, `bind`."), POLICY, STRICT),
     "bind is not in the code"),
    (documents.compare_environment, (VARIABLES, [READS, READS_TOO]), None),
    (documents.compare_environment, (VARIABLES, [READS, READS_TOO, 'getenv("A_NEW")']),
     "A_NEW is missing"),
    (documents.compare_environment, (VARIABLES.replace("`A_KEY`, ", ""), [READS, READS_TOO]),
     "A_KEY is missing"),
    (documents.compare_environment, (VARIABLES + "| `A_OLD` | x |\n", [READS, READS_TOO]),
     "A_OLD is not in the code"),
    (documents.reader_problems, (READERS, {"src/job/a.c": 'getenv("A_NAME")'}), None),
    (documents.reader_problems, (READERS, {"src/cli/a.c": 'getenv("A_NAME")', "src/job/a.c": ""}),
     "src/job/ does not read A_NAME"),
    (documents.compare_test_words, (HOOK_WORDS, CONFINE, CONFINERS, [HOOKS]), None),
    (documents.compare_test_words,
     (HOOK_WORDS, CONFINE, CONFINERS, [HOOKS + 'plan_leaves_out(plan, "new")']),
     "new is missing"),
    (documents.compare_pages, ({"base", "plan"}, ["base"]), None),
    (documents.compare_pages, ({"base"}, ["base", "plan"]), "src/plan/ has no page"),
    (documents.function_problems,
     ("a.md", "| function | does |\n|---|---|\n| `buf_add` | x |\n", "int buf_add(void);"), None),
    (documents.function_problems,
     ("a.md", "| function | does |\n|---|---|\n| `buf_add` | x |\n", "int buf_put(void);"),
     "there is no buf_add()"),
    (documents.picture_problems, ("a.dot", "1\n", f"<svg/> {DIGEST}"), None),
    (documents.picture_problems, ("a.dot", "2\n", f"<svg/> {DIGEST}"), "make diagrams"),
)

# The document, its text, a part of the one expected report; src/base/err.c and tests/unit/test_err.c are there.
PATH_CASES = (
    ("SECURITY.md",
     "`src/base/err.c`, `base/err.c`, `err.c`, `base/e*.c`, `src/base/`, `unit/test_err.c`\n",
     None),
    ("SECURITY.md", "`base/old.c`\n", "there is no 'base/old.c'"),
    ("SECURITY.md", "`old.c`\n", "there is no 'old.c'"),
    ("SECURITY.md", "`executor/err.c`\n", "there is no 'executor/err.c'"),
    ("SECURITY.md", "`src/old/`\n", "there is no 'src/old/'"),
    ("SECURITY.md", "`src/base/NAME.c`, `<stdio.h>`\n", None),
    ("README.md", "`hello.c`, `project/`\n", None),
    ("README.md", "`src/base/old.c`\n", "there is no 'src/base/old.c'"),
    ("docs/a.md", "[x](../README.md), [y](https://example.org/), [z](#here)\n", None),
    ("docs/a.md", "[x](README.md)\n", "leads nowhere"),
)


def judged(found, expected):
    return not found if expected is None else len(found) == 1 and expected in found[0]


def check_documents():
    for function, arguments, expected in DOCUMENT_CASES:
        found = list(function(*arguments))
        if not judged(found, expected):
            yield f"documents.{function.__name__}: expected {expected!r}, got {found}"
    for name, text, expected in PATH_CASES:
        with tempfile.TemporaryDirectory(prefix="sbr-lint-") as root:
            for file in ("src/base/err.c", "tests/unit/test_err.c", "README.md", "docs/a.md"):
                Path(root, file).parent.mkdir(parents=True, exist_ok=True)
                Path(root, file).touch()
            found = list(documents.path_problems(root, name, text))
        if not judged(found, expected):
            yield f"documents.path_problems: {name} {text!r}: expected {expected!r}, got {found}"
_ROOT = "int sbr_job_start(void)\n{\n    job_a();\n}\nint sbr_job_finish(void)\n{\n}\n"
_WAYS = "".join(f"int job_b{i}(void)\n{{\n}}\n" for i in range(4))

# Every file of every row, with a call of each; and a page that names them.
_CALLS = 'json_loads(a); cyaml_load_data(a); XML_ParserCreate(a); w = { "git", "-C" }; fopen(a); getline(a); open(a); rename(a);\n'
HOSTILE_FILES = sorted({name for row in hostile.ROWS for name in row.files})
HOSTILE = {f"src/{name}": "".join(part + ";" for part in _CALLS.split(";")
                                  if any(re.search(row.pattern, part) for row in hostile.ROWS if name in row.files))
           for name in HOSTILE_FILES}
HOSTILE_PAGE = " ".join(f"`{name}`" for name in HOSTILE_FILES)

# One field with all of its names, and each place that says the same.
FIELDS = {
    fields.TABLE: 'FIELD(tag, TEXT, tag, NO_SETTER, ANYONE, ALONE, NONE, "a string", .option = "tag",\n'
                  '      .mcp = "tag", .docker = "label", .config = "tag")\nC_TEXT(tag, sbr_request_set_tag)\n',
    "include/sandboxrun.h": "int sbr_request_set_tag(sbr_request *req, const char *tag);\n",
    "docs/request.md": "\n## Fields\n\n| `tag` | string | a name |\n", "docs/configuration.md": "`tag`",
    "sdk/typescript/src/api.ts": "\n  request: {\n    tag?: string;\n  };\n",
    "src/cli/option_groups.c": '{ 0, "tag", "NAME" }', "src/mcp/tools.json": '{"$field": "tag"}',
    "src/cli/docker_options.c": '{ 0, "label", true }',
}

# check, {file: text}, a part of the expected report
TREES = (
    (fields, FIELDS, None),
    (fields, {**FIELDS, "include/sandboxrun.h": ""}, "include/sandboxrun.h: 'sbr_request_set_tag' is missing"),
    (fields, {**FIELDS, "docs/request.md": ""}, "docs/request.md: Fields: 'tag' is missing"),
    (fields, {**FIELDS, "docs/request.md": FIELDS["docs/request.md"].replace("string", "boolean")},
     "'tag' is of type string, not boolean"),
    (fields, {**FIELDS, "docs/request.md": FIELDS["docs/request.md"] + "| `old` | string | |\n"}, "'old' is no field"),
    (fields, {**FIELDS, "sdk/typescript/src/api.ts": "\n  request: {\n    tag?: number;\n  };\n"}, "'tag' is number;"),
    (fields, {**FIELDS, "src/mcp/tools.json": ""}, "src/mcp/tools.json: 'tag' of"),
    (fields, {**FIELDS, "src/cli/docker_options.c": ""}, "src/cli/docker_options.c: 'label' of"),
    (fields, {**FIELDS, "src/cli/option_groups.c": ""}, "src/cli/option_groups.c: 'tag' of"),
    (fields, {**FIELDS, "docs/configuration.md": ""}, "docs/configuration.md: 'tag' of"),
    (calls, {"src/cli/s.c": _ROOT, "src/job/a.c": "int job_a(void)\n{\n    job_b0();\n}\n",
             "src/job/b.c": _WAYS}, None),
    (calls, {"src/cli/s.c": _ROOT, "src/job/a.c": "int job_a(void)\n{\n    job_b();\n}\n",
             "src/job/b.c": "int job_b(void)\n{\n    job_a();\n}\n"},
             "a circle of calls: a.c, b.c"),
    (calls, {"src/cli/s.c": _ROOT, "src/egress/connection.c": "int connection_a(void)\n{\n    flow_b();\n}\n",
             "src/egress/flow.c": "int flow_b(void)\n{\n    connection_a();\n}\n"}, None),
    (calls, {"src/cli/s.c": _ROOT, "src/egress/connection.c": "int connection_a(void)\n{\n}\n",
             "src/egress/flow.c": "int flow_b(void)\n{\n}\n"}, "forms no circle with"),
    (calls, {"src/cli/s.c": _ROOT, "src/job/b.c": _WAYS,
             "src/job/a.c": "static job_step *const t[] = {\n    job_b0, job_b1, job_b2, job_b3,\n};\n"
                            "int job_a(void)\n{\n    t[0]();\n}\n"},
                            "src/job/b.c:1: a walk from sbr_job_start()"),
    (calls, {"src/cli/s.c": _ROOT, "src/job/a.h": '#include "job/b.h"\n',
             "src/job/b.h": '#include "job/a.h"\n'},
     "a circle of includes: a.h, b.h"),
    (hostile, {**HOSTILE, hostile.PAGE: HOSTILE_PAGE.replace("`base/json_read.c`", "")},
     "names no `base/json_read.c`, which calls json_load*()"),
    (hostile, {**HOSTILE, hostile.PAGE: HOSTILE_PAGE, "src/base/json_read.c": "f();\n"},
     "src/base/json_read.c has no json_load*()"),
    (hostile, {**HOSTILE, hostile.PAGE: HOSTILE_PAGE}, None),
    (doors, MATRIX, None),
    (doors, {**MATRIX, "src/admit/admit_tool.c": ""}, "src/admit/admit_tool.c makes no request"),
    (doors, with_rows('DOOR("POST /b", one)\n', ""), "the door 'POST /b' has no row"),
    (doors, with_rows('DOOR("tool work", one)\n', ""), "the door 'tool work' has no row"),
    (doors, with_rows("tool work\", one)\n", "tool work\", one)\nDOOR(\"POST /c\", one)\n"), "there is no door 'POST /c'"),
    (doors, with_rows("RUNS DISK", "RUNS"), "the bound DISK has to stand once in the rows of the family one"),
    (doors, with_rows("RUNS DISK", "RUNS DISK DISK"), "the bound DISK has to stand once in the rows of the family one"),
)


def check_trees():
    for lint, texts, expected in TREES:
        with tempfile.TemporaryDirectory(prefix="sbr-lint-") as root:
            for name, text in texts.items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found = lint.check(root)
        right = not found if expected is None else len(found) == 1 and expected in found[0]
        if not right:
            yield f"{lint.__name__}: {list(texts)}: expected {expected!r}, got {found}"


# What clang-tidy says about OWNERS, a part of the one expected report.
OWNERS = "scoped_free char *text = strdup(a), *rest = text;\nchar *own = strdup(a);\n"
_LEAK = "src/a.c:3:1: error: Potential leak of memory pointed to by 'word' [clang-analyzer-unix.Malloc]\n"
_NAMES = ":3:1: error: function 'f' differs [readability-inconsistent-declaration-parameter-name]\n"
TIDY_CASES = (
    (_LEAK + "src/a.c:1:26: note: Memory is allocated\n", None),
    (_LEAK + "src/a.c:2:13: note: Memory is allocated\n", "a.c:3:1: error: Potential leak"),
    (_LEAK.replace("'word'", "'rest'"), None),
    ("/usr/include/stdio.h" + _NAMES, None),
    ("src/a.c" + _NAMES, "function 'f' differs"),
)
# A source, and as the analyzer gets it.
MODEL_CASES = (
    ("return err->code;", "return analyzer_negative(err->code);"),
    ("return c->err->code;", "return analyzer_negative(c->err->code);"),
    ("return a.b->err->code;", "return analyzer_negative(a.b->err->code);"),
    ("err->code = 1; if (c->err->code == 2)", "err->code = 1; if (c->err->code == 2)"),
)


def check_tidy():
    with tempfile.TemporaryDirectory(prefix="sbr-lint-") as folder:
        root = Path(folder).resolve()
        Path(root, "src").mkdir()
        Path(root, "src/a.c").write_text(OWNERS, encoding="utf-8")
        for output, expected in TIDY_CASES:
            found = tidy.parse(root, root, output)
            if not judged(found, expected):
                yield f"tidy.parse: {output!r}: expected {expected!r}, got {found}"
    for text, expected in MODEL_CASES:
        found = tidy.modelled_text(text)
        if found != expected:
            yield f"tidy.modelled_text: {text!r}: expected {expected!r}, got {found!r}"


def check():
    """Returns one sentence per case that a lint judges wrongly."""
    problems = [*check_documents(), *check_trees(), *check_tidy()]
    for lint, name, text, expected in CASES:
        with tempfile.TemporaryDirectory(prefix="sbr-lint-") as root:
            path = Path(root, name)
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            found = lint.check(root)
        if not judged(found, expected):
            problems.append(
                f"{lint.__name__}: {name} {text[:60]!r}: expected {expected!r}, got {found}"
            )
    return problems


if __name__ == "__main__":
    wrong = check()
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))
