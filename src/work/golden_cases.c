#include "work/golden_cases.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* One look at a directory of cases. */
struct look {
    struct project_tree *tree;
    const char *top; /* path of the cases in the tree; empty: the tree itself */
    struct golden_cases *to;
};

/* The path of `name` in the directory; NULL without memory. */
static char *join(const char *dir, const char *name)
{
    return text_format("%s%s%s", dir, *dir && *name ? "/" : "", name);
}

static int read_text(const struct look *l, const char *dir, const char *name,
                     struct golden_text *ret, sbr_error *err)
{
    scoped_free char *path = join(dir, name);
    struct project_text text = { 0 };
    int r = path ? project_file_read(l->tree, path, &text, err) : err_set_oom(err, "golden");

    if (r > 0)
        *ret = (struct golden_text){ text.data, text.len };
    return r < 0 ? r : 0;
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

/* `name` is the file's own path in `input` or `tree`, which the list takes over. */
static int add_file(const struct look *l, const char *path, char *name, struct files *to,
                    sbr_error *err)
{
    struct request_file *grown = reallocarray(*to->items, *to->n + 1, sizeof(*grown));
    struct project_text text = { 0 };
    int r = grown ? project_file_read(l->tree, path, &text, err) : err_set_oom(err, "golden");

    if (grown)
        *to->items = grown;
    if (r <= 0) {
        free(name);
        return r;
    }
    grown[(*to->n)++] = (struct request_file){
        .path = name, .data = text.data, .len = text.len, .executable = text.executable
    };
    return 0;
}

/* Every file below, by its path. */
static int read_tree(const struct look *l, const char *dir, const char *prefix, struct files *to,
                     sbr_error *err)
{
    scoped_listing struct listing list = { 0 };
    int r = project_file_list(l->tree, dir, &list, err);

    if (r > 0 && strlen(dir) > REQUEST_MAX_PATH)
        r = err_set(err, SBR_E_INVALID, "golden", "the files of a case lie too deep");
    for (size_t i = 0; r >= 0 && i < list.n; i++) {
        scoped_free char *path = join(dir, list.names[i]);
        char *name = join(prefix, list.names[i]);

        if (!path || !name) {
            free(name);
            return err_set_oom(err, "golden");
        }
        if (project_file_type(l->tree, path) == S_IFDIR) {
            r = read_tree(l, path, name, to, err);
            free(name);
        } else {
            r = add_file(l, path, name, to, err);
        }
    }
    return r < 0 ? r : 0;
}

static int read_folder(const struct look *l, const char *dir, const char *name, struct files to,
                       sbr_error *err)
{
    scoped_free char *path = join(dir, name);

    return path ? read_tree(l, path, "", &to, err) : err_set_oom(err, "golden");
}

static int read_status(const struct look *l, const char *dir, struct golden_case *c, sbr_error *err)
{
    struct golden_text text = { 0 };
    uint64_t n = 0;
    char *end;

    if (read_text(l, dir, "status", &text, err) < 0)
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

static int read_case(const struct look *l, const char *dir, const char *name,
                     const struct inherited *from, struct golden_case *c, sbr_error *err)
{
    scoped_free char *tree = join(dir, "tree");

    c->name = strdup(*name ? name : ".");
    c->command = strdup(from->command);
    c->normalizers = from->normalizers;
    if (!c->name || !c->command || !tree)
        return err_set_oom(err, "golden");
    if (read_text(l, dir, "stdin", &c->input, err) < 0 ||
        read_text(l, dir, "stdout", &c->out, err) < 0 ||
        read_text(l, dir, "stderr", &c->err, err) < 0 || read_status(l, dir, c, err) < 0 ||
        read_folder(l, dir, "input", (struct files){ &c->inputs, &c->n_inputs }, err) < 0)
        return err->code;
    c->has_tree = project_file_type(l->tree, tree) == S_IFDIR;
    return read_folder(l, dir, "tree", (struct files){ &c->tree, &c->n_tree }, err);
}

static int add_case(const struct look *l, const char *dir, const char *name,
                    const struct inherited *from, sbr_error *err)
{
    struct golden_cases *to = l->to;
    struct golden_case *grown = reallocarray(to->items, to->n + 1, sizeof(*grown));

    if (!grown)
        return err_set_oom(err, "golden");
    to->items = grown;
    if (to->n == GOLDEN_MOST_CASES)
        return err_set(err, SBR_E_INVALID, "golden", "there are more than %d cases",
                       GOLDEN_MOST_CASES);
    grown[to->n] = (struct golden_case){ 0 };
    return read_case(l, dir, name, from, &grown[to->n++], err);
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

static int take_over(const struct look *l, const char *dir, const struct inherited *above,
                     struct golden_text *command, struct inherited *ret, sbr_error *err)
{
    struct golden_text words = { 0 };
    int r;

    *ret = (struct inherited){ above->command, above->normalizers, above->depth + 1 };
    if (read_text(l, dir, "command", command, err) < 0 ||
        read_text(l, dir, "normalize", &words, err) < 0)
        return err->code;
    if (command->data)
        ret->command = command->data;
    if (words.data)
        ret->normalizers = 0;
    r = words.data ? normalize_parse(words.data, &ret->normalizers, err) : 0;
    free(words.data);
    return r;
}

/* The directories that cases may be in; those of links are none. */
static bool is_folder(const struct look *l, const char *dir, const char *name)
{
    scoped_free char *path = is_part_of_case(name) ? NULL : join(dir, name);

    return path && project_file_type(l->tree, path) == S_IFDIR;
}

static unsigned int count_folders(const struct look *l, const char *dir, const struct listing *list)
{
    unsigned int n = 0;

    for (size_t i = 0; i < list->n; i++)
        n += is_folder(l, dir, list->names[i]);
    return n;
}

/* `name` is the path of the directory in that of the cases. */
static int load(const struct look *l, const char *name, const struct inherited *above,
                sbr_error *err)
{
    scoped_free char *dir = join(l->top, name);
    scoped_listing struct listing list = { 0 };
    struct golden_text command = { 0 };
    struct inherited own;
    int r = dir ? take_over(l, dir, above, &command, &own, err) : err_set_oom(err, "golden");

    if (r == 0 && own.depth > MOST_DEPTH)
        r = err_set(err, SBR_E_INVALID, "golden", "directories of cases are nested deeper than %d",
                    MOST_DEPTH);
    if (r == 0)
        r = project_file_list(l->tree, dir, &list, err);
    if (r > 0)
        r = own.command && is_case(&list, count_folders(l, dir, &list))
                ? add_case(l, dir, name, &own, err)
                : 0;
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        scoped_free char *path = is_folder(l, dir, list.names[i]) ? join(name, list.names[i]) : NULL;

        if (path)
            r = load(l, path, &own, err);
    }
    free(command.data);
    return r;
}

int golden_cases_load(struct project_tree *tree, const char *top, struct golden_cases *ret,
                      sbr_error *err)
{
    const struct look l = { tree, top, ret };
    int r;

    *ret = (struct golden_cases){ 0 };
    r = load(&l, "", &(struct inherited){ 0 }, err);
    if (r == 0 && !ret->n)
        r = err_set(err, SBR_E_NOT_FOUND, "golden",
                    "'%.200s' has no case: make a directory with a file `command` in it",
                    *top ? top : ".");
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
