#include "model/result.h"

#include <stdlib.h>

void diagnosis_free(struct diagnosis *diagnosis)
{
    if (!diagnosis)
        return;
    for (size_t i = 0; i < diagnosis->n_frames; i++) {
        free(diagnosis->frames[i].file);
        free(diagnosis->frames[i].function);
    }
    free(diagnosis->type);
    free(diagnosis->message);
    free(diagnosis->file);
    free(diagnosis->context);
    free(diagnosis->suggestion);
    free(diagnosis->link);
    free(diagnosis);
}

static void put_place(struct jsonw *j, const char *file, unsigned int line, unsigned int column)
{
    jsonw_text(j, "file", file);
    if (line)
        jsonw_number(j, "line", line);
    else
        jsonw_null(j, "line");
    if (column)
        jsonw_number(j, "column", column);
    else
        jsonw_null(j, "column");
}

void diagnosis_put_json(struct jsonw *j, const char *key, const struct diagnosis *diagnosis)
{
    if (!diagnosis) {
        jsonw_null(j, key);
        return;
    }
    jsonw_open(j, key, '{');
    jsonw_text(j, "type", diagnosis->type);
    jsonw_text(j, "message", diagnosis->message);
    put_place(j, diagnosis->file, diagnosis->line, diagnosis->column);
    jsonw_open(j, "frames", '[');
    for (size_t i = 0; i < diagnosis->n_frames; i++) {
        const struct diagnosis_frame *frame = &diagnosis->frames[i];

        jsonw_open(j, NULL, '{');
        put_place(j, frame->file, frame->line, frame->column);
        jsonw_text(j, "function", frame->function);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
    jsonw_text(j, "context", diagnosis->context);
    jsonw_text(j, "suggestion", diagnosis->suggestion);
    jsonw_text(j, "link", diagnosis->link);
    jsonw_close(j, '}');
}
