/* docker: Docker's own words for what is done here without a daemon. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"
#include "changes/kept_output.h"
#include "cli/amounts.h"
#include "cli/cli.h"
#include "cli/docker_detach.h"
#include "cli/docker_names.h"
#include "cli/docker_options.h"
#include "cli/docker_show.h"
#include "cli/docker_words.h"
#include "lib/runner.h"

#define STATUS_OURS 125 /* no program ran, or the words are not known here */
#define STATUS_DOCKER 1 /* of every other failure, as Docker has it */
#define END_MS 10000    /* a killed run has ended by then */
#define AGAIN_MS 10
#define STOP_MOST_S 3600

/* One word of Docker's with what follows it. */
struct call {
    struct options *o;
    char **words; /* NULL-terminated */
    int status;   /* of a failure */
};

/* Replaces this process by `sandbox-run WORD...`; returns only when that fails. */
static int execute(struct string_list *words, sbr_error *err)
{
    char **argv = calloc(words->n + 2, sizeof(*argv));

    if (!argv)
        return err_set_oom(err, "docker");
    argv[0] = (char *)"sandbox-run";
    memcpy(argv + 1, words->items, words->n * sizeof(*argv));
    execv("/proc/self/exe", argv);
    free(argv);
    return err_set_errno(err, "docker", "cannot execute sandbox-run");
}

static int show_help(sbr_error *err)
{
    struct string_list all = { 0 };
    int r = string_list_add(&all, "docker", err);

    if (r == 0 && (r = string_list_add(&all, "--help", err)) == 0)
        r = execute(&all, err);
    string_list_done(&all);
    return r;
}

/* The output of a run of this name. */
struct logs {
    const char *name;
    char id[ENCODING_ID_SIZE];
};

static int find_logs(void *context, const struct kept_output *output)
{
    struct logs *logs = context;
    size_t len = strlen(logs->name);

    if (strncmp(output->about, logs->name, len) != 0 || output->about[len] != ':')
        return 0;
    snprintf(logs->id, sizeof(logs->id), "%s", output->id);
    return 1;
}

/* The name is also what `docker logs` finds the output by; that of an earlier run goes. */
static int take_name(const struct docker_run *run, sbr_error *err)
{
    struct logs logs = { .name = run->name };

    if (setenv("SANDBOX_RUN_NAME", run->name, 1) < 0)
        return err_set_oom(err, "docker");
    if (docker_names_take(run->name, run->image, err) < 0)
        return err->code;
    while (kept_output_list(find_logs, &logs, err) > 0)
        if (kept_output_remove(logs.id, err) < 0)
            break; /* the newest is found first */
    return 0;
}

static int start(const struct docker_run *run, struct string_list *words, sbr_error *err)
{
    if (run->name && take_name(run, err) < 0)
        return err->code;
    return execute(words, err);
}

static bool has_begun(const char *name)
{
    struct logs logs = { .name = name };
    sbr_error ignored;

    return kept_output_list(find_logs, &logs, &ignored) > 0;
}

static int run_run(struct call *call, sbr_error *err)
{
    struct docker_run run;
    struct string_list all = { 0 };
    int r;

    if (call->words[0] && !strcmp(call->words[0], "--help"))
        return show_help(err);
    r = docker_options_parse(call->words, &run, err);
    if (r == 0 && run.detached)
        docker_detach_prepare(&run);
    if (r == 0 && (!run.image || (run.interactive && run.tty && !isatty(STDIN_FILENO)))) {
        call->status = STATUS_DOCKER;
        r = err_set(err, SBR_E_INVALID, "docker",
                    run.image ? "the input device is not a TTY; leave -t out, or -i"
                              : "there is no image; say `docker run [OPTIONS] IMAGE [COMMAND...]`");
    }
    if (r == 0 && (r = docker_words_image(run.image, err)) == 0 &&
        (r = docker_words_exec(&all, &run, err)) == 0)
        r = run.detached ? docker_detach(&run, &all, start, has_begun, err)
                         : start(&run, &all, err);
    string_list_done(&all);
    docker_options_done(&run);
    return r;
}

