/* Changes as a diff like git's.  What cannot be shown as text is named, with sizes. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "changes/changeset_meta.h"
#include "changes/compare.h"
#include "changes/textdiff.h"
#include "model/executes.h"

#define STAGE "diff"
#define USUAL_TARGET "/work"
#define WORK_ALL ((uint64_t)256 << 20) /* steps of comparing, for all files */
#define WORK_FILE ((uint64_t)32 << 20)

#define BOLD "\x1b[1m"
#define RED "\x1b[31m"
#define GREEN "\x1b[32m"
#define YELLOW "\x1b[33m"
#define CYAN "\x1b[36m"
#define PLAIN "\x1b[0m"

struct show {
    const struct changes *changes;
    const struct diff_options *options;
    struct buf *out;
    size_t start; /* where ours begins in `out` */
    int content_fd;
    int root_fd;   /* of the real tree that is being shown; -1: it cannot be opened */
    uint64_t work; /* what is left */
};

static void start_color(const struct show *s, const char *color)
{
    if (s->options->color)
        buf_add_text(s->out, color);
}

static void end_line(const struct show *s)
{
    if (s->options->color)
        buf_add_text(s->out, PLAIN);
    buf_add_text(s->out, "\n");
}

/* `side` is "a/", "b/" or "".  In other trees than the usual one a path begins with the target. */
static void put_path(struct show *s, const char *side, const struct change *c, const char *path)
{
    const char *target = s->changes->roots[c->root].target;
    bool usual = !strcmp(target, USUAL_TARGET);
    scoped_free char *whole = NULL;

    if (side[0] && target[0] == '/')
        target++;
    whole = text_format("%s%s%s%s", side, usual ? "" : target, usual ? "" : "/", path);
    if (whole)
        visible_put_name(s->out, whole);
    else
        s->out->failed = true;
}

static void put_note(struct show *s, const char *what, const struct change *c, const char *rest)
{
    start_color(s, BOLD);
    buf_add_text(s->out, what);
    put_path(s, "", c, c->path);
    buf_add_text(s->out, rest);
    end_line(s);
}

static void put_header(struct show *s, const struct change *c)
{
    start_color(s, BOLD);
    buf_add_text(s->out, "diff --git ");
    put_path(s, "a/", c, c->from ? c->from : c->path);
    buf_add_text(s->out, " ");
    put_path(s, "b/", c, c->path);
    end_line(s);
}

static void put_mode(struct show *s, const char *what, const struct node *node)
{
    static const unsigned int types[N_NODE_KINDS] = {
        [NODE_FILE] = S_IFREG,
        [NODE_DIR] = S_IFDIR,
        [NODE_LINK] = S_IFLNK,
    };

    start_color(s, BOLD);
    /* Of a link the mode means nothing. */
    buf_printf(s->out, "%s %06o", what,
               types[node->kind] | (node->kind == NODE_LINK ? 0 : node->mode));
    end_line(s);
}

static void put_modes(struct show *s, const struct node *before, const struct node *after)
{
    if (after && !before)
        put_mode(s, "new file mode", after);
    else if (before && !after)
        put_mode(s, "deleted file mode", before);
    else if (before && after && before->mode != after->mode && after->kind != NODE_LINK) {
        put_mode(s, "old mode", before);
        put_mode(s, "new mode", after);
    }
}

/* "--- a/PATH": patch(1) wants a tab behind a name with spaces. */
static void put_file_line(struct show *s, const char *sign, const char *side,
                          const struct change *c)
{
    start_color(s, BOLD);
    buf_printf(s->out, "%s ", sign);
    if (side)
        put_path(s, side, c, c->path);
    else
        buf_add_text(s->out, "/dev/null");
    if (side && strchr(c->path, ' '))
        buf_add_text(s->out, "\t");
    end_line(s);
}

static void put_hunk_line(struct show *s, const char *line, size_t len)
{
    const char *color = *line == '-' ? RED : *line == '+' ? GREEN : *line == '@' ? CYAN : NULL;

    if (color)
        start_color(s, color);
    visible_put(s->out, line, len);
    if (color)
        end_line(s);
    else
        buf_add_text(s->out, "\n");
}

