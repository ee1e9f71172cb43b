/* After the run: what was collected becomes changes, files and the new state of a workspace. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/changeset.h"
#include "changes/deliver.h"
#include "changes/node.h"
#include "changes/textdiff.h"
#include "job/job_steps.h"
#include "job/job_trees.h"
#include "model/request_save.h"

/* No process uses the copy any more, so the supervisor scans it for differences. */
static int scan_copy(struct job_trees *trees, struct job_tree *tree, sbr_error *err)
{
    trees->parts[tree->part].complete = true;
    return copy_changes(tree->copy_fd, &tree->copied, &trees->collected[tree->part], err);
}

/* Reports that changes are lost, however the run ended. */
static void tell_loss(sbr_result *result, const char *what, const sbr_error *why)
{
    size_t used = strlen(result->explanation);

    result->lost = true;
    if (result_success(result))
        result->verdict = SBR_DENIED;
    snprintf(result->explanation + used, sizeof(result->explanation) - used, "%s%s: %.160s",
             used ? "; " : "", what, why->message);
}

struct own_files {
    struct request_file *items;
    size_t n;
};

/* What the request put at /work; borrowed from it. */
static int list_own(const sbr_job *job, struct own_files *ret, sbr_error *err)
{
    const sbr_request *req = job->req;
    const char *name = job->trees->code_name;

    ret->items = calloc(req->n_files + 1 + job->trees->n_given, sizeof(*ret->items));
    if (!ret->items)
        return err_set_oom(err, "workspace");
    if (req->n_files)
        memcpy(ret->items, req->files, req->n_files * sizeof(*ret->items));
    ret->n = req->n_files;
    if (req->code && job->language)
        ret->items[ret->n++] =
            (struct request_file){ .path = (char *)(name[0] ? name : job->language->source),
                                   .data = req->code,
                                   .len = req->code_len };
    for (size_t i = 0; i < job->trees->n_given; i++)
        ret->items[ret->n++] = job->trees->given[i];
    return 0;
}