static void show_named(void *context, const struct docker_named *one)
{
    char idle[24];

    (void)context;
    amount_of_idle((int64_t)one->started, idle, sizeof(idle));
    printf("%-24s  %-32s  %5s  %d\n", one->name, one->image, idle, (int)one->pid);
}

static int ps_run(struct call *call, sbr_error *err)
{
    if (call->words[0])
        return err_set(err, SBR_E_UNSUPPORTED, "docker",
                       "`docker ps` takes no options here: it lists the named runs that live");
    printf("%-24s  %-32s  %5s  %s\n", "NAME", "IMAGE", "SINCE", "PID");
    return docker_names_list(show_named, NULL, err);
}

static const struct {
    const char *name;
    int number;
} signals[] = {
    { "KILL", SIGKILL },    { "TERM", SIGTERM },    { "INT", SIGINT },
    { "SIGKILL", SIGKILL }, { "SIGTERM", SIGTERM }, { "SIGINT", SIGINT },
    { "9", SIGKILL },       { "15", SIGTERM },      { "2", SIGINT },
};

static int read_signal(const char *name, int *ret, sbr_error *err)
{
    for (size_t i = 0; name && i < ARRAY_LEN(signals); i++) {
        if (!strcmp(signals[i].name, name)) {
            *ret = signals[i].number;
            return 0;
        }
    }
    return err_set(err, SBR_E_UNSUPPORTED, "docker",
                   "--signal takes KILL (the default), TERM or INT");
}

#define NOT_THERE 1

/* What is done with one name; `detail` is a signal, or whether it is forced.  NOT_THERE: nothing
 * was to be done. */
typedef int act_fn(const char *word, int detail, sbr_error *err);

/* As Docker, goes on after a failure, of which the status tells, and prints what was done. */
static int each_word(const struct call *call, char **words, act_fn *act, int detail)
{
    int status = 0;

    for (; *words; words++) {
        sbr_error err = { 0 };
        int r = act(*words, detail, &err);

        if (r == 0)
            printf("%s\n", *words);
        if (r >= 0)
            continue;
        (void)cli_fail(call->o, &err);
        status = STATUS_DOCKER;
    }
    return status;
}

static int kill_one(const char *name, int number, sbr_error *err)
{
    return docker_names_signal(name, number, 0, err);
}

static int kill_run(struct call *call, sbr_error *err)
{
    char **words = call->words;
    int number = SIGKILL;

    if (words[0] && (!strcmp(words[0], "-s") || !strcmp(words[0], "--signal"))) {
        if (read_signal(words[1], &number, err) < 0)
            return err->code;
        words += 2;
    }
    if (!words[0])
        return err_set(err, SBR_E_INVALID, "docker", "say `docker kill [-s SIGNAL] NAME...`");
    return each_word(call, words, kill_one, number);
}

/* As Docker: the run may end by itself, and is killed when it does not. */
static int stop_one(const char *name, int seconds, sbr_error *err)
{
    int r = docker_names_signal(name, SIGTERM, (unsigned int)seconds * 1000, err);

    if (r != SBR_E_BUSY)
        return r;
    *err = (sbr_error){ 0 };
    return docker_names_signal(name, SIGKILL, END_MS, err);
}

static int stop_run(struct call *call, sbr_error *err)
{
    char **words = call->words;
    uint64_t seconds = END_MS / 1000;

    if (words[0] && (!strcmp(words[0], "-t") || !strcmp(words[0], "--time"))) {
        if (!words[1] || text_parse_count(words[1], &seconds) != TEXT_OK || seconds < 1 ||
            seconds > STOP_MOST_S)
            return err_set(err, SBR_E_INVALID, "docker", "--time takes seconds, 1 to %d",
                           STOP_MOST_S);
        words += 2;
    }
    if (!words[0] || words[0][0] == '-')
        return err_set(err, SBR_E_INVALID, "docker", "say `docker stop [-t SECONDS] NAME...`");
    return each_word(call, words, stop_one, (int)seconds);
}

static int exec_run(struct call *call, sbr_error *err)
{
    (void)call;
    return err_set(err, SBR_E_UNSUPPORTED, "docker",
                   "nothing is started in a run from outside; `sandbox-run session create bash "
                   "--image IMAGE` stays alive, and `sandbox-run session exec` runs in it");
}

