#include "cli/docker_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/text.h"

#define STOP_MOST_S 60
#define LEAST_MEMORY (6u << 20)
#define NO_SWAP "a sandbox has no swap; give it the size of --memory"

/* One option of Docker's: what takes its value, or the option of ours that means the same, or why
 * there is none.  With neither it asks for what every sandbox has. */
struct docker_option {
    char letter; /* 0: no short form */
    const char *name;
    bool has_value;
    const char *ours;
    int (*take)(struct docker_run *run, const char *value, sbr_error *err);
    const char *refusal;
};

static int add(struct docker_run *run, const char *option, const char *value, sbr_error *err)
{
    return string_list_add(&run->words, option, err) < 0 ? err->code
                                                         : string_list_add(&run->words, value, err);
}

static int refuse(const char *option, const char *value, const char *reason, sbr_error *err)
{
    return err_set(err, SBR_E_UNSUPPORTED, "docker", "--%s %.100s: %s", option, value, reason);
}

static int take_interactive(struct docker_run *run, const char *value, sbr_error *err)
{
    (void)value;
    (void)err;
    run->interactive = true;
    return 0;
}

static int take_tty(struct docker_run *run, const char *value, sbr_error *err)
{
    (void)value;
    (void)err;
    run->tty = true;
    return 0;
}

