#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "base/arch.h"
#include "plan/language.h"

void help_version(void)
{
    printf("sandbox-run %d.%d.%d (%s)\n", SBR_VERSION_MAJOR, SBR_VERSION_MINOR, SBR_VERSION_PATCH,
           ARCH_NAME);
}

static void print_languages(void)
{
    printf("\nLanguages:");
    for (size_t i = 0; language_at(i); i++)
        printf(" %s", language_at(i)->name);
    printf("\n");
}

void help_overview(void)
{
    printf(
        "sandbox-run runs code that nobody vouches for, and says exactly what happened.\n\n"
        "  sandbox-run hello.py                       a program, by its file\n"
        "  sandbox-run --lang python --code 'print(6 * 7)'\n"
        "  generate | sandbox-run --lang bash --json  from stdin, result as JSON\n"
        "  sandbox-run --timeout 5s --memory 256m job.py -- --fast input.txt\n"
        "  sandbox-run exec -- ls -la /               any command\n"
        "  sandbox-run --allow-host example.org:443 fetch.py\n"
        "  sandbox-run --project . --diff clean.sh    what it would change, without changing it\n"
        "  sandbox-run doctor                         what this machine offers\n\n"
        "The program sees a read-only /usr, an empty /work and /tmp, no network but the\n"
        "hosts that you list, no other process, and none of your files but those you name.\n\n"
        "Commands:\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->help);
    print_languages();
    printf(
        "\nExit status: the program's own; 124 time limit; 125 we could not run it; 126 denied or\n"
        "not executable; 127 no such language, file or command; 128+n signal n.\n"
        "\n`sandbox-run COMMAND --help` has the options of a command.\n");
}

/* "-l, --lang NAME" in a column, the help beside it, a preset behind it. */
static void print_option(const struct option_def *def)
{
    char left[64], preset[32] = "";
    int n = def->letter ? snprintf(left, sizeof(left), "-%c, ", def->letter)
                        : snprintf(left, sizeof(left), "    ");

    snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", def->name, def->metavar ? " " : "",
             def->metavar ? def->metavar : "");
    if (def->id >= OPT_LIMIT) {
        enum sbr_limit which = (enum sbr_limit)(def->id - OPT_LIMIT);

        limits_format(which, limit_defs[which].preset, preset, sizeof(preset));
    }
    printf("  %-26s %s%s%s%s\n", left, def->help, *preset ? " (" : "", preset, *preset ? ")" : "");
}

void help_command(const struct command *command)
{
    struct option_def def;
    bool limits = false;

    printf("sandbox-run %s %s\n\n%s.\n", command->name, command->usage, command->help);
    if (command->examples)
        printf("\n%s", command->examples);
    printf("\nOptions:\n");
    for (size_t i = 0; option_at(i, &def); i++) {
        if (!(def.commands & command->bit))
            continue;
        if (def.id >= OPT_LIMIT && !limits)
            printf("\nLimits (TIME: ms s m h; SIZE: b k m g t):\n");
        limits = def.id >= OPT_LIMIT;
        print_option(&def);
    }
}
