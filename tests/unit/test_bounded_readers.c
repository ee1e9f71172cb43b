/* Every reader of a text that somebody else wrote, with the text that takes the most memory: it is
 * refused with the bound that it passes, and the process does not grow. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/document.h"
#include "base/json_read.h"
#include "base/scope.h"
#include "mcp/mcp_message.h"
#include "model/request.h"
#include "session/notebook.h"
#include "unit.h"
#include "work/golden_cases.h"
#include "work/test_report.h"

#define MOST_GROWTH_KIB (48 * 1024) /* the bounds, and what malloc keeps beside them */

#ifdef __SANITIZE_ADDRESS__
static const bool measures = false; /* memory that was freed stays for a while */
#else
static const bool measures = true;
#endif

static size_t status_kib(const char *field)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    size_t found = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        if (!strncmp(line, field, strlen(field)))
            found = strtoul(line + strlen(field) + 1, NULL, 10);
    fclose(file);
    return found;
}

/* From now on the peak is that of what follows. */
static size_t forget_peak(void)
{
    scoped_fd int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0 && write(fd, "5", 1) == 1);
    return status_kib("VmRSS");
}

/* The kernel counts pages for each CPU and sums them up now and then: a peak may seem lower. */
static size_t grown_since(size_t before)
{
    size_t peak = status_kib("VmHWM");

    return peak > before ? peak - before : 0;
}

typedef int reader(const char *text, size_t len, sbr_error *err);

static int read_request(const char *text, size_t len, sbr_error *err)
{
    sbr_request *req = NULL;
    int r = request_from_json(text, len, &req, err);

    request_free(req);
    return r;
}

static int read_notebook(const char *text, size_t len, sbr_error *err)
{
    json_t *book = notebook_load(text, len, err);

    json_decref(book);
    return book ? 0 : err->code;
}

static int read_message(const char *text, size_t len, sbr_error *err)
{
    struct mcp_message message;

    mcp_message_read(text, len, &message);
    mcp_message_done(&message);
    return message.kind == MCP_BAD ? err_set(err, SBR_E_INVALID, "mcp", "%s", message.why) : 0;
}

static int read_cases(const char *text, size_t len, sbr_error *err)
{
    struct golden_cases cases;
    int r = golden_cases_parse(text, &cases, err);

    (void)len;
    if (r == 0)
        golden_cases_done(&cases);
    return r;
}

static int read_own(const char *text, size_t len, sbr_error *err)
{
    json_t *tree = json_read_own(text, 0);

    (void)len;
    json_decref(tree);
    return tree ? 0 : err_set(err, SBR_E_INVALID, "own", "an answer has no such tree");
}

static int read_report(test_report_parse_fn *parse, const char *text, size_t len, sbr_error *err)
{
    struct report report = { 0 };
    int r = parse(text, len, &report, err);

    test_report_done(&report);
    return r;
}

static int read_jest(const char *text, size_t len, sbr_error *err)
{
    return read_report(test_report_parse_jest, text, len, err);
}

static int read_go(const char *text, size_t len, sbr_error *err)
{
    return read_report(test_report_parse_go, text, len, err);
}

static int read_junit(const char *text, size_t len, sbr_error *err)
{
    return read_report(test_report_parse_junit, text, len, err);
}

static int read_tap(const char *text, size_t len, sbr_error *err)
{
    return read_report(test_report_parse_tap, text, len, err);
}

struct words {
    DOCUMENT_LIST(words);
};

static int read_document(const char *text, size_t len, sbr_error *err)
{
    static const cyaml_schema_field_t fields[] = {
        CYAML_FIELD_SEQUENCE("words", CYAML_FLAG_POINTER, struct words, words, &document_text, 0,
                             CYAML_UNLIMITED),
        CYAML_FIELD_END,
    };
    static const cyaml_schema_value_t schema = { CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER,
                                                                     struct words, fields) };
    void *data = NULL;
    int r = document_load_text("x.yaml", text, len, &schema, &data, err);

    document_free(&schema, data);
    return r;
}

/* `unit` is repeated; a '#' in it becomes the number of the repetition. */
struct text {
    const char *name, *before, *unit, *after, *says;
    size_t times;
    reader *read;
};

#define VALUES "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"
#define FIVE_MARKS                                                                                 \
    "\u202e\u202e\u202e\u202e\u202e" /* each is four times as long when it is visible */
#define HUNDRED_MARKS                                                                              \
    FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS        \
        FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS    \
            FIVE_MARKS FIVE_MARKS FIVE_MARKS FIVE_MARKS