static int print_stream(const char *id, enum kept_stream stream, int to, sbr_error *err)
{
    struct kept_output about;
    scoped_fd int fd = -1;
    char piece[65536];
    ssize_t n;

    if (kept_output_open(id, stream, &about, &fd, err) < 0)
        return err->code;
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        if (fd_write_all(to, piece, (size_t)n) < 0)
            return err_set_errno(err, "docker", "cannot write the output of the run");
    return n < 0 ? err_set_errno(err, "docker", "cannot read the output of the run") : 0;
}

static int logs_run(struct call *call, sbr_error *err)
{
    char **words = call->words;
    struct logs logs = { .name = words[0] };

    if (!words[0] || words[0][0] == '-' || words[1])
        return err_set(err, SBR_E_UNSUPPORTED, "docker",
                       "give one name and no options: it prints what the run has written so far");
    if (kept_output_list(find_logs, &logs, err) < 0)
        return err->code;
    if (!logs.id[0])
        return err_set(err, SBR_E_NOT_FOUND, "docker",
                       "no output of a run with the name '%.80s' is kept; `docker run --name` "
                       "keeps it for a day",
                       words[0]);
    return print_stream(logs.id, KEPT_STDOUT, STDOUT_FILENO, err) < 0
               ? err->code
               : print_stream(logs.id, KEPT_STDERR, STDERR_FILENO, err);
}

/* What a killed run leaves holds the output for a moment longer than its supervisor. */
static int remove_output(const char *id, int forced, sbr_error *err)
{
    uint64_t end_us = clock_now_us() + END_MS * 1000ULL;
    int r;

    while ((r = kept_output_remove(id, err)) == SBR_E_BUSY && forced && clock_now_us() < end_us)
        (void)poll(NULL, 0, AGAIN_MS);
    return r;
}

/* What is left of a run is its output.  Forced, a name that is not there is no failure. */
static int rm_one(const char *name, int forced, sbr_error *err)
{
    struct logs logs = { .name = name };
    bool known = false;

    if (forced) {
        known = docker_names_signal(name, SIGKILL, END_MS, err) == 0;
    } else if (docker_names_signal(name, 0, 0, err) == 0) {
        return err_set(err, SBR_E_BUSY, "docker",
                       "the run '%.80s' still goes on; say `docker kill` first, or `docker rm -f`",
                       name);
    }
    while (kept_output_list(find_logs, &logs, err) > 0) {
        if (remove_output(logs.id, forced, err) < 0)
            return err->code;
        known = true;
    }
    if (known || forced)
        return known ? 0 : NOT_THERE;
    return err_set(err, SBR_E_NOT_FOUND, "docker",
                   "no run has the name '%.80s', and no output of one is kept", name);
}

/* Skips the one option that is known; 1: it was there.  Names are left. */
static int skip_options(struct call *call, const char *letter, const char *option, sbr_error *err)
{
    char **words = call->words;
    int found = 0;

    for (; *words && (!strcmp(*words, letter) || !strcmp(*words, option)); words++)
        found = 1;
    if (!*words)
        return err_set(err, SBR_E_INVALID, "docker", "say which: one name or more");
    for (char **word = words; *word; word++)
        if ((*word)[0] == '-')
            return err_set(err, SBR_E_UNSUPPORTED, "docker", "'%.60s' is not done here; give %s",
                           *word, option);
    call->words = words;
    return found;
}

static int rm_run(struct call *call, sbr_error *err)
{
    int forced = skip_options(call, "-f", "--force", err);

    return forced < 0 ? forced : each_word(call, call->words, rm_one, forced);
}

/* `sandbox-run image ACTION [REF]`, which means the same. */
static int image_act(const struct call *call, const char *action, char *ref, sbr_error *err)
{
    char *words[] = { (char *)action, ref, NULL };
    struct options as = *call->o;
    int status;

    as.command = &cmd_image;
    as.positional = words;
    as.n_positional = ref ? 2 : 1;
    as.own = calloc(1, cmd_image.own_size);
    if (!as.own)
        return err_set_oom(err, "docker");
    status = cmd_image.run(&as);
    free(as.own);
    return status ? STATUS_DOCKER : 0;
}

