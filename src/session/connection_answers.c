/* Lines that answer a client. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "session/supervisor.h"

void connection_answer(struct session *s, struct connection *c, json_t *take_answer)
{
    json_t *line = json_pack("{s:s, s:o}", "type", "answer", "answer", take_answer);
    scoped_free char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

    json_decref(line);
    connection_send(s, c, text ? text : "{}", text ? strlen(text) : 2);
    connection_send(s, c, "\n", 1);
}

void connection_answer_text(struct session *s, struct connection *c, const char *status,
                            const char *data, size_t len)
{
    scoped_free char *head =
        text_format("{\"type\":\"answer\",\"answer\":{\"status\":\"%s\",\"data\":", status);

    if (head) {
        connection_send(s, c, head, strlen(head));
        connection_send(s, c, data, len);
        connection_send(s, c, "}}\n", 3);
    }
}

char *connection_error_line(const sbr_error *err)
{
    json_t *line =
        json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "error", "error", "code",
                  err_code_name(err->code), "stage", err->stage, "message", err->message);
    scoped_free char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;

    json_decref(line);
    return text_format("%s\n", text ? text
                                    : "{\"type\":\"error\",\"error\":{\"code\":\"bug\","
                                      "\"stage\":\"session\",\"message\":\"the session could "
                                      "not describe its error\"}}");
}

void connection_error(struct session *s, struct connection *c, const sbr_error *err)
{
    scoped_free char *line = connection_error_line(err);

    if (line)
        connection_send(s, c, line, strlen(line));
}
