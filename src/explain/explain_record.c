#include "explain/ending.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "model/limits.h"
#include "plan/policy.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void put_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, text ? json_string(text) : json_null());
}

/* clang-format off */
static const struct {
    const char *mode, *meaning;
} network_meanings[] = {
    { "none",      "nothing, not even loopback" },
    { "localhost", "loopback inside the sandbox; neither the host's nor anything outside" },
    { "allow",     "loopback inside, and what the list names" },
    { "full",      "every public address; the host's loopback, private, link-local and metadata "
                   "addresses only when listed" },
};

/* The beginning of a rule, and where the rule is written. */
static const struct {
    const char *prefix, *source;
} rule_sources[] = {
    { "network:", "--network and --allow-host, or the block `network` of the policy; `none` unless "
                  "given" },
    { "limits:",  "the limits of this run" },
    { "volumes:", "--volume and what the program itself said on stderr" },
    { "allowed,", "the resolver of this host, which the sandbox asked" },
    { "stderr:",  "what the program itself said on stderr, held against its tree; a program can "
                  "print anything" },
};
/* clang-format on */

static json_t *explain_network(const json_t *record)
{
    const json_t *network = json_object_get(record, "network");
    const char *mode = text_of(network, "mode");
    json_t *ret;

    if (!mode)
        return json_null();
    ret = json_deep_copy(network);
    for (size_t i = 0; i < ARRAY_LEN(network_meanings); i++)
        if (!strcmp(mode, network_meanings[i].mode))
            put_text(ret, "meaning", network_meanings[i].meaning);
    return ret;
}

static void add_file(json_t *files, const char *path, const char *access, const char *from)
{
    char absolute[4096];
    json_t *file = json_object();

    snprintf(absolute, sizeof(absolute), "%s%s", path[0] == '/' ? "" : "/", path);
    put_text(file, "path", absolute);
    put_text(file, "access", access);
    put_text(file, "from", from);
    json_array_append_new(files, file);
}

/* Trees only: single files and links are the same in every root. */
static void add_mounts(json_t *files, const json_t *mounts)
{
    size_t i;
    const json_t *mount;

    json_array_foreach(mounts, i, mount) {
        const char *op = text_of(mount, "op"), *to = text_of(mount, "to");

        if (!op || !to)
            continue;
        if (!strcmp(op, "scratch"))
            add_file(files, to, "write", NULL);
        else if (!strcmp(op, "bind") && text_of(mount, "from"))
            add_file(files, to, "read", text_of(mount, "from"));
        else if (!strcmp(op, "cow") && text_of(mount, "from"))
            add_file(files, to, "write", text_of(mount, "from"));
        else if (!strcmp(op, "proc"))
            add_file(files, to, "read", NULL);
    }
}

/* A run without a root of its own has only the list of Landlock. */
static void add_landlock_rules(json_t *files, const json_t *rules)
{
    size_t i;
    const json_t *rule;

    json_array_foreach(rules, i, rule)
        if (text_of(rule, "path") && text_of(rule, "access"))
            add_file(files, text_of(rule, "path"),
                     strcmp(text_of(rule, "access"), "write") ? "read" : "write", NULL);
}

static json_t *explain_files(const json_t *record)
{
    json_t *files;

    if (!json_object_get(record, "mounts"))
        return json_null();
    files = json_array();
    if (json_object_get(record, "place"))
        add_landlock_rules(files, json_object_get(json_object_get(record, "landlock"), "rules"));
    else
        add_mounts(files, json_object_get(record, "mounts"));
    return files;
}

static json_t *explain_limits(const json_t *record)
{
    const json_t *limits = json_object_get(record, "limits");
    json_t *ret = json_array();

    for (unsigned int i = 0; i < N_LIMITS; i++) {
        const json_t *value = json_object_get(limits, limit_defs[i].name);
        double number = json_number_value(value);
        json_t *limit;
        char text[32], option[40];

        if (!value || (!json_is_null(value) && !(number >= 0 && number < 1e18)))
            continue;
        if (limit_defs[i].unit == LIMIT_MILLIS)
            number = number * 1000 + 0.5;
        limits_format((enum sbr_limit)i, json_is_null(value) ? LIMIT_NONE : (uint64_t)number, text,
                      sizeof(text));
        snprintf(option, sizeof(option), "--%s", limit_defs[i].option);
        limit = json_object();
        put_text(limit, "name", limit_defs[i].name);
        put_text(limit, "value", text);
        put_text(limit, "option", option);
        put_text(limit, "meaning", limit_defs[i].help);
        json_array_append_new(ret, limit);
    }
    return ret;
}

