/* What compilers and build tools print, which a hostile project chooses. */
#include "fuzz.h"
#include "work/build_messages.h"

static void check_text(const char *text)
{
    for (; *text; text++)
        FUZZ_ASSERT((unsigned char)*text >= ' ' && *text != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct build_messages messages = { 0 };
    char *text = fuzz_text(data, size);
    sbr_error err = { 0 };
    int r = build_messages_read(text, size, &messages, &err);

    FUZZ_ASSERT(r == 0 && messages.n <= BUILD_MESSAGES_MOST);
    for (size_t i = 0; i < messages.n; i++) {
        const struct build_message *m = &messages.items[i];

        FUZZ_ASSERT(m->severity < N_MESSAGE_SEVERITIES && m->text);
        check_text(m->text);
        if (m->file)
            check_text(m->file);
        if (m->code)
            check_text(m->code);
    }
    build_messages_done(&messages);
    free(text);
    return 0;
}
