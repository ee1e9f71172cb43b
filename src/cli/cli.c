/* sandbox-run: finds the command, parses its options, runs it. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/listing.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/documents.h"
#include "cli/env_files.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "cli/stream.h"
#include "lib/runner.h"

#define FDS_WANTED 256
#define MOST_COMMANDS 64

const struct command *cli_find_command(const struct command *const *list, const char *name)
{
    for (; *list; list++)
        if (!strcmp((*list)->name, name))
            return *list;
    return NULL;
}

/* False when this or an earlier write to stdout failed. */
static bool print_error_json(const sbr_error *err)
{
    struct jsonw j;

    if (ferror(stdout))
        return false;
    jsonw_init(&j, present_has_lines());
    result_put_error(&j, err);
    present_json(&j);
    return fflush(stdout) == 0 && !ferror(stdout);
}

int cli_error_status(const sbr_error *err)
{
    if (err->code == SBR_E_NOT_FOUND)
        return EXIT_NOT_FOUND;
    return err->code == SBR_E_DENIED ? EXIT_DENIED : EXIT_OURS;
}

int cli_fail(const struct options *o, const sbr_error *err)
{
    if (o->stream)
        stream_fail(err);
    else if (!o->json || (!print_error_json(err) && err->sys_errno != EPIPE))
        present_error(err, o);
    if (ferror(stdout)) { /* reported, or its reader has left */
        __fpurge(stdout);
        clearerr(stdout);
    }
    return cli_error_status(err);
}

/* A word with a dot or a slash is meant as a file: the one of its directory that it misspells. */
static bool find_file(const char *word, char *ret, size_t size)
{
    const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word, *near;
    scoped_free char *dir = slash ? strndup(word, (size_t)(slash - word) + 1) : strdup(".");
    scoped_fd int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    scoped_listing struct listing files = { 0 };

    if (!strpbrk(word, "./") || fd < 0 || listing_read(fd, &files) < 0)
        return false;
    near = text_nearest(name, (const char *const *)files.names, files.n);
    if (near)
        snprintf(ret, size, "%s%s", slash ? dir : "", near);
    return near != NULL;
}

/* What other tools call it. */
static const char *find_habit(const char *word)
{
    static const char *const habits[][2] = {
        { "man", "help" },           { "shell", "repl" },          { "ipython", "repl python" },
        { "python", "repl python" }, { "python3", "repl python" }, { "node", "repl javascript" },
        { "psql", "repl postgres" }, { "check", "verify" },        { "lint", "verify" },
        { "pytest", "test" },        { "bench", "compare" },       { "diff", "changes diff" },
        { "pull", "image pull" },    { "images", "image list" },   { "log", "output" },
        { "version", "--version" },  { "settings", "config" },     { "stop", "serve --stop" },
    };

    for (size_t i = 0; i < ARRAY_LEN(habits); i++)
        if (!strcmp(word, habits[i][0]))
            return habits[i][1];
    return NULL;
}

/* A first word that is neither command, option nor file is most likely a misspelt command. */
static int unknown_command(const struct program *program, const char *word, sbr_error *err)
{
    const char *names[MOST_COMMANDS], *near;
    char file[PATH_MAX];
    size_t n = 0;

    if (find_file(word, file, sizeof(file)))
        return err_set(err, SBR_E_NOT_FOUND, "command",
                       "there is no file '%.100s'; did you mean '%.150s'?", word, file);
    if (strpbrk(word, "./"))
        return err_set(err, SBR_E_NOT_FOUND, "command",
                       "there is no file '%.100s'; name one that is there, or give --code TEXT",
                       word);
    for (; n < MOST_COMMANDS && program->commands[n]; n++)
        names[n] = program->commands[n]->name;
    near = find_habit(word);
    near = near ? near : text_nearest(word, names, n);
    return err_set(err, SBR_E_NOT_FOUND, "command", "there is no command or file '%.100s'%s%s%s",
                   word, near ? "; did you mean `sandbox-run " : "; see `sandbox-run --help`",
                   near ? near : "", near ? "`?" : "");
}

static void open_log(const struct options *o)
{
    const char *level = getenv("SANDBOX_RUN_LOG");

    if (o->verbose)
        log_open(o->verbose > 1 ? LOG_DEBUG : LOG_INFO, STDERR_FILENO);
    else if (level)
        log_open(log_level_from_name(level), STDERR_FILENO);
}

/* Output that is not complete is a failure, unless its reader has left. */
static int check_stdout(const struct options *o, int status)
{
    sbr_error err;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    errno = EIO; /* stdio forgot the reason: ask for it once more */
    if (write(STDOUT_FILENO, "\n", 1) < 0 && errno == EPIPE)
        return status;
    err_set_errno(&err, "output", "cannot write to stdout");
    present_error(&err, o);
    return EXIT_OURS;
}

/* Only the full program fetches an image, or reports why it cannot. */
static bool lacks_image(const struct options *o)
{
    return o->request->image && !runner_has_image(o->request->image);
}

/* Whether JSON or YAML has to be read. */
static bool needs_documents(const struct options *o)
{
    char config[2048], dir[2100];

    if (o->request_path || lacks_image(o) || o->language_files.n || settings_names_policy_file(o))
        return true;
    if (settings_exist(o) ||
        (o->command == &cmd_run &&
         (o->display || source_is_notebook(o) || source_find_tests(o) == SOURCE_TESTS_OF_RUNNER)))
        return true;
    if (!runner_config_dir(config, sizeof(config)))
        return false;
    snprintf(dir, sizeof(dir), "%s/languages", config);
    return access(dir, F_OK) == 0;
}

