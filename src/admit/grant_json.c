#include "admit/grant_json.h"

#include <stdio.h>
#include <string.h>

/* Numbers of a grant; where a file names none, the value of a new token holds. */
#define COUNTS(COUNT)                                                                              \
    COUNT(concurrency)                                                                             \
    COUNT(per_minute)                                                                              \
    COUNT(sessions)                                                                                \
    COUNT(workspaces)
#define AMOUNTS(AMOUNT)                                                                            \
    AMOUNT(idle_ms)                                                                                \
    AMOUNT(age_ms)                                                                                 \
    AMOUNT(workspace_bytes)

static json_t *ceilings_of(const struct limits *ceilings)
{
    json_t *limits = json_object();

    for (unsigned int i = 0; i < N_LIMITS; i++) {
        char value[32];

        if (!(ceilings->given & 1u << i))
            continue;
        limits_format((enum sbr_limit)i, ceilings->value[i], value, sizeof(value));
        json_object_set_new(limits, limit_defs[i].option, json_string(value));
    }
    return limits;
}

static json_t *scopes_of(unsigned int scopes)
{
    json_t *names = json_array();

    for (unsigned int bit = 1; bit < SCOPE_ALL; bit <<= 1)
        if (scopes & bit)
            json_array_append_new(names, json_string(grant_scope_name(bit)));
    return names;
}

json_t *grant_to_json(const struct grant *grant)
{
    json_t *value =
        json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:b}", "id", grant->token_id,
                  "tenant", grant->name, "scopes", scopes_of(grant->scopes), "limits",
                  ceilings_of(&grant->ceilings), "network", network_mode_name(grant->network),
                  "allow_hosts", grant->hosts, "languages", grant->languages, "images",
                  grant->images, "secrets", grant->secrets, "packages", (int)grant->packages);

#define PUT(name) json_object_set_new(value, #name, json_integer((json_int_t)grant->name));
    COUNTS(PUT)
    AMOUNTS(PUT)
#undef PUT
    return value;
}

static int damaged(sbr_error *err)
{
    return err_set(err, SBR_E_DENIED, "token", "the file of the token is damaged");
}

static int read_ceilings(const json_t *limits, struct limits *ret, sbr_error *err)
{
    const char *key;
    json_t *value;

    limits_init(ret);
    if (limits && !json_is_object(limits))
        return damaged(err);
    json_object_foreach((json_t *)(uintptr_t)limits, key, value) {
        scoped_free char *pair = text_format("%s=%s", key, json_string_value(value));

        if (!pair || limits_set_pair(ret, "the ceiling", pair, err) < 0)
            return SBR_E_INVALID;
    }
    return 0;
}

/* A text that is left out is empty, which means all: one that is too long must not be cut. */
static int read_text(const json_t *value, const char *key, char *ret, size_t size, sbr_error *err)
{
    const json_t *text = json_object_get(value, key);

    if (!text)
        return 0;
    if (!json_is_string(text) || json_string_length(text) >= size ||
        strlen(json_string_value(text)) != json_string_length(text))
        return damaged(err);
    memcpy(ret, json_string_value(text), json_string_length(text) + 1);
    return 0;
}

static int read_number(const json_t *value, const char *key, uint64_t most, uint64_t *ret,
                       sbr_error *err)
{
    const json_t *number = json_object_get(value, key);

    if (!number)
        return 0;
    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        (uint64_t)json_integer_value(number) > most)
        return damaged(err);
    *ret = (uint64_t)json_integer_value(number);
    return 0;
}

static int read_numbers(const json_t *value, struct grant *ret, sbr_error *err)
{
    uint64_t number;

#define READ(name)                                                                                 \
    number = ret->name;                                                                            \
    if (read_number(value, #name, sizeof(ret->name) < 8 ? 1 << 30 : INT64_MAX, &number, err) < 0)  \
        return err->code;                                                                          \
    ret->name = (typeof(ret->name))number;
    COUNTS(READ)
    AMOUNTS(READ)
#undef READ
    return 0;
}

static int read_scopes(const json_t *scopes, unsigned int *ret, sbr_error *err)
{
    const json_t *scope;
    size_t i;

    if (scopes && !json_is_array(scopes))
        return damaged(err);
    json_array_foreach(scopes, i, scope) {
        unsigned int bits = 0;

        if (!json_is_string(scope) || grant_parse_scopes(json_string_value(scope), &bits) < 0)
            return damaged(err);
        *ret |= bits;
    }
    return 0;
}

static int read_all(const json_t *value, struct grant *ret, sbr_error *err)
{
    const char *network = json_string_value(json_object_get(value, "network"));
    const json_t *packages = json_object_get(value, "packages");

    if (read_text(value, "tenant", ret->name, sizeof(ret->name), err) < 0 ||
        read_text(value, "id", ret->token_id, sizeof(ret->token_id), err) < 0 ||
        read_text(value, "allow_hosts", ret->hosts, sizeof(ret->hosts), err) < 0 ||
        read_text(value, "secrets", ret->secrets, sizeof(ret->secrets), err) < 0 ||
        read_text(value, "languages", ret->languages, sizeof(ret->languages), err) < 0 ||
        read_text(value, "images", ret->images, sizeof(ret->images), err) < 0 ||
        read_numbers(value, ret, err) < 0 ||
        read_scopes(json_object_get(value, "scopes"), &ret->scopes, err) < 0)
        return err->code;
    if (!grant_is_tenant(ret->name) || !network || (packages && !json_is_boolean(packages)) ||
        network_mode_from_name(network, &ret->network, err) < 0 ||
        read_ceilings(json_object_get(value, "limits"), &ret->ceilings, err) < 0)
        return damaged(err);
    /* A token of before this was known installs what its network lets it fetch. */
    ret->packages =
        packages ? json_is_true(packages) : ret->network >= NETWORK_ALLOW && !ret->hosts[0];
    return 0;
}

/* What was read of a damaged file is nobody's. */
int grant_from_json(const json_t *value, struct grant *ret, sbr_error *err)
{
    grant_init_token(ret);
    if (read_all(value, ret, err) == 0)
        return 0;
    grant_init_token(ret);
    return err->code;
}
