#include "cli/session_actions.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "base/text.h"
#include "changes/given_trees.h"
#include "changes/textdiff.h"
#include "cli/settings.h"
#include "cli/source.h"

#define DIFF_MAX ((size_t)1 << 20)
#define DIFF_WORK ((uint64_t)1 << 24)

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int read_duration(const char *option, const char *text, uint64_t *ret, sbr_error *err)
{
    enum text_fault fault = text ? text_parse_duration(text, ret) : TEXT_OK;

    if (fault != TEXT_OK || (text && !*ret))
        return err_set(err, SBR_E_INVALID, "session", "--%s '%.40s' %s; give a time such as 10m",
                       option, text, fault ? text_fault_reason(fault) : "is nothing");
    return 0;
}

int session_read_bounds(const struct options *o, sbr_session_bounds *ret, sbr_error *err)
{
    const struct session_options *own = o->own;

    *ret = (sbr_session_bounds){ .struct_size = sizeof(*ret) };
    if (read_duration("idle", own->idle, &ret->idle_ms, err) < 0 ||
        read_duration("age", own->age, &ret->age_ms, err) < 0)
        return err->code;
    return read_duration("freeze", own->freeze, &ret->freeze_ms, err);
}

int session_bring_files(const struct options *o, sbr_error *err)
{
    for (size_t i = 0; i < o->files.n; i++) {
        scoped_free char *data = NULL;
        size_t len;

        if (source_read_path(o->files.items[i], &data, &len, err) < 0 ||
            request_add_file(o->request, base_name(o->files.items[i]), data, len, err) < 0)
            return err->code;
    }
    return 0;
}

void session_print_closed(const char *json, const struct options *o)
{
    json_t *answer = json_read_own(json, JSON_ALLOW_NUL);
    const char *changes = session_text(answer, "changes_id");

    if (o->json)
        session_print_json(json);
    else if (changes[0])
        printf("changes are kept; `sandbox-run apply %s` makes them real\n", changes);
    json_decref(answer);
}

int session_ask(const struct options *o, const char *request, sbr_error *err)
{
    scoped_free char *json = NULL;
    sbr_session *s = NULL;
    int r = sbr_session_open(o->positional[1], &s, err);

    if (r == 0)
        r = sbr_session_call(s, request, &json, err);
    if (r == 0)
        session_print_answer(o, json);
    sbr_session_free(s);
    return r;
}

int session_restart_run(const struct options *o, sbr_error *err)
{
    return session_ask(o, "{\"op\": \"restart\"}", err);
}

int session_checkpoint_run(const struct options *o, sbr_error *err)
{
    return session_ask(o, "{\"op\": \"checkpoint\"}", err);
}

/* Asks for each further word; the answers are printed with --json. */
static int grant(const struct options *o, const char *op, const char *key, sbr_error *err)
{
    for (size_t i = 2; i < o->n_positional; i++) {
        scoped_free char *json = NULL;

        if (session_call(o->positional[1], json_pack("{s:s, s:s}", "op", op, key, o->positional[i]),
                         &json, err) < 0)
            return err->code;
        if (o->json)
            session_print_json(json);
    }
    return 0;
}

/* allow ID HOST...: the living session may reach them, too. */
int session_allow_run(const struct options *o, sbr_error *err)
{
    return grant(o, "allow", "host", err);
}

/* dep ID NAME...: the living session gets the packages. */
int session_dep_run(const struct options *o, sbr_error *err)
{
    return grant(o, "dep", "name", err);
}

/* fork ID: prints the id of the new session. */
int session_fork_run(const struct options *o, sbr_error *err)
{
    scoped_free char *json = NULL;
    json_t *made;

    if (session_call(o->positional[1], json_pack("{s:s}", "op", "fork"), &json, err) < 0)
        return err->code;
    if (o->json) {
        session_print_json(json);
        return 0;
    }
    made = json_read_own(json, 0);
    printf("%s\n", session_text(made, "id"));
    json_decref(made);
    return 0;
}

