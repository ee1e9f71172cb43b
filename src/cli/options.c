#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "cli/host_path.h"

#define FOR_RUNS (FOR_RUN | FOR_EXEC | FOR_PLAN)
#define FOR_KEPT (FOR_CHANGES | FOR_APPLY | FOR_UNDO | FOR_WORKSPACE)
#define FOR_REPORTS (FOR_DOCTOR | FOR_LANGUAGES | FOR_CACHE | FOR_KEPT | FOR_SERVE)
#define FOR_ALL (FOR_RUNS | FOR_REPORTS | FOR_OTHERS)

/* clang-format off */
const struct option_def option_defs[N_PLAIN_OPTIONS] = {
    { OPT_LANG,     'l', "lang",     "NAME",    "language of the program (default: from its name or its #! line)", FOR_RUN | FOR_PLAN },
    { OPT_CODE,     'c', "code",     "TEXT",    "the program itself",                                   FOR_RUN | FOR_PLAN },
    { OPT_FILE,     'f', "file",     "FILE",    "a file of the program; the first is its main file",     FOR_RUN | FOR_PLAN },
    { OPT_REQUEST,  0,   "request",  "FILE",    "a whole request as JSON; - is stdin",                   FOR_RUN | FOR_PLAN },
    { OPT_DEP,      'd', "dep",      "NAME[@VERSION]", "a package that the program needs; installed once, then kept", FOR_RUN | FOR_PLAN },
    { OPT_CHECK,    0,   "check",    NULL,      "compile or check the program, but do not run it",       FOR_RUN },
    { OPT_TEMPLATE, 0,   "template", "FILE",    "a harness around the program: a file, or a shipped one such as call", FOR_RUN },
    { OPT_SET,      0,   "set",      "K=V",     "a value for the template",                              FOR_RUN },
    { OPT_COMPILE_ARG, 0, "compile-arg", "ARG", "a further argument for the compiler",                   FOR_RUN },
    { OPT_COMPILE_LIMIT, 0, "compile-limit", "K=V", "a limit of the compile stage, as in memory=4g",     FOR_RUN },
    { OPT_LANGUAGE_FILE, 0, "language-file", "FILE", "a language of your own, or another form of one",   FOR_RUN | FOR_PLAN | FOR_LANGUAGES },
    { OPT_STDIN,    'i', "stdin",    "FILE",    "the program's stdin; - is ours (default)",              FOR_RUN | FOR_EXEC },
    { OPT_ENV,      'e', "env",      "K=V",     "a variable of the program's environment",               FOR_RUNS },
    { OPT_WORKDIR,  'w', "workdir",  "DIR",     "where the program starts, inside (default: /work)",     FOR_RUNS },
    { OPT_VOLUME,   'v', "volume",   "SRC:DST[:MODE]", "a host file or directory at DST: ro (default), rw, or cow: changes stay inside; rw+sockets", FOR_RUNS },
    { OPT_PROJECT,  'p', "project",  "DIR",     "a host directory as /work; changes stay inside",        FOR_RUNS },
    { OPT_WORKSPACE, 0,  "workspace", "NAME",   "a /work that is kept between runs; bounded by --disk and --inodes", FOR_RUNS },
    { OPT_DIFF,     0,   "diff",     NULL,      "tell what was changed in --project and volumes with cow", FOR_RUNS },
    { OPT_KEEP,     0,   "keep",     NULL,      "store what was changed under an id, for `apply`",       FOR_RUNS },
    { OPT_OUTPUT,   'o', "output",   "PATTERN[:DIR]", "files to copy out of /work after the run, to DIR; repeatable", FOR_RUNS },
    { OPT_NETWORK,  0,   "network",  "MODE",    "what can be reached: none (default), localhost, allow, full", FOR_RUNS },
    { OPT_ALLOW_HOST, 0, "allow-host", "HOST",  "a name, *.name, address or range to reach, also with :PORT; repeatable", FOR_RUNS },
    { OPT_ALLOW_DNS, 0,  "allow-dns", NULL,     "look up every name, not only those of --allow-host",    FOR_RUNS },
    { OPT_POLICY,   0,   "policy",   "NAME",    "what the program may ask of the kernel: default, strict", FOR_RUNS },
    { OPT_REQUIRE,  0,   "require",  "TIER",    "least isolation: container (default), reduced, process", FOR_RUNS },
    { OPT_ALLOW_DEGRADED, 0, "allow-degraded", NULL, "run even when some isolation cannot be had",       FOR_RUNS },
    { OPT_JSON,     'j', "json",     NULL,      "print one JSON object instead of the program's output", FOR_RUNS | FOR_REPORTS },
    { OPT_TEXT,     't', "text",     NULL,      "header and metrics around the output, as on a terminal", FOR_RUN | FOR_EXEC },
    { OPT_QUIET,    'q', "quiet",    NULL,      "the program's output and nothing of ours",              FOR_RUN | FOR_EXEC | FOR_WORKSPACE },
    { OPT_RAW,      0,   "raw",      NULL,      "let terminal control sequences through",                FOR_RUN | FOR_EXEC },
    { OPT_COLD,     0,   "cold",     NULL,      "make the sandbox anew, though an engine has some ready", FOR_RUN | FOR_EXEC },
    { OPT_NO_SELFTEST, 0, "no-selftest", NULL,  "run no selftests; show what earlier ones said",         FOR_LANGUAGES },
    { OPT_FRESH,    0,   "fresh",    NULL,      "run the selftests again, whatever earlier ones said",   FOR_LANGUAGES },
    { OPT_OLDER,    0,   "older",    "TIME",    "prune: what was not used for so long, as in 30d",       FOR_CACHE },
    { OPT_MAX_SIZE, 0,   "max-size", "SIZE",    "prune: least recently used, until the rest is no more", FOR_CACHE },
    { OPT_YES,      'y', "yes",      NULL,      "do it without asking",                                  FOR_APPLY | FOR_UNDO },
    { OPT_FORCE,    0,   "force",    "PATH",    "this path, though it conflicts; repeatable",            FOR_APPLY | FOR_UNDO },
    { OPT_STATUS,   0,   "status",   NULL,      "say what the engine that runs is doing",                FOR_SERVE },
    { OPT_SLOTS,    0,   "slots",    "N",       "runs at once (default: 4 for each processor)",          FOR_SERVE },
    { OPT_QUEUE,    0,   "queue",    "N",       "further runs that wait; more are refused (default: 1024)", FOR_SERVE },
    { OPT_PER_CALLER, 0, "per-caller", "N",     "runs at once of one caller (default: all)",             FOR_SERVE },
    { OPT_PARK_MIN, 0,   "park-min", "N",       "sandboxes kept ready of each kind of run in use (default: 8)", FOR_SERVE },
    { OPT_PARK_MAX, 0,   "park-max", "N",       "the most that are kept ready of one kind (default: 128)", FOR_SERVE },
    { OPT_POOL_MEMORY, 0, "pool-memory", "SIZE", "memory that all of them may take (default: a quarter)", FOR_SERVE },
    { OPT_WARM,     0,   "warm",     "LIST",    "languages to make ready at once, with commas; command is `exec`", FOR_SERVE },
    { OPT_PRELOAD,  0,   "preload",  "LIST",    "modules that Python's workers have loaded besides the usual ones: numpy,pandas", FOR_SERVE },
    { OPT_NO_COLOR, 0,   "no-color", NULL,      "no colours",                                            FOR_RUNS | FOR_REPORTS },
    { OPT_VERBOSE,  0,   "verbose",  NULL,      "tell on stderr what each stage does; twice: more",      FOR_RUNS | FOR_REPORTS },
    { OPT_HELP,     'h', "help",     NULL,      "this help",                                             FOR_ALL },
    { OPT_VERSION,  'V', "version",  NULL,      "the version",                                           FOR_ALL },
};
/* clang-format on */

