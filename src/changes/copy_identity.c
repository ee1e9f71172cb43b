#include "changes/copy_tree.h"

#include <string.h>

#include "base/clock.h"

static struct identity identity_of(const struct stat *st)
{
    return (struct identity){ .mode = st->st_mode,
                              .size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
                              .ino = st->st_ino,
                              .mtime_ns = clock_ns(st->st_mtim),
                              .ctime_ns = clock_ns(st->st_ctim) };
}

size_t copy_identity_add(struct buf *list, const char *name, mode_t source_mode,
                         const struct stat *copy)
{
    struct identity record = copy ? identity_of(copy) : (struct identity){ 0 };
    size_t at = list->len;

    record.source_mode = source_mode;
    record.name_len = strlen(name);
    buf_add(list, &record, sizeof(record));
    buf_add(list, name, record.name_len + 1);
    return at;
}

void copy_identity_close(struct buf *list, size_t at, const struct stat *copy)
{
    struct identity record = identity_of(copy), begun;

    if (list->failed)
        return;
    memcpy(&begun, list->data + at, sizeof(begun));
    record.source_mode = begun.source_mode;
    record.name_len = begun.name_len;
    record.below = list->len - at - sizeof(record) - (begun.name_len + 1);
    memcpy(list->data + at, &record, sizeof(record));
}

struct identity_view copy_identity_at(const struct buf *list, size_t at)
{
    struct identity_view view;

    memcpy(&view.is, list->data + at, sizeof(view.is));
    view.name = list->data + at + sizeof(view.is);
    view.first = at + sizeof(view.is) + view.is.name_len + 1;
    view.next = view.first + view.is.below;
    return view;
}

bool copy_identity_same(const struct identity *was, const struct stat *now)
{
    struct identity is = identity_of(now);

    if (S_ISDIR(was->mode) && S_ISDIR(is.mode))
        return true;
    return was->mode == is.mode && was->size == is.size && was->ino == is.ino &&
           was->mtime_ns == is.mtime_ns && was->ctime_ns == is.ctime_ns;
}
