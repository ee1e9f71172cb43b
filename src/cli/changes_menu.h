/* After a run at a terminal that changed a copy-on-write tree: what is to become of the changes. */
#ifndef CLI_CHANGES_MENU_H
#define CLI_CHANGES_MENU_H

#include "cli/options.h"
#include "model/result.h"

/* Whether a person is asked at the end.  Then the request keeps the changes until the answer. */
bool changes_menu_prepare(struct options *o, bool stdin_is_program);
/* What was kept for a run that changed nothing. */
void changes_menu_drop_empty(sbr_result *result, const struct options *o);
/* Asks until an answer ends it.  Without an answer the changes stay kept. */
void changes_menu_ask(const sbr_result *result);

#endif
