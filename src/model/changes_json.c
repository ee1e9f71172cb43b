/* Changes in the result; see docs/result.md. */
#include <stdio.h>
#include <string.h>

#include "model/changes.h"
#include "model/executes.h"

/* Escapes can make a name six times as long.  Beyond this many bytes, changes are only counted. */
#define CHANGES_JSON_BYTES ((size_t)16 << 20)
#define USUAL_TARGET "/work"

static void put_mode(struct jsonw *j, const char *key, uint32_t mode)
{
    char text[16];

    snprintf(text, sizeof(text), "%04o", mode & 07777);
    jsonw_text(j, key, text);
}

static void put_change(struct jsonw *j, const struct changes *changes, const struct change *c)
{
    const char *executes = executes_change(c), *mark = executes_mark(c);
    bool now = c->now.kind != NODE_NONE, before = c->base.kind != NODE_NONE;

    jsonw_open(j, NULL, '{');
    jsonw_text(j, "op", change_op_name(c->op));
    jsonw_path(j, "path", c->path);
    if (c->from)
        jsonw_path(j, "from", c->from);
    jsonw_text(j, "kind", changes_node_kind_name(now ? c->now.kind : c->base.kind));
    if (now) {
        jsonw_number(j, "size", c->now.size);
        put_mode(j, "mode", c->now.mode);
    } else {
        jsonw_number(j, "size", c->base.size); /* of the deleted file */
    }
    if (now && before && c->now.kind != c->base.kind)
        jsonw_text(j, "base_kind", changes_node_kind_name(c->base.kind));
    if (before) {
        jsonw_number(j, "base_size", c->base.size);
        put_mode(j, "base_mode", c->base.mode);
    }
    if (c->root < changes->n_roots && strcmp(changes->roots[c->root].target, USUAL_TARGET) != 0)
        jsonw_path(j, "volume", changes->roots[c->root].target);
    if (executes)
        jsonw_text(j, "executes", executes);
    else if (mark)
        jsonw_text(j, "mark", mark);
    if (c->raced)
        jsonw_bool(j, "raced", true);
    jsonw_close(j, '}');
}

void changes_put_json(struct jsonw *j, const struct changes *changes)
{
    char summary[200];
    size_t start = jsonw_len(j);

    if (!changes) {
        jsonw_null(j, "changes");
        jsonw_null(j, "changes_total");
        jsonw_null(j, "changes_summary");
        return;
    }
    jsonw_open(j, "changes", '[');
    for (size_t i = 0; i < changes->n && i < CHANGES_JSON_MAX; i++) {
        if (jsonw_len(j) - start > CHANGES_JSON_BYTES)
            break;
        put_change(j, changes, &changes->items[i]);
    }
    jsonw_close(j, ']');
    jsonw_number(j, "changes_total", changes->n);
    changes_summary(changes, false, summary, sizeof(summary));
    jsonw_text(j, "changes_summary", summary);
}
