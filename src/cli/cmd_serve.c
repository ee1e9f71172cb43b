/* serve: options to numbers, and the engine in the foreground or in the background. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/gateway.h"
#include "config/config.h"
#include "engine/engine_main.h"

#define MOST_SLOTS 4096
#define MOST_QUEUED 65536
#define MOST_READY 512

/* As they were written; NULL: not given. */
struct serve_options {
    struct gateway_options gateway; /* first: its rows are gateway_option_rows */
    const char *slots, *queue, *per_caller, *share, *park_min, *park_max, *run_memory, *pool_memory,
        *warm, *preload;
    bool status, stop, daemon;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "status",      NULL,   "say what the engine that runs is doing",
      OPTION_OWN(struct serve_options, status) },
    { 0, "stop",        NULL,   "end the engine that runs, once its runs have finished",
      OPTION_OWN(struct serve_options, stop) },
    { 0, "daemon",      NULL,   "go on in the background once the engine is ready",
      OPTION_OWN(struct serve_options, daemon) },
    { 0, "slots",       "N",    "runs at once (default: 4 for each CPU, at least 16)",
      OPTION_OWN(struct serve_options, slots) },
    { 0, "queue",       "N",    "further runs that wait; more are refused (default: 1024)",
      OPTION_OWN(struct serve_options, queue) },
    { 0, "per-caller",  "N",    "runs at once of one caller (default: all)",
      OPTION_OWN(struct serve_options, per_caller) },
    { 0, "share",       "PERCENT",
      "of slots, memory and queue for one of several tenants (default: 50)",
      OPTION_OWN(struct serve_options, share) },
    { 0, "park-min",    "N",    "sandboxes kept ready of each kind of run in use (default: 8)",
      OPTION_OWN(struct serve_options, park_min) },
    { 0, "park-max",    "N",    "the most that are kept ready of one kind (default: 128)",
      OPTION_OWN(struct serve_options, park_max) },
    { 0, "run-memory",  "SIZE", "memory limits of all runs at once together (default: 9/10)",
      OPTION_OWN(struct serve_options, run_memory) },
    { 0, "pool-memory", "SIZE", "memory that all of them may take (default: a quarter)",
      OPTION_OWN(struct serve_options, pool_memory) },
    { 0, "warm",        "LIST", "languages to make ready at once, with commas; command is `exec`",
      OPTION_OWN(struct serve_options, warm) },
    { 0, "preload",     "LIST",
      "modules that Python's workers have loaded besides the usual ones: numpy,pandas",
      OPTION_OWN(struct serve_options, preload) },
    { 0 },
};
/* clang-format on */

struct number_option {
    const char *name, *text;
    uint64_t least, most;
    uint32_t *into;
};

static int parse_number(const struct number_option *option, sbr_error *err)
{
    enum text_fault fault;
    uint64_t value;

    if (!option->text)
        return 0;
    fault = text_parse_count(option->text, &value);
    if (fault != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "options", "--%s '%.60s' %s", option->name, option->text,
                       text_fault_reason(fault));
    if (value < option->least || value > option->most)
        return err_set(err, SBR_E_INVALID, "options", "--%s is between %llu and %llu", option->name,
                       (unsigned long long)option->least, (unsigned long long)option->most);
    *option->into = (uint32_t)value;
    return 0;
}

/* Only modules, with dots and commas: other text could be an option or a path. */
static int check_modules(const char *list, sbr_error *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,";

    if (!list || list[strspn(list, plain)] == '\0')
        return 0;
    return err_set(err, SBR_E_INVALID, "options",
                   "--preload '%.60s' is not a list of modules with commas, as in numpy,pandas",
                   list);
}

/* The engine would only be slow for a misspelt name. */
static int check_languages(const char *list, sbr_error *err)
{
    char name[40];

    for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(list, ","), list);
        if (name[0] && strcmp(name, ENGINE_COMMAND) != 0 && !language_find(name))
            return err_set(err, SBR_E_NOT_FOUND, "options",
                           "--warm: there is no language '%.40s'; see `sandbox-run languages`",
                           name);
    }
    return 0;
}

static int parse_memory(const char *option, const char *text, uint64_t *ret, sbr_error *err)
{
    enum text_fault fault = text ? text_parse_size(text, ret) : TEXT_OK;

    return fault == TEXT_OK
               ? 0
               : err_set(err, SBR_E_INVALID, "options", "--%s '%.60s' %s; write it as 2g", option,
                         text, text_fault_reason(fault));
}

