/* Checks the rules of a language file when it is read. */
#include "plan/pattern.h"

static int check_pattern(const char *match, const int *groups, size_t n, sbr_error *err)
{
    struct pattern pattern;
    int r = pattern_init(&pattern, match);

    if (r == 0 && !pattern_compile(&pattern))
        r = err_set(err, SBR_E_INVALID, "language", "'%s' is no pattern that can be used", match);
    for (size_t i = 0; i < n && r == 0; i++)
        if (groups[i] < 0 || groups[i] >= PATTERN_MAX_GROUPS ||
            (size_t)groups[i] > pattern.regex.re_nsub)
            r = err_set(err, SBR_E_INVALID, "language", "'%s' has no group %d", match, groups[i]);
    pattern_done(&pattern);
    return r;
}

int pattern_check_rules(const struct diagnosis_rules *rules, sbr_error *err)
{
    int r = 0;

    for (unsigned int i = 0; i < rules->ours.n && r == 0; i++)
        r = check_pattern(rules->ours.at[i], NULL, 0, err);
    for (unsigned int i = 0; i < rules->n_frames && r == 0; i++) {
        const struct frame_rule *f = &rules->frames[i];
        const int groups[] = { f->file, f->line, f->column, f->function };

        r = check_pattern(f->match, groups, 4, err);
    }
    for (unsigned int i = 0; i < rules->n_errors && r == 0; i++) {
        const struct error_rule *e = &rules->errors[i];
        const int groups[] = { e->file, e->line, e->column };

        r = check_pattern(e->match, groups, 3, err);
    }
    return r;
}