/* rollback ID N: the state before cell N. */
int session_rollback_run(const struct options *o, sbr_error *err)
{
    scoped_free char *request = NULL;
    uint64_t cell;

    if (text_parse_count(o->positional[2], &cell) != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "session", "'%.40s' is no number of a cell",
                       o->positional[2]);
    request = text_format("{\"op\": \"rollback\", \"cell\": %llu}", (unsigned long long)cell);
    return request ? session_ask(o, request, err) : err_set_oom(err, "session");
}

int session_reload_run(const struct options *o, sbr_error *err)
{
    return session_ask(o, "{\"op\": \"reload\"}", err);
}

int session_metrics_run(const struct options *o, sbr_error *err)
{
    return session_ask(o, "{\"op\": \"metrics\"}", err);
}

void session_print_limits(const json_t *limits)
{
    for (size_t i = 0; i < N_LIMITS; i++) {
        const char *name = limit_defs[i].name;
        const json_t *value = json_object_get(json_object_get(limits, "cell"), name);
        char text[32];
        double number;

        value = value ? value : json_object_get(json_object_get(limits, "session"), name);
        number = json_number_value(value) * (limit_defs[i].unit == LIMIT_MILLIS ? 1000 : 1);
        limits_format((enum sbr_limit)i, json_is_number(value) ? (uint64_t)number : LIMIT_NONE,
                      text, sizeof(text));
        printf("--%-14s %-8s %s\n", limit_defs[i].option, text, limit_defs[i].help);
    }
}

int session_limits_run(const struct options *o, sbr_error *err)
{
    scoped_free char *json = NULL;
    json_t *limits;

    if (o->json)
        return session_ask(o, "{\"op\": \"limits\"}", err);
    if (session_call(o->positional[1], json_pack("{s:s}", "op", "limits"), &json, err) < 0)
        return err->code;
    limits = json_read_own(json, 0);
    session_print_limits(limits);
    json_decref(limits);
    return 0;
}

int session_call(const char *id, json_t *take_request, char **ret, sbr_error *err)
{
    scoped_free char *text = take_request ? json_dumps(take_request, JSON_COMPACT) : NULL;
    sbr_session *s = NULL;
    int r = text ? sbr_session_open(id, &s, err) : err_set_oom(err, "session");

    json_decref(take_request);
    if (r == 0)
        r = sbr_session_call(s, text, ret, err);
    sbr_session_free(s);
    return r;
}

int session_files_run(const struct options *o, sbr_error *err)
{
    scoped_free char *json = NULL;
    json_t *answer, *file;
    size_t i;

    if (session_call(o->positional[1], json_pack("{s:s}", "op", "files"), &json, err) < 0)
        return err->code;
    if (o->json) {
        session_print_json(json);
        return 0;
    }
    answer = json_read_own(json, JSON_ALLOW_NUL);
    json_array_foreach(json_object_get(answer, "files"), i, file)
        printf("%10lld  %s\n", (long long)json_integer_value(json_object_get(file, "size")),
               session_text(file, "path"));
    json_decref(answer);
    return 0;
}

/* put ID FILE|- [PATH]: a file of the host, or stdin, becomes one of the session. */
int session_put_run(const struct options *o, sbr_error *err)
{
    scoped_free char *data = NULL, *base64 = NULL, *json = NULL;
    const char *from = o->positional[2];
    bool from_stdin = !strcmp(from, "-");
    size_t len;

    if (from_stdin && o->n_positional < 4)
        return err_set(err, SBR_E_INVALID, "session",
                       "say how the file is called inside: `session put ID - PATH`");
    if ((from_stdin ? fd_read_text(STDIN_FILENO, REQUEST_MAX_BYTES, &data, &len, err)
                    : source_read_path(from, &data, &len, err)) < 0)
        return err->code;
    base64 = encoding_to_base64(data, len);
    if (!base64)
        return err_set_oom(err, "session");
    if (session_call(o->positional[1],
                     json_pack("{s:s, s:s, s:s}", "op", "put", "path",
                               o->n_positional > 3 ? o->positional[3] : base_name(from), "data_b64",
                               base64),
                     &json, err) < 0)
        return err->code;
    if (o->json)
        session_print_json(json);
    return 0;
}

