/* Reports of test runners: the first byte chooses the form. */
#include "fuzz.h"
#include "work/test_report.h"

#include "base/buf.h"
#include "base/jsonw.h"

static test_report_parse_fn *const forms[] = {
    test_report_parse_junit, test_report_parse_tap,      test_report_parse_go,
    test_report_parse_cargo, test_report_parse_unittest, test_report_parse_jest,
};

static void check_text(const char *text, size_t most)
{
    FUZZ_ASSERT(strlen(text) <= most);
    for (; *text; text++)
        FUZZ_ASSERT((unsigned char)*text >= ' ' || *text == '\n');
}

static void check_report(const struct report *r)
{
    size_t bytes = 0;

    FUZZ_ASSERT(r->n <= REPORT_MOST_CASES && r->bytes <= REPORT_MOST_BYTES);
    for (size_t i = 0; i < r->n; i++) {
        const struct report_case *c = &r->cases[i];

        check_text(c->name, REPORT_MOST_TEXT);
        FUZZ_ASSERT(!strchr(c->name, '\n') && c->outcome < N_CASE_OUTCOMES);
        if (c->message)
            check_text(c->message, 8 * (size_t)REPORT_MOST_TEXT);
        if (c->file)
            check_text(c->file, REPORT_MOST_TEXT);
        bytes += strlen(c->name) + (c->file ? strlen(c->file) : 0) +
                 (c->message ? strlen(c->message) : 0);
    }
    FUZZ_ASSERT(bytes <= r->bytes);
}

/* What was written as JUnit has as many cases again. */
static void check_written(const struct report *r)
{
    struct report again = { 0 };
    sbr_error err = { 0 };
    struct buf out;

    buf_init(&out, (size_t)64 << 20);
    FUZZ_ASSERT(test_report_write_junit(r, "suite", &out) == 0);
    FUZZ_ASSERT(test_report_parse_junit(out.data, out.len, &again, &err) == 0);
    FUZZ_ASSERT(again.n == r->n);
    test_report_done(&again);
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report report = { 0 };
    sbr_error err = { 0 };
    char *text;
    int r;

    if (!size)
        return 0;
    text = fuzz_text(data + 1, size - 1);
    r = forms[data[0] % ARRAY_LEN(forms)](text, size - 1, &report, &err);
    FUZZ_ASSERT(r == 0 || (r == err.code && err.message[0]));
    check_report(&report);
    if (r == 0)
        check_written(&report);
    test_report_done(&report);
    free(text);
    return 0;
}