/* The path without links, for apply: a link that is put there later cannot lead it elsewhere. */
static const char *real_source(const struct job_tree *tree, char path[PATH_MAX])
{
    struct stat open, there;
    char name[40];
    ssize_t n;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", tree->source_fd);
    n = readlink(name, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    return fstat(tree->source_fd, &open) == 0 && lstat(path, &there) == 0 &&
                   open.st_ino == there.st_ino && open.st_dev == there.st_dev
               ? path
               : tree->source;
}

static size_t find(const struct collect_list *list, const char *path, size_t len)
{
    size_t i = 0;

    while (i < list->n && (strncmp(collect_list_path(list, i), path, len) != 0 ||
                           collect_list_path(list, i)[len] != '\0'))
        i++;
    return i;
}

/* Where a new entry goes: behind the directory that it is in; n + 1 when that is not there. */
static size_t place_for(const struct collect_list *list, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t parent = slash ? find(list, path, (size_t)(slash - path)) : 0;

    if (!slash)
        return list->n;
    return parent < list->n && list->items[parent].kind == COLLECT_ENTER ? parent + 1 : list->n + 1;
}

static int add_gone(struct collect_list *list, const char *path, sbr_error *err)
{
    struct collect_list_entry gone = { .kind = COLLECT_GONE };
    size_t at = place_for(list, path), n = list->n;

    if (at > n)
        return 0;
    if (collect_list_add(list, gone, path) < 0)
        return err_set_oom(err, "workspace");
    gone = list->items[n];
    memmove(&list->items[at + 1], &list->items[at], (n - at) * sizeof(gone));
    list->items[at] = gone;
    return 0;
}

/* What was applied and deleted since: the upper directory need not show that. */
static int mark_gone(const struct job_trees *trees, unsigned int root, struct collect_list *list,
                     sbr_error *err)
{
    for (size_t i = 0; i < trees->n_applied; i++) {
        const struct job_applied *one = &trees->applied[i];

        if (one->root == root && one->created &&
            find(list, one->path, strlen(one->path)) == list->n &&
            add_gone(list, one->path, err) < 0)
            return err->code;
    }
    return 0;
}

static int compare_tree(sbr_job *job, struct job_tree *tree, struct changes *changes,
                        sbr_error *err)
{
    struct job_trees *trees = job->trees;
    bool is_work = !strcmp(tree->target, INSIDE_WORK);
    char source[PATH_MAX];
    int root = changes_add_root(changes, real_source(tree, source), tree->target, err);
    struct own_files own = { 0 };
    struct collected names = trees->collected[tree->part];
    struct compare_input in = { .collected = &trees->collected[tree->part],
                                .source_fd = tree->source_fd,
                                .root = (unsigned int)root,
                                .index_sum = is_work ? trees->index_sum : "",
                                .started_ns = trees->started_ns,
                                .known = trees->known,
                                .n_known = trees->n_applied,
                                .no_sums = !job->req->keep && !trees->is_named && !trees->keeps_now,
                                .renames = !trees->is_named || job_trees_want_changes(job) };
    int r;

    if (root < 0 ||
        mark_gone(trees, (unsigned int)root, &trees->collected[tree->part].list, err) < 0 ||
        (is_work && !trees->is_named &&
         (list_own(job, &own, err) < 0 || job_trees_git_end(trees, err) < 0)))
        return err->code;
    if (!job_trees_want_changes(job) && !trees->is_named) { /* their contents were not sent */
        names.content_fd = -1;
        in.collected = &names;
    }
    in.own = own.items;
    in.n_own = own.n;
    r = compare(&in, changes, err);
    free(own.items);
    return r;
}

bool job_trees_gather(sbr_job *job, struct changes *changes, sbr_result *result)
{
    struct job_trees *trees = job->trees;
    sbr_error err = { 0 };

    for (size_t i = 0; i < trees->n && !err.code; i++) {
        struct job_tree *tree = &trees->at[i];

        if (tree->part < 0)
            continue;
        if (trees->cow == COW_COPY && scan_copy(trees, tree, &err) < 0)
            break;
        if (!trees->parts[tree->part].complete)
            err = trees->parts[tree->part].failure;
        if (!trees->parts[tree->part].complete && !err.code)
            err_set(&err, SBR_E_SYSTEM, "workspace", "the sandbox ended before they were taken");
        if (!err.code && compare_tree(job, tree, changes, &err) < 0)
            break;
    }
    if (err.code)
        tell_loss(result, "its changes are lost", &err);
    else
        changes_sort(changes);
    return err.code == 0;
}

/* A file that the request put there and the program left unchanged is no output. */
static bool is_own(const struct own_files *own, const struct collected *collected, size_t index)
{
    const struct collect_list_entry *entry = &collected->list.items[index];
    const char *path = collect_list_path(&collected->list, index);

    if (entry->kind != COLLECT_FILE || strncmp(path, "work/", 5) != 0)
        return false;
    for (size_t i = 0; i < own->n; i++) {
        scoped_free char *text = NULL;
        scoped_fd int fd = -1;
        struct node_state seen;
        sbr_error ignored;
        size_t len;

        if (entry->size != own->items[i].len || strcmp(path + 5, own->items[i].path) != 0)
            continue;
        fd = node_open_file(collected->content_fd, path, &seen);
        return fd >= 0 && fd_read_text(fd, entry->size + 1, &text, &len, &ignored) == 0 &&
               len == own->items[i].len && !memcmp(text, own->items[i].data, len);
    }
    return false;
}

static void drop_own(const sbr_job *job, struct collected *collected)
{
    struct own_files own = { 0 };
    sbr_error ignored; /* then they are listed */
    size_t n = 0;

    if (list_own(job, &own, &ignored) < 0)
        return;
    for (size_t i = 0; i < collected->list.n; i++)
        if (!is_own(&own, collected, i))
            collected->list.items[n++] = collected->list.items[i];
    collected->list.n = n;
    free(own.items);
}

static void gather_files(sbr_job *job, sbr_result *result)
{
    const struct output_rules *rules = &job->req->outputs;
    struct job_trees *trees = job->trees;
    scoped_save_trees struct save_trees foreign = { 0 };
    size_t first = 0;
    sbr_error err = { 0 };

    if (rules->n && request_save_trees(job->req, &foreign, &err) < 0) {
        tell_loss(result, "not all outputs were saved", &err);
        return;
    }
    while (first < trees->n_parts && job->now.plan->n_collects > first &&
           job->now.plan->collects[first].what != COLLECTS_OUTPUT)
        first++;
    for (size_t i = 0; i < rules->n && first + i < trees->n_parts; i++) {
        const struct collect_part *part = &trees->parts[first + i];

        if (!part->complete && part->failure.code)
            tell_loss(result, "not all outputs were taken", &part->failure);
        drop_own(job, &trees->collected[first + i]);
        if (deliver(&rules->items[i], &trees->collected[first + i], &foreign, &result->files,
                    &err) < 0)
            tell_loss(result, "not all outputs were saved", &err);
    }
}

int job_trees_render(const sbr_job *job, const struct changes *changes, sbr_result *result,
                     sbr_error *err)
{
    scoped_fd int content =
        openat(job->trees->staging.fd, "tree", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct buf text;
    int r;

    if (content < 0)
        return err_set_errno(err, "workspace", "cannot read the changes");
    buf_init(&text, SIZE_MAX / 2);
    r = changes_diff(changes, content, job->render, &text, err);
    if (r == 0)
        result->diff = buf_take(&text, NULL);
    buf_done(&text);
    return r;
}

int job_trees_keep(sbr_job *job, const struct changes *changes, sbr_result *result, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    char about[CHANGESET_ABOUT], id[ENCODING_ID_SIZE];

    job_output_describe(job, about, sizeof(about));
    memcpy(id, trees->staging.id, sizeof(id));
    if (changeset_commit(&trees->staging, changes, &result->files, about, err) < 0)
        return err->code;
    memcpy(result->changes_id, id, sizeof(id));
    return 0;
}

static int use_changes(sbr_job *job, struct changes *changes, sbr_result *result, sbr_error *err)
{
    if (job->render && job->req->diff && job_trees_render(job, changes, result, err) < 0)
        return err->code;
    if (job->req->keep && job_trees_keep(job, changes, result, err) < 0)
        return err->code;
    if (job->trees->is_named &&
        workspace_save(&job->trees->workspace, &job->trees->staging, changes, err) < 0)
        tell_loss(result, "the workspace was not saved", err);
    return 0;
}

int job_trees_end(sbr_job *job, sbr_result *result, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    struct changes *changes;
    bool gathered;
    int r = 0;

    if (!trees || !trees->n_parts || result->verdict == SBR_CANCELLED)
        return 0;
    result->usage.queue_us += trees->queue_us;
    changes = calloc(1, sizeof(*changes));
    if (!changes)
        return err_set_oom(err, "workspace");
    gathered = job_trees_gather(job, changes, result);
    gather_files(job, result); /* afterwards: they may be saved into the project */
    if (gathered)
        r = use_changes(job, changes, result, err);
    if ((job_trees_want_changes(job) || job->notices_changes) && gathered && r == 0) {
        result->changes = changes;
    } else {
        changes_done(changes);
        free(changes);
    }
    result_complete(result);
    return r;
}