/* A command whose stderr has no words of programs. */
static bool takes_quiet(const struct command *command)
{
    for (const struct option *const *group = command->options; *group; group++)
        if (*group == options_quiet)
            return strcmp(command->name, "repl") != 0;
    return false;
}

static int start_command(const struct program *program, struct options *o, sbr_error *err)
{
    open_log(o);
    if (program->documents && (program->documents->read_config(o, err) < 0 ||
                               program->documents->add_languages(o, err) < 0))
        return cli_fail(o, err);
    if (env_files_load(o, err) < 0)
        return cli_fail(o, err);
    if (o->quiet && takes_quiet(o->command))
        present_errors_only();
    if (o->cold) /* sessions are made by the library, which has no other word for it */
        (void)setenv("SANDBOX_RUN_COLD", "1", 1);
    /* Only a program with documents has that option. */
    return o->max_chars && program->documents ? program->documents->run_shortened(o)
                                              : o->command->run(o);
}

static int run_command(const struct program *program, const struct command *command, char **whole,
                       char **argv)
{
    struct options o = { .command = command, .documents = program->documents };
    sbr_error err;
    int status;

    if (options_parse(&o, argv, &err) < 0) {
        status = cli_fail(&o, &err);
    } else if (o.version && !o.help) {
        printf("sandbox-run %d.%d.%d (%s)\n", SBR_VERSION_MAJOR, SBR_VERSION_MINOR,
               SBR_VERSION_PATCH, ARCH_NAME);
        status = 0;
    } else if (program->hand_over && (o.help || needs_documents(&o))) {
        (void)program->hand_over(whole, &err);
        status = cli_fail(&o, &err);
    } else if (o.help) {
        program->help(command);
        status = 0;
    } else {
        status = start_command(program, &o, &err);
    }
    status = check_stdout(&o, status);
    if (o.config)
        program->documents->free_config(&o);
    options_done(&o);
    return status;
}

/* The next file that is opened would get the fd 0, 1 or 2 if that one is closed. */
static int claim_standard_fds(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int opened = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : fd;

        if (opened < 0) /* no /dev/null: the run will report it, but not into a file */
            opened = open("/", O_PATH | O_CLOEXEC);
        if (opened != fd)
            return -1;
    }
    return 0;
}

/* This process needs a few dozen fds; init sets the program's own limit. */
static void raise_fd_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FDS_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < FDS_WANTED ? limit.rlim_max : FDS_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Names of commands are lower-case letters.  A file with such a name may be meant as well: the full
 * program, which has all commands, decides. */
static bool may_be_command(const char *word)
{
    return !word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")];
}

static bool wants_overview(int argc, char **argv)
{
    if (argc == 1)
        return isatty(STDIN_FILENO);
    return argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
}

/* The word that may name a command: the first that is no option. */
static size_t find_command_word(const struct program *program, int argc, char **argv)
{
    if (argc > 1 && argv[1][0] != '-')
        return 1;
    return argc > 1 ? options_first_word(program->commands, argv) : 0;
}

/* No command of this program was named: help, a command that only the full program has, or a
 * program to run. */
static int run_without_name(const struct program *program, char **argv, size_t at, bool overview)
{
    const char *word = at && strcmp(argv[at], "-") != 0 ? argv[at] : NULL;
    bool is_missing = word && access(word, F_OK) < 0;
    bool may_be = word && may_be_command(word);
    struct options none = { 0 };
    sbr_error err;

    if (program->hand_over && (overview || may_be || (is_missing && at == 1))) {
        (void)program->hand_over(argv, &err);
        return cli_fail(&none, &err);
    }
    if (overview) {
        program->help(NULL);
        return check_stdout(&none, 0);
    }
    if (is_missing && (at == 1 || may_be)) {
        unknown_command(program, word, &err);
        return cli_fail(&none, &err);
    }
    return run_command(program, program->commands[0], argv, argv + 1);
}

/* `sandbox-run --memory 1g exec` means `sandbox-run exec --memory 1g`. */
static void put_command_first(char **argv, size_t at)
{
    char *name = argv[at];

    memmove(argv + 2, argv + 1, (at - 1) * sizeof(*argv));
    argv[1] = name;
}

/* A link named `docker` is the command `docker`: its words come behind that one. */
static char **insert_docker(int *argc, char **argv)
{
    static char **longer; /* for as long as the process lives */
    const char *slash = *argc ? strrchr(argv[0], '/') : NULL;

    if (!*argc || strcmp(slash ? slash + 1 : argv[0], "docker") != 0)
        return argv;
    longer = calloc((size_t)*argc + 2, sizeof(*longer));
    if (!longer)
        return argv;
    longer[0] = (char *)"sandbox-run";
    longer[1] = (char *)"docker";
    memcpy(longer + 2, argv + 1, (size_t)*argc * sizeof(*argv)); /* with the NULL at the end */
    ++*argc;
    return longer;
}

int cli_main(const struct program *program, int argc, char **argv)
{
    const struct command *command;
    size_t at;

    argv = insert_docker(&argc, argv);
    at = find_command_word(program, argc, argv);
    command = at ? cli_find_command(program->commands, argv[at]) : NULL;

    if (claim_standard_fds() < 0)
        return EXIT_OURS;
    raise_fd_limit();
    signal(SIGPIPE, SIG_IGN); /* lint-ok: signal: a reader that left is seen as EPIPE */
    signal(SIGXFSZ, SIG_IGN); /* lint-ok: signal: a file that may not grow is seen as EFBIG */
    if (!command)
        return run_without_name(program, argv, at, wants_overview(argc, argv));
    put_command_first(argv, at);
    return run_command(program, command, argv, argv + 2);
}
