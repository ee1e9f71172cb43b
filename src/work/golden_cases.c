#include "work/golden_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/scope.h"
#include "base/text.h"
#include "work/normalize.h"

#define MOST_DEPTH 12

/* What directories below take over. */
struct inherited {
    const char *command;
    unsigned int normalizers;
    unsigned int depth;
};

/* A file or nothing; a link is followed, because the cases are the caller's own. */
static int read_text(int dir_fd, const char *name, struct golden_text *ret, sbr_error *err)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "golden", "cannot read '%.200s'", name);
    if (!S_ISREG(st.st_mode))
        return err_set(err, SBR_E_INVALID, "golden", "'%.200s' of a case is no file", name);
    return fd_read_text(fd, GOLDEN_MOST_BYTES, &ret->data, &ret->len, err);
}

static void files_done(struct request_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(files[i].path);
        free(files[i].data);
    }
    free(files);
}

struct files {
    struct request_file **items;
    size_t *n;
};

static int add_file(int dir_fd, const char *name, char *path, struct files *to, sbr_error *err)
{
    struct request_file *grown = reallocarray(*to->items, *to->n + 1, sizeof(*grown));
    struct golden_text text = { 0 };
    struct stat st;
    int r = grown ? read_text(dir_fd, name, &text, err) : err_set_oom(err, "golden");

    if (grown)
        *to->items = grown;
    if (r < 0 || !path || !text.data) {
        free(path);
        free(text.data);
        return r < 0 ? r : err_set_oom(err, "golden");
    }
    grown[(*to->n)++] = (struct request_file){
        .path = path,
        .data = text.data,
        .len = text.len,
        .executable = fstatat(dir_fd, name, &st, 0) == 0 && st.st_mode & 0111,
    };
    return 0;
}

