/* A language that has everything, its toolchain in somebody's home, and a program with manifests.
 * */
#ifndef STAGE_FIXTURE_H
#define STAGE_FIXTURE_H

#include "plan_fixture.h"

extern const struct language stage_language;
extern struct plan_case c;

int stage_set_up(void **state);
int stage_tear_down(void **state);

/* The inputs as the executor gives them to that stage. */
void stage_case_enter(enum stage stage);

bool has_rule(const struct plan *plan, const char *inside, enum access_kind access);
/* The value of a variable, or NULL. */
const char *env_of(const struct plan *plan, const char *name);
bool has_word(const char *const *words, const char *word);
bool has_op_below(const struct plan *plan, const char *prefix);
/* What a file of the plan holds, as text. */
const char *op_text(const struct plan *plan, const char *to);

#endif
