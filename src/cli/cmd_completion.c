/* Completion scripts and the manual page, from the tables that parse the command line. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/action.h"
#include "cli/cli.h"
#include "cli/topics.h"

/* What a shell runs at the moment of completion stands between `before` and `after`. */
static void print_values(const struct option *option, const char *before, const char *after)
{
    if (option->ask)
        printf("%ssandbox-run %s 2>/dev/null%s", before, option->ask, after);
    for (size_t i = 0; option->word && option->word(i); i++)
        printf("%s%s", i ? " " : "", option->word(i));
}

/* Calls `print` for each option of a command. */
static void each_option(const struct command *command,
                        void (*print)(const struct command *, const struct option *))
{
    struct option option;

    for (struct option_walk walk = { .command = command }; option_next(&walk, &option);)
        print(command, &option);
}

static void print_word(const struct command *command, const struct option *option)
{
    (void)command;
    printf(" --%s", option->name);
}

/* The words in front of the alternatives of a usage: "[list | rm NAME]". */
static bool print_usage_words(const char *usage, const char *before)
{
    bool any = false;

    for (const char *at = usage; at; at = strchr(at, '|')) {
        size_t len;

        at += strspn(at, " [|");
        for (len = 0; islower((unsigned char)at[len]);)
            len++;
        if (len && strchr(" ]|", at[len])) {
            printf("%s%.*s", any ? " " : before, (int)len, at);
            any = true;
        }
    }
    return any;
}

/* The actions of a command.  False: it has none. */
static bool print_first_words(const struct command *command, const char *before)
{
    if (!command->actions)
        return print_usage_words(command->usage, before);
    for (size_t i = 0; command->actions[i].name; i++)
        printf("%s%s", i ? " " : before, command->actions[i].name);
    return true;
}

static bool takes_option(const struct command *command, const char *name)
{
    struct option option;

    for (struct option_walk walk = { .command = command }; option_next(&walk, &option);)
        if (!strcmp(option.name, name))
            return true;
    return false;
}

/* One line for an option of several commands: the first prints it. */
static void print_bash_values(const struct command *command, const struct option *option)
{
    if (!option->word && !option->ask)
        return;
    for (size_t i = 0; commands[i] != command; i++)
        if (takes_option(commands[i], option->name))
            return;
    printf("    --%s", option->name);
    if (option->letter)
        printf("|-%c", option->letter);
    printf(") COMPREPLY=($(compgen -W \"");
    print_values(option, "$(", ")");
    printf("\" -- \"$word\")); return ;;\n");
}

/* No file is a command's first word where that is an action, and none is an id. */
static void print_bash_command(const struct command *command)
{
    printf("    %s) ", command->name);
    if (print_first_words(command, "[ $COMP_CWORD != 2 ] || { files= names=\""))
        printf("\"; }; ");
    if (command->ids && command->actions)
        printf("[ \"$names\" ] || names=$(sandbox-run %s 2>/dev/null); ", command->ids);
    else if (command->ids)
        printf("names=\"$names $(sandbox-run %s 2>/dev/null)\" files=; ", command->ids);
    printf("options=\"");
    each_option(command, print_word);
    printf("\" ;;\n");
}

static void print_bash(void)
{
    printf("_sandbox_run() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options "
           "hidden= names= files=yes\n"
           "    [ \"$word\" = = ] && word=\n"
           "    [ \"$before\" = = ] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
           "    case $before in\n");
    for (size_t i = 0; commands[i]; i++)
        each_option(commands[i], print_bash_values);
    printf("    esac\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; commands[i]; i++)
        print_bash_command(commands[i]);
    printf("    *) options=\"");
    each_option(&cmd_run, print_word);
    for (size_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
    printf("\" ;;\n    esac\n    [ \"$word\" ] || hidden='-*' # commands and names come first\n"
           "    COMPREPLY=($(compgen -W \"$names $options\" -X \"$hidden\" -- \"$word\")\n"
           "        $([ \"$files\" ] && compgen -f -- \"$word\"))\n"
           "}\ncomplete -o filenames -F _sandbox_run sandbox-run\n");
}

/* Colons and brackets would end a description in zsh. */
static void print_plain(const char *text, const char *without)
{
    for (; *text; text++)
        putchar(strchr(without, *text) ? ' ' : *text);
}

static void print_zsh_option(const struct command *command, const struct option *option)
{
    (void)command;
    printf(" \\\n            '--%s[", option->name);
    print_plain(option->help, "[]:'");
    printf("]");
    if (option->metavar) {
        printf(":");
        print_plain(option->metavar, "[]:'");
    }
    if (option->word || option->ask) {
        printf(option->ask ? ":{" : ":(");
        print_values(option, "compadd -- $(", ")");
        printf(option->ask ? "}" : ")");
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
        if (commands[i]->ids)
            printf(" '*:id:{compadd -- $(sandbox-run %s 2>/dev/null)%s}' ;;\n", commands[i]->ids,
                   commands[i]->actions ? "; _files" : "");
        else
            printf(" '*:file:_files' ;;\n");
    }
    printf("    *) compadd");
    for (size_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
    printf("; _files ;;\n    esac\n}\n_sandbox_run \"$@\"\n");
}

static void print_fish_option(const struct command *command, const struct option *option)
{
    printf("complete -c sandbox-run -n '__fish_seen_subcommand_from %s' -l %s%s -d '",
           command->name, option->name, option->metavar ? " -r" : "");
    print_plain(option->help, "'");
    printf("'");
    if (option->word || option->ask) {
        printf(" -f -a '");
        print_values(option, "(", ")");
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
        if (commands[i]->ids)
            printf("%s(sandbox-run %s 2>/dev/null)'\n", before, commands[i]->ids);
    }
}

/* clang-format off */
static const struct {
    const char *name;
    void (*print)(void);
} forms[] = {
    { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish }, { "man", manual_print },
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
    .options = (const struct option *const[]){ options_quiet, options_general, NULL },
    .run = completion_run,
};
