#include "cli/host_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/save.h"
#include "base/text.h"
#include "cli/amounts.h"
#include "cli/present.h"
#include "cli/session_actions.h"
#include "cli/terminal.h"
#include "config/audit.h"
#include "lib/runner.h"
#include "workspace/workspace.h"

/* Where a command in the workspace reads from and writes to; -1: nowhere, and its output is in the
 * result. */
struct ends {
    int in, out;
};

static const char *const to_read[] = { "cat", "--" };
static const char *const to_list[] = { "find",      "-H", NULL,      "-maxdepth",  "1",
                                       "-mindepth", "1",  "-printf", "%y %s %f\\0" };
static const char *const to_write[] = { "sh", "-c", WORKSPACE_TO_WRITE, "sh" };

static int check_path(const char *path, sbr_error *err)
{
    if (text_is_relative_path(path, REQUEST_MAX_PATH))
        return 0;
    return err_set(err, SBR_E_INVALID, "workspace",
                   "'%.200s' is no path below the workspace; name it as it is seen in /work", path);
}

/* The request of a command in the workspace; NULL and an error when there cannot be one. */
static sbr_request *command_in(const char *name, const char *const *words, sbr_error *err)
{
    sbr_request *req = NULL;

    if (sbr_request_new(NULL, NULL, &req, err) < 0)
        return NULL;
    if (sbr_request_set_workspace(req, name) == 0 && sbr_request_set_argv(req, words) == 0 &&
        sbr_request_set_limit(req, SBR_WALL_MS, limit_defs[SBR_WALL_MS].max) == 0 &&
        sbr_request_set_require(req, "process") == 0)
        return req;
    *err = *sbr_request_error(req);
    sbr_request_free(req);
    return NULL;
}

static int connect_ends(sbr_job *job, struct ends ends, struct terminal_filter *filter,
                        sbr_error *err)
{
    int r = ends.in < 0 ? 0 : sbr_job_pass(job, SBR_STDIN, ends.in);

    if (r == 0 && ends.out >= 0)
        r = sbr_job_pass(job, SBR_STDOUT, ends.out);
    if (r < 0)
        return err_set(err, r, "workspace", "cannot connect the file");
    if (ends.out >= 0 && isatty(ends.out))
        runner_filter(job, SBR_STDOUT, terminal_clean, filter);
    return 0;
}

/* The last line of what the command said: the others name what follows from it. */
static int command_failed(const sbr_report *report, sbr_error *err)
{
    char said[300];

    text_copy_visibly(said, sizeof(said), report->errout ? report->errout : "",
                      report->errout ? strcspn(report->errout, "\n") : 0);
    return err_set(err, report->verdict == SBR_EXITED ? SBR_E_NOT_FOUND : SBR_E_DENIED, "workspace",
                   "%s", said[0] ? said : "the command in the workspace was ended");
}

/* The caller frees the result. */
static int run_in(const char *name, const char *const *words, struct ends ends, sbr_result **ret,
                  sbr_error *err)
{
    struct terminal_filter filter = { 0 };
    sbr_request *req = command_in(name, words, err);
    sbr_runtime *rt = NULL;
    sbr_job *job = NULL;
    int r = req ? runner_open(RUNNER_ONCE, true, &rt, err) : err->code;

    if (r == 0)
        r = sbr_job_start(rt, req, &job, err);
    if (r == 0)
        r = connect_ends(job, ends, &filter, err);
    if (r == 0)
        r = sbr_job_finish(job, ret, err);
    if (job)
        sbr_job_free(job);
    if (rt)
        sbr_runtime_close(rt);
    sbr_request_free(req);
    if (r < 0)
        return r;
    if (sbr_result_report(*ret)->verdict == SBR_EXITED && !sbr_result_report(*ret)->exit_code)
        return 0;
    return command_failed(sbr_result_report(*ret), err);
}