bool option_at(size_t index, struct option_def *ret)
{
    size_t limit = index - N_PLAIN_OPTIONS;
    bool is_quota = limit == SBR_DISK_BYTES || limit == SBR_INODES;

    if (index < N_PLAIN_OPTIONS) {
        *ret = option_defs[index];
        return true;
    }
    if (limit >= N_LIMITS)
        return false;
    *ret = (struct option_def){ .id = OPT_LIMIT + (int)limit,
                                .letter = limit == SBR_MEMORY_BYTES ? 'm' : 0,
                                .name = limit_defs[limit].option,
                                .metavar = limit_defs[limit].metavar,
                                .help = limit_defs[limit].help,
                                .commands = FOR_RUNS | (is_quota ? FOR_WORKSPACE : 0u) };
    return true;
}

/* `len` bytes of a long name, or one letter. */
static bool find_option(const char *name, size_t len, bool is_letter, unsigned int command,
                        struct option_def *ret)
{
    for (size_t i = 0; option_at(i, ret); i++) {
        if (!(ret->commands & command))
            continue;
        if (is_letter ? ret->letter == *name
                      : strlen(ret->name) == len && !strncmp(ret->name, name, len))
            return true;
    }
    return false;
}

static int unknown_option(const char *word, unsigned int command, sbr_error *err)
{
    const char *names[N_PLAIN_OPTIONS + N_LIMITS], *near;
    struct option_def def;
    size_t n = 0;
    char name[48];

    for (size_t i = 0; option_at(i, &def); i++)
        if (def.commands & command)
            names[n++] = def.name;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
             word + strspn(word, "-"));
    near = text_nearest(name, names, n);
    return err_set(err, SBR_E_INVALID, "options", "there is no option '%.60s'%s%s%s", word,
                   near ? "; did you mean --" : "; see --help", near ? near : "", near ? "?" : "");
}

