/* What a cell was refused, for a person, as a run says it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/display.h"
#include "cli/present.h"

#define ALLOW_HOST "--allow-host "

static void copy(const json_t *from, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(from, key));

    snprintf(to, size, "%s", text ? text : "");
}

static enum denial_kind kind_of(const json_t *one)
{
    const char *name = json_string_value(json_object_get(one, "kind"));
    enum denial_kind kind = DENIAL_CONNECT;

    while (name && kind + 1 < N_DENIAL_KINDS && strcmp(denial_kind_name(kind), name) != 0)
        kind++;
    return kind;
}

/* A host can be given to a living session; every other option is one of its start. */
static void show(const struct display *d, const json_t *one)
{
    struct denial denial = { .kind = kind_of(one),
                             .count = (uint64_t)json_integer_value(json_object_get(one, "count")) };
    char host[200];

    copy(one, "target", denial.target, sizeof(denial.target));
    copy(one, "rule", denial.rule, sizeof(denial.rule));
    copy(one, "remedy", denial.remedy, sizeof(denial.remedy));
    if (!strncmp(denial.rule, DENIAL_HOST_RULE, strlen(DENIAL_HOST_RULE)))
        denial.source = DENIAL_BY_HOST; /* the JSON of a cell has no source */
    if (d->allow && !strncmp(denial.remedy, ALLOW_HOST, strlen(ALLOW_HOST))) {
        snprintf(host, sizeof(host), "%.199s", denial.remedy + strlen(ALLOW_HOST));
        snprintf(denial.remedy, sizeof(denial.remedy), "`%.79s %.199s` allows it", d->allow, host);
    }
    present_denial(&denial,
                   d->allow ? " would allow it when the session starts" : " would allow it", d->o);
}

void display_denials(const struct display *d, const json_t *result, bool failed)
{
    const char *why = json_string_value(json_object_get(result, "explanation"));
    const json_t *denials = json_object_get(result, "denials"), *one;
    size_t i, shown = 0;

    if (d->o->quiet || (!failed && !isatty(STDERR_FILENO)))
        return;
    json_array_foreach(denials, i, one) {
        const char *remedy = json_string_value(json_object_get(one, "remedy"));

        if (why && remedy && strstr(why, remedy))
            continue; /* the explanation says it */
        if (shown++ < PRESENT_DENIALS)
            show(d, one);
    }
    if (shown > PRESENT_DENIALS)
        fprintf(stderr, "sandbox-run: refused: and %zu more; --json has them\n",
                shown - PRESENT_DENIALS);
}
