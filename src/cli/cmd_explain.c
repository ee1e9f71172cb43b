/* explain: its work needs a JSON reader; see cli/explain.h. */
#include "cli/cli.h"
#include "cli/explain.h"

const struct command cmd_explain = {
    .name = "explain",
    .usage = "[OPTIONS] [RESULT | PLAN | FILE | DIR | -] [-- ARG...]",
    .help = "say what a run may use, what was refused, by which rule, and what would allow it",
    .examples = "Examples:\n"
                "  sandbox-run --json job.py > result.json; sandbox-run explain result.json\n"
                "  sandbox-run --json job.py | sandbox-run explain\n"
                "  sandbox-run explain --network allow --allow-host example.org:443 job.py\n",
    .bit = FOR_PLAN,
    .run = explain_run,
};
