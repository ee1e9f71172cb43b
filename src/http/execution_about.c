/* What is known of an execution, for whoever asks. */
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "http/execution.h"

static const char *status_of(const struct execution *e)
{
    if (execution_is_over(e))
        return e->is_error ? "failed" : "done";
    return life_has_begun(e->state) ? "running" : "queued";
}

char *execution_describe(const struct execution *e)
{
    char time[RESULT_TIME_SIZE];
    struct jsonw j;

    result_format_time(e->created_us, time);
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "id", e->id);
    jsonw_text(&j, "status", status_of(e));
    jsonw_text(&j, "language", e->language[0] ? e->language : NULL);
    jsonw_text(&j, "created", time);
    jsonw_text(&j, "outcome", e->outcome[0] && execution_is_over(e) ? e->outcome : NULL);
    if (e->job && e->waits)
        jsonw_number(&j, "position", e->queue_before);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}

void execution_reply_about(const struct execution *e, struct exchange *x, unsigned int status)
{
    char *head = execution_describe(e);
    struct response_text *texts[3];

    if (!head || !e->text || !execution_is_over(e)) {
        exchange_reply(x, status, JSON_TYPE, head);
        return;
    }
    head[strlen(head) - 1] = '\0'; /* the brace, which comes behind the result */
    texts[0] = response_text_of(text_format("%s,\"result\":", head));
    texts[1] = e->text;
    texts[2] = response_text_of(strdup("}"));
    free(head);
    exchange_reply_texts(x, status, JSON_TYPE, texts, ARRAY_LEN(texts));
    response_text_drop(texts[0]);
    response_text_drop(texts[2]);
}
