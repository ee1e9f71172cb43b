/* session diff, session apply: what the cells have changed in the project until now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "cli/session_actions.h"
#include "model/executes.h"

int session_diff_run(const struct options *o, sbr_error *err)
{
    scoped_free char *json = NULL;
    json_t *answer;

    if (session_call(o->positional[1], json_pack("{s:s}", "op", "diff"), &json, err) < 0)
        return err->code;
    if (o->json) {
        session_print_json(json);
        return 0;
    }
    answer = json_read_own(json, 0);
    fputs(session_text(answer, "diff"), stdout);
    fflush(stdout);
    fprintf(stderr, "sandbox-run: %s\n", session_text(answer, "changes_summary"));
    json_decref(answer);
    return 0;
}

/* The paths that name what was applied; none: all but what others execute. */
static void add_paths(const struct changeset_options *own, const struct changeset *changeset,
                      const struct apply_options *words, json_t *paths)
{
    for (size_t i = 0; i < words->n_paths; i++)
        json_array_append_new(paths, json_string(words->paths[i]));
    if (!own->executed && !words->n_also)
        return;
    for (size_t i = 0; !words->n_paths && i < changeset->changes.n; i++)
        if (own->executed || !executes_change(&changeset->changes.items[i]))
            json_array_append_new(paths, json_string(changeset->changes.items[i].path));
    for (size_t i = 0; i < words->n_also; i++)
        json_array_append_new(paths, json_string(words->also[i]));
}

/* Without this, what was applied would look like a change from outside. */
static int tell(const struct options *o, const char *session, const char *id, sbr_error *err)
{
    const struct changeset_options *own = o->own;
    scoped_free char *json = NULL;
    struct changeset changeset;
    struct apply_options words = { 0 };
    json_t *paths = json_array();
    int r;

    if (changeset_open(id, &changeset, err) < 0) {
        json_decref(paths);
        return err->code;
    }
    r = changesets_words(o, &changeset, &words, err);
    if (r == 0)
        add_paths(own, &changeset, &words, paths);
    changesets_words_done(&words);
    changeset_close(&changeset);
    if (r < 0) {
        json_decref(paths);
        return r;
    }
    return session_call(session,
                        json_pack("{s:s, s:s, s:o}", "op", "applied", "changes_id", id, "paths",
                                  paths),
                        &json, err);
}

/* apply ID [PATH...]: the changes are kept first, so that `undo` can take them back. */
int session_apply_run(const struct options *o, sbr_error *err)
{
    scoped_free char *json = NULL, *id = NULL, **words = NULL;
    const char *session = o->positional[1];
    struct options apply = *o;
    json_t *answer;
    int r;

    if (session_call(session, json_pack("{s:s, s:b}", "op", "diff", "keep", 1), &json, err) < 0)
        return err->code;
    answer = json_read_own(json, 0);
    id = strdup(session_text(answer, "changes_id"));
    json_decref(answer);
    words = calloc(o->n_positional, sizeof(*words));
    if (!id || !words)
        return err_set_oom(err, "session");
    if (!id[0]) {
        if (o->json)
            session_print_json("{\"id\":null,\"applied\":0,\"conflicts\":[]}");
        else
            fputs("sandbox-run: no changes\n", stderr);
        return 0;
    }
    memcpy(words, o->positional + 1, (o->n_positional - 1) * sizeof(*words));
    words[0] = id;
    apply.positional = words;
    apply.n_positional = o->n_positional - 1;
    r = cmd_apply_run(&apply);
    if (r == 0 && tell(&apply, session, id, err) < 0)
        return err->code;
    return r;
}
