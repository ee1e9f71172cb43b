/* config: what holds, and where each value comes from. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "config/config.h"
#include "plan/policy.h"

#define VALUE_SIZE 4096

/* One line of the answer. */
struct setting {
    char name[64];
    char value[VALUE_SIZE];
    enum config_origin origin;
    unsigned int line;
    bool is_option; /* of this command line */
};

struct config_options {
    const char *get;
};

struct printer {
    const struct options *o;
    const char *only; /* the name of one setting; NULL: all */
    bool *found;      /* set when there is that one */
    struct jsonw *j;  /* NULL: text */
};

static void print_source(const struct config *config, const struct setting *s)
{
    if (s->is_option || s->origin == CONFIG_BY_DEFAULT) {
        printf("%s\n", s->is_option ? "option" : "default");
        return;
    }
    present_name(stdout,
                 config->path[s->origin == CONFIG_BY_USER ? CONFIG_OF_USER : CONFIG_OF_PROJECT]);
    printf(":%u\n", s->line);
}

static void put_source(struct jsonw *j, const struct config *config, const struct setting *s)
{
    static const char *const names[] = {
        [CONFIG_BY_DEFAULT] = "default",
        [CONFIG_BY_USER] = "user",
        [CONFIG_BY_PROJECT] = "project",
    };

    jsonw_text(j, "source", s->is_option ? "option" : names[s->origin]);
    if (s->is_option || s->origin == CONFIG_BY_DEFAULT)
        return;
    jsonw_path(j, "file",
               config->path[s->origin == CONFIG_BY_USER ? CONFIG_OF_USER : CONFIG_OF_PROJECT]);
    jsonw_number(j, "line", s->line);
}

/* One item of a list on a line. */
static bool print_items(const char *value)
{
    for (size_t len; *value; value += len) {
        len = strcspn(value, ",");
        printf("%.*s\n", (int)len, value);
        len += strspn(value + len, ", ");
    }
    return true;
}

static void show(const struct printer *p, const struct setting *s)
{
    const struct config *config = p->o->config;
    const char *value = s->value[0] ? s->value : "none";

    if (p->only) {
        if (!strcmp(p->only, s->name))
            *p->found = print_items(s->value);
        return;
    }
    if (!p->j) {
        printf("%-24s %-20s ", s->name, value);
        print_source(config, s);
        return;
    }
    jsonw_open(p->j, NULL, '{');
    jsonw_text(p->j, "name", s->name);
    jsonw_text(p->j, "value", value);
    put_source(p->j, config, s);
    jsonw_close(p->j, '}');
}

static struct setting setting_from(const struct options *o, unsigned int item, bool is_option)
{
    return (struct setting){ .origin = o->config->from[item].origin,
                             .line = o->config->from[item].line,
                             .is_option = is_option };
}

static void show_limits(const struct printer *p)
{
    const struct options *o = p->o;

    for (unsigned int i = 0; i < N_LIMITS; i++) {
        bool given = o->request->limits.given >> i & 1;
        struct setting s = setting_from(o, i, given);

        snprintf(s.name, sizeof(s.name), "limits.%s", limit_defs[i].option);
        limits_format((enum sbr_limit)i,
                      given ? o->request->limits.value[i] : o->config->limits.value[i], s.value,
                      sizeof(s.value));
        show(p, &s);
    }
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        struct setting s = setting_from(o, CONFIG_COMPILE + i, false);

        if (!s.origin)
            continue; /* the language has it */
        snprintf(s.name, sizeof(s.name), "compile_limits.%s", limit_defs[i].option);
        limits_format((enum sbr_limit)i, o->config->compile_limits.value[i], s.value,
                      sizeof(s.value));
        show(p, &s);
    }
}

