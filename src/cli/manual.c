
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

struct row {
    const char *name, *means;
};

/* clang-format off */
/* docs/environment.md has all; a test compares the two. */
static const struct row variables[] = {
    { "SANDBOX_RUN_CACHE",
      "Directory of the store: packages, compiled programs, prepared languages." },
    { "SANDBOX_RUN_CACHE_MAX", "Bound of compiled programs in the store, a size." },
    { "SANDBOX_RUN_CONTAINERS", "Directory of the bundles of --backend, one for each run." },
    { "SANDBOX_RUN_STATE", "Directory of kept changes, workspaces and kept output." },
    { "SANDBOX_RUN_SOCKET", "The engine's socket, for both sides." },
    { "SANDBOX_RUN_COLD", "Not empty and not 0: no engine is asked, as with --cold." },
    { "SANDBOX_RUN_COW", "First copy-on-write backend to try: overlay, disk, copy." },
    { "SANDBOX_RUN_REGISTRIES", "Further hosts that installers and image build may reach." },
    { "SANDBOX_RUN_NO_BACKGROUND", "Set: nothing goes on after a run's answer." },
    { "SANDBOX_RUN_LOG", "Log level on stderr: info, debug." },
    { "SANDBOX_RUN_NO_COLOR", "Not empty: no colours; NO_COLOR and FORCE_COLOR count too." },
    { "SANDBOX_RUN_NAME",
      "Name of a run for `sandbox-run output`; `sandbox-run docker run --name` sets it." },
    { "SANDBOX_RUN_IDS", "Range of host ids for runs of root, FIRST:COUNT." },
    { "SANDBOX_RUN_ID_LOCKS", "Existing directory with the locks of those ids." },
    { "PAGER", "Shows the pages of `sandbox-run help TOPIC` at a terminal." },
};

static const struct row places[] = {
    { "~/.cache/sandbox-run", "The store; `sandbox-run cache` lists and cleans it." },
    { "~/.local/state/sandbox-run", "Kept changes, workspaces, kept output, sessions." },
    { "~/.config/sandbox-run/config.yaml",
      "Defaults of the user; see `sandbox-run help configuration`." },
    { "~/.config/sandbox-run/languages", "Languages of the user, one file each." },
    { ".sandbox-run.yaml", "Defaults of a project, which can only tighten the user's." },
    { "/run/sandbox-run/engine.sock",
      "The engine's socket, for root; below $XDG_RUNTIME_DIR for others." },
};

static const struct row statuses[] = {
    { "0 to 123", "The program's own." },
    { "124", "It reached its time limit, --timeout or --cpu-time." },
    { "125", "sandbox-run could not run it." },
    { "126", "Denied, or not executable." },
    { "127", "No such language, file or command." },
    { "128+n", "Signal n ended it; 137 also stands for the limits of memory and output." },
};
/* clang-format on */

/* A hyphen in the source of a manual page is a soft one unless it is escaped. */
static void print_roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '-' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
}

static void print_option(const struct option *option)
{
    printf(".TP\n.B ");
    if (option->letter)
        printf("\\-%c, ", option->letter);
    printf("\\-\\-");
    print_roff(option->name);
    if (option->metavar)
        printf(" %s", option->metavar);
    if (option->maybe)
        printf("[=%s]", option->maybe);
    printf("\n");
    print_roff(option->help);
    if (option->limit) {
        char preset[32];

        limits_format((enum sbr_limit)(option->limit - limit_defs), option->limit->preset, preset,
                      sizeof(preset));
        printf(" (default %s)", preset);
    }
    printf("\n");
}

static void print_options(const struct command *command)
{
    struct option option;

    for (struct option_walk walk = { .command = command }; option_next(&walk, &option);)
        print_option(&option);
}

static void print_rows(const char *heading, const struct row *rows, size_t n)
{
    printf(".SH %s\n", heading);
    for (size_t i = 0; i < n; i++) {
        printf(".TP\n.B ");
        print_roff(rows[i].name);
        printf("\n");
        print_roff(rows[i].means);
        printf("\n");
    }
}

/* Of every command, as its own help has them.  A line that begins with a dot would be a request. */
static void print_examples(void)
{
    printf(".SH EXAMPLES\n");
    for (size_t i = 0; commands[i]; i++) {
        const char *text = commands[i]->examples;

        if (text && !strncmp(text, "Example", 7))
            text = strchr(text, '\n') + 1;
        if (!text)
            continue;
        printf(".SS %s\n.nf\n\\&", commands[i]->name);
        print_roff(text);
        printf(".fi\n");
    }
}

static void print_upper(const char *text)
{
    for (; *text; text++)
        putchar(toupper((unsigned char)*text));
}

void manual_print(void)
{
    printf(".TH SANDBOX\\-RUN 1 \"\" \"sandbox\\-run %d.%d.%d\"\n.SH NAME\n"
           "sandbox\\-run \\- run code that nobody vouches for, and say exactly what happened\n"
           ".SH SYNOPSIS\n",
           SBR_VERSION_MAJOR, SBR_VERSION_MINOR, SBR_VERSION_PATCH);
    for (size_t i = 0; commands[i]; i++) {
        printf(".B sandbox\\-run %s\n", commands[i]->name);
        print_roff(commands[i]->usage);
        printf("\n.br\n");
    }
    for (size_t i = 0; commands[i]; i++) {
        printf(".SH ");
        print_upper(commands[i]->name);
        printf("\n");
        print_roff(commands[i]->help);
        printf(".\n");
        print_options(commands[i]);
    }
    printf(".SH FILES\n.TP\n.I ~/.config/sandbox\\-run/config.yaml\nthe user's configuration\n"
           ".TP\n.I .sandbox\\-run.yaml\na project's; counts once `sandbox\\-run trust` was said\n"
           ".TP\n.I ~/.config/sandbox\\-run/languages/*.yaml\nlanguages of one's own\n"
           ".TP\n.I ~/.cache/sandbox\\-run\nwhat stages left: compiled programs, packages\n"
           ".TP\n.I ~/.local/state/sandbox\\-run\n"
           "changesets, workspaces, kept output, trusted files, the audit\n");
    print_examples();
    print_rows("ENVIRONMENT", variables, ARRAY_LEN(variables));
    print_rows("FILES", places, ARRAY_LEN(places));
    print_rows("EXIT STATUS", statuses, ARRAY_LEN(statuses));
    printf(
        ".SH SEE ALSO\n.B sandbox\\-run help\nlists topics: pages that say more than this one.\n");
}
