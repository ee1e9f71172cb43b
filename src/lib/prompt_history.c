#include "lib/prompt_history.h"

#include <stdio.h>

#include "changes/state_dir.h"

#define STATE_HISTORY "history" /* LANGUAGE */

int prompt_history_path(const char *language, char *buf, size_t size, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };

    if (state_open(STATE_HISTORY, true, &dir, err) < 0)
        return err->code;
    if ((size_t)snprintf(buf, size, "%s/%s", dir.path, language) >= size) {
        state_close(&dir);
        return err_set(err, SBR_E_INVALID, "repl", "the path of the history is too long");
    }
    state_close(&dir);
    return 0;
}
