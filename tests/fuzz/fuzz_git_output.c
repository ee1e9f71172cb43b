/* What git prints of a repository: every name, change and content lies in the text. */
#include "fuzz.h"
#include "lib/git_repo.h"

static void read_changes(const char *text, size_t size)
{
    struct git_output output = { text, size, 0 };
    struct git_change change;

    while (git_output_change(&output, &change)) {
        FUZZ_ASSERT(output.at <= size);
        FUZZ_ASSERT(change.path >= text && change.path + strlen(change.path) < text + size);
        FUZZ_ASSERT(change.object_len == 40 || change.object_len == 64);
        FUZZ_ASSERT(strspn(change.object, "0123456789abcdef") == change.object_len);
    }
}

static void read_blobs(const char *text, size_t size)
{
    struct git_output output = { text, size, 0 };
    const char *data;
    size_t len, before = 0;

    while (git_output_blob(&output, &data, &len)) {
        FUZZ_ASSERT(output.at > before && output.at <= size);
        FUZZ_ASSERT(data >= text && data + len < text + size);
        before = output.at;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1); /* without a NUL behind it */

    FUZZ_ASSERT(text);
    if (size)
        memcpy(text, data, size);
    read_changes(text, size);
    read_blobs(text, size);
    free(text);
    return 0;
}