static void print_taken(json_t *take_answer)
{
    scoped_free char *text = json_dumps(take_answer, JSON_COMPACT);

    json_decref(take_answer);
    session_print_json(text ? text : "null");
}

int session_open_file(const char *id, const char *path, struct save_file *file, sbr_error *err)
{
    scoped_save_trees struct save_trees trees = { 0 };

    if (!path)
        return 0;
    return given_trees_find(id, &trees, err) < 0 ? err->code
                                                 : save_file_open(file, path, &trees, err);
}

/* get ID PATH [FILE]: without a file, to stdout. */
int session_get_run(const struct options *o, sbr_error *err)
{
    const char *file = o->n_positional > 3 ? o->positional[3] : NULL;
    scoped_save_file struct save_file to = SAVE_FILE_NONE;
    scoped_free char *json = NULL, *data = NULL;
    json_t *answer;
    size_t len = 0;
    int r;

    if (session_open_file(o->positional[1], file, &to, err) < 0)
        return err->code;
    if (session_call(o->positional[1],
                     json_pack("{s:s, s:s}", "op", "get", "path", o->positional[2]), &json,
                     err) < 0)
        return err->code;
    if (o->json && !file) {
        session_print_json(json);
        return 0;
    }
    answer = json_read_own(json, JSON_ALLOW_NUL);
    r = encoding_from_base64(session_text(answer, "data_b64"), &data, &len);
    json_decref(answer);
    if (r < 0)
        return err_set_oom(err, "session");
    if (!file)
        fwrite(data, 1, len, stdout);
    else if (save_file_write(&to, data, len, err) < 0)
        return err->code;
    if (file && o->json)
        print_taken(json_pack("{s:s, s:I, s:s}", "path", o->positional[2], "size", (json_int_t)len,
                              "file", file));
    return 0;
}

int session_export_run(const struct options *o, sbr_error *err)
{
    const struct session_options *own = o->own;
    const char *file = o->n_positional > 2 ? o->positional[2] : NULL;
    const char *format = own->format ? own->format : "ipynb";
    scoped_save_file struct save_file to = SAVE_FILE_NONE;
    scoped_free char *text = NULL;

    if (session_open_file(o->positional[1], file, &to, err) < 0 ||
        sbr_session_export(o->positional[1], format, &text, err) < 0 ||
        (file && save_file_write(&to, text, strlen(text), err) < 0))
        return err->code;
    if (o->json)
        print_taken(json_pack("{s:s, s:I, s:s?, s:s*}", "format", format, "size",
                              (json_int_t)strlen(text), "file", file, "text", file ? NULL : text));
    else if (!file)
        fputs(text, stdout);
    return 0;
}

/* Everything that a cell printed and showed, as one text. */
static char *shown_text(const json_t *side)
{
    const char *out = session_text(side, "stdout"), *error = session_text(side, "error");
    const json_t *value;
    struct buf text;
    size_t i;

    buf_init(&text, SIZE_MAX / 2);
    buf_printf(&text, "%s%s", out, out[0] && out[strlen(out) - 1] != '\n' ? "\n" : "");
    json_array_foreach(json_object_get(side, "display"), i, value)
        buf_printf(&text, "%s\n", json_string_value(value));
    if (error[0])
        buf_printf(&text, "%s\n", error);
    return buf_take(&text, &(size_t){ 0 });
}

static void print_difference(const json_t *one)
{
    scoped_free char *expected = shown_text(json_object_get(one, "expected"));
    scoped_free char *found = shown_text(json_object_get(one, "found"));
    uint64_t work = DIFF_WORK;
    struct buf diff;

    buf_init(&diff, DIFF_MAX);
    printf("cell %lld differs: - as recorded, + now\n",
           (long long)json_integer_value(json_object_get(one, "cell")));
    if (expected && found &&
        textdiff((struct text){ expected, strlen(expected) }, (struct text){ found, strlen(found) },
                 &work, &diff) == 0)
        fwrite(diff.data, 1, diff.len, stdout);
    buf_done(&diff);
}

