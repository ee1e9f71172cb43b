#include "workspace/tar_parse.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/scope.h"
#include "wire/collect.h"
#include "workspace/tar_format.h"
#include "workspace/tar_pax.h"

#define CHUNK ((size_t)128 * 1024)
#define MAX_EXTENSION (1024 * 1024) /* of one header's extension; attributes may be long */

int tar_fault(sbr_error *err, const char *what)
{
    return err_set(err, SBR_E_INVALID, "import", "the archive %s; nothing of it was taken", what);
}

int tar_in_init(struct tar_in *in, int fd, sbr_error *err)
{
    *in = (struct tar_in){ .fd = fd, .chunk = malloc(CHUNK) };
    return in->chunk ? 0 : err_set_oom(err, "import");
}

void tar_in_done(struct tar_in *in)
{
    free(in->chunk);
}

/* Compressed archives are told by how they begin. */
static int name_the_packer(const char *data, size_t len, sbr_error *err)
{
    static const struct {
        const char *magic;
        size_t len;
        const char *name, *command;
    } packers[] = {
        { "\x1f\x8b", 2, "gzip", "gzip -dc" },
        { "\x28\xb5\x2f\xfd", 4, "zstd", "zstd -dc" },
        { "\xfd"
          "7zXZ",
          5, "xz", "xz -dc" },
        { "BZh", 3, "bzip2", "bzip2 -dc" },
        { "PK\x03\x04", 4, "zip", "bsdtar -cf - @-" },
    };

    for (size_t i = 0; i < ARRAY_LEN(packers); i++)
        if (len >= packers[i].len && !memcmp(data, packers[i].magic, packers[i].len))
            return err_set(err, SBR_E_INVALID, "import",
                           "the archive is compressed with %s; unpack it on the way: `%s < FILE | "
                           "sandbox-run workspace import NAME`",
                           packers[i].name, packers[i].command);
    return 0;
}

static int refill(struct tar_in *in, sbr_error *err)
{
    ssize_t n = fd_read_full(in->fd, in->chunk, CHUNK);

    if (n < 0)
        return err_set_errno(err, "import", "cannot read the archive");
    if (!in->begun && name_the_packer(in->chunk, (size_t)n, err) < 0)
        return err->code;
    if (n == 0)
        return tar_fault(err, in->begun ? "ends in the middle" : "is empty");
    in->begun = true;
    in->pos = 0;
    in->len = (size_t)n;
    return 0;
}

int tar_in_read(struct tar_in *in, void *to, size_t len, sbr_error *err)
{
    char *at = to;

    while (len) {
        size_t n = in->len - in->pos < len ? in->len - in->pos : len;

        if (n == 0) {
            if (refill(in, err) < 0)
                return err->code;
            continue;
        }
        memcpy(at, in->chunk + in->pos, n);
        in->pos += n;
        at += n;
        len -= n;
    }
    return 0;
}

int tar_in_pad(struct tar_in *in, uint64_t size, sbr_error *err)
{
    char block[TAR_BLOCK];

    return tar_in_read(in, block, (size_t)(-size % TAR_BLOCK), err);
}

/* Octal digits, with spaces before and spaces or NULs behind them; nothing at all is 0. */
static bool parse_octal(const char *field, size_t len, uint64_t *ret)
{
    uint64_t value = 0;
    size_t i = 0;

    while (i < len && field[i] == ' ')
        i++;
    for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) {
        if (value >> 60)
            return false;
        value = value << 3 | (uint64_t)(field[i] - '0');
    }
    for (; i < len; i++)
        if (field[i] != ' ' && field[i] != '\0')
            return false;
    *ret = value;
    return true;
}

/* GNU's form for what octal digits cannot hold: the first bit set, then the number, highest byte first.  Negative ones
 * have all bits of the first byte set. */
static bool parse_number(const char *field, size_t len, uint64_t *ret)
{
    const unsigned char *bytes = (const unsigned char *)field;
    uint64_t value = bytes[0] & 0x7f;

    if (!(bytes[0] & 0x80))
        return parse_octal(field, len, ret) && *ret <= INT64_MAX;
    if (bytes[0] & 0x40)
        return false;
    for (size_t i = 1; i < len; i++) {
        if (value >> 55)
            return false;
        value = value << 8 | bytes[i];
    }
    *ret = value;
    return true;
}

