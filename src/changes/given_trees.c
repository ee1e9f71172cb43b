#include "changes/given_trees.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "base/listing.h"
#include "base/text.h"
#include "changes/state_dir.h"

#define META_MAX ((size_t)1 << 20)

/* A path is bytes and not always text: base64. */
static void add(json_t *to, const char *path, bool written)
{
    scoped_free char *text = encoding_to_base64(path, strlen(path));

    if (text)
        json_array_append_new(to, json_pack("{s:s, s:b}", "path", text, "written", written));
}

json_t *given_trees_describe(const sbr_request *req)
{
    json_t *list = json_array();

    if (req->project)
        add(list, req->project, false);
    for (size_t i = 0; i < req->n_volumes; i++)
        if (req->volumes[i].mode != VOLUME_RO)
            add(list, req->volumes[i].source, req->volumes[i].mode == VOLUME_RW);
    if (json_array_size(list))
        return list;
    json_decref(list);
    return NULL;
}

struct finding {
    const char *id;
    struct save_trees *trees;
    sbr_error *err;
};

static int take(const struct finding *f, const json_t *tree, bool own)
{
    const char *text = json_string_value(json_object_get(tree, "path"));
    bool written = json_is_true(json_object_get(tree, "written"));
    scoped_free char *path = NULL;
    size_t len = 0;

    if (!text || (!own && !written) || encoding_from_base64(text, &path, &len) < 0)
        return 0;
    return save_trees_add(f->trees, path, written, f->err);
}

static char *read_meta(int sessions_fd, const char *id)
{
    scoped_free char *name = text_format("%s/" GIVEN_TREES_FILE, id);
    scoped_fd int fd = name ? openat(sessions_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    char *text = NULL;
    sbr_error ignored;

    return fd >= 0 && fd_read_text(fd, META_MAX, &text, &(size_t){ 0 }, &ignored) == 0 ? text
                                                                                       : NULL;
}

/* A session that died has left its links. */
static int look(const struct finding *f, int sessions_fd, const char *id)
{
    bool own = f->id && !strncmp(id, f->id, strlen(f->id));
    scoped_free char *text = read_meta(sessions_fd, id);
    sbr_error ignored;
    json_t *meta =
        text ? json_read(text, strlen(text), &json_read_line, 0, GIVEN_TREES_FILE, &ignored) : NULL;
    const json_t *tree;
    size_t i;
    int r = 0;

    json_array_foreach(json_object_get(meta, GIVEN_TREES_KEY), i, tree) {
        if (r == 0)
            r = take(f, tree, own);
    }
    json_decref(meta);
    return r;
}

int given_trees_find(const char *id, struct save_trees *trees, sbr_error *err)
{
    const struct finding finding = { id, trees, err };
    scoped_listing struct listing names = { 0 };
    struct state_dir all;
    int r = state_open(STATE_SESSIONS, false, &all, err);

    if (r <= 0)
        return r;
    r = listing_read_unsorted(all.fd, &names) < 0 ? state_fail("read", all.path, err) : 0;
    for (size_t i = 0; r == 0 && i < names.n; i++)
        r = look(&finding, all.fd, names.names[i]);
    state_close(&all);
    return r;
}
