/* agent: a whole interactive program over the project, with what an agent needs and no more. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/host_path.h"
#include "config/audit.h"
#include "config/config.h"
#include "lib/agent_socket.h"
#include "lib/runner.h"

#define HOSTS_FILE "agent-hosts"
#define HOSTS_MAX ((size_t)1 << 20)
#define HOSTS_PATH 2100

struct agent_options {
    const char *hosts, *of, *grant;
    bool ask, save, apply;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "hosts", "FILE", "hosts to reach, a line each (default: agent-hosts beside config.yaml)",
      OPTION_OWN(struct agent_options, hosts) },
    { 0, "ask", NULL, "at a terminal: decide about each refused host while it runs",
      OPTION_OWN(struct agent_options, ask) },
    { 0, "grant", "HOST[:PORT]", "of an agent that runs: it may reach this, too",
      OPTION_OWN(struct agent_options, grant) },
    { 0, "save", NULL, "of an agent that runs: keep what it changed so far, and print the id",
      OPTION_OWN(struct agent_options, save) },
    { 0, "apply", NULL, "of an agent that runs: the same, and make it real",
      OPTION_OWN(struct agent_options, apply) },
    { 0, "of", "PID", "which agent, if several run", OPTION_OWN(struct agent_options, of) },
    { 0 },
};

/* A person sits at it: it ends when it is done, and builds and tests are run in it. */
static const struct {
    enum sbr_limit which;
    uint64_t value;
} presets[] = {
    { SBR_WALL_MS,      LIMIT_NONE },
    { SBR_CPU_MS,       LIMIT_NONE },
    { SBR_MEMORY_BYTES, 4 * GIB    },
    { SBR_PIDS,         1024       },
    { SBR_DISK_BYTES,   4 * GIB    },
    { SBR_INODES,       1000000    },
};
/* clang-format on */

/* What neither an option nor a configuration file sets. */
static void preset_limits(struct options *o)
{
    struct limits *limits = &o->request->limits;

    for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
        enum sbr_limit which = presets[i].which;
        bool configured = o->config && o->config->from[which].origin != CONFIG_BY_DEFAULT;

        if (!(limits->given >> which & 1) && !configured)
            limits->value[which] = presets[i].value;
    }
}

/* One rule of the file, which may be a comment. */
static int add_line(struct options *o, const char *path, unsigned int number, char *line,
                    sbr_error *err)
{
    sbr_error why;

    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r");
    line[strcspn(line, " \t\r")] = '\0';
    if (!line[0] || request_allow_host(o->request, line, &why) == 0)
        return 0;
    return err_set(err, SBR_E_INVALID, "agent", "%.200s:%u: %.200s", path, number, why.message);
}

static int add_hosts(struct options *o, const char *path, bool must_exist, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    scoped_free char *text = NULL;
    unsigned int number = 1;
    size_t len;

    if (fd < 0 && errno == ENOENT && !must_exist)
        return 0;
    if (fd < 0)
        return err_set_errno(err, "agent", "cannot open '%.200s'", path);
    if (fd_read_text(fd, HOSTS_MAX, &text, &len, err) < 0)
        return err->code;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (add_line(o, path, number, line, err) < 0)
            return err->code;
    }
    return 0;
}

static bool hosts_path(const struct agent_options *own, char *path, size_t size)
{
    char config[2048];

    if (own->hosts)
        return snprintf(path, size, "%s", own->hosts) < (int)size;
    return runner_config_dir(config, sizeof(config)) &&
           snprintf(path, size, "%s/" HOSTS_FILE, config) < (int)size;
}

/* The agent's own list; a mode without hosts leaves it out. */
static int allow_hosts(struct options *o, sbr_error *err)
{
    const struct agent_options *own = o->own;
    char path[HOSTS_PATH];

    if (o->request->network_given && o->request->network_asked < NETWORK_ALLOW)
        return 0;
    if (hosts_path(own, path, sizeof(path)))
        return add_hosts(o, path, own->hosts != NULL, err);
    return 0;
}

static int prepare_ask(struct options *o, sbr_error *err)
{
    if (o->json || o->stream || o->raw || o->no_tty || !isatty(STDIN_FILENO) ||
        !isatty(STDOUT_FILENO))
        return err_set(err, SBR_E_INVALID, "agent",
                       "--ask needs a terminal that is ours: stdin and stdout, without --json, "
                       "--stream, --raw and --no-tty");
    if (o->request->network_given && !network_goes_outside(o->request->network.mode))
        return err_set(err, SBR_E_INVALID, "agent",
                       "--ask cannot open --network %s; leave --network out, and nothing is "
                       "reached that you do not allow",
                       network_mode_name(o->request->network_asked));
    o->request->network.asks = true;
    return 0;
}

