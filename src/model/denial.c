#include "model/denial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const kind_names[N_DENIAL_KINDS] = {
    [DENIAL_CONNECT] = "connect", [DENIAL_NAME] = "name",       [DENIAL_FILE] = "file",
    [DENIAL_SYSCALL] = "syscall", [DENIAL_PROCESS] = "process", [DENIAL_MEMORY] = "memory",
    [DENIAL_DISK] = "disk",       [DENIAL_SECRET] = "secret",
};

const char *denial_kind_name(enum denial_kind kind)
{
    return kind_names[kind];
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Users paste options into a shell, and the program may have chosen a part of this one. */
static bool is_pasteable(const char *remedy)
{
    return strncmp(remedy, "--", 2) != 0 || !strpbrk(remedy, ";&|$`<>\"'\\!#~()");
}

static struct denial *find(struct denials *denials, const struct denial *one)
{
    for (size_t i = 0; i < denials->n; i++) {
        struct denial *item = &denials->items[i];

        if (item->kind == one->kind && !strcmp(item->target, one->target) &&
            !strcmp(item->rule, one->rule))
            return item;
    }
    return NULL;
}

/* Allocates the whole array at once: its size is bounded, and untouched pages cost nothing. */
static struct denial *make_room(struct denials *denials)
{
    if (!denials->items)
        denials->items = calloc(DENIALS_MAX, sizeof(*denials->items));
    return denials->items && denials->n < DENIALS_MAX ? &denials->items[denials->n++] : NULL;
}

void denials_add(struct denials *denials, const struct denial *one)
{
    struct denial clean = { .kind = one->kind,
                            .count = one->count ? one->count : 1,
                            .source = one->source },
                  *place;

    if (one->kind >= N_DENIAL_KINDS)
        return; /* another process writes this memory */
    text_copy_visibly(clean.target, sizeof(clean.target), one->target,
                      strnlen(one->target, sizeof(one->target)));
    text_copy_visibly(clean.rule, sizeof(clean.rule), one->rule,
                      strnlen(one->rule, sizeof(one->rule)));
    text_copy_visibly(clean.remedy, sizeof(clean.remedy), one->remedy,
                      strnlen(one->remedy, sizeof(one->remedy)));
    if (!is_pasteable(clean.remedy))
        clean.remedy[0] = '\0';
    place = find(denials, &clean);
    if (place)
        place->count = add_saturating(place->count, clean.count);
    else if ((place = make_room(denials))) {
        *place = clean;
        if (denials->watch.added)
            denials->watch.added(denials->watch.context, place);
    } else
        denials->dropped = add_saturating(denials->dropped, clean.count);
}

/* Leaves an overlong text without a NUL, by which denials_add knows to end it in dots. */
static void fill(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);

    memcpy(to, text, len < size ? len + 1 : size);
}

void denials_note(struct denials *denials, enum denial_kind kind, const char *rule,
                  const char *remedy, const char *fmt, ...)
{
    struct denial one = { .kind = kind, .count = 1 };
    char target[2 * sizeof(one.target)];
    va_list args;

    va_start(args, fmt);
    if (vsnprintf(target, sizeof(target), fmt, args) < 0)
        target[0] = '\0';
    va_end(args);
    fill(one.target, sizeof(one.target), target);
    fill(one.rule, sizeof(one.rule), rule);
    fill(one.remedy, sizeof(one.remedy), remedy);
    denials_add(denials, &one);
}

void denials_merge(struct denials *to, struct denials *from)
{
    for (size_t i = 0; i < from->n; i++)
        denials_add(to, &from->items[i]);
    to->dropped = add_saturating(to->dropped, from->dropped);
    denials_done(from);
}

void denials_done(struct denials *denials)
{
    free(denials->items);
    *denials = (struct denials){ 0 };
}

void denials_put_json(struct jsonw *j, const struct denials *denials)
{
    jsonw_open(j, "denials", '[');
    for (size_t i = 0; i < denials->n; i++) {
        const struct denial *d = &denials->items[i];

        jsonw_open(j, NULL, '{');
        jsonw_text(j, "kind", denial_kind_name((enum denial_kind)d->kind));
        jsonw_text(j, "target", d->target);
        jsonw_text(j, "rule", d->rule);
        jsonw_text(j, "remedy", d->remedy[0] ? d->remedy : NULL);
        jsonw_number(j, "count", d->count);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
    if (denials->dropped)
        jsonw_number(j, "denials_dropped", denials->dropped);
}
