/* docker: Docker's own words for what is done here without a daemon. */
#include <errno.h>
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
#include "cli/docker_names.h"
#include "cli/docker_options.h"
#include "image/image_store.h"
#include "lib/image_pull.h"
#include "lib/runner.h"

#define STATUS_OURS 125 /* of `docker run` when no program ran */

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

static void tell(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/* As Docker, brings an image that is not there. */
static int bring_image(const char *ref, sbr_error *err)
{
    struct image_pull pull = { .progress = tell };

    return image_pull_missing(&pull, ref, err);
}

static int add_all(struct string_list *list, char **words, size_t n, sbr_error *err)
{
    for (size_t i = 0; i < n && words[i]; i++)
        if (string_list_add(list, words[i], err) < 0)
            return err->code;
    return 0;
}

/* Adds `--env NAME=VALUE`, unless the value is empty. */
static int add_variable(struct string_list *list, const char *name, const char *value,
                        sbr_error *err)
{
    scoped_free char *text = text_format("%s=%s", name, value);

    if (!value[0])
        return 0;
    if (!text)
        return err_set_oom(err, "docker");
    return string_list_add(list, "--env", err) < 0 ? err->code : string_list_add(list, text, err);
}

/* A sandbox has one user, whose numbers the image gives.  --user can name that one and no other. */
static int add_user(struct string_list *list, const struct image *image, const char *user,
                    sbr_error *err)
{
    const struct plan_image_user *own = image->plan.user;
    const uint32_t uid = own ? own->uid : INSIDE_UID, gid = own ? own->gid : INSIDE_GID;
    struct plan_image_user asked;

    if (!user)
        return 0;
    if (!image_user_look_up(image, user, &asked))
        return err_set(err, SBR_E_INVALID, "docker", "--user '%.80s': the image has no such %s",
                       user, strchr(user, ':') ? "user or group" : "user");
    if (asked.uid != uid || asked.gid != gid)
        return err_set(err, SBR_E_UNSUPPORTED, "docker",
                       "--user '%.80s' is refused: programs of this image are always user %u of "
                       "group %u, to whom all of its files belong; leave the option out",
                       user, uid, gid);
    return add_variable(list, "USER", asked.name, err) < 0
               ? err->code
               : add_variable(list, "HOME", asked.home, err);
}

/* The entrypoint comes first, whatever the command is; one of the caller's drops the image's
 * command, too. */
static int add_command(struct string_list *list, const struct image *image,
                       const struct docker_run *run, sbr_error *err)
{
    int r = string_list_add(list, "--", err);

    if (r == 0 && run->entrypoint)
        r = run->entrypoint[0] ? string_list_add(list, run->entrypoint, err) : 0;
    else if (r == 0)
        r = add_all(list, image->command.items,
                    run->command[0] ? image->n_entrypoint : image->command.n, err);
    return r < 0 ? r : add_all(list, run->command, SIZE_MAX, err);
}

/* The words of `sandbox-run exec`.  The variables of the user come before those of the caller, of
 * which the last one counts. */
static int add_exec(struct string_list *list, const struct docker_run *run, sbr_error *err)
{
    struct image *image = NULL;
    int r = image_open(run->image, NULL, &image, err);

    if (r == 0 && (r = string_list_add(list, "exec", err)) == 0 &&
        (r = add_user(list, image, run->user, err)) == 0 &&
        (r = add_all(list, run->words.items, run->words.n, err)) == 0 &&
        (!run->name || (r = string_list_add(list, "--keep-output", err)) == 0))
        r = add_command(list, image, run, err);
    image_free(image);
    return r;
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

static int run_run(char **words, sbr_error *err)
{
    struct docker_run run;
    struct string_list all = { 0 };
    int r;

    if (words[0] && !strcmp(words[0], "--help"))
        return show_help(err);
    r = docker_options_parse(words, &run, err);
    if (r == 0 && run.interactive && run.tty && !isatty(STDIN_FILENO))
        r = err_set(err, SBR_E_INVALID, "docker",
                    "the input device is not a TTY; leave -t out, or -i");
    if (r == 0 && (r = bring_image(run.image, err)) == 0 && (r = add_exec(&all, &run, err)) == 0 &&
        (!run.name || (r = take_name(&run, err)) == 0))
        r = execute(&all, err);
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

static int ps_run(char **words, sbr_error *err)
{
    if (words[0])
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

static int kill_run(char **words, sbr_error *err)
{
    int number = SIGKILL;

    if (words[0] && (!strcmp(words[0], "-s") || !strcmp(words[0], "--signal"))) {
        if (read_signal(words[1], &number, err) < 0)
            return err->code;
        words += 2;
    }
    if (!words[0])
        return err_set(err, SBR_E_INVALID, "docker", "say `docker kill [-s SIGNAL] NAME...`");
    for (; *words; words++) {
        if (docker_names_signal(*words, number, err) < 0)
            return err->code;
        printf("%s\n", *words);
    }
    return 0;
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

static int logs_run(char **words, sbr_error *err)
{
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

/* Words of `sandbox-run image` that mean the same. */
static int image_run(const char *action, char **words, size_t n, sbr_error *err)
{
    struct string_list all = { 0 };
    size_t given = 0;
    int r;

    while (words[given])
        given++;
    if (given != n || (n && words[0][0] == '-'))
        return err_set(err, SBR_E_UNSUPPORTED, "docker",
                       "give %s and no options; it is `sandbox-run image %s`",
                       n ? "one image" : "no image", action);
    r = string_list_add(&all, "image", err);
    if (r == 0)
        r = string_list_add(&all, action, err);
    if (r == 0)
        r = add_all(&all, words, n, err);
    if (r == 0)
        r = execute(&all, err);
    string_list_done(&all);
    return r;
}

static int images_run(char **words, sbr_error *err)
{
    return image_run("list", words, 0, err);
}

static int pull_run(char **words, sbr_error *err)
{
    return image_run("pull", words, 1, err);
}

static int rmi_run(char **words, sbr_error *err)
{
    return image_run("rm", words, 1, err);
}

static const struct {
    const char *name;
    int (*run)(char **words, sbr_error *err);
} actions[] = {
    { "run", run_run },   { "ps", ps_run },         { "kill", kill_run }, { "logs", logs_run },
    { "pull", pull_run }, { "images", images_run }, { "rmi", rmi_run },
};

static int docker_run(struct options *o)
{
    static const char known[] = "run, ps, kill, logs, images, pull and rmi";
    const char *word = o->rest && o->rest[0] ? o->rest[0] : NULL;
    sbr_error err = { 0 };

    for (size_t i = 0; word && i < ARRAY_LEN(actions); i++) {
        int status;

        if (strcmp(actions[i].name, word) != 0)
            continue;
        status = actions[i].run(o->rest + 1, &err) < 0 ? cli_fail(o, &err) : 0;
        /* 127 would mean that the image has no such command. */
        return status && actions[i].run == run_run ? STATUS_OURS : status;
    }
    err_set(&err, SBR_E_UNSUPPORTED, "docker", "%s%.40s%s; there are %s",
            word ? "'docker " : "say what to do", word ? word : "",
            word ? "' is not done here" : "", known);
    return cli_fail(o, &err);
}

const struct command cmd_docker = {
    .name = "docker",
    .usage = "run [OPTIONS] IMAGE [COMMAND...] | ps | kill NAME | logs NAME | images | pull REF | "
             "rmi REF",
    .help = "Docker's own words; also as a link named `docker`",
    .examples = "Examples:\n"
                "  sandbox-run docker run --rm -it debian:12 bash\n"
                "  sandbox-run docker run -p 8080:80 -v ./site:/srv:ro --name web app:1\n"
                "  sandbox-run docker kill web\n\n"
                "docs/docker.md lists which options of `docker run` are taken, and why others are "
                "not.\n",
    .options = (const struct option *const[]){ options_general, NULL },
    .command_line = true,
    .run = docker_run,
};
