/* Reports that are JSON: `go test -json`, and jest's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/scope.h"
#include "base/text.h"
#include "work/test_report.h"

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static const struct {
    const char *word;
    enum case_outcome outcome;
} endings[] = {
    { "pass", CASE_PASSED },     { "fail", CASE_FAILED },   { "skip", CASE_SKIPPED },
    { "passed", CASE_PASSED },   { "failed", CASE_FAILED }, { "pending", CASE_SKIPPED },
    { "skipped", CASE_SKIPPED }, { "todo", CASE_SKIPPED },  { "disabled", CASE_SKIPPED },
};

/* False: the word is no end of a case. */
static bool ending_of(const char *word, enum case_outcome *ret)
{
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        if (!strcmp(endings[i].word, word)) {
            *ret = endings[i].outcome;
            return true;
        }
    }
    return false;
}

static void set_time(struct report_case *c, const json_t *value, double unit_us)
{
    double amount = json_number_value(value);

    c->timed = json_is_number(value);
    c->time_us = amount > 0 && amount * unit_us < 1e15 ? (uint64_t)(amount * unit_us) : 0;
}

/* Output comes before the end of what has printed it, and that of parallel tests is mixed: it is
 * kept by its writer, PACKAGE::TEST, PACKAGE:: or BUILDS::PACKAGE. */
struct go {
    struct report *report;
    struct report printed; /* `failures` of a package: how many of its tests failed */
};

#define BUILDS "go build" /* no package is named so */

/* NULL with an error: there are too many, or no memory. */
static struct report_case *writer(struct go *go, const char *group, const char *name,
                                  sbr_error *err)
{
    scoped_free char *whole = text_format("%s::%s", group, name);
    struct report_case *c = whole ? test_report_find(&go->printed, whole) : NULL;

    if (!whole)
        err_set_oom(err, "report");
    return c || !whole ? c : test_report_add(&go->printed, NULL, whole, err);
}

static int keep_output(struct go *go, const char *group, const char *name, const json_t *event,
                       sbr_error *err)
{
    const char *text = text_at(event, "Output");
    struct report_case *c = writer(go, group, name, err);
    char *more;

    if (!c)
        return err->code;
    if (!strncmp(text, "=== ", 4) || !strncmp(text, "--- ", 4) ||
        (c->message && strlen(c->message) >= REPORT_MOST_TEXT) ||
        go->printed.bytes > REPORT_MOST_BYTES / 2)
        return 0;
    more = text_format("%s%.*s", c->message ? c->message : "", REPORT_MOST_TEXT, text);
    if (!more)
        return err_set_oom(err, "report");
    go->printed.bytes += strlen(more) - (c->message ? strlen(c->message) : 0);
    free(c->message);
    c->message = more;
    return 0;
}

/* "    name_test.go:12: message" */
static void find_go_place(struct report *r, struct report_case *c)
{
    const char *place = c->message ? strstr(c->message, ".go:") : NULL, *begin = place;

    if (!place)
        return;
    while (begin > c->message && begin[-1] != ' ' && begin[-1] != '\n' && begin[-1] != '\t')
        begin--;
    test_report_set_place(r, c, begin, (size_t)(place + 3 - begin), strtoul(place + 4, NULL, 10));
}

/* A case with what its writer has printed, which is not kept any longer. */
static int end_go_case(struct go *go, const json_t *event, struct report_case *from,
                       enum case_outcome outcome, sbr_error *err)
{
    const char *test = text_at(event, "Test"), *package = text_at(event, "Package");
    scoped_free char *text = take_ptr(from->message);
    struct report_case *c =
        test_report_add(go->report, *test ? package : NULL, *test ? test : package, err);
    int res = 0;

    if (!c)
        return err->code;
    go->printed.bytes -= text ? strlen(text) : 0;
    c->outcome = outcome;
    set_time(c, json_object_get(event, "Elapsed"), 1e6);
    if (outcome != CASE_PASSED && text && *text)
        res = test_report_set_message(go->report, c, text, strlen(text), err);
    find_go_place(go->report, c);
    return res;
}

static int end_go_test(struct go *go, const json_t *event, enum case_outcome outcome,
                       sbr_error *err)
{
    struct report_case *from = writer(go, text_at(event, "Package"), "", err);

    if (!from)
        return err->code;
    from->failures += outcome == CASE_FAILED;
    from = writer(go, text_at(event, "Package"), text_at(event, "Test"), err);
    return from ? end_go_case(go, event, from, outcome, err) : err->code;
}

/* A package that failed while none of its tests did is a case by itself: it does not compile, or
 * its process ended early. */
