/* Routes of /v1/changes: what runs with `keep` have left for the tenant to look at and to apply.
 *
 * Changes are applied only where all their trees are roots that the tenant may write to. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "changes/apply.h"
#include "changes/textdiff.h"
#include "config/audit.h"
#include "http/handlers.h"
#include "http/offload.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/route.h"
#include "http/server.h"
#include "http/submission.h"

#define DIFF_MAX ((size_t)64 << 20)
#define PATHS_MAX 1000

/* A changeset that is only known by its id. */
static const struct changeset closed = { .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };

/* A tree that is no root of the tenant has no name here. */
static void forget_sources(json_t *about)
{
    const json_t *roots = json_object_get(about, "roots");
    json_t *root;
    size_t i;

    json_array_foreach(roots, i, root) {
        const char *source = json_string_value(json_object_get(root, "source"));

        if (source && source[0] == '/')
            json_object_set_new(root, "source", json_null());
    }
}

static json_t *describe(const struct offload *o, const struct changeset *changeset, bool whole)
{
    struct jsonw j;
    json_t *about;
    char *text;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    changeset_put_json(&j, changeset);
    if (whole) {
        changes_put_json(&j, &changeset->changes);
        output_files_put_json(&j, &changeset->files);
    }
    jsonw_close(&j, '}');
    text = roots_hide(&o->server->roots, o->tenant.name, jsonw_take(&j));
    about = json_read_own(text, JSON_ALLOW_NUL);
    free(text);
    forget_sources(about);
    return about;
}

static char *dump(json_t *take_tree)
{
    char *text = take_tree ? json_dumps(take_tree, JSON_COMPACT) : NULL;

    json_decref(take_tree);
    return text;
}

struct changes_rows {
    struct offload *o;
    json_t *rows;
};

static int add_row(void *context, const struct changeset *changeset)
{
    const struct changes_rows *rows = context;

    if (!changeset->damaged &&
        (rows->o->tenant.local || ownership_has_changes(&rows->o->tenant, changeset->id)))
        json_array_append_new(rows->rows, describe(rows->o, changeset, false));
    return 0;
}

static int list_changes(struct offload *o, sbr_error *err)
{
    struct changes_rows rows = { o, json_array() };
    int r = changeset_list(add_row, &rows, err);

    o->body = dump(json_pack("{s:o}", "changes", rows.rows));
    return r;
}

void kept_changes_list(struct exchange *x)
{
    offload_start(x, &(struct offload){ .work = list_changes });
}

static int show_changes(struct offload *o, sbr_error *err)
{
    struct changeset changeset = closed;

    if (changeset_open(o->words[0], &changeset, err) < 0)
        return err->code;
    o->body = dump(describe(o, &changeset, true));
    changeset_close(&changeset);
    return 0;
}

static int diff_changes(struct offload *o, sbr_error *err)
{
    const struct diff_options how = { .color = false };
    struct changeset changeset = closed;
    struct buf text;
    int r;

    if (changeset_open(o->words[0], &changeset, err) < 0)
        return err->code;
    buf_init(&text, DIFF_MAX);
    r = changes_diff(&changeset.changes, changeset.tree_fd, &how, &text, err);
    changeset_close(&changeset);
    o->exact = true;
    o->len = text.len;
    o->body = buf_take(&text, NULL);
    return r;
}

static int drop_changes(struct offload *o, sbr_error *err)
{
    int r = sbr_changes_drop(o->words[0], err);

    if (r == 0)
        ownership_forget_changes(o->words[0]);
    return r;
}

/* Starts the work for the changes of the path; replies when they are not the tenant's. */
static void start(struct exchange *x, struct offload *o)
{
    const char *id = x->words[0];
    sbr_error err;

    if (encoding_is_hex(id, ENCODING_ID_SIZE - 1) &&
        (x->tenant.local || ownership_has_changes(&x->tenant, id))) {
        o->words[0] = strdup(id);
        offload_start(x, o);
        return;
    }
    json_decref(o->extra);
    err_set(&err, SBR_E_NOT_FOUND, "changes", "no changes of this id are kept");
    problem_reply_error(x, &err);
}

void kept_changes_get(struct exchange *x)
{
    start(x, &(struct offload){ .work = show_changes });
}

void kept_changes_read_diff(struct exchange *x)
{
    start(x, &(struct offload){ .work = diff_changes, .type = x->route->type });
}

void kept_changes_remove(struct exchange *x)
{
    start(x, &(struct offload){ .work = drop_changes });
}

