
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "image/image.h"
#include "lib/image_making.h"
#include "lib/image_pull.h"
#include "lib/tool_job.h"
#include "toolchain/registries.h"

#define MEMORY ((uint64_t)6 << 30) /* lists and packages lie in memory while they are unpacked */
#define DISK ((uint64_t)4 << 30)
#define INODES 1000000

extern const unsigned char build_script_image_start[], build_script_image_end[];

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

static int make_request(const char *mode, sbr_request **ret, sbr_error *err)
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
    return request_add_file(*ret, "build.sh", (const char *)build_script_image_start,
                            (size_t)(build_script_image_end - build_script_image_start), err);
}

/* With the configuration of apt, and a network. */
static int make_apt_request(const char *mode, const struct image_recipe *recipe, sbr_request **ret,
                            sbr_error *err)
{
    if (make_request(mode, ret, err) < 0 ||
        tool_job_add_volume(*ret, IMAGE_MIRRORS_APT, "/apt", VOLUME_RO, err) < 0)
        return err->code;
    if (recipe && add_lines_of(*ret, "sources", recipe->sources, recipe->sources_count, err) < 0)
        return err->code;
    return image_mirrors_allow(*ret, recipe ? recipe->sources : NULL,
                               recipe ? recipe->sources_count : 0, err);
}

static int add_packages_of(sbr_request *req, const struct image_recipe *recipe, sbr_error *err)
{
    for (unsigned int i = 0; i < recipe->packages_count; i++)
        if (request_add_arg(req, recipe->packages[i], err) < 0)
            return err->code;
    return 0;
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

static int fetch(const struct image_build *build, const struct image_recipe *recipe,
                 const struct image_making *archives, sbr_error *err)
{
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = make_apt_request("fetch", recipe, &req, err);

    if (r == 0)
        r = add_packages_of(req, recipe, err);
    if (r == 0)
        r = tool_job_add_volume(req, archives->tree, "/archives", VOLUME_RW, err);
    if (r == 0)
        r = run(build->pull.rt, req, true, &result, err);
    result_free(result);
    request_free(req);
    return r;
}

static int unpack(const struct image_build *build, const struct image_recipe *recipe,
                  const struct image_making *archives, const struct image_making *making,
                  sbr_error *err)
{
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = make_request("unpack", &req, err);

    if (r == 0)
        r = add_lines_of(req, "links", recipe->links, recipe->links_count, err);
    if (r == 0)
        r = tool_job_add_volume(req, archives->tree, "/archives", VOLUME_RO, err);
    if (r == 0)
        r = tool_job_add_volume(req, making->tree, "/out", VOLUME_RW, err);
    if (r == 0)
        r = run(build->pull.rt, req, true, &result, err);
    result_free(result);
    request_free(req);
    return r;
}

/* Whatever a package does where it is unpacked, it finds nothing of the caller's there. */
static int fill_tree(const struct image_build *build, const struct image_recipe *recipe,
                     const struct image_making *making, sbr_error *err)
{
    struct image_making archives;
    int r;

    if (image_making_begin(making->root, &archives, err) < 0)
        return err->code;
    r = fetch(build, recipe, &archives, err);
    if (r == 0)
        r = unpack(build, recipe, &archives, making, err);
    image_making_done(&archives);
    return r;
}

static struct string_list list_of(char **items, unsigned int n)
{
    return (struct string_list){ .items = items, .n = n };
}

/* One of the images on the way: of Debian's packages, then with those of the language. */
struct made {
    char id[SHA256_HEX_SIZE];
    struct image_layer layer; /* the topmost */
    int64_t newest;           /* time of a file in the first one; no later time is in any */
};

/* A layout of ours that has the image is taken in as any other. */
static int take_layout(const struct image_build *build, const struct image_layout *layout,
                       int dir_fd, struct made *ret, sbr_error *err)
{
    char digest[SHA256_HEX_SIZE];
    struct image_manifest manifest;

    if (image_layout_write(layout, dir_fd, digest, err) < 0 ||
        image_manifest_read(dir_fd, "", &manifest, err) < 0)
        return err->code;
    ret->layer = manifest.layers[manifest.n_layers - 1];
    ret->newest = layout->tree.newest;
    image_manifest_done(&manifest);
    return image_pull_layout(&build->pull,
                             &(struct image_here){
                                 .fd = dir_fd, .tag = "", .ours = true, .built = true },
                             ret->id, err);
}

/* `below`: the image that the tree's files go on top of; NULL: none. */
static int take_tree(const struct image_build *build, const struct image_recipe *recipe,
                     const struct image_making *making, const struct made *below, struct made *ret,
                     sbr_error *err)
{
    const struct image_config config = { .env = list_of(recipe->env, recipe->env_count),
                                         .command = list_of(recipe->command, recipe->command_count),
                                         .workdir = recipe->workdir,
                                         .user = recipe->user };
    struct image_layout layout = { .rt = build->pull.rt,
                                   .tree = { .path = making->tree, .fd = making->tree_fd },
                                   .below = below ? &below->layer : NULL,
                                   .config = &config,
                                   .form = IMAGE_FORM_PLAIN };
    struct image_making place;
    int r = 0;

    if (below)
        layout.tree.newest = below->newest;
    else
        r = image_layout_newest(making->tree_fd, &layout.tree.newest, err);
    if (r < 0 || image_making_begin(making->root, &place, err) < 0)
        return err->code;
    r = take_layout(build, &layout, place.tree_fd, ret, err);
    image_making_done(&place);
    return r;
}

static int make_base(const struct image_build *build, const struct image_recipe *recipe,
                     const struct user_dir *root, struct made *ret, sbr_error *err)
{
    struct image_making making;
    int r;

    if (image_making_begin(root, &making, err) < 0)
        return err->code;
    r = fill_tree(build, recipe, &making, err);
    if (r == 0)
        r = image_compile(build->pull.rt, &making, err);
    if (r == 0)
        r = take_tree(build, recipe, &making, NULL, ret, err);
    image_making_done(&making);
    return r;
}

static int add_packages(const struct image_build *build, const struct image_recipe *recipe,
                        const struct user_dir *root, const struct made *base, struct made *ret,
                        sbr_error *err)
{
    char top[IMAGE_PATH_SIZE];
    struct image_packages packages = { .rt = build->pull.rt, .image = top, .recipe = recipe };
    struct image_making making;
    scoped_fd int held = image_store_hold(root, base->id, err);
    int r;

    if (held < 0)
        return err->code;
    snprintf(top, sizeof(top), "%.1000s/root/%s/tree", root->path, base->id);
    if (image_making_begin(root, &making, err) < 0)
        return err->code;
    r = image_packages_fill(&packages, &making, err);
    if (r == 0)
        r = take_tree(build, recipe, &making, base, ret, err);
    image_making_done(&making);
    return r;
}

static int make_image(const struct image_build *build, const struct image_recipe *recipe,
                      char id[65], sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct made base, whole;

    if (image_store_root(true, &root, err) < 0 || make_base(build, recipe, &root, &base, err) < 0)
        return err->code;
    whole = base;
    if (recipe->language && add_packages(build, recipe, &root, &base, &whole, err) < 0)
        return err->code;
    memcpy(id, whole.id, sizeof(whole.id));
    return 0;
}

/* "./dir/own.yaml" is localhost/own:latest. */
static void name_by_file(const char *file, char ref[300])
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

    snprintf(ref, 300, "localhost/%.*s:latest", (int)strcspn(name, "."), name);
}

