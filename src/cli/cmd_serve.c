/* serve: the engine, which only the whole program has; see cli/serve.h. */
#include "cli/cli.h"
#include "cli/serve.h"

const struct command cmd_serve = {
    .name = "serve",
    .usage = "[OPTIONS] | --status [--json]",
    .help =
        "keep sandboxes ready, so that runs start in no time; other calls find it by themselves",
    .examples =
        "Examples:\n"
        "  sandbox-run serve &                      then run as ever, only faster\n"
        "  sandbox-run serve --status               what is ready, who runs, who waits\n"
        "  sandbox-run serve --warm python,java     make these ready at the start\n"
        "  systemctl --user start sandbox-run       as a service\n\n"
        "SANDBOX_RUN_SOCKET names another socket, for both sides; `--cold` and\n"
        "SANDBOX_RUN_COLD=1 do without the engine.  SIGTERM lets runs finish, then ends it.\n",
    .bit = FOR_SERVE,
    .run = serve_run,
};