/* 0: everything came as it was recorded; 1: not. */
static int show_replay(const char *json, const struct options *o)
{
    json_t *report = json_read_own(json, JSON_ALLOW_NUL), *one;
    const json_t *different = json_object_get(report, "different");
    int status = json_array_size(different) || json_is_true(json_object_get(report, "lost"));
    size_t i;

    if (o->json)
        session_print_json(json);
    else
        json_array_foreach(different, i, one)
            print_difference(one);
    json_decref(report);
    return status;
}

/* A new session with the options; *ret_made becomes its description. */
static int make_session(const struct options *o, const char *language, char **ret_made,
                        sbr_session **ret, sbr_error *err)
{
    sbr_session_bounds bounds;
    json_t *made;
    int r;

    if (request_set_text(&o->request->language, o->lang ? o->lang : language, err) < 0 ||
        session_bring_files(o, err) < 0 || session_read_bounds(o, &bounds, err) < 0 ||
        settings_apply(o, err) < 0 || sbr_session_create(o->request, &bounds, ret_made, err) < 0)
        return err->code;
    made = json_read_own(*ret_made, 0);
    r = sbr_session_open(session_text(made, "id"), ret, err);
    json_decref(made);
    return r;
}

/* In a session of its own, which ends with it. */
static int replay_alone(const struct options *o, const char *text, size_t len, char **ret,
                        sbr_error *err)
{
    scoped_free char *language = NULL, *made = NULL;
    sbr_session *s = NULL;
    sbr_error ignored;
    json_t *session;
    int r = o->lang ? 0 : sbr_notebook_language(text, len, &language, err);

    if (r == 0)
        r = make_session(o, language, &made, &s, err);
    if (r == 0)
        r = sbr_session_replay(s, text, len, ret, err);
    sbr_session_free(s);
    session = json_read_own(made, 0);
    if (session)
        (void)!sbr_session_close(session_text(session, "id"), &ignored);
    json_decref(session);
    return r;
}

/* replay [ID] FILE */
int session_replay_run(const struct options *o, sbr_error *err)
{
    bool alone = o->n_positional == 2;
    scoped_free char *text = NULL, *json = NULL;
    sbr_session *s = NULL;
    size_t len;
    int r;

    if (source_read_path(o->positional[alone ? 1 : 2], &text, &len, err) < 0 ||
        (!alone && sbr_session_open(o->positional[1], &s, err) < 0))
        return err->code;
    r = alone ? replay_alone(o, text, len, &json, err)
              : sbr_session_replay(s, text, len, &json, err);
    sbr_session_free(s);
    return r < 0 ? r : show_replay(json, o);
}

static int restore(const struct options *o, sbr_error *err)
{
    scoped_free char *book = NULL, *made = NULL, *json = NULL, *language = NULL;
    sbr_session *s = NULL;
    json_t *answer;
    int r;

    if (sbr_session_export(o->positional[1], "ipynb", &book, err) < 0 ||
        sbr_notebook_language(book, strlen(book), &language, err) < 0)
        return err->code;
    r = make_session(o, language, &made, &s, err);
    if (r == 0)
        session_words_keep(made, true);
    if (r == 0)
        r = sbr_session_replay(s, book, strlen(book), &json, err);
    sbr_session_free(s);
    if (r == 0 && o->json) {
        session_print_json(made);
    } else if (r == 0) {
        answer = json_read_own(made, 0);
        printf("%s\n", session_text(answer, "id"));
        json_decref(answer);
    }
    return r;
}

/* restore ID: a new session that executes what a lost one had executed; options as of create. */
int session_restore_run(const struct options *o, sbr_error *err)
{
    if (session_words_again(o->positional[1], o, err) < 0)
        return err->code;
    return o->stream ? session_stream_answers(o, restore, err) : restore(o, err);
}
