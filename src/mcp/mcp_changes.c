/* show_changes and apply_changes: what runs over a project would do to it. */
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/text.h"
#include "changes/apply.h"
#include "changes/textdiff.h"
#include "lib/runner.h"
#include "mcp/mcp_internal.h"
#include "model/executes.h"

#define DIFF_MAX ((size_t)64 << 20)
#define CHARS 16000
#define SUMMARY_SIZE 240

bool mcp_changes_keep(struct mcp_server *server, const char *id)
{
    const struct mcp_host *host = server->settings.host;

    if (host)
        host->kept(host->context, id);
    return mcp_store_own(&server->store, MCP_CHANGES, id);
}

static const char *changes_id(struct mcp_call *call)
{
    const char *id = mcp_text(call->arguments, "changes_id");

    if (id && mcp_store_owns(&call->peer->server->store, MCP_CHANGES, id))
        return id;
    mcp_call_fail(call, "not_found: there are no such changes here; a run over a project returns "
                        "its changes_id, and so does close_session");
    return NULL;
}

#define NAMES_SHOWN 20

/* Those that others execute come first: a long list must not hide them. */
static void add_names(const struct changes *changes, bool executed, struct buf *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->items[i];
        const char *what = executes_change(c), *mark = executes_mark(c);
        char name[200];

        if (!what == executed || ++n > NAMES_SHOWN)
            continue;
        text_copy_visibly(name, sizeof(name), c->path, strlen(c->path));
        (void)buf_printf(ret, "\n- %s %s", change_op_name(c->op), name);
        if (what)
            (void)buf_printf(ret, " (%s: others execute it)", what);
        else if (mark)
            (void)buf_printf(ret, " (%s)", mark);
    }
    if (n > NAMES_SHOWN)
        (void)buf_printf(ret, "\n- and %zu more%s", n - NAMES_SHOWN,
                         executed ? " that others execute" : "");
}

/* What a person is asked: where, what, and how to look at it. */
static void add_question(const struct changeset *changeset, const char *summary, struct buf *ret)
{
    const struct changes *changes = &changeset->changes;

    (void)buf_add_text(ret, "Apply changes of a sandbox to ");
    for (size_t i = 0; i < changes->n_roots; i++) {
        (void)buf_add_text(ret, i ? ", " : "");
        (void)mcp_shape_visibly(changes->roots[i].source, strlen(changes->roots[i].source), ret);
    }
    (void)buf_printf(ret, "? Sandbox-run %s:", summary);
    add_names(changes, true, ret);
    add_names(changes, false, ret);
    (void)buf_printf(ret, "\n`sandbox-run changes diff %.12s` shows them in full.", changeset->id);
}

/* Each of the last two may be NULL. */
static int describe(const char *id, char summary[SUMMARY_SIZE], struct buf *diff,
                    struct buf *question, sbr_error *err)
{
    static const struct diff_options plain = { 0 };
    struct changeset changeset = { .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    int r;

    if (changeset_open(id, &changeset, err) < 0)
        return err->code;
    changes_summary(&changeset.changes, changeset.applied, summary, SUMMARY_SIZE);
    if (question)
        add_question(&changeset, summary, question);
    r = diff ? changes_diff(&changeset.changes, changeset.tree_fd, &plain, diff, err) : 0;
    changeset_close(&changeset);
    return r;
}

void mcp_show_changes(struct mcp_call *call)
{
    json_t *max = json_object_get(call->arguments, "max_chars");
    const char *id = changes_id(call);
    char summary[SUMMARY_SIZE];
    struct mcp_stream stream = { 0 };
    struct buf diff, text;
    sbr_error err = { 0 };
    bool cut;

    if (!id)
        return;
    buf_init(&diff, DIFF_MAX);
    buf_init(&text, DIFF_MAX);
    if (describe(id, summary, &diff, NULL, &err) < 0) {
        mcp_call_fail_by(call, &err);
    } else {
        stream.head = diff.len ? diff.data : "";
        stream.head_len = stream.bytes = diff.len;
        cut = mcp_shape_stream(&stream, max ? (size_t)json_integer_value(max) : CHARS,
                               "ask again with a larger max_chars", &text);
        call->structured = json_pack("{s:s, s:s, s:s, s:b}", "changes_id", id, "summary", summary,
                                     "diff", text.len ? text.data : "", "truncated", cut);
        mcp_call_say(call, summary, strlen(summary));
        if (text.len)
            mcp_call_say(call, text.data, text.len);
    }
    buf_done(&diff);
    buf_done(&text);
}

static int may_apply(const struct mcp_call *call, const char *id, sbr_error *err)
{
    const struct mcp_host *host = call->peer->server->settings.host;

    return host ? host->may_apply(host->context, id, err) : 0;
}

/* What others execute and `paths` did not name; NULL: nothing. */
static json_t *left_out(const char *report)
{
    sbr_error ignored;
    json_t *read =
        report ? json_read(report, strlen(report), &json_read_document, 0, "the report", &ignored)
               : NULL;
    json_t *list = json_incref(json_object_get(read, "left_out"));

    json_decref(read);
    return list;
}

/* A client of a host goes on record there. */
static int record(const struct mcp_call *call, const char *id, sbr_error *err)
{
    const struct mcp_settings *settings = &call->peer->server->settings;

    return settings->host ? 0 : runner_record_apply(settings->base, id, "mcp", err);
}

static void apply_now(struct mcp_call *call, const char *id)
{
    json_t *paths = json_object_get(call->arguments, "paths"), *path;
    const char **list = calloc(json_array_size(paths) + 1, sizeof(*list));
    scoped_free char *report = NULL;
    sbr_error err = { 0 };
    size_t i;

    json_array_foreach(paths, i, path)
        if (list)
            list[i] = json_string_value(path);
    if (!list)
        (void)err_set_oom(&err, "mcp");
    else if (may_apply(call, id, &err) == 0 && /* again: the answer took its time */
             record(call, id, &err) == 0)
        (void)sbr_changes_apply(id, paths ? list : NULL, NULL, &report, &err);
    free(list);
    if (err.code < 0) {
        mcp_call_fail_by(call, &err);
        if (report)
            mcp_call_say(call, report, strlen(report));
        return;
    }
    mcp_call_return(call, json_pack("{s:b, s:s, s:o*}", "applied", 1, "changes_id", id, "left_out",
                                    left_out(report)));
}

/* True: the person agreed. */
static bool is_agreed(struct mcp_call *call, const char *id)
{
    char summary[SUMMARY_SIZE];
    struct buf question;
    sbr_error err = { 0 };
    bool agreed = false;

    buf_init(&question, DIFF_MAX);
    /* A person is not asked about what would be refused after the answer. */
    if (may_apply(call, id, &err) < 0 || describe(id, summary, NULL, &question, &err) < 0)
        mcp_call_fail_by(call, &err);
    else
        agreed = mcp_ask_person(call, question.data);
    buf_done(&question);
    return agreed;
}

void mcp_apply_changes(struct mcp_call *call)
{
    const char *id = changes_id(call);

    if (id && (call->peer->server->settings.allow_apply || is_agreed(call, id)))
        apply_now(call, id);
}
