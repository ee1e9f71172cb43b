/* sbr_session: sessions that outlive their clients, through the supervisor of each. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "plan/language.h"
#include "session/cell_record.h"
#include "session/session_program.h"
#include "session/supervisor.h"

/* The session says how long a line may be. */
static const struct json_bounds call_bounds = {
    .bytes = SIZE_MAX,
    .values = 100000,
    .depth = 64,
};

#define IDLE_MS (60 * 60 * 1000ULL)
#define AGE_MS (24 * 60 * 60 * 1000ULL)
#define FREEZE_MS (60 * 1000ULL)
#define DYING_US 5000000 /* for the end of a supervisor that was killed */

int sbr_session_create(const sbr_request *req, const sbr_session_bounds *bounds, char **ret,
                       sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct session_bounds own = { IDLE_MS, AGE_MS, FREEZE_MS, false };

    if (!req || !ret)
        return err_set(e, SBR_E_INVALID, "session",
                       "a session needs a request and a place for "
                       "its description");
    if (bounds && bounds->struct_size < sizeof(*bounds))
        return err_set(e, SBR_E_INVALID, "session", "set struct_size of the bounds");
    if (bounds && bounds->idle_ms)
        own.idle_ms = bounds->idle_ms;
    if (bounds && bounds->age_ms)
        own.age_ms = bounds->age_ms;
    if (bounds && bounds->freeze_ms)
        own.freeze_ms = bounds->freeze_ms;
    own.held = bounds && bounds->held;
    return supervisor_create(req, &own, ret, e);
}

int sbr_session_open(const char *id, sbr_session **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    if (!id || !ret)
        return err_set(e, SBR_E_INVALID, "session", "give the id of a session");
    return session_client_open(id, ret, e);
}

void sbr_session_free(sbr_session *s)
{
    session_client_free(s);
}

/* The last line of an answer.  It may have 100 MB that a program chose, so it stays text. */
enum line_kind { LINE_EVENT, LINE_INPUT, LINE_END, LINE_ANSWER, LINE_ERROR, LINE_NONE };

struct answer {
    enum line_kind kind;
    char *text; /* of LINE_END its result, else the answer or the error */
};

/* Every line of a supervisor begins with its type. */
static enum line_kind kind_of(const char *line)
{
    static const struct {
        const char *begins;
        enum line_kind kind;
    } kinds[] = {
        { "{\"type\":\"end\",", LINE_END },     { "{\"type\":\"answer\",", LINE_ANSWER },
        { "{\"type\":\"error\",", LINE_ERROR }, { "{\"type\":\"input\",", LINE_INPUT },
        { "{\"type\":\"", LINE_EVENT },
    };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (!strncmp(line, kinds[i].begins, strlen(kinds[i].begins)))
            return kinds[i].kind;
    return LINE_NONE;
}

/* The member with which such a line ends; NULL: it has none, or there is no memory. */
static char *last_member(const char *line, size_t len, enum line_kind kind)
{
    static const char *const keys[] = {
        [LINE_END] = ",\"result\":", [LINE_ANSWER] = ",\"answer\":", [LINE_ERROR] = ",\"error\":"
    };
    const char *at = strstr(line, keys[kind]), *end = line + len - 1; /* the closing bracket */

    if (!at)
        return NULL;
    at += strlen(keys[kind]);
    return at < end ? strndup(at, (size_t)(end - at)) : NULL;
}

/* A cell asks for a line: without one, because the reader gave up, an interrupt is on its way. */
static int give_input(sbr_session *s, const char *line, size_t len, sbr_error *err)
{
    json_t *event = json_read(line, len, &json_read_line, JSON_ALLOW_NUL, "the question", err);
    const char *prompt = json_string_value(json_object_get(event, "prompt"));
    bool hidden = json_is_true(json_object_get(event, "hidden"));
    scoped_free char *text = NULL;
    json_t *answer;
    int given = 0, r = 0;

    if (!event)
        return err->code;
    if (s->read)
        given = s->read(s->read_context, prompt ? prompt : "", hidden, &text);
    json_decref(event);
    if (given < 0)
        return 0;
    answer = json_pack("{s:s, s:s*}", "op", "input", "text", given ? text : NULL);
    r = session_client_send(s, answer, err);
    json_decref(answer);
    return r;
}