/* clang-format off */
static const struct text texts[] = {
    { "request", "{\"code\":[", VALUES, "1]}", "more than 100000 values", 100000, read_request },
    { "notebook", "{\"nbformat\":4,\"cells\":[", VALUES, "1]}", "more than 250000 values", 100000,
      read_notebook },
    { "mcp", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":[", VALUES, "1]}}",
      "more than 10000 values", 100000, read_message },
    { "cases", "[", VALUES, "1]", "`cases`", 100000, read_cases },
    { "own", "[", VALUES, "1]", "no such tree", 100000, read_own },
    { "jest", "{\"testResults\":[", VALUES, "1]}", "more than 2000000 values", 100000, read_jest },
    { "jest, one file", "{\"testResults\":[{\"assertionResults\":[", VALUES, "1]}]}",
      "more than 100000 values", 20000, read_jest },
    { "go", "{\"Action\":[", VALUES, "1]}\n", "more than 4096 values", 10000, read_go },
    { "go, many lines", "", "{\"Action\":\"output\",\"Package\":\"#\",\"Output\":\"x\"}\n", "",
      "more than 100000 cases", 101000, read_go },
    { "junit, elements", "<testsuite>", "<e#/>", "</testsuite>", "more than 16 MiB to read", 330000,
      read_junit },
    { "junit, attributes", "<testsuite>", "<a b#=\"\"/>", "</testsuite>",
      "more than 16 MiB to read", 330000, read_junit },
    { "junit, one tag", "<testsuite a=\"", HUNDRED_MARKS, "\"/>", "more than 16 MiB to read",
      60000, read_junit },
    { "junit, names", "<testsuite>", "<testcase name=\"" HUNDRED_MARKS "#\"/>", "</testsuite>",
      "have more than 24 MiB", 22000, read_junit },
    { "tap, names", "", "ok # " HUNDRED_MARKS "\n", "", "have more than 24 MiB", 22000, read_tap },
    { "yaml, aliases", "words: [&a '" HUNDRED_MARKS, "", "', *a]\n", "x.yaml", 1, read_document },
    { "yaml, words", "words: [", "a, ", "a]\n", "more than 32 MiB of memory", 1390000,
      read_document },
    { "yaml, bytes", "words: [", "a, ", "a]\n", "more than 4194304 bytes", 2000000, read_document },
};
/* clang-format on */

static char *make(const struct text *t, size_t *ret_len)
{
    const char *number = strchr(t->unit, '#');
    struct buf out;

    buf_init(&out, (size_t)256 << 20);
    buf_add_text(&out, t->before);
    for (size_t i = 0; i < t->times; i++) {
        if (number)
            buf_printf(&out, "%.*s%zu%s", (int)(number - t->unit), t->unit, i, number + 1);
        else
            buf_add_text(&out, t->unit);
    }
    buf_add_text(&out, t->after);
    assert_false(out.failed);
    return buf_take(&out, ret_len);
}

static void no_text_takes_more_than_its_bound(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        size_t len, before, grown;
        scoped_free char *text = make(&texts[i], &len);
        sbr_error err = { 0 };
        int r;

        before = forget_peak();
        r = texts[i].read(text, len, &err);
        grown = grown_since(before);
        if (r == 0 || !strstr(err.message, texts[i].says))
            fail_msg("%s: '%s' should say '%s'", texts[i].name, err.message, texts[i].says);
        if (measures && grown > MOST_GROWTH_KIB)
            fail_msg("%s: %zu bytes took %zu KiB", texts[i].name, len, grown);
    }
}

/* What is left out leaves the rest of the report. */
static void messages_that_are_too_long_together_are_left_out(void **state)
{
    static const struct text many = {
        .before = "<testsuite>",
        .unit = "<testcase name=\"#\"><failure>" VALUES VALUES VALUES VALUES VALUES VALUES
                "</failure></testcase>",
        .after = "</testsuite>",
        .times = 40000,
    };
    struct report report = { 0 };
    sbr_error err = { 0 };
    size_t len, before;
    scoped_free char *text = make(&many, &len);

    (void)state;
    before = forget_peak();
    assert_int_equal(test_report_parse_junit(text, len, &report, &err), 0);
    assert_int_equal(report.n, many.times);
    assert_int_equal(test_report_count(&report, CASE_FAILED), many.times);
    assert_non_null(strstr(report.cases[0].message, "{},{}"));
    assert_non_null(strstr(report.cases[many.times - 1].message, "left out"));
    assert_true(!measures || grown_since(before) < MOST_GROWTH_KIB);
    test_report_done(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_takes_more_than_its_bound),
        cmocka_unit_test(messages_that_are_too_long_together_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
