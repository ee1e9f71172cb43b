/* Our own manner of speaking over a WebSocket: events as they are, orders as JSON. */
#include <string.h>

#include "http/websocket.h"

static unsigned int number_at(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 && value < 65536 ? (unsigned int)value : 0;
}

/* {"type": "stdin" | "close_stdin" | "resize" | "signal" | "cancel", ...}.  What is none of them is
 * left alone. */
static void obey(struct websocket *w, const json_t *message)
{
    const char *type = json_string_value(json_object_get(message, "type"));
    const json_t *data = json_object_get(message, "data");
    struct execution *e = w->execution;

    if (!type || !e || !e->job)
        return;
    if (!strcmp(type, "stdin") && json_is_string(data))
        buf_add(&w->pending, json_string_value(data), json_string_length(data));
    else if (!strcmp(type, "close_stdin"))
        w->ends = true;
    else if (!strcmp(type, "resize"))
        (void)sbr_job_resize(e->job, number_at(message, "rows"), number_at(message, "columns"));
    else if (!strcmp(type, "signal"))
        (void)sbr_job_signal(e->job, (int)number_at(message, "number"));
    else if (!strcmp(type, "cancel"))
        sbr_job_cancel(e->job);
}

static void pass_on(struct websocket *w, const struct event_log_line *line)
{
    websocket_send_event(w, line);
}

const struct websocket_manner execution_socket_manner = {
    .protocol = "sandbox-run", .text = obey, .event = pass_on, .end_code = WEBSOCKET_NORMAL_END
};
