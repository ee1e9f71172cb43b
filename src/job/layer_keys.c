/* Keys of the store. */
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "image/image.h"
#include "job/job_trees.h"
#include "plan/driver_object.h"
#include "plan/language.h"
#include "toolchain/project_sources.h"

#define KEY_REVISION "1"

static void add_words(struct sha256 *s, const struct words *words)
{
    sha256_add_u64(s, words->n);
    for (unsigned int i = 0; i < words->n; i++)
        sha256_add_text(s, words->at[i]);
}

static void add_list(struct sha256 *s, const struct string_list *list)
{
    sha256_add_u64(s, list->n);
    for (size_t i = 0; i < list->n; i++)
        sha256_add_text(s, list->items[i]);
}

#define N_OF_HOST 4

/* Headers, libraries and the linker come in packages.  When one of them changes, so does the record
 * of the package manager.  A directory that is used as an image may have no such record: there the
 * directories of headers and libraries stand for it. */
static void add_packages(struct sha256 *s, const struct tool_root *root)
{
    static const char *const records[] = { "/var/lib/dpkg/status",  "/var/lib/rpm",
                                           "/usr/lib/sysimage/rpm", "/etc/ld.so.cache",
                                           "/lib/apk/db/installed", "/usr/lib",
                                           "/usr/include",          "/lib" };
    size_t n = root ? ARRAY_LEN(records) : N_OF_HOST;

    for (size_t i = 0; i < n; i++) {
        struct stat st;
        bool there = tool_root_stat(root, records[i], &st);

        sha256_add_u64(s, there ? (uint64_t)st.st_mtim.tv_sec : 0);
        sha256_add_u64(s, there ? (uint64_t)st.st_mtim.tv_nsec : 0);
    }
}

/* Tools, machine, the stage's command and our own drivers. */
static void begin(struct sha256 *s, const sbr_job *job, const struct stage_def *def)
{
    char identity[TOOLCHAIN_IDENTITY];
    struct utsname machine;

    sha256_init(s);
    sha256_add_text(s, KEY_REVISION);
    sha256_add_text(s, job->language->name);
    toolchain_identity(&job->toolchain, identity, sizeof(identity));
    sha256_add_text(s, identity);
    sha256_add_text(s, uname(&machine) == 0 ? machine.machine : "");
    /* An image's digest stands for all of its files and is in the identity of its tools. */
    if (job->image ? !job->image->id[0] : def->system)
        add_packages(s, job->image ? &job->image->root : NULL);
    sha256_add_text(s, job->language->source);
    sha256_add_text(s, job->language->deps_link);
    add_words(s, &job->language->extensions);
    add_words(s, &job->language->needs);
    add_words(s, &job->language->env);
    add_words(s, &job->language->driver_texts);
    for (unsigned int i = 0; i < job->language->drivers.n; i++)
        if (driver_object_is(job->language->drivers.at[i]))
            sha256_add_text(s, driver_object_find(job->language->drivers.at[i]).sum);
    add_words(s, &def->run);
    add_words(s, &def->env);
}

void layer_key_prepared(sbr_job *job)
{
    struct sha256 s;

    begin(&s, job, &job->language->prepare);
    sha256_finish_hex(&s, job->keys[LAYER_PREPARED]);
}

/* A manifest that is there and asks for something. */
static bool asks(const struct manifest *manifest, const struct request_file *file)
{
    return manifest_is(manifest, file->path) && manifest_asks(manifest, file->data);
}

static bool is_lock(const struct stage_def *def, const char *path)
{
    for (unsigned int i = 0; i < def->locks.n; i++)
        if (!strcmp(def->locks.at[i], path))
            return true;
    return false;
}

static bool is_manifest(const struct stage_def *def, const char *path)
{
    for (unsigned int i = 0; i < def->n_manifests; i++)
        if (manifest_is(&def->manifests[i], path))
            return true;
    return is_lock(def, path);
}

static void add_file(struct sha256 *s, const struct request_file *file)
{
    sha256_add_text(s, file->path);
    sha256_add_u64(s, file->executable);
    sha256_add_u64(s, file->len);
    sha256_add(s, file->data, file->len);
}

/* The request's own files, then the project's, which the former hide; NULL past the last. */
static const struct request_file *file_at(const sbr_job *job, size_t index)
{
    const sbr_request *req = job->req;
    size_t n = job->trees ? job->trees->n_manifests : 0;

    if (index < req->n_files)
        return &req->files[index];
    return index - req->n_files < n ? &job->trees->manifests[index - req->n_files] : NULL;
}

