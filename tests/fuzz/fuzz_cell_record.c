/* Recorded cells, and notebooks, that a session is asked to execute again or to export. */
#include "fuzz.h"
#include "session/cell_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = { "ipynb", "md", "py" };
    char *text = fuzz_text(data, size);
    json_t *cells = cell_record_import(text, strlen(text), &(sbr_error){ 0 }), *cell, *other;
    size_t i;

    for (size_t f = 0; cells && f < 3; f++) {
        char *made = cell_record_export(cells, "python", ".py", formats[f], &(sbr_error){ 0 });

        FUZZ_ASSERT(made);
        free(made);
    }
    json_array_foreach(cells, i, cell) {
        FUZZ_ASSERT(json_is_string(json_object_get(cell, "code")));
        other = cell_record_compare(json_object_get(cell, "result"),
                                    json_object_get(json_array_get(cells, 0), "result"));
        json_decref(other);
    }
    json_decref(cells);
    free(text);
    return 0;
}
