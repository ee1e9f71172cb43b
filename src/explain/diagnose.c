#include "explain/diagnose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/diagnose_internal.h"

#define ENDING "ended by "

const struct error_rule *diagnose_error_at(const struct diagnose_state *s, size_t line,
                                           struct hit *ret)
{
    enum window window = s->from_end ? WINDOW_ENDS : WINDOW_STARTS;

    for (unsigned int i = 0; i < s->rules->n_errors; i++)
        if (pattern_matches(&s->errors[i], &s->lines, line, window, ret))
            return &s->rules->errors[i];
    return NULL;
}

static const struct error_rule *find_error(const struct diagnose_state *s, struct hit *ret)
{
    const struct error_rule *rule = NULL;

    for (size_t i = 0; i < s->lines.n && !rule; i++)
        rule = diagnose_error_at(s, s->from_end ? s->lines.n - 1 - i : i, ret);
    return rule;
}

/* The rule's message, or the line itself when the rule has none. */
static char *describe_message(const struct diagnose_state *s, const struct error_rule *rule,
                              const struct hit *hit)
{
    scoped_free char *message = diagnose_wording_expand(s->in, hit, rule->message);

    if (!message || message[0] == '\0') {
        free(message);
        message = strdup(s->lines.at[hit->first]);
        if (message)
            diagnose_wording_clean(message, PATTERN_MAX_LINE);
    }
    return take_ptr(message);
}

static struct diagnosis *describe(const struct diagnose_state *s, const struct error_rule *rule,
                                  const struct hit *hit)
{
    const char *link = rule->link ? rule->link : s->rules->link;
    struct diagnosis *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->type = diagnose_wording_expand(s->in, hit, rule->type);
    d->message = describe_message(s, rule, hit);
    d->suggestion = diagnose_wording_expand_first(s->in, hit, rule->suggestion);
    d->link = link ? strdup(link) : NULL;
    diagnose_frames_fill(s, rule, hit, d);
    if (d->file && d->line && !d->column)
        d->column = diagnose_source_marked_column(s, hit, d);
    d->context = diagnose_source_context(s->in, d->file, d->line);
    return d;
}

static struct diagnosis *diagnose_lines(struct diagnose_state *s, struct source text, bool tail)
{
    scoped_free struct hit *hit = malloc(sizeof(*hit));
    const struct error_rule *rule;
    struct diagnosis *d;

    if (!hit || pattern_lines_split(&s->lines, text.text, text.len, tail) < 0)
        return NULL;
    s->cut = text.len > PATTERN_MAX_TEXT || s->lines.n == PATTERN_MAX_LINES;
    rule = find_error(s, hit);
    d = rule ? describe(s, rule, hit) : NULL;
    pattern_lines_done(&s->lines);
    return d;
}

/* Examines the end that counts, then the other one, because the top of a very long trace may have
 * the error.  Last, how the program ended. */
static struct diagnosis *diagnose_ends(struct diagnose_state *s)
{
    struct source text = { s->in->text, s->in->len };
    struct diagnosis *d = diagnose_lines(s, text, s->from_end);
    char ending[64];

    if (!d && s->cut)
        d = diagnose_lines(s, text, !s->from_end);
    if (!d && s->in->ending) {
        snprintf(ending, sizeof(ending), ENDING "%s", s->in->ending);
        d = diagnose_lines(s, (struct source){ ending, strlen(ending) }, false);
    }
    return d;
}

static void patterns_free(struct pattern *patterns, unsigned int n)
{
    for (unsigned int i = 0; patterns && i < n; i++)
        pattern_done(&patterns[i]);
    free(patterns);
}

static int patterns_init(struct diagnose_state *s)
{
    const struct diagnosis_rules *rules = s->rules;
    int r = 0;

    s->errors = calloc(rules->n_errors + 1UL, sizeof(*s->errors));
    s->frames = calloc(rules->n_frames + 1UL, sizeof(*s->frames));
    s->ours = calloc(rules->ours.n + 1UL, sizeof(*s->ours));
    if (!s->errors || !s->frames || !s->ours)
        return SBR_E_NO_MEMORY;
    for (unsigned int i = 0; i < rules->n_errors && r == 0; i++)
        r = pattern_init(&s->errors[i], rules->errors[i].match);
    for (unsigned int i = 0; i < rules->n_frames && r == 0; i++)
        r = pattern_init(&s->frames[i], rules->frames[i].match);
    for (unsigned int i = 0; i < rules->ours.n && r == 0; i++)
        r = pattern_init(&s->ours[i], rules->ours.at[i]);
    return r;
}

struct diagnosis *diagnose(const struct diagnose_input *in)
{
    const struct diagnosis_rules *rules = &in->language->diagnosis;
    struct diagnose_state s = { .in = in, .rules = rules, .from_end = !in->compile };
    struct diagnosis *d = patterns_init(&s) == 0 ? diagnose_ends(&s) : NULL;

    patterns_free(s.errors, rules->n_errors);
    patterns_free(s.frames, rules->n_frames);
    patterns_free(s.ours, rules->ours.n);
    return d;
}
