/* The error of a page that init, egress or publish has written: whatever it holds, what the caller
 * gets has a known code and texts that end, without anything that a terminal obeys. */
#include "fuzz.h"
#include "sandbox/mount_below.h"

static void check_text(const char *text, size_t size)
{
    FUZZ_ASSERT(memchr(text, '\0', size));
    for (; *text; text++)
        FUZZ_ASSERT((unsigned char)*text >= ' ' && *text != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sbr_error shared = { 0 }, err;
    int code;

    memcpy(&shared, data, size < sizeof(shared) ? size : sizeof(shared));
    code = page_error_read(&shared, &err);
    FUZZ_ASSERT(code == err.code && code <= SBR_E_INVALID && code >= SBR_E_BUG);
    FUZZ_ASSERT(err_retry(&err) == ERR_FINAL || code == SBR_E_UNSUPPORTED);
    FUZZ_ASSERT((unsigned int)err_retry(&err) <= ERR_UNDER_OWN_NAMES);
    check_text(err.stage, sizeof(err.stage) - 1);
    check_text(err.message, sizeof(err.message));
    return 0;
}
