#include "admit/session_facts.h"

#include <stdio.h>
#include <string.h>

#include "admit/grant_check.h"
#include "base/text.h"

void session_facts_done(struct session_facts *facts)
{
    network_done(&facts->network);
    network_done(&facts->granted);
}

/* `grant`: only those that it names; NULL: all. */
static json_t *hosts_of(const struct network *network, const struct grant *grant)
{
    json_t *hosts = json_array();

    for (size_t i = 0; i < network->n_rules; i++)
        if (!grant || grant_names_host(grant, &network->rules[i]))
            json_array_append_new(hosts, json_string(network->rules[i].text));
    return hosts;
}

static json_t *limits_of(const struct limits *limits)
{
    json_t *all = json_object();

    for (unsigned int i = 0; i < N_LIMITS; i++)
        json_object_set_new(all, limit_defs[i].name,
                            limits->value[i] == LIMIT_NONE
                                ? json_null()
                                : json_integer((json_int_t)limits->value[i]));
    return all;
}

static void list_secrets(const struct secrets *secrets, struct session_facts *ret)
{
    size_t n = 0;

    ret->secrets[0] = '\0';
    for (size_t i = 0; i < secrets->n; i++)
        n += (size_t)snprintf(ret->secrets + n, sizeof(ret->secrets) - n, "%s%s", i ? "," : "",
                              secrets->at[i].name);
}

/* What only its secrets open is theirs: who may use them reaches their hosts. */
static enum network_mode own_mode(const sbr_request *req)
{
    const struct network *network = &req->network;
    bool empty = network->mode == NETWORK_ALLOW && !network->n_rules && !network->allow_dns;

    return req->secrets.n && empty ? NETWORK_NONE : network->mode;
}

json_t *session_facts_write(const struct grant *grant, const sbr_request *req)
{
    struct session_facts facts;

    list_secrets(&req->secrets, &facts);
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:b, s:s}", "token", grant->token_id,
                     "language", req->language ? req->language : "", "image",
                     req->image ? req->image : "", "limits", limits_of(&req->limits), "network",
                     network_mode_name(own_mode(req)), "allow_hosts", hosts_of(&req->network, NULL),
                     "granted_hosts", hosts_of(&req->network, grant), "allow_dns",
                     (int)req->network.allow_dns, "secrets", facts.secrets);
}

static int damaged(sbr_error *err)
{
    return err_set(err, SBR_E_SYSTEM, "session", "the note about the session is damaged");
}

static int read_limits(const json_t *value, struct limits *ret, sbr_error *err)
{
    limits_init(ret);
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        const json_t *one = json_object_get(value, limit_defs[i].name);

        if (json_is_null(one))
            ret->value[i] = LIMIT_NONE;
        else if (json_is_integer(one) && json_integer_value(one) >= 0)
            ret->value[i] = (uint64_t)json_integer_value(one);
        else
            return damaged(err);
    }
    return 0;
}

static int read_hosts(const json_t *hosts, struct network *ret, sbr_error *err)
{
    const json_t *host;
    size_t i;

    if (!json_is_array(hosts))
        return damaged(err);
    json_array_foreach(hosts, i, host) {
        struct host_rule rule;

        if (!json_is_string(host) || host_rule_parse(json_string_value(host), &rule, err) < 0 ||
            network_add_rule(ret, &rule, err) < 0)
            return damaged(err);
    }
    return 0;
}

static int read_network(const json_t *value, struct session_facts *ret, sbr_error *err)
{
    const char *mode = json_string_value(json_object_get(value, "network"));
    const json_t *dns = json_object_get(value, "allow_dns");

    if (!mode || network_mode_from_name(mode, &ret->network.mode, err) < 0 || !json_is_boolean(dns))
        return damaged(err);
    ret->network.allow_dns = json_is_true(dns);
    if (read_hosts(json_object_get(value, "allow_hosts"), &ret->network, err) < 0)
        return err->code;
    return read_hosts(json_object_get(value, "granted_hosts"), &ret->granted, err);
}

/* One that is left out is empty. */
static int read_text(const json_t *value, const char *key, char *ret, size_t size, sbr_error *err)
{
    const json_t *text = json_object_get(value, key);

    if (!text)
        return 0;
    if (!json_is_string(text) || json_string_length(text) >= size)
        return damaged(err);
    memcpy(ret, json_string_value(text), json_string_length(text) + 1);
    return 0;
}

int session_facts_read(const json_t *value, struct session_facts *ret, sbr_error *err)
{
    *ret = (struct session_facts){ .token_id = "" };
    if (read_text(value, "token", ret->token_id, sizeof(ret->token_id), err) == 0 &&
        read_text(value, "language", ret->language, sizeof(ret->language), err) == 0 &&
        read_text(value, "image", ret->image, sizeof(ret->image), err) == 0 &&
        read_text(value, "secrets", ret->secrets, sizeof(ret->secrets), err) == 0 &&
        read_limits(json_object_get(value, "limits"), &ret->limits, err) == 0 &&
        read_network(value, ret, err) == 0)
        return 0;
    session_facts_done(ret);
    return err->code;
}