static int add_to(const char ***list, size_t *n, const char *text, sbr_error *err)
{
    const char **grown = realloc(*list, (*n + 1) * sizeof(*grown));

    if (!grown)
        return err_set_oom(err, "options");
    *list = grown;
    grown[(*n)++] = text;
    return 0;
}

/* Options that name something of the host's: it is looked up from where the caller stands. */
static int apply_host_path(struct options *o, int id, const char *value, sbr_error *err)
{
    scoped_free char *made = NULL;

    switch ((enum option_id)id) {
    case OPT_VOLUME:
        return host_path_before(value, &made, err) < 0 ? err->code
                                                       : request_add_volume(o->request, made, err);
    case OPT_OUTPUT:
        return host_path_behind(value, &made, err) < 0 ? err->code
                                                       : request_add_output(o->request, made, err);
    default:
        return host_path(value, &made, err) < 0 ? err->code
                                                : request_set_project(o->request, made, err);
    }
}

typedef int set_text(sbr_request *req, const char *text, sbr_error *err);

static int set_policy(sbr_request *req, const char *name, sbr_error *err)
{
    return request_set_text(&req->policy, name, err);
}

static int set_require(sbr_request *req, const char *name, sbr_error *err)
{
    req->require_given = true;
    return request_tier_from_name(name, &req->require, err);
}

static int set_compile_limit(sbr_request *req, const char *pair, sbr_error *err)
{
    return limits_set_pair(&req->compile_limits, pair, err);
}

/* What the request keeps by itself. */
static set_text *const request_setters[N_PLAIN_OPTIONS] = {
    [OPT_DEP] = request_add_dep,
    [OPT_COMPILE_ARG] = request_add_compile_arg,
    [OPT_COMPILE_LIMIT] = set_compile_limit,
    [OPT_ENV] = request_add_env,
    [OPT_WORKDIR] = request_set_workdir,
    [OPT_WORKSPACE] = request_set_workspace,
    [OPT_NETWORK] = request_set_network,
    [OPT_ALLOW_HOST] = request_allow_host,
    [OPT_POLICY] = set_policy,
    [OPT_REQUIRE] = set_require,
};

static int apply_value(struct options *o, int id, const char *value, sbr_error *err)
{
    const char **const texts[N_PLAIN_OPTIONS] = {
        [OPT_LANG] = &o->lang,
        [OPT_CODE] = &o->code,
        [OPT_REQUEST] = &o->request_path,
        [OPT_TEMPLATE] = &o->template,
        [OPT_OLDER] = &o->older,
        [OPT_MAX_SIZE] = &o->max_size,
        [OPT_STDIN] = &o->stdin_path,
        [OPT_SLOTS] = &o->serve.slots,
        [OPT_QUEUE] = &o->serve.queue,
        [OPT_PER_CALLER] = &o->serve.per_caller,
        [OPT_PARK_MIN] = &o->serve.park_min,
        [OPT_PARK_MAX] = &o->serve.park_max,
        [OPT_POOL_MEMORY] = &o->serve.pool_memory,
        [OPT_WARM] = &o->serve.warm,
        [OPT_PRELOAD] = &o->serve.preload,
    };

    if (id >= OPT_LIMIT)
        return limits_set_text(&o->request->limits, (enum sbr_limit)(id - OPT_LIMIT), value, err);
    if (request_setters[id])
        return request_setters[id](o->request, value, err);
    if (texts[id]) {
        *texts[id] = value;
        return 0;
    }
    switch ((enum option_id)id) {
    case OPT_FILE:
        return add_to(&o->files, &o->n_files, value, err);
    case OPT_SET:
        return add_to(&o->sets, &o->n_sets, value, err);
    case OPT_LANGUAGE_FILE:
        return add_to(&o->language_files, &o->n_language_files, value, err);
    case OPT_FORCE:
        return add_to(&o->force, &o->n_force, value, err);
    default:
        return apply_host_path(o, id, value, err);
    }
}

