/* Numbers, sizes, durations, UTF-8, base64 and paths. */
#include "base/encoding.h"
#include "base/text.h"
#include "fuzz.h"

typedef enum text_fault parser(const char *text, uint64_t *ret);
typedef void formatter(uint64_t value, char *buf, size_t size);

/* What is accepted can be shown, and what is shown is accepted as the same. */
static void check_number(const char *text, parser *parse, formatter *format)
{
    uint64_t value = 0, again = 0;
    char shown[32];
    enum text_fault fault = parse(text, &value);

    FUZZ_ASSERT(text_fault_reason(fault)[0]);
    if (fault != TEXT_OK)
        return;
    format(value, shown, sizeof(shown));
    FUZZ_ASSERT(parse(shown, &again) == TEXT_OK && again == value);
}

static void check_base64(const uint8_t *data, size_t size, const char *text)
{
    char *encoded = encoding_to_base64(data, size), *decoded = NULL;
    size_t len = 0;

    FUZZ_ASSERT(encoded && encoding_from_base64(encoded, &decoded, &len) == 0);
    FUZZ_ASSERT(len == size && (size == 0 || !memcmp(decoded, data, size)));
    free(encoded);
    free(decoded);
    if (encoding_from_base64(text, &decoded, &len) != 0)
        return;
    encoded = encoding_to_base64(decoded, len); /* one text for the same bytes */
    FUZZ_ASSERT(encoded && !strcmp(encoded, text));
    free(encoded);
    free(decoded);
}

static void check_path(const char *text)
{
    if (!text_is_safe_relative_path(text, 1024))
        return;
    FUZZ_ASSERT(text[0] != '/' && strlen(text) <= 1024);
    FUZZ_ASSERT(strcmp(text, "..") != 0 && strncmp(text, "../", 3) != 0 && !strstr(text, "/../"));
    FUZZ_ASSERT(!strstr(text, "//") && text[strlen(text) - 1] != '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = { "timeout", "memory", "cpus", "json" };
    char *text = fuzz_text(data, size);

    check_number(text, text_parse_size, text_format_size);
    check_number(text, text_parse_duration, text_format_duration);
    check_number(text, text_parse_millis, text_format_millis);
    check_base64(data, size, text);
    check_path(text);
    /* Well-formed text stays so when plain text is put around it. */
    if (text_is_utf8(data, size))
        FUZZ_ASSERT(size == 0 || (data[0] & 0xc0) != 0x80);
    text_nearest(text, words, sizeof(words) / sizeof(words[0]));
    free(text);
    return 0;
}