/* Every file below, by its path. */
static int read_tree(int dir_fd, const char *prefix, unsigned int depth, struct files *to,
                     sbr_error *err)
{
    scoped_listing struct listing list = { 0 };

    if (depth > 4 * MOST_DEPTH || listing_read(dir_fd, &list) < 0)
        return err_set_errno(err, "golden", "cannot list '%.200s'", *prefix ? prefix : "tree");
    for (size_t i = 0; i < list.n; i++) {
        char *path = text_format("%s%s%s", prefix, *prefix ? "/" : "", list.names[i]);
        scoped_fd int fd =
            openat(dir_fd, list.names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r;

        if (fd < 0) {
            r = add_file(dir_fd, list.names[i], path, to, err);
        } else {
            r = path ? read_tree(fd, path, depth + 1, to, err) : err_set_oom(err, "golden");
            free(path);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_folder(int dir_fd, const char *name, struct files to, bool *ret_there,
                       sbr_error *err)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (ret_there)
        *ret_there = fd >= 0;
    return fd < 0 ? 0 : read_tree(fd, "", 0, &to, err);
}

static int read_status(int dir_fd, struct golden_case *c, sbr_error *err)
{
    struct golden_text text = { 0 };
    uint64_t n = 0;
    char *end;

    if (read_text(dir_fd, "status", &text, err) < 0)
        return err->code;
    if (!text.data)
        return 0;
    end = strpbrk(text.data, "\r\n \t");
    if (end)
        *end = '\0';
    c->has_status = text_parse_count(text.data, &n) == TEXT_OK && n < 256;
    c->status = (int)n;
    free(text.data);
    return c->has_status
               ? 0
               : err_set(err, SBR_E_INVALID, "golden",
                         "the `status` of case '%.200s' is no number from 0 to 255", c->name);
}

static int read_case(int dir_fd, const char *name, const struct inherited *from,
                     struct golden_case *c, sbr_error *err)
{
    c->name = strdup(*name ? name : ".");
    c->command = strdup(from->command);
    c->normalizers = from->normalizers;
    if (!c->name || !c->command)
        return err_set_oom(err, "golden");
    if (read_text(dir_fd, "stdin", &c->input, err) < 0 ||
        read_text(dir_fd, "stdout", &c->out, err) < 0 ||
        read_text(dir_fd, "stderr", &c->err, err) < 0 || read_status(dir_fd, c, err) < 0 ||
        read_folder(dir_fd, "input", (struct files){ &c->inputs, &c->n_inputs }, NULL, err) < 0)
        return err->code;
    return read_folder(dir_fd, "tree", (struct files){ &c->tree, &c->n_tree }, &c->has_tree, err);
}

static int add_case(int dir_fd, const char *name, const struct inherited *from,
                    struct golden_cases *to, sbr_error *err)
{
    struct golden_case *grown = reallocarray(to->items, to->n + 1, sizeof(*grown));

    if (!grown)
        return err_set_oom(err, "golden");
    to->items = grown;
    if (to->n == GOLDEN_MOST_CASES)
        return err_set(err, SBR_E_INVALID, "golden", "there are more than %d cases",
                       GOLDEN_MOST_CASES);
    grown[to->n] = (struct golden_case){ 0 };
    return read_case(dir_fd, name, from, &grown[to->n++], err);
}

static bool is_part_of_case(const char *name)
{
    return !strcmp(name, "input") || !strcmp(name, "tree");
}

static bool has(const struct listing *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->names[i], name))
            return true;
    return false;
}

/* A directory that has more than the words for those below it. */
static bool is_case(const struct listing *list, unsigned int below)
{
    static const char *const parts[] = { "stdin", "stdout", "stderr", "status", "input", "tree" };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (has(list, parts[i]))
            return true;
    return has(list, "command") && !below;
}

static int take_over(int dir_fd, const struct inherited *above, struct golden_text *command,
                     struct inherited *ret, sbr_error *err)
{
    struct golden_text words = { 0 };
    int r;

    *ret = (struct inherited){ above->command, above->normalizers, above->depth + 1 };
    if (read_text(dir_fd, "command", command, err) < 0 ||
        read_text(dir_fd, "normalize", &words, err) < 0)
        return err->code;
    if (command->data)
        ret->command = command->data;
    if (words.data)
        ret->normalizers = 0;
    r = words.data ? normalize_parse(words.data, &ret->normalizers, err) : 0;
    free(words.data);
    return r;
}

static unsigned int count_folders(int dir_fd, const struct listing *list)
{
    unsigned int n = 0;
    struct stat st;

    for (size_t i = 0; i < list->n; i++)
        n += !is_part_of_case(list->names[i]) &&
             fstatat(dir_fd, list->names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    return n;
}

static int load(int dir_fd, const char *name, const struct inherited *above,
                struct golden_cases *to, sbr_error *err)
{
    scoped_listing struct listing list = { 0 };
    struct golden_text command = { 0 };
    struct inherited own;
    int r = take_over(dir_fd, above, &command, &own, err);

    if (r == 0 && (own.depth > MOST_DEPTH || listing_read(dir_fd, &list) < 0))
        r = err_set_errno(err, "golden", "cannot list '%.200s'", *name ? name : ".");
    if (r == 0 && own.command && is_case(&list, count_folders(dir_fd, &list)))
        r = add_case(dir_fd, name, &own, to, err);
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        scoped_fd int fd =
            is_part_of_case(list.names[i])
                ? -1
                : openat(dir_fd, list.names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        scoped_free char *path = text_format("%s%s%s", name, *name ? "/" : "", list.names[i]);

        if (fd >= 0)
            r = path ? load(fd, path, &own, to, err) : err_set_oom(err, "golden");
    }
    free(command.data);
    return r;
}

int golden_cases_load(const char *dir, struct golden_cases *ret, sbr_error *err)
{
    scoped_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    *ret = (struct golden_cases){ 0 };
    if (fd < 0)
        return err_set_errno(err, "golden", "cannot open '%.200s'", dir);
    r = load(fd, "", &(struct inherited){ 0 }, ret, err);
    if (r == 0 && !ret->n)
        r = err_set(err, SBR_E_NOT_FOUND, "golden",
                    "'%.200s' has no case: make a directory with a file `command` in it", dir);
    if (r < 0)
        golden_cases_done(ret);
    return r;
}

void golden_cases_done(struct golden_cases *cases)
{
    for (size_t i = 0; i < cases->n; i++) {
        struct golden_case *c = &cases->items[i];

        free(c->name);
        free(c->command);
        free(c->input.data);
        free(c->out.data);
        free(c->err.data);
        files_done(c->inputs, c->n_inputs);
        files_done(c->tree, c->n_tree);
    }
    free(cases->items);
    *cases = (struct golden_cases){ 0 };
}

bool golden_case_is_known(const struct golden_case *c)
{
    return c->out.data || c->err.data || c->has_status || c->has_tree;
}
