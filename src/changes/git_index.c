/* How it works.  An index is a head of 12 bytes, entries in the order of their names, extensions,
 * and a sum over all before it.
 *
 *   entry      40 bytes of stat, id of the content, flags, perhaps more flags, name
 *   name       versions 2 and 3: whole, filled up with NUL to a multiple of 8 bytes of the entry
 *              version 4: how many bytes of the name before are dropped, then the rest, then NUL
 *   extension  four letters, length, contents; a capital first letter: git does without it
 *
 * git's own page is gitformat-index(5). */
#include "changes/node.h"

#include <stdlib.h>
#include <string.h>

#define HEAD 12
#define STAT 40            /* bytes of an entry before the id of its content */
#define MODE_AT 24         /* of four bytes in it */
#define EXTENDED 0x4000u   /* in the flags: more flags follow */
#define STAGE_BITS 0x3000u /* which side of a merge */
#define SKIP_WORKTREE 0x4000u
#define INTENT_TO_ADD 0x2000u

struct entries {
    const unsigned char *at, *end; /* what is left of the entries and extensions */
    unsigned int version;
    size_t id_len;
    uint32_t left;
    struct buf name; /* of the entry, NUL-terminated */
};

struct entry {
    const unsigned char *start;
    size_t head_len; /* before the name */
    unsigned int flags, more;
    const unsigned char *tail; /* the name as it is stored, without padding */
    size_t tail_len;
};

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned int be16(const unsigned char *p)
{
    return (unsigned int)p[0] << 8 | p[1];
}

static void put_be16(char *p, unsigned int value)
{
    p[0] = (char)(value >> 8);
    p[1] = (char)value;
}

bool git_index_is(const char *path)
{
    static const char name[] = ".git/index";
    size_t len = strlen(path), n = sizeof(name) - 1;

    return len >= n && !strcmp(path + len - n, name) && (len == n || path[len - n - 1] == '/');
}

static void make_sum(const char *data, size_t len, size_t id_len, unsigned char digest[SHA256_SIZE])
{
    struct sha256 s;

    if (id_len == SHA1_SIZE) {
        sha1(data, len, digest);
        return;
    }
    sha256_init(&s);
    sha256_add(&s, data, len);
    sha256_finish(&s, digest);
}

static bool has_sum(const char *data, size_t len, size_t id_len)
{
    unsigned char digest[SHA256_SIZE];

    if (len < HEAD + id_len)
        return false;
    make_sum(data, len - id_len, id_len, digest);
    return !memcmp(data + len - id_len, digest, id_len);
}

/* The sum at the end also says how long ids are: 20 bytes, or 32 of SHA-256.  Git may be set up to
 * write zeros in its place. */
static size_t id_length(const char *data, size_t len)
{
    static const char zeros[SHA1_SIZE];

    if (has_sum(data, len, SHA1_SIZE))
        return SHA1_SIZE;
    if (has_sum(data, len, SHA256_SIZE))
        return SHA256_SIZE;
    return len >= HEAD + SHA1_SIZE && !memcmp(data + len - SHA1_SIZE, zeros, SHA1_SIZE) ? SHA1_SIZE
                                                                                        : 0;
}

static bool entries_begin(struct entries *e, const char *data, size_t len)
{
    const unsigned char *head = (const unsigned char *)data;

    *e = (struct entries){ 0 };
    if (len > GIT_INDEX_MAX || len < HEAD || memcmp(data, "DIRC", 4) != 0)
        return false;
    e->id_len = id_length(data, len);
    e->version = be32(head + 4);
    e->left = be32(head + 8);
    e->at = head + HEAD;
    e->end = head + len - e->id_len;
    buf_init(&e->name, GIT_INDEX_MAX);
    (void)buf_add(&e->name, "", 0);
    return e->id_len && e->version >= 2 && e->version <= 4;
}