static int end_go_package(struct go *go, const json_t *event, sbr_error *err)
{
    const char *build = text_at(event, "FailedBuild");
    struct report_case *from = writer(go, text_at(event, "Package"), "", err);

    if (from && !from->failures && *build)
        from = writer(go, BUILDS, build, err);
    if (!from)
        return err->code;
    return from->failures ? 0 : end_go_case(go, event, from, CASE_BROKEN, err);
}

static int take_go_event(struct go *go, const json_t *event, sbr_error *err)
{
    const char *action = text_at(event, "Action"), *test = text_at(event, "Test");
    enum case_outcome outcome;

    if (!strcmp(action, "build-output"))
        return keep_output(go, BUILDS, text_at(event, "ImportPath"), event, err);
    if (!strcmp(action, "output"))
        return keep_output(go, text_at(event, "Package"), test, event, err);
    if (!ending_of(action, &outcome))
        return 0;
    if (*test)
        return end_go_test(go, event, outcome, err);
    return outcome == CASE_FAILED ? end_go_package(go, event, err) : 0;
}

/* Lines that are no JSON are what the build printed. */
static int take_go_line(struct go *go, const char *line, size_t len, sbr_error *err)
{
    json_t *event = json_read(line, len, &json_read_line, 0, "a line", NULL);
    sbr_error fault;
    int res = 0;

    if (event)
        res = take_go_event(go, event, err);
    else if (json_read_scan(line, len, &json_read_line, "a line of the runner's report", &fault) <
             0)
        res = err_set(err, fault.code, "report", "%s", fault.message);
    json_decref(event);
    return res;
}

int test_report_parse_go(const char *text, size_t len, struct report *r, sbr_error *err)
{
    struct go go = { .report = r };
    const char *end = text + len;
    int res = 0;

    for (const char *line = text; res == 0 && line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        size_t n = next ? (size_t)(next - line) : (size_t)(end - line);

        if (*line == '{')
            res = take_go_line(&go, line, n, err);
        line += n + 1;
    }
    test_report_done(&go.printed);
    return res;
}

static int take_jest_case(struct report *r, const char *file, const json_t *item, sbr_error *err)
{
    const json_t *place = json_object_get(item, "location");
    const char *message =
        json_string_value(json_array_get(json_object_get(item, "failureMessages"), 0));
    enum case_outcome outcome;
    struct report_case *c;

    if (!ending_of(text_at(item, "status"), &outcome))
        return 0;
    c = test_report_add(r, NULL, text_at(item, "fullName"), err);
    if (!c)
        return err->code;
    c->outcome = outcome;
    set_time(c, json_object_get(item, "duration"), 1e3);
    test_report_set_place(r, c, file, strlen(file),
                          (unsigned long)json_integer_value(json_object_get(place, "line")));
    return message ? test_report_set_message(r, c, message, strlen(message), err) : 0;
}

/* A file whose tests could not begin is a case by itself. */
static int take_jest_file(struct report *r, const json_t *file, sbr_error *err)
{
    const char *name = text_at(file, "name"), *message = text_at(file, "message");
    struct report_case *c;

    if (json_array_size(json_object_get(file, "assertionResults")) ||
        strcmp(text_at(file, "status"), "failed") != 0)
        return 0;
    c = test_report_add(r, NULL, name, err);
    if (!c)
        return err->code;
    c->outcome = CASE_BROKEN;
    test_report_set_place(r, c, name, strlen(name), 0);
    return *message ? test_report_set_message(r, c, message, strlen(message), err) : 0;
}

/* A report has a dozen values for each case.  One file of tests at a time is a tree. */
static const struct json_bounds jest_bounds = {
    .bytes = SIZE_MAX,
    .values = (size_t)20 * REPORT_MOST_CASES,
    .depth = 32,
};

static int take_jest_result(void *context, const json_t *file, sbr_error *err)
{
    struct report *r = context;
    int res = take_jest_file(r, file, err);
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(file, "assertionResults"), i, item)
        if (res == 0)
            res = take_jest_case(r, text_at(file, "name"), item, err);
    return res;
}

int test_report_parse_jest(const char *text, size_t len, struct report *r, sbr_error *err)
{
    const struct json_each files = { "testResults", &json_read_document, take_jest_result, r,
                                     "a file of the runner's report" };
    sbr_error fault;

    if (json_read_scan(text, len, &jest_bounds, "the runner's report", &fault) < 0 ||
        json_read_each(text, len, &files, &fault) < 0)
        return err_set(err, fault.code, "report", "%s", fault.message);
    return 0;
}