static int images_run(struct call *call, sbr_error *err)
{
    if (call->words[0])
        return err_set(err, SBR_E_UNSUPPORTED, "docker",
                       "give no image and no options; it is `sandbox-run image list`");
    return image_act(call, "list", NULL, err);
}

static int pull_run(struct call *call, sbr_error *err)
{
    if (!call->words[0] || call->words[0][0] == '-' || call->words[1])
        return err_set(err, call->words[0] ? SBR_E_UNSUPPORTED : SBR_E_INVALID, "docker",
                       "give one image and no options; it is `sandbox-run image pull`");
    return image_act(call, "pull", call->words[0], err);
}

static int rmi_run(struct call *call, sbr_error *err)
{
    int forced = skip_options(call, "-f", "--force", err), status = 0;

    for (char **word = call->words; forced >= 0 && *word; word++) {
        int r = image_act(call, "rm", *word, err);

        if (r < 0)
            return r;
        status = r ? r : status;
    }
    return forced < 0 ? forced : status;
}

static const struct {
    const char *name;
    int (*run)(struct call *call, sbr_error *err); /* positive: the status, all was said */
    int (*show)(char **words, sbr_error *err);     /* in its place, where it only looks */
    int failed;
} actions[] = {
    { "run", run_run, NULL, STATUS_OURS },
    { "ps", ps_run, NULL, STATUS_DOCKER },
    { "stop", stop_run, NULL, STATUS_DOCKER },
    { "kill", kill_run, NULL, STATUS_DOCKER },
    { "exec", exec_run, NULL, STATUS_OURS },
    { "logs", logs_run, NULL, STATUS_DOCKER },
    { "rm", rm_run, NULL, STATUS_DOCKER },
    { "images", images_run, NULL, STATUS_DOCKER },
    { "pull", pull_run, NULL, STATUS_DOCKER },
    { "rmi", rmi_run, NULL, STATUS_DOCKER },
    { "stats", NULL, docker_show_stats, STATUS_DOCKER },
    { "inspect", NULL, docker_show_inspect, STATUS_DOCKER },
    { "info", NULL, docker_show_info, STATUS_DOCKER },
    { "version", NULL, docker_show_version, STATUS_DOCKER },
};

static int docker_run(struct options *o)
{
    static const char known[] = "run, ps, stop, kill, logs, stats, inspect, rm, images, pull, rmi, "
                                "info and version";
    const char *word = o->rest && o->rest[0] ? o->rest[0] : NULL;
    sbr_error err = { 0 };

    for (size_t i = 0; word && i < ARRAY_LEN(actions); i++) {
        struct call call = { .o = o, .words = o->rest + 1, .status = actions[i].failed };
        int r;

        if (strcmp(actions[i].name, word) != 0)
            continue;
        r = actions[i].show ? actions[i].show(call.words, &err) : actions[i].run(&call, &err);
        if (r >= 0)
            return r;
        (void)cli_fail(o, &err); /* whose status 127 would mean that there is no such command */
        return err.code == SBR_E_UNSUPPORTED ? STATUS_OURS : call.status;
    }
    err_set(&err, SBR_E_UNSUPPORTED, "docker", "%s%.40s%s; there are %s",
            word ? "'docker " : "say what to do", word ? word : "",
            word ? "' is not done here" : "", known);
    return cli_fail(o, &err);
}

const struct command cmd_docker = {
    .name = "docker",
    .usage = "run [OPTIONS] IMAGE [COMMAND...] | ps | stop NAME | kill NAME | logs NAME | stats | "
             "inspect NAME | rm NAME | images | pull REF | rmi REF | info | version",
    .help = "Docker's own words; also as a link named `docker`",
    .examples = "Examples:\n"
                "  sandbox-run docker run --rm -it debian:12 bash\n"
                "  sandbox-run docker run -p 8080:80 -v ./site:/srv:ro --name web app:1\n"
                "  sandbox-run docker run -d --name web app:1\n"
                "  sandbox-run docker stop web\n\n"
                "docs/docker.md lists which options of `docker run` are taken, and why others are "
                "not.\n",
    .options = (const struct option *const[]){ options_general, NULL },
    .command_line = true,
    .run = docker_run,
};
