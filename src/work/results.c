#include "work/results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "base/scope.h"
#include "base/sha256.h"

#define LINE_BEGINS "{\"item\":"
#define MOST_ITEMS 100000000
#define LOCK_PAUSE_NS 20000000
#define LOCK_TRIES 250 /* five seconds */

void results_digest(const void *request, size_t len, char ret[RESULTS_DIGEST_SIZE])
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(request, len, hex);
    memcpy(ret, hex, RESULTS_DIGEST_SIZE - 1);
    ret[RESULTS_DIGEST_SIZE - 1] = '\0';
}

static int make_room(struct results *r, uint64_t item, sbr_error *err)
{
    size_t n = r->n ? r->n : 64;
    struct results_item *grown;

    while (n < item)
        n *= 2;
    if (n == r->n)
        return 0;
    grown = reallocarray(r->items, n, sizeof(*grown));
    if (!grown)
        return err_set_oom(err, "results");
    memset(grown + r->n, 0, (n - r->n) * sizeof(*grown));
    r->items = grown;
    r->n = n;
    return 0;
}

static int refuse_line(const char *path, unsigned long number, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "results",
                   "line %lu of '%.200s' is no result of a batch; name another file with "
                   "--results",
                   number, path);
}

static int take_line(struct results *r, const char *line, const char *path, unsigned long number,
                     sbr_error *err)
{
    char digest[RESULTS_DIGEST_SIZE];
    uint64_t item;

    /* NOLINTNEXTLINE(cert-err34-c): of too great a number comes the greatest, refused below */
    if (sscanf(line, "{\"item\":%" SCNu64 ",\"request\":\"%16[0-9a-f]\"", &item, digest) != 2 ||
        !item || item > MOST_ITEMS || strlen(digest) != RESULTS_DIGEST_SIZE - 1)
        return refuse_line(path, number, err);
    if (make_room(r, item, err) < 0)
        return err->code;
    memcpy(r->items[item - 1].digest, digest, sizeof(digest));
    return 0;
}

/* Takes all whole lines; *ret_whole is where they end. */
static int take_file(struct results *r, const char *path, FILE *file, off_t *ret_whole,
                     sbr_error *err)
{
    scoped_free char *line = NULL;
    unsigned long number = 0;
    size_t size = 0;
    ssize_t len;

    *ret_whole = 0;
    while ((len = getline(&line, &size, file)) > 0 && line[len - 1] == '\n') {
        if (take_line(r, line, path, ++number, err) < 0)
            return err->code;
        *ret_whole += len;
    }
    if (ferror(file))
        return err_set_errno(err, "results", "cannot read '%.200s'", path);
    /* What a kill left of a line is cut off, and nothing else is. */
    if (len > 0 && strncmp(line, LINE_BEGINS, MIN((size_t)len, strlen(LINE_BEGINS))) != 0)
        return refuse_line(path, number + 1, err);
    return 0;
}

/* A batch that was killed leaves processes that clean up after its runs, and hold its lock for some
 * milliseconds. */
static bool lock(int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

    for (unsigned int i = 0; i < LOCK_TRIES; i++) {
        if (fcntl(fd, F_SETLK, &whole) == 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static int open_file(struct results *r, const char *path, const struct save_trees *trees,
                     sbr_error *err)
{
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
    scoped_save_file struct save_file place = SAVE_FILE_NONE;
    off_t whole;

    if (save_file_open(&place, path, trees, err) < 0)
        return err->code;
    if (!place.plain)
        return err_set(err, SBR_E_INVALID, "results",
                       "'%.200s' is no file, so a batch could not go on with it; name a file",
                       path);
    r->fd = openat(place.dir_fd, place.name, flags, 0600);
    r->file = r->fd >= 0 ? fdopen(r->fd, "r") : NULL;
    if (!r->file)
        return err_set_errno(err, "results", "cannot open '%.200s'", path);
    if (!lock(r->fd))
        return err_set(err, SBR_E_BUSY, "results",
                       "another batch writes to '%.200s'; wait for it or name another file", path);
    if (take_file(r, path, r->file, &whole, err) < 0)
        return err->code;
    if (ftruncate(r->fd, whole) < 0)
        return err_set_errno(err, "results", "cannot shorten '%.200s'", path);
    return 0;
}

int results_open(const char *path, const struct save_trees *trees, bool in_order,
                 struct results *ret, sbr_error *err)
{
    struct results r = { .fd = STDOUT_FILENO, .in_order = in_order && !path };
    int res = path ? open_file(&r, path, trees, err) : 0;

    if (res < 0)
        results_done(&r);
    else
        *ret = r;
    return res;
}

void results_done(struct results *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->items[i].waiting);
    free(r->items);
    if (r->file)
        fclose(r->file);
    else if (r->fd > STDERR_FILENO)
        close(r->fd);
    *r = (struct results){ .fd = -1 };
}

int results_has(const struct results *r, uint64_t item, const char *digest, sbr_error *err)
{
    const char *had = item <= r->n ? r->items[item - 1].digest : "";

    if (!*had)
        return 0;
    if (strcmp(had, digest) != 0)
        return err_set(err, SBR_E_INVALID, "results",
                       "item %" PRIu64 " is another request than the one whose result is there "
                       "already; name a new file with --results",
                       item);
    return 1;
}

static int write_line(const struct results *r, const char *line, sbr_error *err)
{
    if (fd_write_all(r->fd, line, strlen(line)) < 0)
        return err_set_errno(err, "results", "cannot write the next result%s",
                             r->fd > STDERR_FILENO
                                 ? "; when there is room, the same call goes on from there"
                                 : "");
    return 0;
}

static int write_in_turn(struct results *r, sbr_error *err)
{
    for (; r->written < r->n && r->items[r->written].waiting; r->written++) {
        scoped_free char *line = take_ptr(r->items[r->written].waiting);

        if (write_line(r, line, err) < 0)
            return err->code;
    }
    return 0;
}

/* The object with our fields in front. */
static char *make_line(uint64_t item, const char *digest, const char *name, const char *json)
{
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_number(&j, "item", item);
    jsonw_text(&j, "request", digest);
    if (name)
        jsonw_path(&j, "name", name);
    buf_add_text(&j.out, ",");
    buf_add_text(&j.out, json + 1);
    buf_add_text(&j.out, "\n");
    return jsonw_take(&j);
}

int results_put_line(struct results *r, uint64_t item, char *line, sbr_error *err)
{
    scoped_free char *mine = line;

    if (!mine || make_room(r, item, err) < 0)
        return err_set_oom(err, "results");
    if (!r->in_order)
        return write_line(r, mine, err);
    r->items[item - 1].waiting = take_ptr(mine);
    return write_in_turn(r, err);
}

int results_put(struct results *r, uint64_t item, const char *digest, const char *name,
                const char *json, sbr_error *err)
{
    char *line = json ? make_line(item, digest, name, json) : NULL;

    return results_put_line(r, item, line, err);
}

int results_flush(struct results *r, sbr_error *err)
{
    for (size_t i = r->written; i < r->n; i++)
        if (r->items[i].waiting && write_line(r, r->items[i].waiting, err) < 0)
            return err->code;
    return 0;
}