/* The group that the rule belongs to; adds it when it is new. */
static json_t *group_of(json_t *groups, const struct policy_rule *rule)
{
    size_t i;
    json_t *group;

    json_array_foreach(groups, i, group)
        if (!strcmp(text_of(group, "group"), rule->about) &&
            !strcmp(text_of(group, "file"), rule->file))
            return group;
    group = json_object();
    put_text(group, "group", rule->about);
    put_text(group, "file", rule->file);
    json_object_set_new(group, "calls", json_array());
    json_array_append_new(groups, group);
    return group;
}

static json_t *explain_calls(const json_t *record)
{
    const char *name = text_of(record, "policy");
    const struct policy *policy = name ? policy_find(name) : NULL;
    json_t *ret, *groups;
    char file[80];

    if (!policy)
        return json_null();
    ret = json_object();
    snprintf(file, sizeof(file), "policies/%.60s.yaml", policy->name);
    put_text(ret, "policy", policy->name);
    put_text(ret, "file", file);
    put_text(ret, "about", policy->about);
    groups = json_array();
    for (size_t i = 0; i < policy->n_rules; i++)
        json_array_append_new(json_object_get(group_of(groups, &policy->rules[i]), "calls"),
                              json_string(policy->rules[i].call));
    json_object_set_new(ret, "refused", groups);
    return ret;
}

static const char *source_of(const char *rule)
{
    if (strstr(rule, ".yaml:"))
        return "policies/, where each group says why";
    for (size_t i = 0; i < ARRAY_LEN(rule_sources); i++)
        if (!strncmp(rule, rule_sources[i].prefix, strlen(rule_sources[i].prefix)))
            return rule_sources[i].source;
    return NULL;
}

static bool has_refusal(const json_t *refused, const json_t *denial)
{
    size_t i;
    const json_t *other;

    json_array_foreach(refused, i, other)
        if (text_of(other, "rule") && !strcmp(text_of(other, "rule"), text_of(denial, "rule")) &&
            !strcmp(text_of(other, "target"), text_of(denial, "target")))
            return true;
    return false;
}

static void add_refusals(json_t *refused, const json_t *denials, const char *stage)
{
    size_t i;
    json_t *denial;

    json_array_foreach(denials, i, denial) {
        json_t *copy;

        if (!text_of(denial, "kind") || !text_of(denial, "rule") || !text_of(denial, "target") ||
            has_refusal(refused, denial))
            continue;
        copy = json_copy(denial);
        put_text(copy, "source", source_of(text_of(denial, "rule")));
        put_text(copy, "stage", stage);
        json_array_append_new(refused, copy);
    }
}

/* Of the stages before the program, then of the program. */
static json_t *explain_refusals(const json_t *record)
{
    json_t *refused = json_array();
    size_t i;
    const json_t *stage;

    json_array_foreach(json_object_get(record, "stages"), i, stage)
        add_refusals(refused, json_object_get(stage, "denials"), text_of(stage, "name"));
    add_refusals(refused, json_object_get(record, "denials"), NULL);
    return refused;
}

static void put_outcome(json_t *ret, const json_t *record)
{
    const char *sentence = text_of(record, "explanation");

    put_text(ret, "outcome", text_of(record, "outcome"));
    if (json_is_integer(json_object_get(record, "exit_code")))
        json_object_set(ret, "exit_code", json_object_get(record, "exit_code"));
    if (!sentence)
        sentence = text_of(json_object_get(record, "error"), "message");
    put_text(ret, "explanation", sentence);
}

json_t *explain_record(const json_t *record)
{
    bool result = text_of(record, "outcome") != NULL;
    json_t *ret, *allowed;

    if (!json_is_object(record) || (!result && !json_is_array(json_object_get(record, "mounts"))))
        return NULL;
    ret = json_object();
    allowed = json_object();
    put_text(ret, "about", result ? "result" : "plan");
    put_outcome(ret, record);
    json_object_set_new(allowed, "network", explain_network(record));
    json_object_set_new(allowed, "files", explain_files(record));
    json_object_set_new(allowed, "limits", explain_limits(record));
    json_object_set_new(allowed, "system_calls", explain_calls(record));
    json_object_set_new(allowed, "environment", json_deep_copy(json_object_get(record, "env")));
    json_object_set_new(allowed, "isolation", json_deep_copy(json_object_get(record, "isolation")));
    json_object_set_new(allowed, "excluded", json_deep_copy(json_object_get(record, "excluded")));
    json_object_set_new(ret, "uses", json_deep_copy(json_object_get(record, "uses")));
    json_object_set_new(ret, "allowed", allowed);
    json_object_set_new(ret, "refused", explain_refusals(record));
    return ret;
}