/* Git's own form of a number; false: it ends too early or is too large. */
static bool read_varint(const unsigned char **at, const unsigned char *end, size_t *ret)
{
    size_t value = 0;

    for (unsigned int n = 0; *at < end && n < 5; n++) {
        unsigned char c = *(*at)++;

        value = (n ? (value + 1) << 7 : 0) | (c & 127);
        if (!(c & 128)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool read_name(struct entries *e, const unsigned char *from, struct entry *ret)
{
    const unsigned char *at = from, *stop;
    size_t dropped = e->name.len;

    if (e->version == 4 && (!read_varint(&at, e->end, &dropped) || dropped > e->name.len))
        return false;
    e->name.len -= dropped;
    stop = memchr(at, '\0', (size_t)(e->end - at));
    if (!stop)
        return false;
    if (buf_add(&e->name, at, (size_t)(stop - at)) < 0 || !e->name.data)
        return false;
    ret->tail = from;
    ret->tail_len = (size_t)(stop - from) + (e->version == 4);
    return true;
}

/* 1; 0 after the last; -1: not what an index has. */
static int entries_next(struct entries *e, struct entry *ret)
{
    size_t head = STAT + e->id_len + 2, len;

    if (!e->left)
        return 0;
    if ((size_t)(e->end - e->at) < head + 2)
        return -1;
    *ret = (struct entry){ .start = e->at, .flags = be16(e->at + head - 2) };
    if (ret->flags & EXTENDED && e->version >= 3) {
        ret->more = be16(e->at + head);
        head += 2;
    }
    ret->head_len = head;
    if (!read_name(e, e->at + head, ret))
        return -1;
    len = head + ret->tail_len;
    if (e->version < 4)
        len = (len + 8) & ~(size_t)7;
    if (len > (size_t)(e->end - e->at))
        return -1;
    e->at += len;
    e->left--;
    return 1;
}

bool git_index_sum(const char *data, size_t len, char sum[SHA256_HEX_SIZE])
{
    struct entries e;
    struct entry entry;
    struct sha256 s;
    int r = entries_begin(&e, data, len) ? 1 : -1;

    sha256_init(&s);
    while (r > 0 && (r = entries_next(&e, &entry)) > 0) {
        sha256_add_text(&s, e.name.data);
        sha256_add_u64(&s, be32(entry.start + MODE_AT));
        sha256_add_u64(&s, (entry.flags & STAGE_BITS) | (entry.more & INTENT_TO_ADD) << 16);
        sha256_add(&s, entry.start + STAT, e.id_len);
    }
    buf_done(&e.name);
    if (r < 0)
        return false;
    sha256_finish_hex(&s, sum);
    return true;
}

static void put_entry(const struct entries *e, const struct entry *entry, unsigned int more,
                      struct buf *out)
{
    static const char zeros[8];
    size_t start = out->len, plain = STAT + e->id_len, len;
    char flags[4];

    put_be16(flags, more ? entry->flags | EXTENDED : entry->flags & ~EXTENDED);
    put_be16(flags + 2, more);
    buf_add(out, entry->start, plain);
    buf_add(out, flags, more ? 4 : 2);
    buf_add(out, entry->tail, entry->tail_len);
    len = out->len - start;
    if (e->version < 4)
        buf_add(out, zeros, 8 - len % 8);
}

/* Extensions that name places in the file do not fit any more, and git does without them.  False:
 * one that git cannot do without. */
static bool put_extensions(const struct entries *e, struct buf *out)
{
    const unsigned char *at = e->at;

    while (at < e->end) {
        size_t room = (size_t)(e->end - at), len;

        if (room < 8 || at[0] < 'A' || at[0] > 'Z' || (len = be32(at + 4)) > room - 8)
            return false;
        if (!memcmp(at, "TREE", 4) || !memcmp(at, "REUC", 4))
            buf_add(out, at, len + 8);
        at += len + 8;
    }
    return true;
}

int git_index_skip(const char *data, size_t len, git_index_covers *covers, const void *context,
                   struct buf *ret, sbr_error *err)
{
    struct entries e;
    struct entry entry;
    unsigned char digest[SHA256_SIZE];
    bool any = false;
    int r = entries_begin(&e, data, len) ? 1 : -1;

    buf_init(ret, GIT_INDEX_MAX * 2);
    if (r > 0)
        buf_add(ret, data, HEAD);
    if (r > 0 && e.version == 2 && !ret->failed)
        ret->data[7] = 3; /* the first that has more flags */
    while (r > 0 && (r = entries_next(&e, &entry)) > 0) {
        bool skip = covers(context, e.name.data);

        any |= skip;
        put_entry(&e, &entry, entry.more | (skip ? SKIP_WORKTREE : 0), ret);
    }
    if (r == 0 && any && put_extensions(&e, ret) && !ret->failed) {
        make_sum(ret->data, ret->len, e.id_len, digest);
        buf_add(ret, digest, e.id_len);
    } else {
        r = -1;
    }
    buf_done(&e.name);
    if (r == 0 && !ret->failed)
        return 1;
    r = ret->failed ? err_set_oom(err, "git") : 0;
    buf_done(ret);
    return r;
}

bool git_index_unskip(char *data, size_t len, git_index_covers *covers, const void *context)
{
    struct entries e;
    struct entry entry;
    unsigned char digest[SHA256_SIZE];
    bool any = false;
    int r = entries_begin(&e, data, len) ? 1 : -1;

    while (r > 0 && (r = entries_next(&e, &entry)) > 0) {
        if (!(entry.more & SKIP_WORKTREE) || !covers(context, e.name.data))
            continue;
        put_be16(data + (entry.start - (const unsigned char *)data) + entry.head_len - 2,
                 entry.more & ~SKIP_WORKTREE);
        any = true;
    }
    buf_done(&e.name);
    if (any) {
        make_sum(data, len - e.id_len, e.id_len, digest);
        memcpy(data + len - e.id_len, digest, e.id_len);
    }
    return any;
}