/* Reads lines until the last of an answer; those before are for `fn`. */
static int read_answer(sbr_session *s, sbr_session_line_fn *fn, void *context, struct answer *ret,
                       sbr_error *err)
{
    for (;;) {
        scoped_free char *line = NULL;
        enum line_kind kind;
        size_t len;

        if (session_client_read(s, &line, &len, err) < 0)
            return err->code;
        kind = kind_of(line);
        if (kind == LINE_INPUT && give_input(s, line, len, err) < 0)
            return err->code;
        if (fn && (kind == LINE_EVENT || kind == LINE_END))
            fn(context, line, len);
        if (kind == LINE_EVENT || kind == LINE_INPUT)
            continue;
        ret->kind = kind;
        ret->text = kind == LINE_NONE ? NULL : last_member(line, len, kind);
        return ret->text ? 0
                         : err_set(err, SBR_E_BUG, "session",
                                   "the session sent a line of %zu bytes that is no event", len);
    }
}

static int take_error(const char *text, sbr_error *err)
{
    sbr_error bad;
    json_t *error = json_read(text, strlen(text), &json_read_line, 0, "the error", &bad);
    int r = session_client_error(error, err);

    json_decref(error);
    return r;
}

/* A session that takes no more of a request says why before it closes the connection. */
static int send_request(sbr_session *s, const json_t *request, sbr_error *err)
{
    struct answer answer = { 0 };
    sbr_error none;

    if (session_client_send(s, request, err) == 0)
        return 0;
    if (read_answer(s, NULL, NULL, &answer, &none) == 0 && answer.kind == LINE_ERROR)
        take_error(answer.text, err);
    free(answer.text);
    return err->code;
}

static int call(sbr_session *s, const json_t *request, sbr_session_line_fn *fn, void *context,
                char **ret, sbr_error *err)
{
    struct answer answer = { 0 };
    int r;

    if (send_request(s, request, err) < 0 || read_answer(s, fn, context, &answer, err) < 0)
        return err->code;
    if (answer.kind != LINE_ERROR) {
        *ret = answer.text;
        return 0;
    }
    r = take_error(answer.text, err);
    free(answer.text);
    return r;
}

/* NOLINTNEXTLINE(readability-function-size): as the public header has it */
int sbr_session_exec(sbr_session *s, const char *code, size_t len, uint64_t timeout_ms,
                     sbr_session_line_fn *fn, void *context, char **ret, sbr_error *err)
{
    return sbr_session_exec_in(s, NULL, code, len, timeout_ms, fn, context, ret, err);
}

/* NOLINTNEXTLINE(readability-function-size): as the public header has it */
int sbr_session_exec_in(sbr_session *s, const char *language, const char *code, size_t len,
                        uint64_t timeout_ms, sbr_session_line_fn *fn, void *context, char **ret,
                        sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    json_t *request;
    int r;

    if (!s || !code || !ret)
        return err_set(e, SBR_E_INVALID, "session",
                       "a cell needs a session, code and a place for "
                       "its result");
    if (len > FRAME_PAYLOAD_MAX)
        return err_set(e, SBR_E_INVALID, "session",
                       "the cell has %zu bytes; it may have at most 16 MiB", len);
    if (!text_is_utf8(code, len) || memchr(code, '\0', len))
        return err_set(e, SBR_E_INVALID, "session", "the cell is not UTF-8 text without NUL");
    request = json_pack("{s:s, s:s%, s:b, s:s*}", "op", "exec", "code", code, len, "stream",
                        fn != NULL, "lang", language);
    if (request && timeout_ms)
        json_object_set_new(request, "timeout_ms", json_integer((json_int_t)timeout_ms));
    if (request && s->read && fn)
        json_object_set_new(request, "asks", json_true());
    if (request && s->width)
        json_object_set_new(request, "width", json_integer((json_int_t)s->width));
    r = call(s, request, fn, context, ret, e);
    json_decref(request);
    return r;
}

