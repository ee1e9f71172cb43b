/* A notebook that somebody sent: its cells, their sources, and what is written back. */
#include "fuzz.h"
#include "session/notebook.h"

static const char *known(const char *name)
{
    return name;
}

static void look(json_t *book)
{
    json_t *cells = notebook_cells(book), *result, *cell;
    size_t i;

    result = json_pack("{s:s, s:b, s:[{s:s}]}", "stdout", "out", "success", 1, "display",
                       "text/plain", "42");
    (void)notebook_language(book, known);
    json_array_foreach(json_object_get(book, "cells"), i, cell) {
        const char *language = NULL;
        char *source = notebook_source(cell, &language);

        (void)notebook_has_tag(cell, "raises-exception");
        if (notebook_is_code(cell))
            notebook_set_outputs(cell, result, 1);
        free(source);
    }
    json_decref(result);
    json_decref(cells);
}

/* What was written is the same notebook again. */
static void check_written(const json_t *book)
{
    char *text = notebook_dump(book);
    sbr_error err = { 0 };
    json_t *again = text ? notebook_load(text, strlen(text), &err) : NULL;

    FUZZ_ASSERT(again && json_equal(again, (json_t *)book));
    json_decref(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    sbr_error err = { 0 };
    json_t *book = notebook_load(text, size, &err);

    if (book) {
        look(book);
        check_written(book);
    } else {
        FUZZ_ASSERT(err.code < 0 && err.message[0]);
    }
    json_decref(book);
    free(text);
    return 0;
}