static int parse_config(const struct serve_options *given, struct engine_config *config,
                        sbr_error *err)
{
    const struct number_option numbers[] = {
        { "slots", given->slots, 1, MOST_SLOTS, &config->slots },
        { "queue", given->queue, 0, MOST_QUEUED, &config->queue },
        { "per-caller", given->per_caller, 1, MOST_SLOTS, &config->per_caller },
        { "share", given->share, 1, 100, &config->share },
        { "park-min", given->park_min, 0, MOST_READY, &config->park_min },
        { "park-max", given->park_max, 0, MOST_READY, &config->park_max },
    };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (parse_number(&numbers[i], err) < 0)
            return err->code;
    if (config->park_max < config->park_min) {
        if (given->park_max && given->park_min)
            return err_set(err, SBR_E_INVALID, "options", "--park-max is less than --park-min");
        *(given->park_max ? &config->park_min : &config->park_max) =
            given->park_max ? config->park_max : config->park_min;
    }
    if (parse_memory("pool-memory", given->pool_memory, &config->pool_bytes, err) < 0 ||
        parse_memory("run-memory", given->run_memory, &config->run_bytes, err) < 0)
        return err->code;
    config->warm = given->warm;
    config->preload = given->preload;
    if (check_modules(given->preload, err) < 0)
        return err->code;
    return check_languages(given->warm, err);
}

/* An engine in the background, and the process that waits until it is ready. */
struct background {
    int ready_fd; /* in the engine's process: closed when it is ready; -1: none */
    int words_fd; /* what the gateway says before; -1: it says it on our stderr */
    bool verbose;
    struct gateway_command gateway;
};

/* A process that keeps a pipe of the caller's open would hold up who reads it to the end. */
static void pass_on_words(struct background *background)
{
    struct stat st;

    if (background->words_fd < 0)
        return;
    if (fstat(background->words_fd, &st) == 0)
        (void)!sendfile(STDERR_FILENO, background->words_fd, &(off_t){ 0 }, (size_t)st.st_size);
    (void)fcntl(background->words_fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE);
    scope_close_fd(&background->words_fd);
}

/* From now on there is no terminal and no pipe of the caller's to hold open. */
static void leave_caller(struct background *background)
{
    scoped_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    pass_on_words(background);
    if (background->ready_fd < 0 || null < 0)
        return;
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    if (!background->verbose)
        (void)dup2(null, STDERR_FILENO);
    (void)!write(background->ready_fd, "", 1);
    scope_close_fd(&background->ready_fd);
}

static pid_t start_gateway(void *context, int ready_fd, sbr_error *err)
{
    const struct background *background = context;

    return gateway_start(&background->gateway, ready_fd, background->words_fd, err);
}

static void report_gateway(void *context, const char *how, uint64_t pause_ms)
{
    (void)context;
    fprintf(stderr, "the HTTP gateway %s; it is started again in %llu.%llu s\n", how,
            (unsigned long long)(pause_ms / 1000), (unsigned long long)(pause_ms % 1000 / 100));
}

static const struct engine_attendant attendant = { .name = "the HTTP gateway",
                                                   .start = start_gateway,
                                                   .report = report_gateway };

static void report_ready(void *context, const char *socket, const char *why_cold)
{
    fprintf(stderr, "ready, socket %s\n", socket);
    if (why_cold)
        fprintf(stderr,
                "no sandbox can be kept ready here, so every run starts cold: %s; `sandbox-run "
                "doctor` says what mends it\n",
                why_cold);
    leave_caller(context);
}

static void report_stop(void *context, uint32_t running)
{
    (void)context;
    if (running)
        fprintf(stderr, "ends when %u %s finished\n", running,
                running == 1 ? "run has" : "runs have");
    else
        fputs("ends\n", stderr);
}

static int serve_here(const struct options *o, struct engine_config *config)
{
    struct background *background = config->context;
    sbr_error err;
    int r = engine_serve(config, &err);

    pass_on_words(background);
    return r < 0 ? cli_fail(o, &err) : 0;
}

/* An engine that failed has said why; one that was killed has not. */
static int report_end(const struct options *o, pid_t pid)
{
    siginfo_t info = { 0 };
    sbr_error err;
    int r;

    do
        r = waitid(P_PID, (id_t)pid, &info, WEXITED);
    while (r < 0 && errno == EINTR);
    if (r == 0 && info.si_code == CLD_EXITED && info.si_status)
        return info.si_status;
    if (r == 0 && info.si_code != CLD_EXITED)
        err_set(&err, SBR_E_SYSTEM, "engine",
                "the engine, process %d, was ended by %s before it was ready; start it again, and "
                "see the kernel's log if it happens again",
                (int)pid, strsignal(info.si_status));
    else
        err_set(&err, SBR_E_SYSTEM, "engine", "the engine, process %d, ended before it was ready",
                (int)pid);
    return cli_fail(o, &err);
}