static void show_network(const struct printer *p)
{
    const sbr_request *req = p->o->request;
    const char *name = req->policy ? req->policy : p->o->config->policy;
    const struct policy *policy = policy_find(name);
    bool given = request_has_network(req), own = !given && strcmp(name, "default") != 0;
    const struct network of_policy = { .mode = policy ? policy->network : NETWORK_NONE };
    const struct network *network = given ? &req->network
                                    : own ? &of_policy
                                          : &p->o->config->network;
    /* A policy of its own has a network of its own. */
    struct setting s = own ? setting_from(p->o, CONFIG_POLICY, req->policy != NULL)
                           : setting_from(p->o, CONFIG_NETWORK, given);
    struct buf hosts;

    snprintf(s.name, sizeof(s.name), "network.mode");
    snprintf(s.value, sizeof(s.value), "%s", network_mode_name(network->mode));
    show(p, &s);
    buf_init(&hosts, VALUE_SIZE - 1);
    for (size_t i = 0; i < network->n_rules; i++)
        buf_printf(&hosts, "%s%s", i ? ", " : "", network->rules[i].text);
    snprintf(s.name, sizeof(s.name), "network.allow_hosts");
    snprintf(s.value, sizeof(s.value), "%s", hosts.data ? hosts.data : "");
    show(p, &s);
    buf_done(&hosts);
    snprintf(s.name, sizeof(s.name), "network.allow_dns");
    snprintf(s.value, sizeof(s.value), "%s", network->allow_dns ? "true" : "false");
    show(p, &s);
}

static void show_names(const struct printer *p)
{
    const sbr_request *req = p->o->request;
    const struct config *config = p->o->config;
    struct setting policy = setting_from(p->o, CONFIG_POLICY, req->policy != NULL);
    struct setting require = setting_from(p->o, CONFIG_REQUIRE, req->require_given);
    struct setting backend = setting_from(p->o, CONFIG_BACKEND, req->backend != NULL);
    struct setting audit = setting_from(p->o, CONFIG_AUDIT, false);

    snprintf(policy.name, sizeof(policy.name), "policy");
    snprintf(policy.value, sizeof(policy.value), "%s", req->policy ? req->policy : config->policy);
    show(p, &policy);
    snprintf(require.name, sizeof(require.name), "require");
    snprintf(require.value, sizeof(require.value), "%s",
             request_tier_name(req->require_given ? req->require : config->require));
    show(p, &require);
    snprintf(backend.name, sizeof(backend.name), "backend");
    snprintf(backend.value, sizeof(backend.value), "%s",
             req->backend ? req->backend : config->backend);
    show(p, &backend);
    snprintf(audit.name, sizeof(audit.name), "audit");
    snprintf(audit.value, sizeof(audit.value), "%s",
             config->audit_code ? "with-code"
             : config->audit    ? "true"
                                : "false");
    show(p, &audit);
}

static void show_patterns(const struct printer *p, const char *key, unsigned int item,
                          const struct string_list *patterns)
{
    struct setting s = setting_from(p->o, item, false);
    struct buf text;

    snprintf(s.name, sizeof(s.name), "%s", key);
    buf_init(&text, VALUE_SIZE - 1);
    for (size_t i = 0; i < patterns->n; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", patterns->items[i]);
    snprintf(s.value, sizeof(s.value), "%s", text.data ? text.data : "");
    show(p, &s);
    buf_done(&text);
}

static void show_retention(const struct printer *p)
{
    for (unsigned int i = 0; i < N_RETENTIONS; i++) {
        struct setting s = setting_from(p->o, CONFIG_RETENTION + i, false);

        snprintf(s.name, sizeof(s.name), "retention.%s", retention_defs[i].key);
        retention_format((enum retention_item)i, p->o->config->retention.value[i], s.value,
                         sizeof(s.value));
        show(p, &s);
    }
}

static void show_languages(const struct printer *p)
{
    const struct config_document *user = p->o->config->user;

    for (unsigned int i = 0; user && i < user->n_languages; i++) {
        const struct config_language *l = &user->languages[i];
        const char *what = l->file ? l->file : l->binary ? l->binary : l->version;
        struct setting s = { .origin = CONFIG_BY_USER, .line = p->o->config->languages_line };

        snprintf(s.name, sizeof(s.name), "languages%s%.50s", l->name ? "." : "",
                 l->name ? l->name : "");
        snprintf(s.value, sizeof(s.value), "%s", what);
        show(p, &s);
    }
}

static void show_all(const struct printer *p)
{
    show_limits(p);
    show_network(p);
    show_names(p);
    show_patterns(p, "exclude", CONFIG_EXCLUDE, &p->o->config->exclude);
    show_patterns(p, "include", CONFIG_INCLUDE, &p->o->config->include);
    show_retention(p);
    show_languages(p);
}

static const char *state_name(const struct config *config, enum config_kind kind)
{
    static const char *const names[] = {
        [CONFIG_ABSENT] = "absent",
        [CONFIG_READ] = "read",
        [CONFIG_IGNORED] = "ignored",
    };

    return names[config->state[kind]];
}

static void put_file(struct jsonw *j, const struct config *config, enum config_kind kind,
                     const char *key)
{
    jsonw_open(j, key, '{');
    if (config->path[kind][0])
        jsonw_path(j, "path", config->path[kind]);
    jsonw_text(j, "state", state_name(config, kind));
    jsonw_close(j, '}');
}

/* Sentences about what was not taken. */
static void put_notes(struct jsonw *j, const struct config *config)
{
    const char *line = config->notes.data;

    jsonw_open(j, "notes", '[');
    for (const char *end; line && (end = strchr(line, '\n')); line = end + 1)
        jsonw_bytes(j, NULL, line, (size_t)(end - line));
    jsonw_close(j, ']');
}

static void print_json(const struct options *o)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "files", '{');
    put_file(&j, o->config, CONFIG_OF_USER, "user");
    put_file(&j, o->config, CONFIG_OF_PROJECT, "project");
    jsonw_close(&j, '}');
    jsonw_open(&j, "settings", '[');
    show_all(&(struct printer){ .o = o, .j = &j });
    jsonw_close(&j, ']');
    put_notes(&j, o->config);
    jsonw_close(&j, '}');
    present_json(&j);
}