static int set_up(struct options *o, sbr_error *err)
{
    const struct agent_options *own = o->own;
    scoped_free char *here = NULL;

    if (!o->rest || !*o->rest)
        return err_set(
            err, SBR_E_INVALID, "agent",
            "there is no command; say `sandbox-run agent [OPTIONS] -- COMMAND [ARG...]`");
    if (!o->request->project && !o->request->workspace &&
        (host_path(".", &here, err) < 0 || request_set_project(o->request, here, err) < 0))
        return err->code;
    o->request->keep = o->request->project != NULL;
    o->request->opens_later = true;
    preset_limits(o);
    if (allow_hosts(o, err) < 0 || (own->ask && prepare_ask(o, err) < 0))
        return err->code;
    for (char **word = o->rest; *word; word++)
        if (request_add_arg(o->request, *word, err) < 0)
            return err->code;
    return 0;
}

static int grant(const struct agent_options *own, sbr_error *err)
{
    char reply[AGENT_REPLY_SIZE], order[AGENT_REPLY_SIZE];

    snprintf(order, sizeof(order), AGENT_ALLOW "%.300s", own->grant);
    if (agent_socket_ask(own->of, order, reply, err) < 0)
        return err->code;
    printf("allowed %s\n", reply);
    return 0;
}

static int apply_saved(const struct agent_options *own, const char *id, sbr_error *err)
{
    const struct audit_field fields[] = { { "changes", id } };
    char order[AGENT_REPLY_SIZE + 16];

    snprintf(order, sizeof(order), "applied %s", id);
    if (audit_note_if_wanted("apply", fields, ARRAY_LEN(fields), err) < 0 ||
        sbr_changes_apply(id, NULL, NULL, NULL, err) < 0 ||
        agent_socket_ask(own->of, order, order, err) < 0)
        return err->code;
    return 0;
}

/* From another terminal. */
static int ask_agent(const struct agent_options *own, sbr_error *err)
{
    char id[AGENT_REPLY_SIZE];

    if (own->grant)
        return grant(own, err);
    if (agent_socket_ask(own->of, "save", id, err) < 0)
        return err->code;
    if (!id[0]) {
        fputs("it has changed nothing\n", stderr);
        return 0;
    }
    if (own->apply && apply_saved(own, id, err) < 0)
        return err->code;
    printf("%s\n", id);
    return 0;
}

static int run_here(struct options *o, sbr_error *err)
{
    const struct agent_options *own = o->own;
    struct run_door door = { .fd = -1, .serve = agent_socket_serve };
    struct ask ask;
    char title[300];
    int status;

    if (set_up(o, err) < 0 || agent_socket_listen(&door.fd, err) < 0)
        return err->code;
    /* cppcheck-suppress autoVariables ; the run ends before this call does */
    o->door = &door;
    if (own->ask && ask_init(&ask, err) < 0)
        return err->code;
    if (own->ask && !hosts_path(own, ask.hosts, sizeof(ask.hosts)))
        ask.hosts[0] = '\0';
    o->ask = own->ask ? &ask : NULL;
    snprintf(title, sizeof(title), "%.280s", o->rest[0]);
    status = start_request(o, title, false);
    agent_socket_remove();
    close(door.fd);
    if (o->ask)
        ask_done(o->ask);
    return status;
}

static int agent_run(struct options *o)
{
    const struct agent_options *own = o->own;
    sbr_error err = { 0 };
    int r = own->save || own->apply || own->grant ? ask_agent(own, &err) : run_here(o, &err);

    return r < 0 ? cli_fail(o, &err) : r;
}

const struct command cmd_agent = {
    .name = "agent",
    .usage = "[OPTIONS] -- COMMAND [ARG...]",
    .help = "run an agent, or any interactive program, over the project; changes wait for you",
    .examples =
        "Examples:\n"
        "  sandbox-run agent -- bash                          look around in the project\n"
        "  sandbox-run agent -e ANTHROPIC_API_KEY --allow-host api.anthropic.com -- claude\n"
        "  sandbox-run agent --ask -- bash                    you decide about each host\n"
        "  sandbox-run agent --project site --network none -- make test\n"
        "  sandbox-run changes diff $(sandbox-run agent --save)   while it runs, elsewhere\n"
        "  sandbox-run agent --apply                          what it did so far becomes real\n\n"
        "/work is a copy-on-write view of the project.  What was changed is kept under an id:\n"
        "`sandbox-run changes diff ID` shows it, `apply ID` makes it real, `undo ID` takes it\n"
        "back.  Of your environment only what -e names is inside.  Hosts are those of\n"
        "--allow-host and of the file agent-hosts; without any there is no network.\n",
    .options =
        (const struct option *const[]){ own_options, options_stdin, options_trees, options_network,
                                        options_isolation, options_json, options_output,
                                        options_config, options_look, options_general, NULL },
    .limits = LIMITS_ALL,
    .own_size = sizeof(struct agent_options),
    .command_line = true,
    .run = agent_run,
};
