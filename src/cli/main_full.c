/* The full program: every command, and readers for JSON and YAML. */
#include "cli/cli.h"
#include "cli/documents.h"
#include "session/session_entry.h"

int main(int argc, char **argv)
{
    static const struct program program = { .commands = commands,
                                            .documents = &documents,
                                            .help = cli_help };

    if (session_program_is_wanted(argv))
        return supervisor_main();
    return cli_main(&program, argc, argv);
}
