/* Public functions for changesets: check arguments, translate, no logic. */
#include "base/jsonw.h"
#include "changes/apply.h"

typedef int work(struct changeset *changeset, const struct apply_options *options,
                 struct apply_report *report, sbr_error *err);

static size_t count(const char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

static char *report_to_json(const struct apply_report *report)
{
    struct jsonw j;

    jsonw_init(&j, true);
    jsonw_open(&j, NULL, '{');
    apply_report_put_json(&j, report, "applied");
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}

/* Returns the report on failure, too, because it has the conflicts. */
static int with_kept(const char *id, const struct apply_options *options, work *do_it,
                     char **ret_report, sbr_error *err)
{
    struct apply_report report = { 0 };
    struct changeset changeset;
    int r = changeset_open(id, &changeset, err);

    if (ret_report)
        *ret_report = NULL;
    if (r < 0)
        return r;
    r = do_it(&changeset, options, &report, err);
    if (ret_report)
        *ret_report = report_to_json(&report);
    apply_report_done(&report);
    changeset_close(&changeset);
    return r;
}

static int no_id(sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "changes", "the id of the changes is missing");
}

int sbr_changes_apply(const char *id, const char *const *paths, const char *const *force,
                      char **ret_report, sbr_error *err)
{
    struct apply_options options = {
        .paths = paths, .n_paths = count(paths), .force = force, .n_force = count(force)
    };
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    return id ? with_kept(id, &options, apply, ret_report, e) : no_id(e);
}

int sbr_changes_undo(const char *id, const char *const *force, char **ret_report, sbr_error *err)
{
    struct apply_options options = { .force = force, .n_force = count(force) };
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    return id ? with_kept(id, &options, apply_undo, ret_report, e) : no_id(e);
}

int sbr_changes_drop(const char *id, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    return id ? changeset_drop(id, e) : no_id(e);
}
