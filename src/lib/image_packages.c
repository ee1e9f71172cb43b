#include "lib/image_making.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "image/image.h"
#include "lib/tool_job.h"

#define LIST_MAX (1u << 20)
#define NAMES_MAX 1000 /* as many as a file for `image build` has */
#define DISK ((uint64_t)8 << 30)
#define INODES 1000000

extern const unsigned char packages_script_image_start[], packages_script_image_end[];

/* A command with the tools of the language in the image, after its packages were installed. */
static int make_request(const char *image, const char *language, const char *const *words,
                        sbr_request **ret, sbr_error *err)
{
    if (tool_job_request(words, ret, err) < 0 ||
        request_set_text(&(*ret)->language, language, err) < 0 ||
        request_set_image(*ret, image, err) < 0)
        return err->code;
    (*ret)->command = true;
    return 0;
}

/* Starts the job and waits for its end; the caller frees both, also after an error.  The layer of
 * packages stays in the store at least as long as the job. */
static int run(const sbr_runtime *rt, const sbr_request *req, sbr_job **ret_job,
               sbr_result **ret_result, sbr_error *err)
{
    const struct monitor_options options = { .keep_output = true, .stdin_fd = -1 };

    if (job_new(rt, req, &options, ret_job, err) < 0)
        return err->code;
    (*ret_job)->skips_version = true;
    if (job_resolve(*ret_job, err) < 0 || job_begin(*ret_job, err) < 0)
        return err->code;
    return job_finish(*ret_job, ret_result, err);
}

/* The installer's own words, or the sentence of the verdict. */
static int refuse(const char *language, const sbr_result *result, sbr_error *err)
{
    const sbr_result *last =
        !result->ran && result->n_before ? result->before[result->n_before - 1] : result;
    const struct output *said = last->err.len ? &last->err : &last->out;
    char shown[300] = "";

    if (said->data && said->len)
        text_copy_visibly(shown, sizeof(shown), said->data, strcspn(said->data, "\n"));
    return err_set(err, SBR_E_INVALID, "build", "the packages of %s cannot be brought in: %.300s",
                   language, shown[0] ? shown : result->explanation);
}

/* Copies the layer to the place in the tree where programs of the language find it. */
static int copy_layer(const struct image_packages *packages, const struct image_making *making,
                      const char *layer, sbr_error *err)
{
    const struct image_recipe *recipe = packages->recipe;
    const char *words[] = { "sh", "/work/packages.sh", "copy", recipe->language, NULL };
    struct tool_job tool = { .rt = packages->rt,
                             .options = { .keep_output = true, .stdin_fd = -1 },
                             .writes_own = true };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = tool_job_request(words, &req, err);

    for (unsigned int i = 0; r == 0 && i < recipe->deps_count; i++)
        r = request_add_arg(req, recipe->deps[i], err);
    if (r == 0)
        r = request_add_file(req, "packages.sh", (const char *)packages_script_image_start,
                             (size_t)(packages_script_image_end - packages_script_image_start),
                             err);
    if (r == 0)
        r = tool_job_add_volume(req, layer, "/packages", VOLUME_RO, err);
    if (r == 0)
        r = tool_job_add_volume(req, making->tree, "/out", VOLUME_RW, err);
    if (r == 0) {
        req->limits.value[SBR_DISK_BYTES] = DISK;
        req->limits.value[SBR_INODES] = INODES;
        r = tool_job_run(&tool, req, &result, err);
    }
    if (r == 0 && !result_success(result))
        r = refuse(recipe->language, result, err);
    result_free(result);
    request_free(req);
    return r;
}

int image_packages_fill(const struct image_packages *packages, const struct image_making *making,
                        sbr_error *err)
{
    static const char *const words[] = { "true", NULL };
    const struct image_recipe *recipe = packages->recipe;
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    sbr_job *job = NULL;
    int r = make_request(packages->image, recipe->language, words, &req, err);

    for (unsigned int i = 0; r == 0 && i < recipe->deps_count; i++)
        r = request_add_dep(req, recipe->deps[i], err);
    if (r == 0)
        r = run(packages->rt, req, &job, &result, err);
    if (r == 0 && !result_success(result))
        r = refuse(recipe->language, result, err);
    if (r == 0)
        r = copy_layer(packages, making, job->layers[LAYER_DEPS].path, err);
    result_free(result);
    job_free(job);
    request_free(req);
    return r;
}

/* A package without its version and features: "NAME@1", "NAME[x]@1", "NAME==1", "GROUP:NAME:1". */
static char *name_of(const char *dep)
{
    size_t len = 1 + strcspn(dep + 1, "@=<>~[");
    const char *colon = memchr(dep, ':', len);
    const char *second = colon ? memchr(colon + 1, ':', len - (size_t)(colon + 1 - dep)) : NULL;

    return strndup(dep, second ? (size_t)(second - dep) : len);
}

