/* The full program: every command, and readers for JSON and YAML. */
#include "cli/cli.h"
#include "cli/documents.h"

int main(int argc, char **argv)
{
    static const struct program program = { .commands = commands,
                                            .documents = &documents,
                                            .help = cli_help };

    return cli_main(&program, argc, argv);
}
