/* JUnit's XML, as pytest, Node, vitest, mocha, bats and Maven write it. */
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/secret_memory.h"
#include "work/test_report.h"

#define MOST_DEPTH 64

struct junit {
    XML_Parser parser;
    struct report *report;
    sbr_error *err;
    struct report_case *at; /* the case that is open; NULL: none */
    struct buf text;        /* of the element in it that is open */
    bool in_end;            /* inside <failure>, <error> or <skipped> */
    char suite[200];        /* the innermost that has begun */
    unsigned int depth;
    bool failed;
};

static void stop(struct junit *j)
{
    j->failed = true;
    XML_StopParser(j->parser, XML_FALSE);
}

static const char *attribute(const XML_Char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (!strcmp(attributes[0], name))
            return attributes[1];
    return NULL;
}

static uint64_t microseconds(const char *seconds)
{
    double value = strtod(seconds, NULL);

    return value > 0 && value < 1e9 ? (uint64_t)(value * 1e6) : 0;
}

/* pytest counts lines from 0. */
static unsigned long line_of(const struct junit *j, const char *line)
{
    return line ? strtoul(line, NULL, 10) + !strcmp(j->suite, "pytest") : 0;
}

static void open_case(struct junit *j, const XML_Char **attributes)
{
    const char *name = attribute(attributes, "name"), *file = attribute(attributes, "file");
    const char *time = attribute(attributes, "time"), *line = attribute(attributes, "line");
    const char *group = attribute(attributes, "classname");

    if (group && !strcmp(group, "test"))
        group = j->suite; /* Node has the same class for all */
    j->at = test_report_add(j->report, group, name ? name : "", j->err);
    if (!j->at) {
        stop(j);
        return;
    }
    j->at->timed = time != NULL;
    j->at->time_us = time ? microseconds(time) : 0;
    if (file)
        test_report_set_place(j->report, j->at, file, strlen(file), line_of(j, line));
}

static enum case_outcome outcome_of(const char *element)
{
    if (!strcmp(element, "failure"))
        return CASE_FAILED;
    if (!strcmp(element, "error"))
        return CASE_BROKEN;
    return !strcmp(element, "skipped") ? CASE_SKIPPED : CASE_PASSED;
}

static void open_element(void *context, const XML_Char *element, const XML_Char **attributes)
{
    const char *message = attribute(attributes, "message"), *name = attribute(attributes, "name");
    struct junit *j = context;
    enum case_outcome outcome = outcome_of(element);

    if (++j->depth > MOST_DEPTH) {
        err_set(j->err, SBR_E_INVALID, "report", "the runner's report is too deep");
        stop(j);
    } else if (!strcmp(element, "testsuite")) {
        snprintf(j->suite, sizeof(j->suite), "%s", name ? name : "");
    } else if (!strcmp(element, "testcase")) {
        open_case(j, attributes);
    } else if (j->at && outcome != CASE_PASSED) {
        j->at->outcome = outcome;
        j->in_end = true;
        j->text.len = 0;
        if (message)
            buf_printf(&j->text, "%s\n", message);
    }
}

static void take_text(void *context, const XML_Char *text, int len)
{
    struct junit *j = context;

    if (j->in_end && j->text.len + (size_t)len < j->text.max)
        buf_add(&j->text, text, (size_t)len);
}

static void close_element(void *context, const XML_Char *element)
{
    struct junit *j = context;

    j->depth--;
    if (!strcmp(element, "testsuite"))
        j->suite[0] = '\0';
    if (!strcmp(element, "testcase"))
        j->at = NULL;
    if (!j->at || outcome_of(element) == CASE_PASSED)
        return;
    j->in_end = false;
    if (j->text.len &&
        test_report_set_message(j->report, j->at, j->text.data, j->text.len, j->err) < 0)
        stop(j);
}

/* Entities of the document's own could grow without end.
 * NOLINTNEXTLINE(readability-function-size): as the parser calls it */
static void refuse_entity(void *context, const XML_Char *name, int is_parameter,
                          const XML_Char *value, int length, const XML_Char *base,
                          const XML_Char *system_id, const XML_Char *public_id,
                          const XML_Char *notation)
{
    struct junit *j = context;

    (void)name, (void)is_parameter, (void)value, (void)length;
    (void)base, (void)system_id, (void)public_id, (void)notation;
    err_set(j->err, SBR_E_INVALID, "report", "the runner's report declares entities");
    stop(j);
}

/* What the parser may take: its tables keep every name that it meets, and it holds a tag in one
 * piece.  A larger part makes it look at such a tag less often. */
#define MOST_MEMORY ((size_t)16 << 20)
#define PART (256u << 10)

/* The parser's functions have no context. */
static _Thread_local struct bounded_memory memory = { .most = MOST_MEMORY };

static void *bounded_malloc(size_t size)
{
    return bounded_memory_resize(&memory, NULL, size);
}

static void *bounded_realloc(void *block, size_t size)
{
    return bounded_memory_resize(&memory, block, size);
}

static void bounded_free(void *block)
{
    (void)bounded_memory_resize(&memory, block, 0);
}

static const XML_Memory_Handling_Suite bounded = { bounded_malloc, bounded_realloc, bounded_free };

static int refuse(const struct junit *j, sbr_error *err)
{
    if (j->failed)
        return err->code;
    if (XML_GetErrorCode(j->parser) == XML_ERROR_NO_MEMORY)
        return err_set(
            err, SBR_E_INVALID, "report",
            "the runner's report takes more than %zu MiB to read: its tags are too long, "
            "or too many have names of their own",
            MOST_MEMORY >> 20);
    return err_set(err, SBR_E_INVALID, "report", "the runner's report is broken at line %lu: %s",
                   (unsigned long)XML_GetCurrentLineNumber(j->parser),
                   XML_ErrorString(XML_GetErrorCode(j->parser)));
}

/* XML has no control characters, but Node writes those of names and messages as they are: each
 * becomes a question mark, so that one of them does not cost the whole report. */
static enum XML_Status parse_plainly(XML_Parser parser, const char *text, size_t len)
{
    enum XML_Status status = XML_STATUS_OK;

    do {
        size_t n = len < PART ? len : PART;
        char *part = XML_GetBuffer(parser, (int)PART);

        if (!part)
            return XML_STATUS_ERROR;
        for (size_t i = 0; i < n; i++)
            part[i] = text[i] > 0 && text[i] < ' ' && !strchr("\t\n\r", text[i]) ? '?' : text[i];
        text += n;
        len -= n;
        status = XML_ParseBuffer(parser, (int)n, len == 0);
    } while (len && status == XML_STATUS_OK);
    return status;
}

int test_report_parse_junit(const char *text, size_t len, struct report *r, sbr_error *err)
{
    struct junit j = { .report = r,
                       .err = err,
                       .parser = XML_ParserCreate_MM(NULL, &bounded, NULL) };
    int code = 0;

    if (!j.parser)
        return err_set_oom(err, "report");
    buf_init(&j.text, 64 * 1024);
    XML_SetUserData(j.parser, &j);
    XML_SetElementHandler(j.parser, open_element, close_element);
    XML_SetCharacterDataHandler(j.parser, take_text);
    XML_SetEntityDeclHandler(j.parser, refuse_entity);
    if (parse_plainly(j.parser, text, len) == XML_STATUS_ERROR)
        code = refuse(&j, err);
    buf_done(&j.text);
    XML_ParserFree(j.parser);
    return code;
}