static void print_file(const struct config *config, enum config_kind kind, const char *name)
{
    printf("%-24s %-20s ", name, state_name(config, kind));
    present_name(stdout, config->path[kind]);
    printf("\n");
}

/* For scripts and completion. */
static int print_one(struct options *o, const char *name)
{
    bool found = false;
    sbr_error err;

    show_all(&(struct printer){ .o = o, .only = name, .found = &found });
    if (found)
        return 0;
    err_set(&err, SBR_E_NOT_FOUND, "config",
            "there is no setting '%.60s'; `sandbox-run config` lists them", name);
    return cli_fail(o, &err);
}

/* What the words name decides whose project's file holds. */
static int check_words(const struct options *o, sbr_error *err)
{
    if (o->n_positional > 1)
        return err_set(err, SBR_E_INVALID, "config",
                       "'%.60s' is one word too many; say `sandbox-run config [FILE | DIR]`",
                       o->positional[1]);
    if (o->n_positional && access(o->positional[0], F_OK) < 0)
        return err_set(err, SBR_E_NOT_FOUND, "config",
                       "there is no file or directory '%.100s'; `config --get NAME` prints one "
                       "setting, and docs/configuration.md says where they are set",
                       o->positional[0]);
    return 0;
}

static int config_run(struct options *o)
{
    const struct config_options *own = o->own;
    sbr_error err;

    if (check_words(o, &err) < 0)
        return cli_fail(o, &err);
    if (!o->config) {
        err_set(&err, SBR_E_INVALID, "config", "--no-config leaves nothing to show");
        return cli_fail(o, &err);
    }
    if (own->get)
        return print_one(o, own->get);
    if (o->json) {
        print_json(o);
        return 0;
    }
    print_file(o->config, CONFIG_OF_USER, "user's file");
    print_file(o->config, CONFIG_OF_PROJECT, "project's file");
    show_all(&(struct printer){ .o = o });
    fflush(stdout);
    if (o->config->notes.len)
        fprintf(stderr, "%s", o->config->notes.data);
    return 0;
}

static const struct option config_options[] = {
    { 0, "get", "NAME", "only the value of this setting, each item of a list on a line",
      OPTION_OWN(struct config_options, get) },
    { 0 },
};

const struct command cmd_config = {
    .name = "config",
    .usage = "[FILE | DIR] [--json | --get NAME] [OPTIONS]",
    .help = "print what holds for a run here, and where each value comes from",
    .examples = "Examples:\n"
                "  sandbox-run config\n"
                "  sandbox-run config --get limits.timeout\n"
                "  sandbox-run config tools/fetch.py --timeout 5s --json\n\n"
                "docs/configuration.md has the keys of the files.\n",
    .options = (const struct option *const[]){ config_options, options_network, options_isolation,
                                               options_report, options_config, options_look,
                                               options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .own_size = sizeof(struct config_options),
    .run = config_run,
};