/* The packages that an image was built with: one for each line of the file beside them. */
static int read_names(const struct image *image, const char *language, struct string_list *ret,
                      sbr_error *err)
{
    scoped_free char *path = text_format(IMAGE_PACKAGES "/%s.list", language), *text = NULL;
    scoped_fd int fd = path ? tool_root_open(&image->root, path, O_RDONLY) : -1;
    char *rest, *line;
    size_t len;

    if (!path)
        return err_set_oom(err, "build");
    if (fd < 0)
        return 0;
    if (fd_read_text(fd, LIST_MAX, &text, &len, err) < 0)
        return err->code;
    rest = text;
    while ((line = strsep(&rest, "\n"))) {
        scoped_free char *name = *line ? name_of(line) : NULL;

        if (*line && (!name || string_list_add(ret, name, err) < 0))
            return err_set_oom(err, "build");
        if (ret->n > NAMES_MAX)
            return err_set(err, SBR_E_INVALID, "build",
                           "the image names more than %d packages of %s: they cannot be compared",
                           NAMES_MAX, language);
    }
    return 0;
}

/* Packages of a language in an image. */
struct packages_asked {
    const char *ref, *language;
    const struct string_list *names;
};

/* What versions of the names there are: those of the image, or with `newest` those that its
 * installer takes now.  One line for each: NAME VERSION. */
static int list_versions(const sbr_runtime *rt, const struct packages_asked *asked, bool newest,
                         char **ret, sbr_error *err)
{
    const struct string_list *names = asked->names;
    const char *words[] = { "sh", "/work/packages.sh", "versions", asked->language, NULL };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    sbr_job *job = NULL;
    int r = make_request(asked->ref, asked->language, words, &req, err);

    for (size_t i = 0; r == 0 && i < names->n; i++)
        if (request_add_arg(req, names->items[i], err) < 0 ||
            (newest && request_add_dep(req, names->items[i], err) < 0))
            r = err->code;
    if (r == 0)
        r = request_add_file(req, "packages.sh", (const char *)packages_script_image_start,
                             (size_t)(packages_script_image_end - packages_script_image_start),
                             err);
    if (r == 0)
        r = run(rt, req, &job, &result, err);
    if (r == 0 && !result_success(result))
        r = refuse(asked->language, result, err);
    if (r == 0) {
        *ret = strndup(result->out.data ? result->out.data : "", result->out.len);
        r = *ret ? 0 : err_set_oom(err, "build");
    }
    /* The next question must not be answered by what was the newest today. */
    if (newest && job && job->keys[LAYER_DEPS][0])
        (void)!store_remove(STORE_LAYER, job->keys[LAYER_DEPS], &(sbr_error){ 0 });
    result_free(result);
    job_free(job);
    request_free(req);
    return r;
}

/* The version in the line "NAME VERSION" of the text; empty: there is none. */
static void version_in(const char *text, const char *name, char version[80])
{
    size_t len = strlen(name);

    version[0] = '\0';
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, len) && line[len] == ' ') {
            snprintf(version, 80, "%.*s", (int)strcspn(line + len + 1, "\n"), line + len + 1);
            return;
        }
        if (!*line)
            return;
    }
}

static int compare(const struct string_list *names, const char *before, const char *now,
                   struct string_list *ret, sbr_error *err)
{
    for (size_t i = 0; i < names->n; i++) {
        char was[80], is[80], line[400], shown[400];

        version_in(before, names->items[i], was);
        version_in(now, names->items[i], is);
        if (!was[0] || !is[0] || !strcmp(was, is))
            continue;
        snprintf(line, sizeof(line), "%.200s %s %s", names->items[i], was, is);
        text_copy_visibly(shown, sizeof(shown), line, strlen(line)); /* the image's words */
        if (string_list_add(ret, shown, err) < 0)
            return err->code;
    }
    return 0;
}

static int outdated_of(const sbr_runtime *rt, const struct packages_asked *asked,
                       struct string_list *ret, sbr_error *err)
{
    scoped_free char *before = NULL, *now = NULL;

    if (list_versions(rt, asked, false, &before, err) < 0 ||
        list_versions(rt, asked, true, &now, err) < 0)
        return err->code;
    return compare(asked->names, before, now, ret, err);
}

int image_packages_outdated(const sbr_runtime *rt, const char *ref, struct string_list *ret,
                            sbr_error *err)
{
    const struct language *language;
    struct image *image = NULL;
    int r = image_open(ref, NULL, &image, err);

    for (size_t i = 0; r == 0 && (language = language_at(i)); i++) {
        struct string_list names = { 0 };

        r = read_names(image, language->name, &names, err);
        if (r == 0 && names.n)
            r = outdated_of(rt, &(struct packages_asked){ ref, language->name, &names }, ret, err);
        string_list_done(&names);
    }
    image_free(image);
    return r;
}