static int record(const char *kind, const char *name, const char *path, sbr_error *err)
{
    const struct audit_field fields[] = { { "workspace", name }, { "path", path } };

    return audit_note_if_wanted(kind, fields, ARRAY_LEN(fields), err);
}

/* A question about a workspace does not make it. */
static int read_from(const char *name, const char *path, const char *const *words, int out,
                     sbr_result **ret, sbr_error *err)
{
    return workspace_check(name, err) < 0 || record("workspace_read", name, path, err) < 0
               ? err->code
               : run_in(name, words, (struct ends){ .in = -1, .out = out }, ret, err);
}

static int read_file(const char *name, const char *path, int out, sbr_error *err)
{
    const char *const words[] = { to_read[0], to_read[1], path, NULL };
    sbr_result *result = NULL;
    int r = check_path(path, err) < 0 ? err->code : read_from(name, path, words, out, &result, err);

    sbr_result_free(result);
    return r;
}

int workspace_files_cat(const struct options *o, sbr_error *err)
{
    return read_file(o->positional[1], o->positional[2], STDOUT_FILENO, err);
}

/* One name of a listing: its kind, its size and the name itself. */
struct entry {
    char kind;
    uint64_t size;
    const char *name;
};

static struct entry read_entry(const char *text)
{
    char *end;
    struct entry entry = { .kind = text[0], .size = strtoull(text + 1, &end, 10) };

    entry.name = *end ? end + 1 : end;
    return entry;
}

static void put_entry(struct jsonw *j, const struct entry *entry)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "type", entry->kind == 'd' ? "directory" : entry->kind == 'f' ? "file" : "other");
    jsonw_number(j, "size", entry->size);
    jsonw_path(j, "path", entry->name);
    jsonw_close(j, '}');
}

static void print_entry(const struct entry *entry)
{
    char size[16];

    amount_of_bytes(entry->size, size, sizeof(size));
    printf("%6s  ", entry->kind == 'f' ? size : "");
    present_name(stdout, entry->name);
    printf("%s\n", entry->kind == 'd' ? "/" : entry->kind == 'l' ? "@" : "");
}

static int by_name(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    return strcmp(left->name, right->name);
}

/* Each entry ends in a zero byte: a name may have any other. */
static size_t read_entries(const sbr_report *report, struct entry **ret)
{
    const char *end = report->out + report->out_len;
    size_t n = 0;

    *ret = NULL;
    for (const char *at = report->out; at && at < end; at += strlen(at) + 1) {
        struct entry *grown = reallocarray(*ret, n + 1, sizeof(*grown));

        if (!grown)
            break;
        *ret = grown;
        grown[n++] = read_entry(at);
    }
    if (n)
        qsort(*ret, n, sizeof(**ret), by_name);
    return n;
}

static void show_entries(const struct options *o, const struct entry *entries, size_t n)
{
    struct jsonw j;

    if (!o->json) {
        for (size_t i = 0; i < n; i++)
            print_entry(&entries[i]);
        return;
    }
    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "files", '[');
    for (size_t i = 0; i < n; i++)
        put_entry(&j, &entries[i]);
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    present_json(&j);
}

int workspace_files_ls(const struct options *o, sbr_error *err)
{
    const char *words[ARRAY_LEN(to_list) + 1] = { NULL };
    const char *below = o->n_positional > 2 ? o->positional[2] : NULL;
    scoped_free char *path = below ? text_format("./%s", below) : strdup(".");
    scoped_free struct entry *entries = NULL;
    sbr_result *result = NULL;
    int r = below ? check_path(below, err) : 0;

    if (r == 0 && !path)
        r = err_set_oom(err, "workspace");
    for (size_t i = 0; i < ARRAY_LEN(to_list); i++)
        words[i] = to_list[i] ? to_list[i] : path;
    if (r == 0)
        r = read_from(o->positional[1], path, words, -1, &result, err);
    if (r == 0 && sbr_result_report(result)->out_tail)
        r = err_set(err, SBR_E_UNSUPPORTED, "workspace",
                    "too many names to list; list a directory of the workspace");
    if (r == 0)
        show_entries(o, entries, read_entries(sbr_result_report(result), &entries));
    sbr_result_free(result);
    return r;
}