void sbr_session_set_width(sbr_session *s, unsigned int columns)
{
    if (s)
        s->width = columns;
}

void sbr_session_set_reader(sbr_session *s, sbr_session_read_fn *read, void *context)
{
    if (!s)
        return;
    s->read = read;
    s->read_context = context;
}

int sbr_session_interrupt(sbr_session *s)
{
    return s ? session_client_interrupt(s) : SBR_E_INVALID;
}

int sbr_session_call(sbr_session *s, const char *json, char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    json_t *request;
    int r;

    if (!s || !json || !ret)
        return err_set(e, SBR_E_INVALID, "session",
                       "a call needs a session, a request and a place "
                       "for its answer");
    request = json_read(json, strlen(json), &call_bounds, 0, "the request", e);
    if (!request)
        return e->code;
    if (!json_is_object(request)) {
        json_decref(request);
        return err_set(e, SBR_E_INVALID, "session", "the request is no JSON object");
    }
    r = call(s, request, NULL, NULL, ret, e);
    json_decref(request);
    return r;
}

int sbr_session_export(const char *id, const char *format, char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    const struct language *language;
    struct session_dir dir;
    json_t *meta, *cells;
    const char *name;

    if (!id || !format || !ret)
        return err_set(e, SBR_E_INVALID, "session",
                       "an export needs a session, a format and a "
                       "place for its text");
    if (session_dir_open(id, &dir, e) < 0)
        return e->code;
    meta = session_client_remains(&dir);
    cells = cell_record_read(&dir);
    session_dir_close(&dir);
    name = json_string_value(json_object_get(meta, "lang"));
    language = name ? language_find(name) : NULL;
    *ret = cell_record_export(cells, name ? name : "text",
                              language ? language->session.extension : NULL, format, e);
    json_decref(meta);
    json_decref(cells);
    return *ret ? 0 : e->code;
}

/* 1: goes on; 0: the session is lost; negative: an error. */
static int replay_cell(sbr_session *s, const json_t *cell, json_t *different, sbr_error *err)
{
    const json_t *code = json_object_get(cell, "code");
    scoped_free char *text = NULL;
    json_t *result, *difference;
    int goes_on;

    if (sbr_session_exec_in(s, json_string_value(json_object_get(cell, "lang")),
                            json_string_value(code), json_string_length(code), 0, NULL, NULL, &text,
                            err) < 0)
        return err->code;
    result = json_read_own(text, JSON_ALLOW_NUL);
    difference = cell_record_compare(json_object_get(cell, "result"), result);
    goes_on = strcmp(json_string_value(json_object_get(result, "session")), "lost") != 0;
    if (difference)
        json_array_append_new(different, difference);
    json_decref(result);
    return goes_on;
}

int sbr_session_replay(sbr_session *s, const char *text, size_t len, char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    json_t *cells, *different, *cell, *report;
    size_t i;
    int r = 1;

    if (!s || !text || !ret)
        return err_set(e, SBR_E_INVALID, "session",
                       "a replay needs a session, a file and a place "
                       "for its report");
    cells = cell_record_import(text, len, e);
    if (!cells)
        return e->code;
    different = json_array();
    json_array_foreach(cells, i, cell) {
        r = replay_cell(s, cell, different, e);
        if (r <= 0)
            break;
    }
    report = json_pack("{s:i, s:b, s:o}", "cells", (int)(r == 0 ? i + 1 : i), "lost", r == 0,
                       "different", different);
    *ret = r < 0 || !report ? NULL : json_dumps(report, JSON_COMPACT);
    json_decref(report);
    json_decref(cells);
    if (r >= 0 && !*ret)
        return err_set_oom(e, "session");
    return r < 0 ? r : 0;
}

