#include "lib/image_build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/scope.h"
#include "base/text.h"
#include "image/image.h"
#include "lib/image_layout.h"
#include "lib/image_making.h"
#include "lib/image_mirrors.h"
#include "lib/tool_job.h"
#include "toolchain/registries.h"

#define WORDS_MAX 1000
#define MEMORY ((uint64_t)6 << 30) /* lists and packages lie in memory while they are unpacked */
#define DISK ((uint64_t)4 << 30)
#define INODES 1000000

#define EMBEDDED(name) extern const unsigned char name##_image_start[], name##_image_end[]
EMBEDDED(build_script);
EMBEDDED(build_python);

#define SHIPPED(name)                                                                              \
    {                                                                                              \
#name, build_##name##_image_start, build_##name##_image_end                                \
    }
static const struct shipped {
    const char *name;
    const unsigned char *start, *end;
} shipped[] = { SHIPPED(python) };

/* The YAML file. */
struct recipe {
    char *about, *workdir, *user;
    DOCUMENT_LIST(packages);
    DOCUMENT_LIST(sources); /* lines for apt; none: the host's */
    DOCUMENT_LIST(links);   /* "PATH TARGET" */
    DOCUMENT_LIST(env);
    DOCUMENT_LIST(command);
};

#define MAYBE (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define TEXT(field) CYAML_FIELD_STRING_PTR(#field, MAYBE, struct recipe, field, 1, 4096)
#define LIST(field, flags, least)                                                                  \
    CYAML_FIELD_SEQUENCE(#field, flags, struct recipe, field, &document_text, least, WORDS_MAX)

static const cyaml_schema_field_t fields[] = {
    TEXT(about),
    TEXT(workdir),
    TEXT(user),
    LIST(packages, CYAML_FLAG_POINTER, 1),
    LIST(sources, MAYBE, 0),
    LIST(links, MAYBE, 0),
    LIST(env, MAYBE, 0),
    LIST(command, MAYBE, 0),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct recipe, fields),
};

/* A package, as in "python3" or "python3=3.11.*"; nothing that apt takes for an option. */
static bool is_package(const char *text)
{
    bool begun = islower((unsigned char)text[0]) || isdigit((unsigned char)text[0]);

    for (const char *at = text; begun && *at; at++)
        begun = isalnum((unsigned char)*at) || strchr("+.:~=*_-", *at);
    return begun;
}

static int check_recipe(const char *file, const struct recipe *recipe, sbr_error *err)
{
    for (unsigned int i = 0; i < recipe->packages_count; i++)
        if (!is_package(recipe->packages[i]))
            return err_set(err, SBR_E_INVALID, "build",
                           "%.150s: '%.80s' is no package; as in python3 or python3=3.11.*", file,
                           recipe->packages[i]);
    for (unsigned int i = 0; i < recipe->links_count; i++)
        if (recipe->links[i][0] == '/' || !strchr(recipe->links[i], ' ') ||
            strchr(recipe->links[i], '\n') || strstr(recipe->links[i], ".."))
            return err_set(err, SBR_E_INVALID, "build",
                           "%.150s: '%.80s' is no link; as in 'usr/bin/awk mawk', below the root",
                           file, recipe->links[i]);
    return 0;
}

static int load_recipe(const char *file, struct recipe **ret, sbr_error *err)
{
    const struct shipped *found = NULL;
    int r;

    for (size_t i = 0; i < ARRAY_LEN(shipped); i++)
        if (!strcmp(file, shipped[i].name))
            found = &shipped[i];
    if (!found && !strpbrk(file, "/."))
        return err_set(err, SBR_E_NOT_FOUND, "build",
                       "there is no image '%.100s' to build; python is known, and "
                       "./FILE.yaml names a file of yours",
                       file);
    r = found ? document_load_text(file, (const char *)found->start,
                                   (size_t)(found->end - found->start), &schema, (void **)ret, err)
              : document_load(file, &schema, (void **)ret, err);
    if (r == 0)
        r = check_recipe(file, *ret, err);
    return r;
}

/* One line for each item. */
static int join(char **items, unsigned int n, struct buf *ret, sbr_error *err)
{
    for (unsigned int i = 0; i < n; i++)
        if (buf_add(ret, items[i], strlen(items[i])) < 0 || buf_add(ret, "\n", 1) < 0)
            return err_set_oom(err, "build");
    return 0;
}