/* Until the engine is ready, its words are ours; then it has none. */
static int serve_behind(const struct options *o, struct engine_config *config)
{
    struct background *background = config->context;
    scoped_fd int reading = -1;
    ssize_t n;
    int fds[2];
    char byte;
    pid_t pid;
    sbr_error err;

    pid = pipe2(fds, O_CLOEXEC) < 0 ? -1 : fork();
    if (pid < 0) {
        err_set_no_process(&err, "engine", "a process in the background");
        return cli_fail(o, &err);
    }
    if (pid == 0) {
        close(fds[0]);
        background->ready_fd = fds[1];
        if (!background->verbose)
            background->words_fd = memfd_create("words", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        (void)setsid();
        (void)!chdir("/");
        return serve_here(o, config);
    }
    close(fds[1]);
    reading = fds[0];
    do
        n = read(reading, &byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? 0 : report_end(o, pid);
}

static int stop_engine(const struct options *o)
{
    sbr_error err;
    int status;

    if (engine_stop(&err) == 0)
        return 0;
    status = cli_fail(o, &err);
    return err.code == SBR_E_NOT_FOUND ? SERVE_STATUS_NONE : status;
}

/* The configuration's, unless an option says otherwise. */
static int find_share(const struct options *o, struct engine_config *config, sbr_error *err)
{
    const struct config_document *user = o->config ? o->config->user : NULL;
    const char *text = user ? user->engine.share : NULL;
    uint64_t percent;

    if (config->share || !text)
        return 0;
    if (text_parse_count(text, &percent) != TEXT_OK || percent < 1 || percent > 100)
        return err_set(err, SBR_E_INVALID, "config",
                       "%.200s: engine.share '%.40s' is no percentage from 1 to 100",
                       o->config->path[CONFIG_OF_USER], text);
    config->share = (uint32_t)percent;
    return 0;
}

static int serve_run(struct options *o)
{
    const struct serve_options *given = o->own;
    struct background background = { .ready_fd = -1, .words_fd = -1, .verbose = o->verbose };
    struct engine_config config = { .queue = ENGINE_QUEUE,
                                    .park_min = ENGINE_PARK_MIN,
                                    .park_max = ENGINE_PARK_MAX,
                                    .on_ready = report_ready,
                                    .on_stop = report_stop,
                                    .context = &background };
    sbr_error err;

    if (o->n_positional || o->rest) {
        err_set(&err, SBR_E_INVALID, "options", "`sandbox-run serve` takes options only");
        return cli_fail(o, &err);
    }
    if (given->status)
        return serve_status_print(o);
    if (given->stop)
        return stop_engine(o);
    if (gateway_check(&given->gateway, &err) < 0 || parse_config(given, &config, &err) < 0 ||
        find_share(o, &config, &err) < 0)
        return cli_fail(o, &err);
    if (given->gateway.address) {
        gateway_fill(&background.gateway, &given->gateway);
        config.attendant = &attendant;
    }
    return given->daemon ? serve_behind(o, &config) : serve_here(o, &config);
}

const struct command cmd_serve = {
    .name = "serve",
    .usage = "[OPTIONS] | --status [--json] | --stop",
    .help =
        "keep sandboxes ready, so that runs start in no time; other calls find it by themselves",
    .examples =
        "Examples:\n"
        "  sandbox-run serve --daemon               then run as ever, only faster\n"
        "  sandbox-run serve --status               what is ready, what runs and waits\n"
        "  sandbox-run serve --stop                 lets runs finish, then ends it\n"
        "  sandbox-run serve --warm python,java     make these ready at the start\n"
        "  sandbox-run serve --http 127.0.0.1:8710  and serve HTTP, for those with a token\n"
        "  systemctl --user start sandbox-run       as a service\n\n"
        "SANDBOX_RUN_SOCKET names another socket, for both sides; `--cold` and\n"
        "SANDBOX_RUN_COLD=1 do without the engine.  SIGTERM lets runs finish, then ends it.\n",
    .options = (const struct option *const[]){ options_report, own_options, gateway_option_rows,
                                               options_config, options_look, options_quiet,
                                               options_general, NULL },
    .own_size = sizeof(struct serve_options),
    .run = serve_run,
};
