#include "admit/admit.h"

#include <string.h>

#include "model/request_fields.h"

/* A value that asks for nothing that is the operator's: switches that are off, empty lists. */
static bool asks_nothing(const json_t *value)
{
    return !json_is_true(value) && !json_is_string(value) && !json_array_size(value) &&
           !json_object_size(value);
}

static bool is_strongest(const char *text)
{
    return !strcmp(text, request_tier_name(TIER_CONTAINER));
}

static bool is_native(const char *text)
{
    return !strcmp(text, "native");
}

static bool is_no_path(const char *text)
{
    return !strchr(text, '/');
}

/* What a field may be nevertheless, and what to say where it is something else. */
static const struct {
    const char *name;
    bool (*is_allowed)(const char *text);
    const char *message;
} words[] = {
    { "allow_degraded", NULL,
      "only the operator may lower the isolation; leave `allow_degraded` out" },
    { "backend", is_native, "over HTTP every run has the native backend; leave `backend` out" },
    { "image", request_image_is_name,
      "an image is named as in a registry, such as debian:12, and the operator has "
      "pulled it" },
    { "publish", NULL, "only the operator, without a token, may publish ports of this machine" },
    { "require", is_strongest, "only the operator may lower the isolation; leave `require` out" },
};

#define NAMES_ONLY                                                                                 \
    "a file of the host cannot be named over HTTP; use a name that ships with sandbox-run"
#define NO_PATHS                                                                                   \
    "this names a path of the host, and such paths do not cross HTTP; send `files`, or use a "     \
    "`workspace`"
#define OPERATORS "only the operator may set this; leave it out"

static int refuse(const struct request_field *field, enum refusal_kind kind, const char *otherwise,
                  struct refusal *fault)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (!strcmp(words[i].name, field->name))
            otherwise = words[i].message;
    return refusal_set(fault, kind, field->bound == BOUND_NONE ? BOUND_ROOTS : field->bound,
                       field->name, "%s", otherwise);
}

static bool is_allowed(const struct request_field *field, const json_t *value)
{
    const char *text = json_string_value(value);

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (!strcmp(words[i].name, field->name))
            return text && words[i].is_allowed && words[i].is_allowed(text);
    return text && field->who == WHO_NAMES && is_no_path(text);
}

/* The table of fields says who may set each; its default is the strict one. */
int admit_field(const struct grant *grant, const struct request_field *field, const json_t *value,
                struct refusal *fault)
{
    switch (field->who) {
    case WHO_ANYONE:
    case WHO_ROOTS: /* names of roots are looked up elsewhere */
        return 0;
    case WHO_NAMES: /* what is no text is a fault of the request, and its reader says so */
        return !json_is_string(value) || is_allowed(field, value)
                   ? 0
                   : refuse(field, REFUSED_WRONG, NAMES_ONLY, fault);
    case WHO_LOCAL:
        return grant->local || asks_nothing(value) || is_allowed(field, value)
                   ? 0
                   : refuse(field, REFUSED_FORBIDDEN, OPERATORS, fault);
    case WHO_NONE:
        break;
    }
    return refuse(field, REFUSED_WRONG, NO_PATHS, fault);
}

int admit_fields(const struct grant *grant, const json_t *body, struct refusal *fault)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)body, name, value) {
        const struct request_field *field = request_field_find(name);

        if (field && admit_field(grant, field, value, fault) < 0)
            return -1;
    }
    return 0;
}