/* 1: a header; 0: the block of zeros that ends an archive. */
static int read_header(struct tar_in *in, struct tar_header *ret, sbr_error *err)
{
    static const struct tar_header zeros;
    uint64_t sum = 0;

    if (tar_in_read(in, ret, sizeof(*ret), err) < 0)
        return err->code;
    if (!memcmp(ret, &zeros, sizeof(zeros)))
        return 0;
    if (memcmp(ret->magic, "ustar", 6) != 0 && memcmp(ret->magic, "ustar ", 6) != 0)
        return tar_fault(err, "is no tar archive, or one in a form from before ustar");
    if (!parse_octal(ret->sum, sizeof(ret->sum), &sum) || sum != tar_sum(ret))
        return tar_fault(err, "is damaged: the sum of a header is wrong");
    return 1;
}

static char *copy_field(const char *field, size_t len)
{
    return strndup(field, strnlen(field, len));
}

static char *whole_name(const struct tar_header *header)
{
    size_t prefix_len = strnlen(header->prefix, sizeof(header->prefix));
    size_t name_len = strnlen(header->name, sizeof(header->name));
    bool posix = header->magic[5] == '\0';
    char *name;

    if (!posix || !prefix_len)
        return copy_field(header->name, sizeof(header->name));
    name = malloc(prefix_len + name_len + 2);
    if (!name)
        return NULL;
    memcpy(name, header->prefix, prefix_len);
    name[prefix_len] = '/';
    memcpy(name + prefix_len + 1, header->name, name_len);
    name[prefix_len + 1 + name_len] = '\0';
    return name;
}

/* Content of an extension, with a NUL behind it. */
static int read_extension(struct tar_in *in, uint64_t size, char **ret, sbr_error *err)
{
    scoped_free char *data = NULL;

    if (size > MAX_EXTENSION)
        return tar_fault(err, "has an extension that is too long");
    data = malloc((size_t)size + 1);
    if (!data)
        return err_set_oom(err, "import");
    if (tar_in_read(in, data, (size_t)size, err) < 0 || tar_in_pad(in, size, err) < 0)
        return err->code;
    data[size] = '\0';
    *ret = take_ptr(data);
    return 0;
}

/* GNU's long names: the content is the name, with a NUL. */
static int take_long_name(char **field, char *take_data, uint64_t size, sbr_error *err)
{
    free(*field);
    *field = take_data;
    return size > 0 && memchr(take_data, '\0', (size_t)size) == take_data + size - 1
               ? 0
               : tar_fault(err, "has a long name that is not whole");
}

/* 1: the header was an extension of the next one, and is taken in; 0: it is an entry. */
static int take_extension(struct tar_in *in, const struct tar_header *header,
                          struct tar_extension *extension, sbr_error *err)
{
    scoped_free char *data = NULL;
    uint64_t size = 0;

    if (!strchr("xgLKV", header->type) || !header->type)
        return 0;
    if (!parse_number(header->size, sizeof(header->size), &size))
        return tar_fault(err, "has an extension with a size that is no number");
    if (read_extension(in, size, &data, err) < 0 || !data)
        return err->code;
    if (header->type == 'L')
        return take_long_name(&extension->path, take_ptr(data), size, err) < 0 ? err->code : 1;
    if (header->type == 'K')
        return take_long_name(&extension->link, take_ptr(data), size, err) < 0 ? err->code : 1;
    if (header->type != 'V' &&
        tar_pax_take(data, (size_t)size, header->type == 'g', extension, err) < 0)
        return err->code;
    return 1;
}

static int kind_of(const struct tar_header *header, const char *path, enum tar_kind *ret)
{
    static const struct {
        char type;
        enum tar_kind kind;
    } kinds[] = {
        { '0', TAR_FILE },      { '\0', TAR_FILE }, { '7', TAR_FILE },
        { '1', TAR_HARD_LINK }, { '2', TAR_LINK },  { '3', TAR_OTHER },
        { '4', TAR_OTHER },     { '5', TAR_DIR },   { '6', TAR_OTHER },
    };
    size_t len = strlen(path);

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (header->type != kinds[i].type)
            continue;
        *ret = kinds[i].kind;
        if (*ret == TAR_FILE && len && path[len - 1] == '/')
            *ret = TAR_DIR; /* from before there was a type for it */
        return 0;
    }
    return -1;
}

