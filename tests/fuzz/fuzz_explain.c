/* A result or a plan that somebody saved, or made up, and wants explained. */
#include <jansson.h>
#include <stdio.h>

#include "cli/present.h"
#include "explain/ending.h"
#include "fuzz.h"

/* Of the command line, which is not here. */
bool present_uses_color(int fd, const struct options *o)
{
    (void)fd;
    (void)o;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    char *text = fuzz_text(data, size);
    json_t *record = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
    json_t *explanation = record ? explain_record(record) : NULL;

    if (!nowhere) {
        nowhere = freopen("/dev/null", "w", stdout);
        FUZZ_ASSERT(nowhere);
    }
    if (explanation) {
        FUZZ_ASSERT(json_is_object(json_object_get(explanation, "allowed")));
        FUZZ_ASSERT(json_dumpf(explanation, nowhere, 0) == 0);
        explain_print(explanation, NULL);
    }
    json_decref(explanation);
    json_decref(record);
    free(text);
    return 0;
}
