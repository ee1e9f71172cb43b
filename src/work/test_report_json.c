/* Reports that are JSON: `go test -json`, and jest's. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
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

/* Output of a case comes before its end: it is kept until then, for the last case that wrote. */
struct go {
    struct report *report;
    struct buf output;
    char *writer; /* PACKAGE::TEST; NULL: nobody */
};

static char *go_name(const json_t *event)
{
    return text_format("%s::%s", text_at(event, "Package"), text_at(event, "Test"));
}

static int keep_output(struct go *go, const json_t *event, sbr_error *err)
{
    const char *text = text_at(event, "Output");
    char *name = go_name(event);

    if (!name)
        return err_set_oom(err, "report");
    if (!go->writer || strcmp(go->writer, name) != 0)
        go->output.len = 0;
    free(go->writer);
    go->writer = name;
    if (strncmp(text, "=== ", 4) != 0 && strncmp(text, "--- ", 4) != 0 &&
        go->output.len + strlen(text) < go->output.max)
        buf_add_text(&go->output, text);
    return 0;
}

/* "    name_test.go:12: message" */
static void find_go_place(struct report_case *c)
{
    const char *place = c->message ? strstr(c->message, ".go:") : NULL, *begin = place;

    if (!place)
        return;
    while (begin > c->message && begin[-1] != ' ' && begin[-1] != '\n' && begin[-1] != '\t')
        begin--;
    test_report_set_place(c, begin, (size_t)(place + 3 - begin), strtoul(place + 4, NULL, 10));
}

static int end_go_case(struct go *go, const json_t *event, enum case_outcome outcome,
                       sbr_error *err)
{
    struct report_case *c =
        test_report_add(go->report, text_at(event, "Package"), text_at(event, "Test"), err);
    int res = 0;

    if (!c)
        return err->code;
    c->outcome = outcome;
    set_time(c, json_object_get(event, "Elapsed"), 1e6);
    if (outcome != CASE_PASSED && go->writer && !strcmp(go->writer, c->name) && go->output.len)
        res = test_report_set_message(c, go->output.data, go->output.len, err);
    find_go_place(c);
    return res;
}

static int take_go_event(struct go *go, const json_t *event, sbr_error *err)
{
    enum case_outcome outcome;

    if (!*text_at(event, "Test"))
        return 0;
    if (!strcmp(text_at(event, "Action"), "output"))
        return keep_output(go, event, err);
    return ending_of(text_at(event, "Action"), &outcome) ? end_go_case(go, event, outcome, err) : 0;
}

/* Lines that are no JSON are what the build printed. */
int test_report_parse_go(const char *text, size_t len, struct report *r, sbr_error *err)
{
    struct go go = { .report = r };
    const char *end = text + len;
    int res = 0;

    buf_init(&go.output, REPORT_MOST_TEXT);
    for (const char *line = text; res == 0 && line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        size_t n = next ? (size_t)(next - line) : (size_t)(end - line);
        json_t *event = *line == '{' ? json_loadb(line, n, 0, NULL) : NULL;

        if (event)
            res = take_go_event(&go, event, err);
        json_decref(event);
        line += n + 1;
    }
    free(go.writer);
    buf_done(&go.output);
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
    test_report_set_place(c, file, strlen(file),
                          (unsigned long)json_integer_value(json_object_get(place, "line")));
    return message ? test_report_set_message(c, message, strlen(message), err) : 0;
}

int test_report_parse_jest(const char *text, size_t len, struct report *r, sbr_error *err)
{
    json_error_t fault;
    json_t *root = json_loadb(text, len, 0, &fault), *file, *item;
    size_t i, k;
    int res = 0;

    if (!root)
        return err_set(err, SBR_E_INVALID, "report",
                       "the runner's report is broken at line %d: %.100s", fault.line, fault.text);
    json_array_foreach(json_object_get(root, "testResults"), i, file)
        json_array_foreach(json_object_get(file, "assertionResults"), k, item)
            if (res == 0)
                res = take_jest_case(r, text_at(file, "name"), item, err);
    json_decref(root);
    return res;
}
