/* help, and the table of all commands that it lists. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/topics.h"
#include "plan/language.h"

/* clang-format off */
const struct command *const commands[] = {
    &cmd_run, &cmd_exec, &cmd_plan, &cmd_explain, &cmd_changes, &cmd_apply, &cmd_undo,
    &cmd_workspace, &cmd_batch, &cmd_compare, &cmd_profile, &cmd_test, &cmd_build, &cmd_golden,
    &cmd_verify, &cmd_migrate, &cmd_image, &cmd_docker, &cmd_output, &cmd_session, &cmd_repl,
    &cmd_mcp, &cmd_agent, &cmd_serve, &cmd_token, &cmd_languages, &cmd_cache, &cmd_config,
    &cmd_trust, &cmd_audit, &cmd_doctor, &cmd_completion, &cmd_help, NULL
};
/* clang-format on */

/* The same commands by what a person wants to do; one that no task names comes last. */
static const struct task {
    const char *title;
    const char *commands[9];
} tasks[] = {
    { "Run", { "run", "exec", "repl", "session", "batch", "agent" } },
    { "Work on code", { "test", "verify", "build", "golden", "compare", "profile", "migrate" } },
    { "Look at what it did", { "changes", "apply", "undo", "output", "workspace", "audit" } },
    { "See what is allowed", { "plan", "explain", "trust", "token" } },
    { "Serve others", { "serve", "mcp", "docker", "image" } },
    { "Look after it", { "doctor", "languages", "cache", "config", "completion", "help" } },
    { "More", { NULL } },
};

static bool is_in(const struct task *task, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(task->commands) && task->commands[i]; i++)
        if (!strcmp(task->commands[i], name))
            return true;
    return false;
}

static bool has_task(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(tasks); i++)
        if (is_in(&tasks[i], name))
            return true;
    return false;
}

static void print_task(const struct task *task)
{
    bool rest = !task->commands[0], any = false;

    for (size_t i = 0; commands[i]; i++) {
        if (rest ? has_task(commands[i]->name) : !is_in(task, commands[i]->name))
            continue;
        if (!any)
            printf("%s:\n", task->title);
        any = true;
        printf("  %-10s %s\n", commands[i]->name, commands[i]->help);
    }
    if (any)
        putchar('\n');
}

static void print_languages(void)
{
    printf("Languages:");
    for (size_t i = 0; language_at(i); i++)
        printf(" %s", language_at(i)->name);
    printf("\n");
}

static void print_overview(void)
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
        "hosts that you list, no other process, and none of your files but those you name.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(tasks); i++)
        print_task(&tasks[i]);
    print_languages();
    printf("\nTopics, for `sandbox-run help TOPIC`:\n");
    for (size_t i = 0; topic_name(i); i++)
        printf("  %-13s %s\n", topic_name(i), topic_about(i));
    printf(
        "\nExit status: the program's own; 124 time limit; 125 we could not run it; 126 denied or\n"
        "not executable; 127 no such language, file or command; 128+n signal n.\n"
        "\n`sandbox-run COMMAND --help` has the options of a command.\n");
}

/* "-l, --lang NAME" in a column, the help beside it, a preset behind it. */
static void print_option(const struct option *option)
{
    char left[64], preset[32] = "";
    int n = option->letter ? snprintf(left, sizeof(left), "-%c, ", option->letter)
                           : snprintf(left, sizeof(left), "    ");

    n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", option->name,
                  option->metavar ? " " : "", option->metavar ? option->metavar : "");
    if (option->maybe)
        snprintf(left + n, sizeof(left) - (size_t)n, "[=%s]", option->maybe);
    if (option->limit)
        limits_format((enum sbr_limit)(option->limit - limit_defs), option->limit->preset, preset,
                      sizeof(preset));
    printf("  %-26s %s%s%s%s\n", left, option->help, *preset ? " (" : "", preset,
           *preset ? ")" : "");
}

void cli_help(const struct command *command)
{
    struct option option;
    bool limits = false;

    if (!command) {
        print_overview();
        return;
    }
    printf("sandbox-run %s %s\n\n%s.\n", command->name, command->usage, command->help);
    if (command->examples)
        printf("\n%s", command->examples);
    printf("\nOptions:\n");
    for (struct option_walk walk = { .command = command }; option_next(&walk, &option);) {
        if (option.limit && !limits)
            printf("\nLimits (TIME: ms s m h; SIZE: b k m g t):\n");
        limits = option.limit != NULL;
        print_option(&option);
    }
}

struct help_options {
    bool names;
};

static const struct option own_options[] = {
    { 0, "names", NULL, "print the words that it takes, one on a line",
      OPTION_OWN(struct help_options, names) },
    { 0 },
};

static int print_names(void)
{
    for (size_t i = 0; commands[i]; i++)
        printf("%s\n", commands[i]->name);
    for (size_t i = 0; topic_name(i); i++)
        printf("%s\n", topic_name(i));
    return 0;
}

static void refuse(const char *name, sbr_error *err)
{
    const char *names[sizeof(commands) / sizeof(commands[0])], *near;
    size_t n = 0;

    for (; commands[n]; n++)
        names[n] = commands[n]->name;
    near = text_nearest(name, names, n);
    err_set(err, SBR_E_NOT_FOUND, "help", "there is no command '%.60s'; %s%s%s", name,
            near ? "did you mean `sandbox-run help " : "`sandbox-run help` lists them",
            near ? near : "", near ? "`?" : "");
}

/* `languages` is a command and a topic: `languages --help` has its options. */
static int help_run(struct options *o)
{
    const struct help_options *own = o->own;
    const char *name = o->n_positional ? o->positional[0] : NULL;
    const struct command *command = name ? cli_find_command(commands, name) : NULL;
    sbr_error err;

    if (own->names)
        return print_names();
    if (name && topic_exists(name))
        return topic_show(name, o, &err) < 0 ? cli_fail(o, &err) : 0;
    if (name && !command) {
        refuse(name, &err);
        return cli_fail(o, &err);
    }
    cli_help(command);
    return 0;
}

const struct command cmd_help = {
    .name = "help",
    .usage = "[COMMAND | TOPIC]",
    .help = "explain a command, or show a page of the documentation",
    .examples = "Examples:\n  sandbox-run help exec\n  sandbox-run help network\n"
                "  sandbox-run help --names             all commands and topics\n",
    .options = (const struct option *const[]){ own_options, options_quiet, options_general, NULL },
    .own_size = sizeof(struct help_options),
    .ids = "help --names",
    .run = help_run,
};