static int take_detach(struct docker_run *run, const char *value, sbr_error *err)
{
    (void)value;
    (void)err;
    run->detached = true;
    return 0;
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static int take_name(struct docker_run *run, const char *value, sbr_error *err)
{
    if (!value[0] || !strchr(LETTERS, value[0]) || strlen(value) > 64 ||
        value[strspn(value, LETTERS "_.-")])
        return err_set(err, SBR_E_INVALID, "docker",
                       "--name '%.80s' is no name; give letters, digits, '_', '.' and '-', not "
                       "first one of the last three, at most 64",
                       value);
    run->name = value;
    return 0;
}

static int take_entrypoint(struct docker_run *run, const char *value, sbr_error *err)
{
    (void)err;
    run->entrypoint = value;
    return 0;
}

static int take_user(struct docker_run *run, const char *value, sbr_error *err)
{
    (void)err;
    run->user = value;
    return 0;
}

static int take_memory(struct docker_run *run, const char *value, sbr_error *err)
{
    if (text_parse_size(value, &run->memory) != TEXT_OK)
        return refuse("memory", value, "give a size, as in 512m", err);
    if (run->memory < LEAST_MEMORY)
        return refuse("memory", value, "the least is 6m, as with Docker", err);
    return add(run, "--memory", value, err);
}

static int take_memory_swap(struct docker_run *run, const char *value, sbr_error *err)
{
    if (text_parse_size(value, &run->memory_swap) != TEXT_OK)
        return refuse("memory-swap", value, NO_SWAP, err);
    return 0;
}

/* -1 and 0 mean no limit of this kind, which a sandbox does not do without. */
static int take_pids(struct docker_run *run, const char *value, sbr_error *err)
{
    if (!strcmp(value, "-1") || !strcmp(value, "0"))
        return refuse("pids-limit", value, "a sandbox always has such a limit; give a number", err);
    return add(run, "--pids", value, err);
}

static int take_stop_timeout(struct docker_run *run, const char *value, sbr_error *err)
{
    scoped_free char *seconds = text_format("%ss", value);
    uint64_t number;

    if (text_parse_count(value, &number) != TEXT_OK || number > STOP_MOST_S)
        return refuse("stop-timeout", value, "give seconds, from 0 to 60", err);
    return seconds ? add(run, "--grace", seconds, err) : err_set_oom(err, "docker");
}

/* Said here, because `exec` has another status for a file that is not there. */
static int take_env_file(struct docker_run *run, const char *value, sbr_error *err)
{
    if (access(value, R_OK) < 0)
        return err_set_errno(err, "docker", "--env-file: cannot read '%.200s'", value);
    return add(run, "--env-file", value, err);
}

static int take_network(struct docker_run *run, const char *value, sbr_error *err)
{
    if (!strcmp(value, "none"))
        return add(run, "--network", "none", err);
    if (!strcmp(value, "bridge") || !strcmp(value, "default"))
        return add(run, "--network", "full", err);
    return refuse("network", value, "give none, or bridge for the public addresses", err);
}

static int take_security(struct docker_run *run, const char *value, sbr_error *err)
{
    static const char *const always[] = { "no-new-privileges", "no-new-privileges:true",
                                          "no-new-privileges=true", "seccomp=builtin" };

    (void)run;
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        if (!strcmp(value, always[i]))
            return 0;
    return refuse("security-opt", value,
                  "no-new-privileges and seccomp=builtin always hold, and nothing else can be set",
                  err);
}

/* Docker's volumes are writable unless they say otherwise; ours are not. */
static int add_volume(struct docker_run *run, const char *source, const char *target,
                      bool read_only, sbr_error *err)
{
    scoped_free char *spec = text_format("%s:%s:%s", source, target, read_only ? "ro" : "rw");

    if (source[0] != '/' && source[0] != '.' && source[0] != '~')
        return refuse("volume", source,
                      "there are no named volumes; give a path, or keep files in a workspace", err);
    return spec ? add(run, "--volume", spec, err) : err_set_oom(err, "docker");
}

static int take_volume(struct docker_run *run, const char *value, sbr_error *err)
{
    scoped_free char *source = text_format("%s", value);
    char *target = source ? strchr(source, ':') : NULL, *mode;

    if (!source)
        return err_set_oom(err, "docker");
    if (!target)
        return refuse("volume", value, "there are no anonymous volumes; give SOURCE:TARGET", err);
    *target++ = '\0';
    mode = strchr(target, ':');
    if (mode)
        *mode++ = '\0';
    if (mode && strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0)
        return refuse("volume", value, "its mode can be ro or rw", err);
    return add_volume(run, source, target, mode && !strcmp(mode, "ro"), err);
}

struct mount {
    const char *type, *source, *target;
    bool read_only;
};

/* False: neither true nor false.  A word alone is true. */
static bool read_truth(const char *value, bool *ret)
{
    *ret = !value || !strcmp(value, "true") || !strcmp(value, "1");
    return *ret || !strcmp(value, "false") || !strcmp(value, "0");
}

static bool read_mount_field(struct mount *mount, char *field)
{
    char *value = strchr(field, '=');

    if (value)
        *value++ = '\0';
    if (!strcmp(field, "readonly") || !strcmp(field, "ro"))
        return read_truth(value, &mount->read_only);
    if (value && !strcmp(field, "type"))
        mount->type = value;
    else if (value && (!strcmp(field, "source") || !strcmp(field, "src")))
        mount->source = value;
    else if (value &&
             (!strcmp(field, "target") || !strcmp(field, "dst") || !strcmp(field, "destination")))
        mount->target = value;
    else
        return false;
    return true;
}

/* Everything that a run writes lies in memory and ends with it; /tmp is there and empty. */
static int take_tmpfs(struct docker_run *run, const char *value, sbr_error *err)
{
    (void)run;
    if (!strcmp(value, "/tmp"))
        return 0;
    return refuse("tmpfs", value,
                  "only /tmp can be one, without options; every other file that the program writes "
                  "is in memory too",
                  err);
}

static int take_mount(struct docker_run *run, const char *value, sbr_error *err)
{
    scoped_free char *copy = text_format("%s", value);
    struct mount mount = { .type = "volume" };

    if (!copy)
        return err_set_oom(err, "docker");
    for (char *field = copy, *next; field; field = next) {
        next = strchr(field, ',');
        if (next)
            *next++ = '\0';
        if (!read_mount_field(&mount, field))
            return refuse("mount", value,
                          "give type=bind,source=PATH,target=PATH[,readonly], nothing else", err);
    }
    if (!strcmp(mount.type, "tmpfs") && mount.target && !mount.source)
        return take_tmpfs(run, mount.target, err);
    if (strcmp(mount.type, "bind") != 0 || !mount.source || !mount.target)
        return refuse("mount", value,
                      "give type=bind,source=PATH,target=PATH[,readonly], nothing else", err);
    return add_volume(run, mount.source, mount.target, mount.read_only, err);
}

/* Docker's PORT alone means any free port of the host, which only `docker port` would say. */
static int take_publish(struct docker_run *run, const char *value, sbr_error *err)
{
    const char *ports = value[0] == '[' && strchr(value, ']') ? strchr(value, ']') : value;

    if (!strchr(ports, ':') || strstr(ports, "::") || (ports > value && !strchr(ports + 2, ':')))
        return refuse("publish", value, "give the port of this machine too, as in 8080:80", err);
    return add(run, "--publish", value, err);
}

#define NO_DAEMON "no daemon holds it; run it in the background with & instead"
#define NO_RIGHTS "a sandbox never has that right"
#define OWN_NAMES "a sandbox has namespaces of its own"

/* clang-format off */
static const struct docker_option options[] = {
    { 'i', "interactive",  false, NULL, take_interactive, NULL },
    { 't', "tty",          false, NULL, take_tty,         NULL },
    { 'e', "env",          true,  "--env",      NULL, NULL },
    { 0,   "env-file",     true,  NULL, take_env_file,     NULL },
    { 'v', "volume",       true,  NULL, take_volume,       NULL },
    { 0,   "mount",        true,  NULL, take_mount,        NULL },
    { 0,   "tmpfs",        true,  NULL, take_tmpfs,        NULL },
    { 'w', "workdir",      true,  "--workdir",  NULL, NULL },
    { 'u', "user",         true,  NULL, take_user,         NULL },
    { 0,   "read-only",    false, "--read-only", NULL, NULL },
    { 'm', "memory",       true,  NULL, take_memory,       NULL },
    { 0,   "memory-swap",  true,  NULL, take_memory_swap,  NULL },
    { 0,   "cpus",         true,  "--cpus",     NULL, NULL },
    { 0,   "pids-limit",   true,  NULL, take_pids,         NULL },
    { 0,   "network",      true,  NULL, take_network,      NULL },
    { 0,   "net",          true,  NULL, take_network,      NULL },
    { 'p', "publish",      true,  NULL, take_publish,      NULL },
    { 0,   "security-opt", true,  NULL, take_security,     NULL },
    { 0,   "entrypoint",   true,  NULL, take_entrypoint,   NULL },
    { 0,   "name",         true,  NULL, take_name,         NULL },
    { 0,   "stop-timeout", true,  NULL, take_stop_timeout, NULL },
    { 0,   "cap-drop",     true,  NULL, NULL, NULL }, /* there is no capability to drop */
    { 0,   "rm",           false, NULL, NULL, NULL }, /* nothing is left of any run     */
    { 0,   "init",         false, NULL, NULL, NULL }, /* every sandbox has one          */
    /* The one word of ours, because the refusal of a machine that isolates too little names it. */
    { 0,   "allow-degraded", false, "--allow-degraded", NULL, NULL },
    { 'd', "detach",       false, NULL, take_detach,      NULL },
    { 0,   "restart",      true,  NULL, NULL, NO_DAEMON },
    { 0,   "privileged",   false, NULL, NULL, NO_RIGHTS },
    { 0,   "cap-add",      true,  NULL, NULL, NO_RIGHTS },
    { 0,   "device",       true,  NULL, NULL, NO_RIGHTS },
    { 0,   "gpus",         true,  NULL, NULL, NO_RIGHTS },
    { 0,   "group-add",    true,  NULL, NULL, NO_RIGHTS },
    { 0,   "sysctl",       true,  NULL, NULL, NO_RIGHTS },
    { 0,   "ipc",          true,  NULL, NULL, OWN_NAMES },
    { 0,   "pid",          true,  NULL, NULL, OWN_NAMES },
    { 0,   "uts",          true,  NULL, NULL, OWN_NAMES },
    { 0,   "userns",       true,  NULL, NULL, OWN_NAMES },
    { 'h', "hostname",     true,  NULL, NULL, "the name of a sandbox is always `sandbox`" },
    { 'P', "publish-all",  false, NULL, NULL, "name each port with -p 8080:80" },
    { 'a', "attach",       true,  NULL, NULL, "all streams are attached; close one by the shell" },
    { 'l', "label",        true,  NULL, NULL, "a run has no labels" },
    { 0,   "add-host",     true,  NULL, NULL, "names cannot be given addresses" },
    { 0,   "dns",          true,  NULL, NULL, "names are looked up as this machine does" },
    { 0,   "link",         true,  NULL, NULL, "sandboxes do not reach each other" },
    { 0,   "volumes-from", true,  NULL, NULL, "sandboxes do not share volumes; name each with -v" },
    { 0,   "ulimit",       true,  NULL, NULL, "use `sandbox-run exec --open-files` and the like" },
    { 0,   "shm-size",     true,  NULL, NULL, "/dev/shm counts as memory: -m sets both" },
    { 0,   "platform",     true,  NULL, NULL, "an image runs on its own architecture only" },
    { 0,   "pull",         true,  NULL, NULL, "`docker pull` brings an image anew" },
};
/* clang-format on */

static const struct docker_option *find(const char *name, size_t len, bool is_letter)
{
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (is_letter ? options[i].letter == *name
                      : strlen(options[i].name) == len && !strncmp(options[i].name, name, len))
            return &options[i];
    return NULL;
}

static int unknown(const char *word, sbr_error *err)
{
    return err_set(err, SBR_E_UNSUPPORTED, "docker",
                   "'%.60s' is no option of `docker run` that is known here; docs/docker.md lists "
                   "them",
                   word);
}

static int use(struct docker_run *run, const struct docker_option *option, const char *value,
               sbr_error *err)
{
    if (option->refusal)
        return err_set(err, SBR_E_UNSUPPORTED, "docker", "--%s is refused: %s", option->name,
                       option->refusal);
    if (option->take)
        return option->take(run, value, err);
    if (!option->ours)
        return 0;
    return option->has_value ? add(run, option->ours, value, err)
                             : string_list_add(&run->words, option->ours, err);
}

static int needs_value(const struct docker_option *option, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "docker", "--%s needs a value", option->name);
}

