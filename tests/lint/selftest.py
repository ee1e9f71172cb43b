"""Proves that the lints bite: small trees with one deliberate fault each.

Usage: selftest.py
"""

import sys
import tempfile
from pathlib import Path

import budgets
import layers
import names

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
    (layers, "src/generate/generate_main.c", '#include "confine/confine.h"\n', "not below generate/"),
    (layers, "src/cli/cli.c", '#include "init/init.h"\n', "not below cli/"),
    (layers, "src/cli/cli.c", '#include "lib/runner.h"\n', None),
    (layers, "src/cli/cli.c", '#include "store/store.h"\n', None),
    (layers, "src/cli/cli.c", '#include "job/job.h"\n', "lib/runner.h is the way in"),
    (layers, "src/cli/cli.c", '#include "sandbox/probe.h"\n', "lib/runner.h is the way in"),
    (layers, "src/misc/a.c", "\n", "not in the folder of a layer"),
    (layers, "src/a.c", "\n", "not in the folder of a layer"),
    (layers, "include/other.h", "\n", "only include/sandboxrun.h is public"),
    (layers, "include/sandboxrun.h", '#include "base/err.h"\n', "system headers only"),
    (names, "src/base/buf.c", "int buf_add(int a)\n{\n}\nstatic int add(void)\n{\n}\n", None),
    (names, "src/base/buf.c", "int\nx;\nint add(int a)\n{\n}\n", "src/base/buf.c:3: add() begins with neither"),
    (names, "src/engine/clients.c", "void client_drop(void)\n{\n}\nint engine_run(void)\n{\n}\n", None),
    (names, "src/base/buf.c", "int add(int a);\n", None),
    (budgets, "src/base/a.c", "\n" * 500, None),
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
)


def check():
    """Returns one sentence per case that a lint judges wrongly."""
    problems = []
    for lint, name, text, expected in CASES:
        with tempfile.TemporaryDirectory(prefix="sbr-lint-") as root:
            path = Path(root, name)
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            found = lint.check(root)
        right = not found if expected is None else len(found) == 1 and expected in found[0]
        if not right:
            problems.append(
                f"{lint.__name__}: {name} {text[:60]!r}: expected {expected!r}, got {found}"
            )
    return problems


if __name__ == "__main__":
    wrong = check()
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))
