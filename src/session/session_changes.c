/* What the cells have changed in the project until now, and what of it was made real. */
#include <stdlib.h>

#include "base/json_read.h"
#include "changes/textdiff.h"
#include "session/supervisor.h"

#define DIFF_FILE ((uint64_t)1 << 20) /* larger files are only named */
#define DIFF_BYTES ((size_t)8 << 20)  /* of the whole diff */
#define PATHS_MAX 1000

static json_t *describe(const sbr_result *result)
{
    scoped_free char *text = NULL;
    json_t *answer;
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    changes_put_json(&j, result->changes);
    jsonw_close(&j, '}');
    text = jsonw_take(&j);
    answer = json_read_own(text, 0);
    if (!answer)
        return NULL;
    json_object_set_new(answer, "changes_id",
                        result->changes_id[0] ? json_string(result->changes_id) : json_null());
    if (result->diff)
        json_object_set_new(answer, "diff", json_string(result->diff));
    return answer;
}

json_t *session_changes_look(struct session *s, bool keep, sbr_error *err)
{
    const struct diff_options options = { .max_file = DIFF_FILE, .max_bytes = DIFF_BYTES };
    sbr_result *result = calloc(1, sizeof(*result));
    bool frozen = s->frozen;
    json_t *answer = NULL;

    if (!result) {
        err_set_oom(err, "session");
        return NULL;
    }
    kernel_freeze(s, false);
    if (runner_changes(s->job, keep, keep ? NULL : &options, result, err) == 0) {
        answer = describe(result);
        if (!answer)
            err_set_oom(err, "session");
    }
    kernel_freeze(s, frozen);
    result_free(result);
    return answer;
}

json_t *session_changes_applied(struct session *s, const char *id, const json_t *paths,
                                sbr_error *err)
{
    const char *list[PATHS_MAX];
    const json_t *path;
    size_t i, n = 0;

    json_array_foreach(paths, i, path)
        if (json_is_string(path) && n < PATHS_MAX)
            list[n++] = json_string_value(path);
    if (runner_applied(s->job, id, list, n, err) < 0)
        return NULL;
    return json_pack("{s:s}", "changes_id", id);
}