static bool is_hidden(const sbr_job *job, size_t index)
{
    const sbr_request *req = job->req;

    for (size_t i = 0; index >= req->n_files && i < req->n_files; i++)
        if (!strcmp(req->files[i].path, file_at(job, index)->path))
            return true;
    return false;
}

static bool wants_dependencies(const sbr_job *job, const struct stage_def *def)
{
    const struct request_file *file;

    for (size_t i = 0; !job->req->installs_nothing && (file = file_at(job, i)); i++)
        for (unsigned int k = 0; !is_hidden(job, i) && k < def->n_manifests; k++)
            if (asks(&def->manifests[k], file))
                return true;
    return job->req->deps.n > 0 ||
           (job->req->of_project && def->sources.n && !job->req->installs_nothing);
}

/* For tests and builds the stage sees the project: what of it decides is named by the language.  A
 * set-up runs the project's code, which can leave anything and read any file.  So its layer is for
 * this directory alone: a copy with another file that no pattern names could otherwise choose what
 * the tests of the original do. */
static void add_sources(struct sha256 *s, const sbr_job *job, const struct stage_def *def,
                        bool runs_it)
{
    const sbr_request *req = job->req;
    const struct job_tree *at = job->trees && job->trees->n ? &job->trees->at[0] : NULL;

    if (!req->of_project)
        return;
    sha256_add_text(s, "of-project");
    for (size_t i = 0; i < req->n_files; i++)
        if (runs_it || project_sources_match(&def->sources, req->files[i].path))
            add_file(s, &req->files[i]);
    if (!at || at->source_fd < 0 || strcmp(at->target, INSIDE_WORK) != 0)
        return;
    project_sources_add(at->source_fd, &def->sources, at->masks, at->n_masks, s);
    if (runs_it)
        project_sources_add_place(at->source_fd, s);
}

int layer_key_dependencies(sbr_job *job, sbr_error *err)
{
    const struct stage_def *def = &job->language->install;
    const struct request_file *file;
    struct sha256 s;

    if (!wants_dependencies(job, def))
        return 0;
    if (client_config_read(def, stage_plan_home(job), &job->installer, err) < 0)
        return err->code;
    begin(&s, job, def);
    sha256_add_text(&s, job->keys[LAYER_PREPARED]); /* installers may use it */
    sha256_add_text(&s, job->installer.key);
    add_list(&s, &job->req->deps);
    for (size_t i = 0; (file = file_at(job, i)); i++)
        if (is_manifest(def, file->path) && !is_hidden(job, i))
            add_file(&s, file);
    add_sources(&s, job, def, false);
    sha256_finish_hex(&s, job->keys[LAYER_DEPS]);
    return 1;
}

/* What a compiler finds in a project is no part of any key.  So the key is unique, and the artifact
 * goes with the job. */
static void add_own_tree(struct sha256 *s, const sbr_job *job)
{
    char id[ENCODING_ID_SIZE] = "";

    if (!job->req->project && !job->req->workspace)
        return;
    sha256_add_text(s, encoding_random_id(id) < 0 ? "" : id);
    sha256_add_u64(s, clock_now_us());
}

static void add_program(struct sha256 *s, const sbr_job *job)
{
    const sbr_request *req = job->req;

    add_list(s, &req->compile_args);
    sha256_add_u64(s, req->buffered);
    sha256_add_u64(s, req->profiled);
    sha256_add_u64(s, req->code != NULL);
    sha256_add_u64(s, req->code_len);
    sha256_add(s, req->code ? req->code : "", req->code_len);
    sha256_add_u64(s, req->n_files);
    for (size_t i = 0; i < req->n_files; i++)
        add_file(s, &req->files[i]);
    add_own_tree(s, job);
}

void layer_key_artifact(sbr_job *job)
{
    struct sha256 s;

    begin(&s, job, &job->language->compile);
    sha256_add_text(&s, job->keys[LAYER_PREPARED]);
    sha256_add_text(&s, job->keys[LAYER_DEPS]);
    if (job->req->of_project)
        add_sources(&s, job, &job->language->compile, true);
    else
        add_program(&s, job);
    sha256_finish_hex(&s, job->keys[LAYER_BUILD]);
}