/* In place.  NULL, or what is wrong with it. */
static const char *clean_path(char *path)
{
    char *to = path, *from = path;
    unsigned int depth = 0;

    if (*path == '/')
        return "has an absolute path";
    while (*from) {
        size_t len = strcspn(from, "/");

        if (len == 2 && !strncmp(from, "..", 2))
            return "has a path with '..'";
        if (len > COLLECT_MAX_NAME)
            return "has a name that is too long";
        if (len && !(len == 1 && *from == '.')) {
            if (++depth > COLLECT_MAX_DEPTH)
                return "has a path that is too deep";
            if (to != path)
                *to++ = '/';
            memmove(to, from, len);
            to += len;
        }
        from += len;
        from += *from == '/';
    }
    *to = '\0';
    return to - path < PATH_MAX ? NULL : "has a path that is too long";
}

static int fault_at(const char *what, const char *path, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "import",
                   "the archive %s: '%.120s'; nothing of it was taken", what, path);
}

static int check_links(struct tar_entry *entry, sbr_error *err)
{
    size_t len = entry->link ? strlen(entry->link) : 0;
    const char *fault = NULL;

    if (entry->kind != TAR_LINK && entry->kind != TAR_HARD_LINK) {
        free(entry->link);
        entry->link = NULL;
        return 0;
    }
    if (len == 0 || len >= PATH_MAX)
        return fault_at("has a link with no text, or too much", entry->path, err);
    if (entry->kind == TAR_HARD_LINK)
        fault = clean_path(entry->link);
    return fault ? fault_at("has a hard link that leads out of it", entry->path, err) : 0;
}

static int fill_entry(const struct tar_header *header, struct tar_extension *extension,
                      struct tar_entry *ret, sbr_error *err)
{
    uint64_t mode = 0, seconds = 0;
    const char *fault;

    ret->path = extension->path ? take_ptr(extension->path) : whole_name(header);
    ret->link = extension->link ? take_ptr(extension->link)
                                : copy_field(header->link, sizeof(header->link));
    if (!ret->path || !ret->link)
        return err_set_oom(err, "import");
    if (kind_of(header, ret->path, &ret->kind) < 0)
        return fault_at("has an entry of a kind that is not known here", ret->path, err);
    if (extension->has_size)
        ret->size = extension->size;
    else if (!parse_number(header->size, sizeof(header->size), &ret->size))
        return fault_at("has a size that is negative or no number", ret->path, err);
    if (ret->size && ret->kind != TAR_FILE)
        return fault_at("has content where none belongs", ret->path, err);
    fault = clean_path(ret->path);
    if (fault)
        return fault_at(fault, ret->path, err);
    if (!ret->path[0] && ret->kind != TAR_DIR)
        return tar_fault(err, "has an entry without a name");
    if (!parse_number(header->mode, sizeof(header->mode), &mode))
        return fault_at("has a mode that is no number", ret->path, err);
    (void)parse_number(header->mtime, sizeof(header->mtime), &seconds); /* no time: then 1970 */
    ret->mode = mode & 0777;
    ret->mtime =
        extension->has_mtime ? extension->mtime : (struct timespec){ .tv_sec = (time_t)seconds };
    return check_links(ret, err);
}

int tar_next(struct tar_in *in, struct tar_entry *ret, sbr_error *err)
{
    struct tar_extension extension = { 0 };
    struct tar_header header = { 0 };
    int r, more = 0;

    *ret = (struct tar_entry){ 0 };
    do {
        r = read_header(in, &header, err);
        if (r == 0 && more)
            r = tar_fault(err, "ends behind an extension");
        if (r == 1)
            r = more = take_extension(in, &header, &extension, err);
        else
            more = -1;
    } while (more == 1);
    if (more == 0)
        r = fill_entry(&header, &extension, ret, err) < 0 ? err->code : 1;
    tar_extension_done(&extension);
    return r;
}

void tar_entry_done(struct tar_entry *entry)
{
    free(entry->path);
    free(entry->link);
    *entry = (struct tar_entry){ 0 };
}