static void apply_switch(struct options *o, int id)
{
    bool *const switches[N_PLAIN_OPTIONS] = {
        [OPT_JSON] = &o->json,
        [OPT_TEXT] = &o->text,
        [OPT_QUIET] = &o->quiet,
        [OPT_RAW] = &o->raw,
        [OPT_COLD] = &o->cold,
        [OPT_HELP] = &o->help,
        [OPT_NO_COLOR] = &o->no_color,
        [OPT_VERSION] = &o->version,
        [OPT_NO_SELFTEST] = &o->no_selftest,
        [OPT_FRESH] = &o->fresh,
        [OPT_YES] = &o->yes,
        [OPT_STATUS] = &o->serve.status,
        [OPT_CHECK] = &o->request->check,
        [OPT_DIFF] = &o->request->diff,
        [OPT_KEEP] = &o->request->keep,
        [OPT_ALLOW_DNS] = &o->request->network.allow_dns,
    };

    if (switches[id])
        *switches[id] = true;
    o->verbose += id == OPT_VERBOSE;
    if (id == OPT_ALLOW_DEGRADED)
        request_set_require(o->request, TIER_PROCESS);
}

/* --name, --name=value, --name value.  Moves *argv past what it used. */
static int parse_long(struct options *o, char ***argv, unsigned int command, sbr_error *err)
{
    const char *word = **argv + 2, *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    struct option_def def;

    if (!find_option(word, len, false, command, &def))
        return unknown_option(**argv, command, err);
    (*argv)++;
    if (!def.metavar) {
        if (equals)
            return err_set(err, SBR_E_INVALID, "options", "--%s takes no value", def.name);
        apply_switch(o, def.id);
        return 0;
    }
    if (!equals && !**argv)
        return err_set(err, SBR_E_INVALID, "options", "--%s needs a value: --%s %s", def.name,
                       def.name, def.metavar);
    return apply_value(o, def.id, equals ? equals + 1 : *(*argv)++, err);
}

/* -q, -l python, -lpython, -qj. */
static int parse_short(struct options *o, char ***argv, unsigned int command, sbr_error *err)
{
    const char *letters = **argv + 1;
    struct option_def def;

    for (; *letters; letters++) {
        if (!find_option(letters, 1, true, command, &def))
            return unknown_option(**argv, command, err);
        if (def.metavar)
            break;
        apply_switch(o, def.id);
    }
    (*argv)++;
    if (!*letters)
        return 0;
    if (letters[1])
        return apply_value(o, def.id, letters + 1, err);
    if (!**argv)
        return err_set(err, SBR_E_INVALID, "options", "-%c needs a value: -%c %s", def.letter,
                       def.letter, def.metavar);
    return apply_value(o, def.id, *(*argv)++, err);
}

static int parse_word(struct options *o, char ***argv, unsigned int command, sbr_error *err)
{
    char *word = **argv;

    if (!strncmp(word, "--", 2))
        return parse_long(o, argv, command, err);
    if (word[0] == '-' && word[1])
        return parse_short(o, argv, command, err);
    o->positional[o->n_positional++] = word;
    (*argv)++;
    return 0;
}

int options_parse(struct options *o, char **argv, unsigned int command, sbr_error *err)
{
    size_t n = 0;

    while (argv[n])
        n++;
    o->positional = calloc(n + 1, sizeof(*o->positional));
    if (!o->positional)
        return err_set_oom(err, "options");
    if (request_new(NULL, NULL, &o->request, err) < 0)
        return err->code;
    while (*argv) {
        if (!strcmp(*argv, "--") || (o->want_rest && (**argv != '-' || !(*argv)[1]))) {
            o->rest = argv + !strcmp(*argv, "--");
            break;
        }
        if (parse_word(o, &argv, command, err) < 0)
            return err->code;
    }
    return 0;
}

void options_done(struct options *o)
{
    request_free(o->request);
    free(o->files);
    free(o->sets);
    free(o->force);
    free(o->language_files);
    free(o->positional);
}