static int close_living(const char *id, char **ret, sbr_error *err)
{
    sbr_session *s = NULL;
    int r = session_client_open(id, &s, err);

    if (r == 0)
        r = sbr_session_call(s, "{\"op\": \"close\"}", ret, err);
    session_client_free(s);
    return r;
}

/* A supervisor that was killed answers no more and holds its lock until the kernel has taken it
 * apart.  True: it is gone, and what is left of the session is still there. */
static bool died_meanwhile(const struct session_dir *dir)
{
    const struct timespec moment = { .tv_nsec = 1000000 };
    uint64_t end_us = clock_now_us() + DYING_US;
    scoped_free char *meta = NULL;

    while (session_dir_is_alive(dir)) {
        if (clock_now_us() >= end_us)
            return false;
        nanosleep(&moment, NULL);
    }
    meta = session_dir_read(dir, SESSION_META); /* none: another client has closed it */
    return meta != NULL;
}

static int close_dead(const struct session_dir *dir, char **ret, sbr_error *err)
{
    if (session_dir_remove(dir, err) < 0)
        return err->code;
    *ret = text_format("{\"closed\":true,\"id\":\"%s\"}", dir->id);
    return 0;
}

int sbr_session_finish(const char *id, char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct session_dir dir;
    char *answer = NULL;
    int r;

    if (!id)
        return err_set(e, SBR_E_INVALID, "session", "give the id of a session");
    if (session_dir_open(id, &dir, e) < 0)
        return e->code;
    if (!session_dir_is_alive(&dir)) {
        r = close_dead(&dir, &answer, e);
    } else {
        r = close_living(dir.id, &answer, e);
        if (r == SBR_E_NOT_FOUND && died_meanwhile(&dir))
            r = close_dead(&dir, &answer, e);
    }
    session_dir_close(&dir);
    if (ret && r == 0)
        *ret = take_ptr(answer);
    free(answer);
    return r;
}

int sbr_session_close(const char *id, sbr_error *err)
{
    return sbr_session_finish(id, NULL, err);
}

/* A supervisor that was killed holds its lock until the kernel has taken it apart. */
static json_t *describe_dying(const struct session_dir *dir)
{
    scoped_free char *meta = session_dir_read(dir, SESSION_META);

    return meta ? session_client_remains(dir) : NULL; /* NULL: it has not begun */
}

static json_t *describe(const struct session_dir *dir)
{
    sbr_session *s;
    sbr_error ignored; /* it ends right now */
    char *text = NULL;
    json_t *info;

    if (!session_dir_is_alive(dir))
        return session_client_remains(dir);
    if (session_client_open(dir->id, &s, &ignored) < 0)
        return describe_dying(dir);
    (void)!sbr_session_call(s, "{\"op\": \"info\"}", &text, &ignored);
    info = json_read_own(text, 0);
    session_client_free(s);
    free(text);
    return info ? info : describe_dying(dir);
}

static int add_one(void *context, const struct session_dir *dir)
{
    json_t *info = describe(dir);

    if (info)
        json_array_append_new(context, info);
    return 0;
}

int sbr_session_list(char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    json_t *sessions, *all;
    int r;

    if (!ret)
        return err_set(e, SBR_E_INVALID, "session", "there is no place for the list");
    sessions = json_array();
    r = session_dir_each(add_one, sessions, e);
    all = json_pack("{s:o}", "sessions", sessions);
    *ret = r < 0 || !all ? NULL : json_dumps(all, JSON_COMPACT);
    json_decref(all);
    if (r == 0 && !*ret)
        r = err_set_oom(e, "session");
    return r;
}