static int refuse_host(const struct host_rule *rule, enum bound bound, struct refusal *ret)
{
    return refusal_set(ret, REFUSED_FORBIDDEN, bound, "",
                       "the session reaches %.100s, which this token does not allow; make one of "
                       "your own",
                       rule->text);
}

/* Addresses that the operator opened to the session's own token are not open to every other. */
static int check_network(const struct grant *grant, const struct config *config,
                         const struct session_facts *facts, struct refusal *ret)
{
    const struct network *network = &facts->network, *granted = &facts->granted;

    if (network->mode > grant->network ||
        (grant->hosts[0] && (network->mode > NETWORK_ALLOW || network->allow_dns)))
        return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_NETWORK, "",
                           "the session has a network that this token does not allow; make one "
                           "of your own");
    for (size_t i = 0; grant->hosts[0] && i < network->n_rules; i++)
        if (!grant_names_host(grant, &network->rules[i]))
            return refuse_host(&network->rules[i], BOUND_HOSTS, ret);
    for (size_t i = 0; i < granted->n_rules; i++)
        if (grant_check_host(grant, config, &granted->rules[i], ret) < 0)
            return refuse_host(&granted->rules[i], ret->bound, ret);
    return 0;
}

static int check_secrets(const struct grant *grant, const char *list, struct refusal *ret)
{
    while (*list) {
        size_t len = strcspn(list, ",");
        char name[SECRET_MAX_NAME + 1];

        snprintf(name, sizeof(name), "%.*s", (int)len, list);
        if (!text_list_has(grant->secrets, name))
            return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_HOSTS, "",
                               "the session has the secret '%s', which this token does not allow; "
                               "make one of your own",
                               name);
        list += len + (list[len] == ',');
    }
    return 0;
}

static int check_image(const struct grant *grant, const char *image, struct refusal *ret)
{
    if (!image[0] || grant_has_image(grant, image))
        return 0;
    return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_IMAGES, "",
                       "the session has the image %.100s, which this token does not allow; make "
                       "one of your own",
                       image);
}

/* The time of a cell is bounded for each cell. */
static int check_limits(const struct grant *grant, const struct limits *limits, struct refusal *ret)
{
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        char text[32];

        if (i == SBR_WALL_MS || limits->value[i] <= grant_most(grant, (enum sbr_limit)i))
            continue;
        limits_format((enum sbr_limit)i, limits->value[i], text, sizeof(text));
        return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_LIMITS, "",
                           "the session has a %s of %s, more than this token allows; make one of "
                           "your own",
                           limit_defs[i].option, text);
    }
    return 0;
}

int admit_cell(const struct grant *grant, const struct config *config,
               const struct session_facts *facts, const char *language, uint64_t *timeout_ms,
               struct refusal *ret)
{
    uint64_t most = grant_most(grant, SBR_WALL_MS);

    if (grant->local)
        return 0;
    if (grant_check_language(grant, facts->language, ret) < 0 ||
        (language && grant_check_language(grant, language, ret) < 0) ||
        check_image(grant, facts->image, ret) < 0 || check_limits(grant, &facts->limits, ret) < 0 ||
        check_network(grant, config, facts, ret) < 0 ||
        check_secrets(grant, facts->secrets, ret) < 0)
        return -1;
    if (!timeout_ms)
        return 0;
    if (*timeout_ms && grant_check_limit(grant, SBR_WALL_MS, *timeout_ms, "timeout_ms", ret) < 0) {
        ret->bound = BOUND_CELL_TIME;
        return -1;
    }
    if (!*timeout_ms && facts->limits.value[SBR_WALL_MS] > most)
        *timeout_ms = most;
    return 0;
}

static int check_life(uint64_t most, uint64_t preset, const char *field, uint64_t *ms,
                      struct refusal *ret)
{
    if (!most)
        return 0;
    if (*ms > most)
        return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_LIFE, field,
                           "the token allows a session %llu seconds of `%s` at most",
                           (unsigned long long)most / 1000, field);
    if (!*ms)
        *ms = most < preset ? most : preset;
    return 0;
}

int admit_life(const struct grant *grant, uint64_t *idle_ms, uint64_t *age_ms, struct refusal *ret)
{
    if (grant->local)
        return 0;
    return check_life(grant->idle_ms, GRANT_IDLE_MS, "idle_ms", idle_ms, ret) < 0 ||
                   check_life(grant->age_ms, GRANT_AGE_MS, "age_ms", age_ms, ret) < 0
               ? -1
               : 0;
}
