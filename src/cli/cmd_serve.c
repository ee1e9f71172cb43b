/* serve: options to numbers, and the engine's state as a table. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/amounts.h"
#include "cli/cli.h"
#include "cli/gateway.h"
#include "cli/present.h"
#include "engine/engine_main.h"

#define MOST_SLOTS 4096
#define MOST_QUEUED 65536
#define MOST_READY 512
#define STATUS_NONE 1 /* exit status: no engine runs */

/* As they were written; NULL: not given. */
struct serve_options {
    const char *slots, *queue, *per_caller, *park_min, *park_max, *run_memory, *pool_memory, *warm,
        *preload;
    const char *http, *tls_cert, *tls_key, *dialect, *callback;
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
    { 0, "http",        "ADDRESS:PORT", "serve HTTP, too, as in 127.0.0.1:8710 (docs/http.md)",
      OPTION_OWN(struct serve_options, http) },
    { 0, "tls-cert",    "FILE", "with --http: the certificate of TLS",
      OPTION_OWN(struct serve_options, tls_cert) },
    { 0, "tls-key",     "FILE", "with --http: its key",
      OPTION_OWN(struct serve_options, tls_key) },
    { 0, "dialect",     "LIST", "with --http: also the paths of piston, judge0, go-judge, e2b",
      OPTION_OWN(struct serve_options, dialect) },
    { 0, "allow-callback", "HOST", "with --dialect: results may be sent to this host",
      OPTION_OWN(struct serve_options, callback) },
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

static unsigned long long number_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (unsigned long long)value : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Callers choose the names: no control character may reach the terminal. */
static void print_name(const char *name, int width)
{
    int n = 0;

    for (; *name; name++, n++)
        putchar(iscntrl((unsigned char)*name) ? '?' : *name);
    for (; n < width; n++)
        putchar(' ');
}

static void print_head(const json_t *status)
{
    const json_t *memory = json_object_get(status, "memory");
    uint64_t up_ms = number_of(status, "uptime_ms");
    char uptime[32], used[16], limit[16];

    text_format_duration(up_ms < 1000 ? up_ms : up_ms / 1000 * 1000, uptime, sizeof(uptime));
    amount_of_bytes(number_of(memory, "parked_bytes"), used, sizeof(used));
    amount_of_bytes(number_of(memory, "limit_bytes"), limit, sizeof(limit));
    printf("engine   %s, process %llu, up %s%s\n", text_of(status, "version"),
           number_of(status, "pid"), uptime,
           json_is_true(json_object_get(status, "draining")) ? ", about to end" : "");
    printf("running  %llu of %llu, %llu queued of at most %llu\n", number_of(status, "running"),
           number_of(status, "slots"), number_of(status, "queued"),
           number_of(status, "queue_limit"));
    printf("so far   %llu parked, %llu forked, %llu cold, %llu refused\n",
           number_of(status, "parked_total"), number_of(status, "forked_total"),
           number_of(status, "cold_total"), number_of(status, "refused_total"));
    printf("memory   %s of %s in parked sandboxes\n", used, limit);
    if (*text_of(status, "why_cold")) {
        printf("parked   nothing, every run starts cold: ");
        print_name(text_of(status, "why_cold"), 0);
        printf("; `sandbox-run doctor` says what mends it\n");
    }
}

static void print_pools(const json_t *pools, bool color)
{
    const json_t *pool;
    size_t i;

    if (json_array_size(pools))
        printf("\n%s%-28s  %-8s  %6s  %6s  %6s  %6s  %8s  %4s%s\n", color ? "\x1b[2m" : "", "KIND",
               "STATE", "PARKED", "WANTED", "MAKING", "LEASED", "MADE", "DIED",
               color ? "\x1b[0m" : "");
    json_array_foreach(pools, i, pool) {
        print_name(text_of(pool, "name"), 28);
        printf("  %-8s  %6llu  %6llu  %6llu  %6llu  %8llu  %4llu\n", text_of(pool, "state"),
               number_of(pool, "parked"), number_of(pool, "wanted"), number_of(pool, "making"),
               number_of(pool, "leased"), number_of(pool, "made"), number_of(pool, "died"));
        if (*text_of(pool, "reason")) {
            printf("    ");
            print_name(text_of(pool, "reason"), 0);
            putchar('\n');
        }
    }
}

static void print_callers(const json_t *callers, bool color)
{
    const json_t *caller;
    size_t i;

    if (json_array_size(callers))
        printf("\n%s%-32s  %7s  %7s%s\n", color ? "\x1b[2m" : "", "CALLER", "RUNNING", "QUEUED",
               color ? "\x1b[0m" : "");
    json_array_foreach(callers, i, caller) {
        print_name(text_of(caller, "name"), 32);
        printf("  %7llu  %7llu\n", number_of(caller, "running"), number_of(caller, "queued"));
    }
}

static int print_status(const struct options *o)
{
    scoped_free char *text = NULL;
    bool color = present_uses_color(STDOUT_FILENO, o);
    json_t *status;
    sbr_error err;

    if (engine_status(&text, &err) < 0) {
        int exit_status = cli_fail(o, &err);

        return err.code == SBR_E_NOT_FOUND ? STATUS_NONE : exit_status;
    }
    if (o->json && !present_has_lines()) {
        printf("%s\n", text);
        return 0;
    }
    status = json_read_own(text, 0);
    if (!status) {
        err_set(&err, SBR_E_BUG, "engine", "the engine's answer cannot be read");
        return cli_fail(o, &err);
    }
    if (o->json) {
        json_dumpf(status, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print_head(status);
        print_pools(json_object_get(status, "pools"), color);
        print_callers(json_object_get(status, "callers"), color);
    }
    json_decref(status);
    return 0;
}

/* An engine in the background, and the process that waits until it is ready. */
struct background {
    int ready_fd; /* in the engine's process: closed when it is ready; -1: none */
    bool verbose;
    struct gateway_command gateway; /* n 0: none */
    pid_t gateway_pid;
};

/* From now on there is no terminal and no pipe of the caller's to hold open. */
static void leave_caller(struct background *background)
{
    scoped_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (background->ready_fd < 0 || null < 0)
        return;
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    if (!background->verbose)
        (void)dup2(null, STDERR_FILENO);
    (void)!write(background->ready_fd, "", 1);
    scope_close_fd(&background->ready_fd);
}

/* Beside the engine, whose queue it uses.  Without it the engine serves the rest. */
static void start_gateway(struct background *background)
{
    sbr_error err = { 0 };

    if (!background->gateway.n)
        return;
    background->gateway_pid = gateway_start(&background->gateway, &err);
    if (background->gateway_pid < 0)
        fprintf(stderr, "sandbox-run: %s\n", err.message);
}

static void report_ready(void *context, const char *socket, const char *why_cold)
{
    fprintf(stderr, "ready, socket %s\n", socket);
    if (why_cold)
        fprintf(stderr,
                "no sandbox can be kept ready here, so every run starts cold: %s; `sandbox-run "
                "doctor` says what mends it\n",
                why_cold);
    start_gateway(context);
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

    gateway_stop(background->gateway_pid);
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
        err_set_errno(&err, "engine", "cannot start a process in the background");
        return cli_fail(o, &err);
    }
    if (pid == 0) {
        close(fds[0]);
        background->ready_fd = fds[1];
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
    return err.code == SBR_E_NOT_FOUND ? STATUS_NONE : status;
}

static void fill_gateway(const struct serve_options *given, struct gateway_command *ret)
{
    if (!given->http)
        return;
    gateway_add(ret, NULL, "sandbox-run-http");
    gateway_add(ret, "--listen", given->http);
    if (given->tls_cert)
        gateway_add(ret, "--tls-cert", given->tls_cert);
    if (given->tls_key)
        gateway_add(ret, "--tls-key", given->tls_key);
    if (given->dialect)
        gateway_add(ret, "--dialect", given->dialect);
    if (given->callback)
        gateway_add(ret, "--allow-callback", given->callback);
}

static int serve_run(struct options *o)
{
    const struct serve_options *given = o->own;
    struct background background = { .ready_fd = -1, .verbose = o->verbose };
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
        return print_status(o);
    if (given->stop)
        return stop_engine(o);
    if (parse_config(given, &config, &err) < 0)
        return cli_fail(o, &err);
    fill_gateway(given, &background.gateway);
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
    .options = (const struct option *const[]){ options_report, own_options, options_config,
                                               options_look, options_general, NULL },
    .own_size = sizeof(struct serve_options),
    .run = serve_run,
};