static bool is_too_long(const struct show *s, size_t lines)
{
    return s->options->max_lines && lines > s->options->max_lines;
}

static void put_hunk_lines(struct show *s, const struct buf *hunks)
{
    const char *at = hunks->data, *end = hunks->data + hunks->len;
    size_t lines = 0, left = 0;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);

        if (is_too_long(s, ++lines))
            left++;
        else
            put_hunk_line(s, at, len);
        at += len + 1;
    }
    if (left)
        buf_printf(s->out, "... %zu more lines\n", left);
}

static size_t room(const struct show *s)
{
    size_t used = s->out->len - s->start, max = s->options->max_bytes;

    return max == 0 ? s->out->max : used < max ? max - used : 0;
}

static void put_hunks(struct show *s, const struct change *c, const struct content *before,
                      const struct content *after)
{
    uint64_t work = s->work < WORK_FILE ? s->work : WORK_FILE, given = work;
    struct buf hunks;
    int r;

    buf_init(&hunks, room(s));
    r = textdiff((struct text){ before->data, before->len },
                 (struct text){ after->data, after->len }, &work, &hunks);
    s->work -= given - work;
    if (hunks.len > 0 || r < 0) {
        put_file_line(s, "---", before->there ? "a/" : NULL, c);
        put_file_line(s, "+++", after->there ? "b/" : NULL, c);
    }
    if (r == 0)
        put_hunk_lines(s, &hunks);
    else
        buf_add_text(s->out, "too many lines differ to be shown here\n");
    buf_done(&hunks);
}

static void put_sizes(struct show *s, const struct node *before, const struct node *after)
{
    char was[SIZE_TEXT_SIZE], is[SIZE_TEXT_SIZE];

    changes_size_text(before ? before->size : 0, was);
    changes_size_text(after ? after->size : 0, is);
    if (before && after && strcmp(was, is) != 0)
        buf_printf(s->out, "%s -> %s", was, is);
    else
        buf_add_text(s->out, after ? is : was);
}

static const char *const state_texts[] = {
    [CONTENT_TEXT] = "",
    [CONTENT_BINARY] = "binary, ",
    [CONTENT_HUGE] = "too large to be shown, ",
    [CONTENT_UNREADABLE] = "cannot be read, ",
    [CONTENT_CHANGED] = "the real one was changed since and is not compared, ",
};

/* A file or link: either side may be missing. */
static void show_file(struct show *s, const struct change *c, const struct node *before,
                      const struct node *after)
{
    struct content was = { 0 }, is = { 0 };
    enum diff_content_state state;
    size_t lines;

    put_header(s, c);
    put_modes(s, before, after);
    if (before)
        diff_content_before(&was, s->root_fd, c, s->options->max_file);
    if (after)
        diff_content_after(&is, s->content_fd, c, s->options->max_file);
    state = was.state > is.state ? was.state : is.state;
    lines = diff_content_lines(before ? &was : &is);
    if (state == CONTENT_TEXT && (!before || !after) && is_too_long(s, lines)) {
        buf_printf(s->out, "%zu lines, ", lines);
        put_sizes(s, before, after);
        buf_add_text(s->out, "\n");
    } else if (state == CONTENT_TEXT) {
        put_hunks(s, c, &was, &is);
    } else {
        buf_add_text(s->out, state_texts[state]);
        put_sizes(s, before, after);
        buf_add_text(s->out, "\n");
    }
    free(was.data);
    free(is.data);
}

static void show_dir(struct show *s, const struct change *c, bool deleted, const struct fold *fold)
{
    char size[SIZE_TEXT_SIZE], rest[100] = "";

    changes_size_text(fold->bytes, size);
    if (deleted && fold->files > FOLD_FILES)
        snprintf(rest, sizeof(rest), " with %" PRIu64 " files, %s", fold->files, size);
    put_note(s, deleted ? "deleted directory " : "created directory ", c, rest);
}