static int copy_out(const char *name, const char *path, const char *to, sbr_error *err)
{
    scoped_save_file struct save_file file = SAVE_FILE_NONE;
    int fd;

    if (session_open_file(NULL, to, &file, err) < 0)
        return err->code;
    fd = save_file_begin(&file, err);
    if (fd < 0 || read_file(name, path, fd, err) < 0)
        return err->code;
    return save_file_end(&file, err);
}

static int copy_in(const char *from, const char *name, const char *path, sbr_error *err)
{
    const char *words[ARRAY_LEN(to_write) + 2] = { NULL };
    bool is_stdin = !strcmp(from, "-");
    scoped_fd int opened = is_stdin ? -1 : open(from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    sbr_result *result = NULL;
    struct stat st;
    int r;

    if (!is_stdin && (opened < 0 || fstat(opened, &st) < 0))
        return err_set_errno(err, "workspace", "cannot read '%.200s'", from);
    if (!is_stdin && S_ISDIR(st.st_mode))
        return err_set(err, SBR_E_INVALID, "workspace",
                       "'%.200s' is a directory; `sandbox-run workspace import` takes whole trees",
                       from);
    if (check_path(path, err) < 0 || record("workspace_write", name, path, err) < 0)
        return err->code;
    memcpy(words, to_write, sizeof(to_write));
    words[ARRAY_LEN(to_write)] = path;
    r = run_in(name, words, (struct ends){ is_stdin ? STDIN_FILENO : opened, -1 }, &result, err);
    sbr_result_free(result);
    return r;
}

/* The name before the colon of NAME:PATH; NULL: a file of the host, which has a slash before it. */
static char *workspace_of(const char *word, const char **ret_path)
{
    const char *colon = strchr(word, ':'), *slash = strchr(word, '/');

    if (!colon || colon == word || (slash && slash < colon))
        return NULL;
    *ret_path = colon + 1;
    return strndup(word, (size_t)(colon - word));
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* A directory takes the file under its own name. */
static char *file_on_host(const char *to, const char *path)
{
    struct stat st;

    if (stat(to, &st) < 0 || !S_ISDIR(st.st_mode))
        return strdup(to);
    return text_format("%s/%s", to, base_of(path));
}

/* The same inside, where a directory is what ends in a slash. */
static char *file_inside(const char *path, const char *from)
{
    size_t len = strlen(path);

    return len && path[len - 1] != '/' ? strdup(path) : text_format("%s%s", path, base_of(from));
}

int workspace_files_cp(const struct options *o, sbr_error *err)
{
    const char *from = o->positional[1], *to = o->positional[2], *path = NULL;
    const char *to_path = NULL;
    scoped_free char *source = workspace_of(from, &path);
    scoped_free char *target = workspace_of(to, &to_path);
    scoped_free char *file = source   ? file_on_host(to, path)
                             : target ? file_inside(to_path, from)
                                      : NULL;
    int r;

    err->code = 0;
    if (source && target)
        r = err_set(err, SBR_E_INVALID, "workspace",
                    "both are in workspaces; copy to a file of yours first");
    else if (source && file)
        r = copy_out(source, path, file, err);
    else if (target && file)
        r = copy_in(from, target, file, err);
    else
        r = err_set(err, SBR_E_INVALID, "workspace",
                    "neither is in a workspace; name one as NAME:PATH");
    if (r == 0 && !o->json && !o->quiet)
        fprintf(stderr, "copied %s to %s%s%s\n", from, target ? target : "", target ? ":" : "",
                file);
    return r;
}
