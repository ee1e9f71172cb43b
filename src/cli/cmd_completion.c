/* Completion scripts and the manual page, from the tables that parse the command line. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "plan/language.h"
#include "plan/policy.h"

static const char *language_word(size_t i)
{
    return language_at(i) ? language_at(i)->name : NULL;
}

static const char *network_word(size_t i)
{
    return i < N_NETWORK_MODES ? network_mode_name((enum network_mode)i) : NULL;
}

static const char *policy_word(size_t i)
{
    return policy_at(i) ? policy_at(i)->name : NULL;
}

static const char *tier_word(size_t i)
{
    return i < N_TIERS ? request_tier_name((enum tier)i) : NULL;
}

/* Options whose values are words that we know; NULL past the last one. */
static const struct values {
    int id;
    const char *(*at)(size_t i);
} known_values[] = {
    { OPT_LANG, language_word },
    { OPT_NETWORK, network_word },
    { OPT_POLICY, policy_word },
    { OPT_REQUIRE, tier_word },
};

static const struct values *values_of(int id)
{
    for (size_t i = 0; i < ARRAY_LEN(known_values); i++)
        if (known_values[i].id == id)
            return &known_values[i];
    return NULL;
}

static void print_values(const struct values *values)
{
    for (size_t i = 0; values->at(i); i++)
        printf("%s%s", i ? " " : "", values->at(i));
}

/* Calls `print` for each option of a command. */
static void each_option(const struct command *command,
                        void (*print)(const struct command *, const struct option_def *))
{
    struct option_def def;

    for (size_t i = 0; option_at(i, &def); i++)
        if (def.commands & command->bit)
            print(command, &def);
}

static void print_word(const struct command *command, const struct option_def *def)
{
    (void)command;
    printf(" --%s", def->name);
}

/* The words that a command begins with, as its usage has them: "[list | rm NAME]".  False when there are none. */
static bool print_first_words(const struct command *command, const char *before)
{
    const char *at = command->usage;
    bool any = false;

    while (at) {
        size_t len;

        at += strspn(at, " [|");
        for (len = 0; islower((unsigned char)at[len]);)
            len++;
        if (len && strchr(" ]|", at[len])) {
            printf("%s%.*s", any ? " " : before, (int)len, at);
            any = true;
        }
        at = strchr(at, '|');
    }
    return any;
}

static void print_bash_values(const struct option_def *def)
{
    printf("    --%s", def->name);
    if (def->letter)
        printf("|-%c", def->letter);
    printf(") COMPREPLY=($(compgen -W \"");
    print_values(values_of(def->id));
    printf("\" -- \"$word\")); return ;;\n");
}

static void print_bash(void)
{
    struct option_def def;

    printf("_sandbox_run() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options\n"
           "    case $before in\n");
    for (size_t i = 0; option_at(i, &def); i++)
        if (values_of(def.id))
            print_bash_values(&def);
    printf("    esac\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; commands[i]; i++) {
        printf("    %s) options=\"", commands[i]->name);
        print_first_words(commands[i], "");
        each_option(commands[i], print_word);
        printf("\" ;;\n");
    }
    printf("    *) options=\"");
    each_option(&cmd_run, print_word);
    for (size_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
    printf("\" ;;\n    esac\n"
           "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\") $(compgen -f -- \"$word\"))\n"
           "}\ncomplete -o filenames -F _sandbox_run sandbox-run\n");
}

/* Colons and brackets would end a description of zsh's. */
static void print_plain(const char *text, const char *without)
{
    for (; *text; text++)
        putchar(strchr(without, *text) ? ' ' : *text);
}

static void print_zsh_option(const struct command *command, const struct option_def *def)
{
    const struct values *values = values_of(def->id);

    (void)command;
    printf(" \\\n            '--%s[", def->name);
    print_plain(def->help, "[]:'");
    printf("]");
    if (def->metavar) {
        printf(":");
        print_plain(def->metavar, "[]:'");
    }
    if (values) {
        printf(":(");
        print_values(values);
        printf(")");
    }
    printf("'");
}

static void print_zsh(void)
{
    printf("#compdef sandbox-run\n_sandbox_run() {\n    case $words[2] in\n");
    for (size_t i = 0; commands[i]; i++) {
        printf("    %s)\n        _arguments", commands[i]->name);
        each_option(commands[i], print_zsh_option);
        if (print_first_words(commands[i], " '2: :("))
            printf(")'");
        printf(" '*:file:_files' ;;\n");
    }
    printf("    *) compadd");
    for (size_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
    printf("; _files ;;\n    esac\n}\n_sandbox_run \"$@\"\n");
}

static void print_fish_option(const struct command *command, const struct option_def *def)
{
    const struct values *values = values_of(def->id);

    printf("complete -c sandbox-run -n '__fish_seen_subcommand_from %s' -l %s%s -d '",
           command->name, def->name, def->metavar ? " -r" : "");
    print_plain(def->help, "'");
    printf("'");
    if (values) {
        printf(" -f -a '");
        print_values(values);
        printf("'");
    }
    printf("\n");
}

static void print_fish(void)
{
    char before[120];

    for (size_t i = 0; commands[i]; i++) {
        printf("complete -c sandbox-run -n __fish_use_subcommand -a %s -d '", commands[i]->name);
        print_plain(commands[i]->help, "'");
        printf("'\n");
        each_option(commands[i], print_fish_option);
        snprintf(before, sizeof(before),
                 "complete -c sandbox-run -n '__fish_seen_subcommand_from %s' -a '",
                 commands[i]->name);
        if (print_first_words(commands[i], before))
            printf("'\n");
    }
}

/* A hyphen in the source of a manual page is a soft one unless it is escaped. */
static void print_roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '-' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
}

static void print_man_option(const struct command *command, const struct option_def *def)
{
    (void)command;
    printf(".TP\n.B ");
    if (def->letter)
        printf("\\-%c, ", def->letter);
    printf("\\-\\-");
    print_roff(def->name);
    if (def->metavar)
        printf(" %s", def->metavar);
    printf("\n");
    print_roff(def->help);
    if (def->id >= OPT_LIMIT) {
        enum sbr_limit which = (enum sbr_limit)(def->id - OPT_LIMIT);
        char preset[32];

        limits_format(which, limit_defs[which].preset, preset, sizeof(preset));
        printf(" (default %s)", preset);
    }
    printf("\n");
}

static void print_upper(const char *text)
{
    for (; *text; text++)
        putchar(toupper((unsigned char)*text));
}

static void print_man(void)
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
        each_option(commands[i], print_man_option);
    }
    printf(".SH EXIT STATUS\nThe program's own; 124 time limit; 125 we could not run it; 126 "
           "denied or "
           "not executable; 127 no such language, file or command; 128+n signal n.\n");
}

/* clang-format off */
static const struct {
    const char *name;
    void (*print)(void);
} forms[] = {
    { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish }, { "man", print_man },
};
/* clang-format on */

static int completion_run(struct options *o)
{
    const char *wanted = o->n_positional == 1 ? o->positional[0] : "";
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (!strcmp(wanted, forms[i].name)) {
            forms[i].print();
            return 0;
        }
    }
    err_set(&err, SBR_E_INVALID, "completion", "say which: bash, zsh, fish or man");
    return cli_fail(o, &err);
}

const struct command cmd_completion = {
    .name = "completion",
    .usage = "bash | zsh | fish | man",
    .help = "print a completion script, or the manual page",
    .examples = "Example:\n  source <(sandbox-run completion bash)\n",
    .bit = FOR_OTHERS,
    .run = completion_run,
};