/* One side of a change, as if the other were not there. */
static void show_side(struct show *s, const struct change *c, bool deleted, const struct fold *fold)
{
    const struct node *node = deleted ? &c->base : &c->now;

    if (node->kind == NODE_DIR)
        show_dir(s, c, deleted, fold);
    else if (node->kind == NODE_OTHER)
        put_note(s, deleted ? "deleted " : "created ", c, ": a pipe, socket or device");
    else
        show_file(s, c, deleted ? node : NULL, deleted ? NULL : node);
}

static void show_renamed(struct show *s, const struct change *c)
{
    put_header(s, c);
    put_modes(s, &c->base, &c->now);
    start_color(s, BOLD);
    buf_add_text(s->out, "similarity index 100%\nrename from ");
    put_path(s, "", c, c->from);
    buf_add_text(s->out, "\nrename to ");
    put_path(s, "", c, c->path);
    end_line(s);
}

static void show_modified(struct show *s, const struct change *c, const struct fold *fold)
{
    if (c->now.kind == c->base.kind && (c->now.kind == NODE_FILE || c->now.kind == NODE_LINK)) {
        show_file(s, c, &c->base, &c->now);
        return;
    }
    show_side(s, c, true, fold);
    show_side(s, c, false, fold);
}

/* Also of what a folded directory hides. */
static void note_executed(struct show *s, const struct change *c)
{
    const char *what = executes_change(c);

    if (!what)
        return;
    start_color(s, YELLOW);
    buf_printf(s->out, "others execute what follows (%s): ", what);
    put_path(s, "", c, c->path);
    end_line(s);
}

static void show_change(struct show *s, const struct change *c, const struct fold *fold)
{
    switch (c->op) {
    case CHANGE_RENAMED:
        show_renamed(s, c);
        break;
    case CHANGE_MODE:
        put_header(s, c);
        put_modes(s, &c->base, &c->now);
        break;
    case CHANGE_MODIFIED:
        show_modified(s, c, fold);
        break;
    default:
        show_side(s, c, c->op == CHANGE_DELETED, fold);
        break;
    }
    if (!c->raced)
        return;
    start_color(s, YELLOW);
    buf_add_text(s->out, "the real one was changed while the program ran");
    end_line(s);
}

static void open_root(struct show *s, unsigned int root)
{
    if (s->root_fd >= 0)
        close(s->root_fd);
    s->root_fd =
        open(s->changes->roots[root].source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void show_all(struct show *s, const struct fold *folds)
{
    const struct changes *changes = s->changes;
    size_t left = 0, of_git = 0;

    for (size_t i = 0; i < changes->n; i++) {
        if (room(s))
            note_executed(s, &changes->items[i]);
        if (folds[i].hidden)
            continue;
        if (executes_is_bookkeeping(&changes->items[i])) {
            of_git++;
            continue;
        }
        if (room(s) == 0) {
            left++;
            continue;
        }
        if (i == 0 || changes->items[i].root != changes->items[i - 1].root || s->root_fd < 0)
            open_root(s, changes->items[i].root);
        show_change(s, &changes->items[i], &folds[i]);
    }
    if (of_git) {
        start_color(s, YELLOW);
        buf_printf(s->out, "and %zu of git's own files below .git, not shown", of_git);
        end_line(s);
    }
    if (left) {
        start_color(s, YELLOW);
        buf_printf(s->out, "and %zu more changes, not shown", left);
        end_line(s);
    }
}

int changes_diff(const struct changes *changes, int content_fd, const struct diff_options *options,
                 struct buf *out, sbr_error *err)
{
    scoped_free struct fold *folds = changes_fold(changes);
    struct show s = { .changes = changes,
                      .options = options,
                      .out = out,
                      .start = out->len,
                      .content_fd = content_fd,
                      .root_fd = -1,
                      .work = WORK_ALL };

    if (!folds)
        return err_set_oom(err, STAGE);
    show_all(&s, folds);
    if (s.root_fd >= 0)
        close(s.root_fd);
    return out->failed ? err_set_oom(err, STAGE) : 0;
}