static int add_lines_of(sbr_request *req, const char *path, char **items, unsigned int n,
                        sbr_error *err)
{
    struct buf lines;
    int r;

    buf_init(&lines, SIZE_MAX / 2);
    r = join(items, n, &lines, err);
    if (r == 0)
        r = request_add_file(req, path, lines.data ? lines.data : "", lines.len, err);
    buf_done(&lines);
    return r;
}

static int make_request(const char *mode, const struct recipe *recipe, sbr_request **ret,
                        sbr_error *err)
{
    const char *words[] = { "sh", "/work/build.sh", mode, NULL };
    struct limits *limits;

    if (tool_job_check("apt-get", "images are built with", "build", err) < 0 ||
        tool_job_check("dpkg-deb", "images are built with", "build", err) < 0 ||
        tool_job_request(words, ret, err) < 0)
        return err->code;
    limits = &(*ret)->limits;
    limits->value[SBR_MEMORY_BYTES] = MEMORY;
    limits->value[SBR_DISK_BYTES] = DISK;
    limits->value[SBR_INODES] = INODES;
    limits->value[SBR_CPU_MS] = LIMIT_NONE;
    if (request_add_file(*ret, "build.sh", (const char *)build_script_image_start,
                         (size_t)(build_script_image_end - build_script_image_start), err) < 0 ||
        tool_job_add_volume(*ret, IMAGE_MIRRORS_APT, "/apt", VOLUME_RO, err) < 0)
        return err->code;
    if (recipe && add_lines_of(*ret, "sources", recipe->sources, recipe->sources_count, err) < 0)
        return err->code;
    return image_mirrors_allow(*ret, recipe ? recipe->sources : NULL,
                               recipe ? recipe->sources_count : 0, err);
}

static int add_recipe(sbr_request *req, const struct recipe *recipe, sbr_error *err)
{
    for (unsigned int i = 0; i < recipe->packages_count; i++)
        if (request_add_arg(req, recipe->packages[i], err) < 0)
            return err->code;
    return add_lines_of(req, "links", recipe->links, recipe->links_count, err);
}

/* apt's last line that begins with "E:". */
static void find_reason(const sbr_result *result, char *said, size_t size)
{
    const char *text = result->err.data ? result->err.data : "", *why = NULL;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, "E: ", 3))
            why = line + 3;
        if (!*line)
            break;
    }
    text_copy_visibly(said, size, why ? why : "", why ? strcspn(why, "\n") : 0);
}

/* The first host that no rule opens; NULL: none. */
static const char *refused_host(const sbr_result *result)
{
    for (size_t i = 0; i < result->denials.n; i++) {
        const struct denial *d = &result->denials.items[i];

        if (d->kind == DENIAL_CONNECT || d->kind == DENIAL_NAME)
            return d->target;
    }
    return NULL;
}

static int refuse(const sbr_result *result, sbr_error *err)
{
    const char *host = refused_host(result);
    char said[300], shown[100];

    find_reason(result, said, sizeof(said));
    if (!host)
        return err_set(err, SBR_E_INVALID, "build", "the packages cannot be brought in: %.300s",
                       said[0] ? said : result->explanation);
    text_copy_visibly(shown, sizeof(shown), host, strlen(host));
    return err_set(err, SBR_E_INVALID, "build",
                   "the packages cannot be brought in: '%s' is no public host of the image's file "
                   "and no host of apt's configuration; set " REGISTRIES_ENV
                   " to it if you trust it (apt: %.200s)",
                   shown, said);
}

static int run(const sbr_runtime *rt, const sbr_request *req, bool writes, sbr_result **ret,
               sbr_error *err)
{
    struct tool_job tool = { .rt = rt,
                             .options = { .keep_output = true, .stdin_fd = -1 },
                             .writes_own = writes };

    if (tool_job_run(&tool, req, ret, err) < 0)
        return err->code;
    return result_success(*ret) ? 0 : refuse(*ret, err);
}

static int fill_tree(const struct image_build *build, const struct recipe *recipe,
                     const struct image_making *making, sbr_error *err)
{
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = make_request("build", recipe, &req, err);

    if (r == 0)
        r = add_recipe(req, recipe, err);
    if (r == 0)
        r = tool_job_add_volume(req, making->tree, "/out", VOLUME_RW, err);
    if (r == 0)
        r = run(build->pull.rt, req, true, &result, err);
    result_free(result);
    request_free(req);
    return r;
}