/* --name, --name=value, --name value. */
static int parse_long(struct docker_run *run, char ***argv, sbr_error *err)
{
    const char *word = **argv + 2, *equals = strchr(word, '=');
    const struct docker_option *option =
        find(word, equals ? (size_t)(equals - word) : strlen(word), false);

    if (!option)
        return unknown(**argv, err);
    (*argv)++;
    if (!option->has_value && equals && strcmp(equals, "=true") != 0)
        return err_set(err, SBR_E_UNSUPPORTED, "docker", "--%s can only be true; leave it out",
                       option->name);
    if (!option->has_value || equals)
        return use(run, option, equals ? equals + 1 : NULL, err);
    return **argv ? use(run, option, *(*argv)++, err) : needs_value(option, err);
}

/* -it, -e A=1, -eA=1. */
static int parse_short(struct docker_run *run, char ***argv, sbr_error *err)
{
    const char *letters = *(*argv)++ + 1;

    for (; *letters; letters++) {
        const struct docker_option *option = find(letters, 1, true);

        if (!option)
            return unknown((*argv)[-1], err);
        if (option->has_value && !letters[1] && !**argv)
            return needs_value(option, err);
        if (option->has_value)
            return use(run, option, letters[1] ? letters + 1 + (letters[1] == '=') : *(*argv)++,
                       err);
        if (use(run, option, NULL, err) < 0)
            return err->code;
    }
    return 0;
}

