#include "work/golden_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "changes/textdiff.h"
#include "work/normalize.h"

#define DIFF_WORK 2000000
#define DIFF_BYTES (1 << 20)
#define SHOWN_BYTES 1800

static int normalized(const struct golden_case *c, const char *data, size_t len, struct buf *out,
                      sbr_error *err)
{
    buf_init(out, SIZE_MAX / 2);
    buf_add_text(out, "");
    if (memchr(data, '\0', len))
        buf_add(out, data, len);
    else
        (void)normalize_text(c->normalizers, data, len, out);
    return out->failed ? err_set_oom(err, "golden") : 0;
}

/* The first hunk: what is further down often follows from it. */
static void add_first_hunk(struct buf *out, struct buf *diff)
{
    const char *second = diff->len > 3 ? memmem(diff->data + 3, diff->len - 3, "\n@@ ", 4) : NULL;
    size_t len = second ? (size_t)(second - diff->data) + 1 : diff->len;

    if (len > SHOWN_BYTES) {
        const char *end = memrchr(diff->data, '\n', SHOWN_BYTES);

        len = end ? (size_t)(end - diff->data) + 1 : SHOWN_BYTES;
    }
    buf_add(out, diff->data, len);
}

/* True when they differ; `what` begins the message. */
static int compare_texts(const struct golden_case *c, const char *what, struct text before,
                         struct text after, struct buf *out, sbr_error *err)
{
    struct buf expected, diff;
    uint64_t work = DIFF_WORK;

    if (normalized(c, before.data, before.len, &expected, err) < 0)
        return err->code;
    if (expected.len == after.len && !memcmp(expected.data, after.data, after.len)) {
        buf_done(&expected);
        return 0;
    }
    buf_printf(out, "%s differs: - expected, + now\n", what);
    buf_init(&diff, DIFF_BYTES);
    (void)!textdiff((struct text){ expected.data, expected.len }, after, &work, &diff);
    if (diff.len)
        add_first_hunk(out, &diff);
    buf_done(&diff);
    buf_done(&expected);
    return 1;
}

static const struct request_file *find(const struct request_file *files, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(files[i].path, path))
            return &files[i];
    return NULL;
}

static int compare_trees(const struct golden_case *c, const struct golden_now *now, struct buf *out,
                         sbr_error *err)
{
    for (size_t i = 0; i < c->n_tree; i++) {
        const struct request_file *is = find(now->tree, now->n_tree, c->tree[i].path);
        scoped_free char *what = text_format("tree/%s", c->tree[i].path);
        int r;

        if (!is) {
            buf_printf(out, "tree/%s is expected, and the command did not write it\n",
                       c->tree[i].path);
            return 1;
        }
        r = compare_texts(c, what ? what : "tree", (struct text){ c->tree[i].data, c->tree[i].len },
                          (struct text){ is->data, is->len }, out, err);
        if (r != 0)
            return r;
        if (is->executable != c->tree[i].executable) {
            buf_printf(out, "tree/%s is %sexecutable now\n", c->tree[i].path,
                       is->executable ? "" : "not ");
            return 1;
        }
    }
    for (size_t i = 0; i < now->n_tree; i++)
        if (!find(c->tree, c->n_tree, now->tree[i].path)) {
            buf_printf(out, "tree/%s is written now, and was not expected\n", now->tree[i].path);
            return 1;
        }
    return 0;
}

int golden_compare(const struct golden_case *c, const struct golden_now *now, struct buf *out,
                   sbr_error *err)
{
    int r = 0;

    if (!golden_case_is_known(c)) {
        buf_add_text(out, "nothing says what is expected; --update takes what there is now\n");
        return 0;
    }
    if (now->status != c->status)
        buf_printf(out, "status %d, expected %d\n", now->status, c->status);
    if (c->out.data)
        r = compare_texts(c, "stdout", (struct text){ c->out.data, c->out.len },
                          (struct text){ now->out.data, now->out.len }, out, err);
    if (r == 0 && c->err.data)
        r = compare_texts(c, "stderr", (struct text){ c->err.data, c->err.len },
                          (struct text){ now->err.data, now->err.len }, out, err);
    if (r == 0 && c->has_tree)
        r = compare_trees(c, now, out, err);
    return r < 0 ? r : 0;
}

static void add_quoted(struct buf *out, const char *folder, const char *part, const char *path)
{
    const char *const words[] = { strcmp(folder, ".") ? folder : "", strcmp(folder, ".") ? "/" : "",
                                  part, path };

    buf_add_text(out, "'./");
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        for (const char *at = words[i]; *at; at++)
            if (*at == '\'')
                buf_add_text(out, "'\\''");
            else
                buf_add(out, at, 1);
    buf_add_text(out, "'");
}

/* Base64 in a here-document: any bytes pass, and the shell reads none of them. */
static void add_write(struct buf *out, const char *folder, const char *part, const char *path,
                      struct text text, bool executable)
{
    scoped_free char *encoded = encoding_to_base64(text.data ? text.data : "", text.len);

    buf_add_text(out, "put ");
    add_quoted(out, folder, part, path);
    buf_printf(out, " <<'E' || exit 1\n%s\nE\n", encoded ? encoded : "!");
    if (!part[0] || strcmp(part, "tree/") != 0)
        return;
    buf_printf(out, "chmod %cx ", executable ? '+' : '-');
    add_quoted(out, folder, part, path);
    buf_add_text(out, "\n");
}

static void add_tree(const struct golden_case *c, const struct golden_now *now, struct buf *out)
{
    for (size_t i = 0; i < c->n_tree; i++)
        if (!find(now->tree, now->n_tree, c->tree[i].path)) {
            buf_add_text(out, "rm -f ");
            add_quoted(out, c->name, "tree/", c->tree[i].path);
            buf_add_text(out, "\n");
        }
    for (size_t i = 0; i < now->n_tree; i++)
        add_write(out, c->name, "tree/", now->tree[i].path,
                  (struct text){ now->tree[i].data, now->tree[i].len }, now->tree[i].executable);
}

void golden_script(const struct golden_case *c, const struct golden_now *now, struct buf *out)
{
    bool known = golden_case_is_known(c);
    scoped_free char *status = text_format("%d\n", now->status);

    if (!out->len)
        buf_add_text(out, "put() { mkdir -p \"${1%/*}\" && base64 -d > \"$1\"; }\n");
    if (!known || c->out.data)
        add_write(out, c->name, "stdout", "", (struct text){ now->out.data, now->out.len }, false);
    if (c->err.data || (!known && now->err.len))
        add_write(out, c->name, "stderr", "", (struct text){ now->err.data, now->err.len }, false);
    if (status && now->status != c->status)
        add_write(out, c->name, "status", "", (struct text){ status, strlen(status) }, false);
    if (c->has_tree || (!known && now->n_tree))
        add_tree(c, now, out);
}