static int check_roots(const struct server *server, const char *tenant, const char *id,
                       sbr_error *err)
{
    struct changeset changeset = closed;
    bool allowed = true;

    if (changeset_open(id, &changeset, err) < 0)
        return err->code;
    for (size_t i = 0; i < changeset.changes.n_roots; i++)
        allowed &= roots_are_writable(&server->roots, tenant, changeset.changes.roots[i].source);
    changeset_close(&changeset);
    return allowed ? 0
                   : err_set(err, SBR_E_DENIED, "changes",
                             "these changes are of a tree that the tenant may not write to; ask "
                             "the operator for a root with `mode: rw`");
}

int kept_changes_may_change(const struct server *server, const char *tenant, const char *id,
                            const char *how, sbr_error *err)
{
    const struct audit_field fields[] = { { "changes", id }, { "caller", tenant } };

    if (check_roots(server, tenant, id, err) < 0)
        return err->code;
    return server->config.audit ? audit_note(how, fields, ARRAY_LEN(fields), err) : 0;
}

/* Conflicts are a problem with the report in it. */
static void describe_conflicts(struct offload *o, char *report, const sbr_error *err)
{
    json_t *problem = json_read_own(report, 0);

    if (!problem)
        return;
    json_object_set_new(problem, "type", json_string("urn:sandbox-run:problem:conflict"));
    json_object_set_new(problem, "title", json_string("Another request is in the way"));
    json_object_set_new(problem, "status", json_integer(HTTP_CONFLICT));
    json_object_set_new(problem, "code", json_string("conflict"));
    json_object_set_new(problem, "detail", json_string(err->message));
    o->status = HTTP_CONFLICT;
    o->type = PROBLEM_TYPE;
    o->body = roots_hide(&o->server->roots, o->tenant.name, dump(problem));
}

/* The texts of a list of the body, with a NULL behind them; borrowed. */
static void take_list(const json_t *list, const char *ret[PATHS_MAX + 1])
{
    const json_t *item;
    size_t i, n = 0;

    json_array_foreach(list, i, item)
        if (n < PATHS_MAX && json_is_string(item))
            ret[n++] = json_string_value(item);
    ret[n] = NULL;
}

static int change(struct offload *o, bool undo, sbr_error *err)
{
    const char *paths[PATHS_MAX + 1], *force[PATHS_MAX + 1];
    char *report = NULL;
    int r;

    take_list(json_object_get(o->extra, "paths"), paths);
    take_list(json_object_get(o->extra, "force"), force);
    if (kept_changes_may_change(o->server, o->tenant.name, o->words[0], undo ? "undo" : "apply",
                                err) < 0)
        return err->code;
    r = undo ? sbr_changes_undo(o->words[0], force, &report, err)
             : sbr_changes_apply(o->words[0], paths[0] ? paths : NULL, force, &report, err);
    if (r == SBR_E_DENIED)
        describe_conflicts(o, report, err);
    else
        o->body = take_ptr(report);
    free(report);
    return r == SBR_E_DENIED && o->body ? 0 : r;
}

static int apply_changes(struct offload *o, sbr_error *err)
{
    return change(o, false, err);
}

static int undo_changes(struct offload *o, sbr_error *err)
{
    return change(o, true, err);
}

static void forget_body(struct offload *o, const sbr_error *err)
{
    (void)err;
    json_decref(o->extra);
}

static bool is_list(struct exchange *x, const json_t *body, const char *key)
{
    const json_t *list = json_object_get(body, key), *item;
    bool good = !list || (json_is_array(list) && json_array_size(list) <= PATHS_MAX);
    size_t i;

    json_array_foreach(list, i, item)
        good &= json_is_string(item);
    if (!good)
        problem_reply(x, &(struct problem){ .status = HTTP_UNPROCESSABLE_CONTENT,
                                            .detail = "a list of at most 1000 paths is wanted",
                                            .field = key });
    return good;
}

static void start_change(struct exchange *x, int (*work)(struct offload *o, sbr_error *err))
{
    json_t *body = submission_body(x);

    if (!body)
        return;
    if (is_list(x, body, "paths") && is_list(x, body, "force"))
        start(x, &(struct offload){ .work = work, .done = forget_body, .extra = body });
    else
        json_decref(body);
}

void kept_changes_apply(struct exchange *x)
{
    start_change(x, apply_changes);
}

void kept_changes_undo(struct exchange *x)
{
    start_change(x, undo_changes);
}