/* A sandbox has no swap, which Docker says by giving both the same size. */
static int check(const struct docker_run *run, sbr_error *err)
{
    if (run->memory_swap && run->memory != run->memory_swap)
        return err_set(err, SBR_E_UNSUPPORTED, "docker", "--memory-swap: " NO_SWAP);
    return 0;
}

/* What holds for every run: Docker stops none by itself, and prints nothing of its own. */
static int add_rest(struct docker_run *run, sbr_error *err)
{
    if (!run->image)
        return 0; /* the caller says so */
    if (add(run, "--image", run->image, err) < 0 || add(run, "--timeout", "none", err) < 0 ||
        string_list_add(&run->words, "--quiet", err) < 0 ||
        string_list_add(&run->words, run->tty ? "--tty" : "--no-tty", err) < 0)
        return err->code;
    return run->interactive ? 0 : add(run, "--stdin", "/dev/null", err);
}

int docker_options_parse(char **argv, struct docker_run *ret, sbr_error *err)
{
    int r = 0;

    *ret = (struct docker_run){ 0 };
    while (r == 0 && *argv && (*argv)[0] == '-' && (*argv)[1]) {
        if (!strcmp(*argv, "--")) {
            argv++;
            break;
        }
        r = (*argv)[1] == '-' ? parse_long(ret, &argv, err) : parse_short(ret, &argv, err);
    }
    if (r < 0)
        return r;
    ret->image = *argv;
    ret->command = *argv ? argv + 1 : argv;
    return check(ret, err) < 0 ? err->code : add_rest(ret, err);
}

void docker_options_done(struct docker_run *run)
{
    string_list_done(&run->words);
}