static struct string_list list_of(char **items, unsigned int n)
{
    return (struct string_list){ .items = items, .n = n };
}

/* The tree becomes a layout of ours, which is then taken in as any other. */
static int take_tree(const struct image_build *build, const struct recipe *recipe,
                     const struct user_dir *root, const struct image_making *making, char id[65],
                     sbr_error *err)
{
    const struct image_config config = { .env = list_of(recipe->env, recipe->env_count),
                                         .command = list_of(recipe->command, recipe->command_count),
                                         .workdir = recipe->workdir,
                                         .user = recipe->user };
    struct image_layout layout = { .rt = build->pull.rt,
                                   .tree = { .path = making->tree, .fd = making->tree_fd },
                                   .config = &config,
                                   .form = IMAGE_FORM_PLAIN };
    char digest[SHA256_HEX_SIZE];
    struct image_making place;
    int r = image_layout_newest(making->tree_fd, &layout.tree.newest, err);

    if (r < 0 || image_making_begin(root, &place, err) < 0)
        return err->code;
    r = image_layout_write(&layout, place.tree_fd, digest, err);
    if (r == 0)
        r = image_pull_layout(&build->pull, place.tree_fd, "", id, err);
    image_making_done(&place);
    return r;
}

static int make_image(const struct image_build *build, const struct recipe *recipe, char id[65],
                      sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct image_making making;
    int r;

    if (image_store_root(true, &root, err) < 0 || image_making_begin(&root, &making, err) < 0)
        return err->code;
    r = fill_tree(build, recipe, &making, err);
    if (r == 0)
        r = take_tree(build, recipe, &root, &making, id, err);
    image_making_done(&making);
    return r;
}

/* "./dir/own.yaml" is localhost/own:latest. */
static void name_by_file(const char *file, char ref[300])
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

    snprintf(ref, 300, "localhost/%.*s:latest", (int)strcspn(name, "."), name);
}

int image_build(const struct image_build *build, char ref[300], char id[65], sbr_error *err)
{
    struct recipe *recipe = NULL;
    struct image_ref parsed;
    int r;

    if (build->tag)
        snprintf(ref, 300, "%s", build->tag);
    else
        name_by_file(build->file, ref);
    if (image_ref_parse(ref, &parsed, err) < 0)
        return err->code;
    if (parsed.transport != IMAGE_REGISTRY)
        return err_set(err, SBR_E_INVALID, "build", "--tag takes a name, as in localhost/own:1");
    r = load_recipe(build->file, &recipe, err);
    if (r == 0)
        r = make_image(build, recipe, id, err);
    if (r == 0)
        r = image_store_name(&parsed, id, err);
    document_free(&schema, recipe);
    return r;
}

static int add_lines(const sbr_result *result, struct string_list *ret, sbr_error *err)
{
    scoped_free char *text = strndup(result->out.data ? result->out.data : "", result->out.len);
    char *rest = text, *line;

    if (!text)
        return err_set_oom(err, "build");
    while ((line = strsep(&rest, "\n")))
        if (*line && string_list_add(ret, line, err) < 0)
            return err->code;
    return 0;
}

int image_build_outdated(const sbr_runtime *rt, const char *ref, const char *file,
                         struct string_list *ret, sbr_error *err)
{
    struct recipe *recipe = NULL;
    struct image *image;
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    struct stat st;
    int r;

    if (image_open(ref, NULL, &image, err) < 0)
        return err->code;
    r = file ? load_recipe(file, &recipe, err) : 0;
    if (r == 0)
        r = tool_root_stat(&image->root, "/var/lib/dpkg/status", &st)
                ? make_request("outdated", recipe, &req, err)
                : err_set(err, SBR_E_UNSUPPORTED, "build",
                          "'%.150s' has no list of Debian packages, so nothing can be compared",
                          ref);
    if (r == 0)
        r = tool_job_add_volume(req, image->top, "/image", VOLUME_RO, err);
    if (r == 0)
        r = run(rt, req, false, &result, err);
    if (r == 0)
        r = add_lines(result, ret, err);
    result_free(result);
    request_free(req);
    document_free(&schema, recipe);
    image_free(image);
    return r;
}
