/* The first line and the name of a program that nobody has looked at. */
#include "fuzz.h"
#include "plan/language.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct language *found = language_for_shebang((const char *)data, size);
    char *text = fuzz_text(data, size);

    FUZZ_ASSERT(!found || (size > 2 && data[0] == '#' && data[1] == '!'));
    found = language_for_extension(text);
    FUZZ_ASSERT(!found || strchr(text, '.'));
    found = language_find(text);
    FUZZ_ASSERT(!found || language_find(found->name) == found);
    free(text);
    return 0;
}