int image_build(const struct image_build *build, char ref[300], char id[65], sbr_error *err)
{
    struct image_recipe *recipe = NULL;
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
    r = image_recipe_load(build->file, &recipe, err);
    if (r == 0)
        r = make_image(build, recipe, id, err);
    if (r == 0)
        r = image_store_name(&parsed, id, err);
    image_recipe_free(recipe);
    return r;
}

/* The image's author chose names and versions. */
static int add_line(const char *line, struct string_list *ret, sbr_error *err)
{
    char shown[1000];

    text_copy_visibly(shown, sizeof(shown), line, strlen(line));
    return string_list_add(ret, shown, err);
}

static int add_lines(const sbr_result *result, struct string_list *ret, sbr_error *err)
{
    scoped_free char *text = strndup(result->out.data ? result->out.data : "", result->out.len);
    char *rest = text, *line;

    if (!text)
        return err_set_oom(err, "build");
    while ((line = strsep(&rest, "\n")))
        if (*line && add_line(line, ret, err) < 0)
            return err->code;
    return 0;
}

int image_build_outdated(const sbr_runtime *rt, const char *ref, const char *file,
                         struct string_list *ret, sbr_error *err)
{
    struct image_recipe *recipe = NULL;
    struct image *image;
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    struct stat st;
    int r;

    if (image_open(ref, NULL, &image, err) < 0)
        return err->code;
    r = file ? image_recipe_load(file, &recipe, err) : 0;
    if (r == 0)
        r = tool_root_stat(&image->root, "/var/lib/dpkg/status", &st)
                ? make_apt_request("outdated", recipe, &req, err)
                : err_set(err, SBR_E_UNSUPPORTED, "build",
                          "'%.150s' has no list of Debian packages, so nothing can be compared",
                          ref);
    if (r == 0)
        r = tool_job_add_volume(req, image->top, "/image", VOLUME_RO, err);
    if (r == 0)
        r = run(rt, req, false, &result, err);
    if (r == 0)
        r = add_lines(result, ret, err);
    if (r == 0)
        r = image_packages_outdated(rt, ref, ret, err);
    result_free(result);
    request_free(req);
    image_recipe_free(recipe);
    image_free(image);
    return r;
}
