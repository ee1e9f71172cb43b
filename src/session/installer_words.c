#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "session/supervisor.h"

/* The last line that is not empty. */
static const char *last_line(const char *text, size_t *len)
{
    const char *start;

    while (*len && strchr("\r\n \t", text[*len - 1]))
        --*len;
    start = *len ? memrchr(text, '\n', *len) : NULL;
    *len -= start ? (size_t)(start + 1 - text) : 0;
    return start ? start + 1 : text;
}

void installer_words_add(struct session *s, const sbr_result *result)
{
    const sbr_result *last = result->n_before ? result->before[result->n_before - 1] : NULL;
    const struct diagnosis *diagnosis = result->diagnosis;
    size_t len = 0, used = strlen(s->reason);
    const char *text = NULL;

    if (result->verdict != SBR_INSTALL_FAILED)
        return;
    if (diagnosis && diagnosis->message)
        len = strlen(text = diagnosis->message);
    else if (last)
        text = result_output_end(&last->err, &len);
    if (!text || !len)
        return;
    text = last_line(text, &len);
    snprintf(s->reason + used, sizeof(s->reason) - used, ": ");
    text_copy_visibly(s->reason + used + 2, sizeof(s->reason) - used - 2, text, len);
}
