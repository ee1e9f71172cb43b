#include "lib/image_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/text.h"
#include "base/user_dir.h"
#include "base/walk.h"
#include "lib/tool_job.h"

#define SKOPEO_MEMORY ((uint64_t)1 << 30)
#define SKOPEO_DISK ((uint64_t)64 << 30)
#define OUT "/out"
#define CONF "conf/"
#define CERTIFICATES CONF "certs"
#define CONFIG_MAX (1u << 20)
#define SAVED "saved.tar" /* the archive of a daemon, beside the layout */

/* Files of the user's own configuration that skopeo takes, each as the option that names it. */
static const struct skopeo_file {
    const char *option;
    const char *variable; /* that names it; NULL: none */
    const char *in_home;  /* below $HOME; NULL: none */
    const char *of_all;   /* of the machine; NULL: none */
    bool for_copy;        /* an option of `copy`, not of skopeo itself */
} config_files[] = {
    { "--registries-conf", "CONTAINERS_REGISTRIES_CONF", ".config/containers/registries.conf",
      "/etc/containers/registries.conf", false },
    { "--policy", NULL, ".config/containers/policy.json", "/etc/containers/policy.json", false },
    { "--src-authfile", "REGISTRY_AUTH_FILE", ".config/containers/auth.json", NULL, true },
    { "--src-authfile", NULL, ".docker/config.json", NULL, true },
};

static bool choose_file(const struct skopeo_file *file, char *path, size_t size)
{
    const char *named = file->variable ? getenv(file->variable) : NULL, *home = user_dir_home();

    if (named && named[0] == '/') {
        snprintf(path, size, "%s", named);
        return true;
    }
    if (file->in_home && home) {
        snprintf(path, size, "%s/%s", home, file->in_home);
        if (access(path, R_OK) == 0)
            return true;
    }
    snprintf(path, size, "%s", file->of_all ? file->of_all : "");
    return path[0] && access(path, R_OK) == 0;
}

/* skopeo gets a copy: it runs as another user than root, and the path may hold any character. */
static int add_copy(sbr_request *req, int dir_fd, const char *name, const char *target,
                    sbr_error *err)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    scoped_free char *data = NULL;
    struct stat st;
    size_t len = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "image", "cannot read '%.200s'", name);
    if (!S_ISREG(st.st_mode))
        return 0;
    if (fd_read_text(fd, CONFIG_MAX, &data, &len, err) < 0)
        return err->code;
    return request_add_file(req, target, data, len, err);
}

/* Registries on this machine's loopback, as in "127.0.0.1:5000", are opened by their port. */
static int allow_loopback(sbr_request *req, const char *text, sbr_error *err)
{
    static const char *const names[] = { "127.0.0.1:", "localhost:" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (const char *at = strstr(text, names[i]); at; at = strstr(at + 1, names[i])) {
            unsigned long port = strtoul(at + strlen(names[i]), NULL, 10);
            char rule[32];

            snprintf(rule, sizeof(rule), "localhost:%lu", port);
            if (port > 0 && port < 65536 && request_allow_host(req, rule, err) < 0)
                return err->code;
        }
    return 0;
}

static int read_hosts(sbr_request *req, const char *path, sbr_error *err)
{
    char text[65536];
    ssize_t n = fd_read_small(AT_FDCWD, path, text, sizeof(text) - 1);

    if (n < 0)
        return 0;
    text[n] = '\0';
    return allow_loopback(req, text, err);
}

/* Adds the options of one side of the word `copy`. */
static int add_config(sbr_request *req, bool for_copy, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(config_files); i++) {
        const struct skopeo_file *file = &config_files[i];
        char path[1100], target[32], inside[40];

        if (file->for_copy != for_copy || !choose_file(file, path, sizeof(path)))
            continue;
        snprintf(target, sizeof(target), CONF "%zu", i);
        snprintf(inside, sizeof(inside), "/work/%s", target);
        if (add_copy(req, AT_FDCWD, path, target, err) < 0 ||
            request_add_arg(req, file->option, err) < 0 || request_add_arg(req, inside, err) < 0)
            return err->code;
        if (i == 0 && read_hosts(req, path, err) < 0)
            return err->code;
        if (for_copy)
            break; /* one file of credentials is enough */
    }
    return 0;
}

static int add_words(sbr_request *req, const char *const *words, sbr_error *err)
{
    for (; *words; words++)
        if (request_add_arg(req, *words, err) < 0)
            return err->code;
    return 0;
}

static int copy_certificates(sbr_request *req, int dir_fd, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };
    char target[NAME_MAX + 32];

    if (listing_read(dir_fd, &names) < 0)
        return err_set_errno(err, "image", "cannot read the certificates of the registry");
    for (size_t i = 0; i < names.n; i++) {
        snprintf(target, sizeof(target), CERTIFICATES "/%s", names.names[i]);
        if (add_copy(req, dir_fd, names.names[i], target, err) < 0)
            return err->code;
    }
    return 0;
}

/* The certificates of a registry's own, as other tools of containers find them. */
static int add_certificates(sbr_request *req, const char *host, sbr_error *err)
{
    const char *home = user_dir_home();
    const struct {
        const char *top, *below;
    } places[] = {
        { home ? home : "/nonexistent", "/.config/containers/certs.d/" },
        { "", "/etc/containers/certs.d/" },
        { "", "/etc/docker/certs.d/" },
    };
    static const char *const words[] = { "--src-cert-dir", "/work/" CERTIFICATES, NULL };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        scoped_free char *path = text_format("%s%s%s", places[i].top, places[i].below, host);

        scoped_fd int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

        if (fd >= 0)
            return copy_certificates(req, fd, err) < 0 ? err->code : add_words(req, words, err);
    }
    return 0;
}

/* An archive of the host, or the one that a daemon has written. */
static int add_archive(const struct image_ref *ref, const char *saved, sbr_request *req,
                       sbr_error *err)
{
    const char *path = ref->transport == IMAGE_DAEMON ? saved : ref->name;

    if (tool_job_add_volume(req, path, "/in", VOLUME_RO, err) < 0)
        return err->code;
    return request_add_arg(req,
                           ref->transport == IMAGE_OCI_ARCHIVE ? "oci-archive:/in"
                                                               : "docker-archive:/in",
                           err);
}

static int add_source(const struct image_pull *pull, const struct image_ref *ref, sbr_request *req,
                      sbr_error *err)
{
    static const char *const plain[] = { "--src-tls-verify=false", NULL };
    scoped_free char *source = NULL;

    source = text_format("docker://%s", ref->name);
    if (!source)
        return err_set_oom(err, "image");
    if (add_config(req, true, err) < 0 || add_certificates(req, ref->host, err) < 0 ||
        (pull->plain_http && add_words(req, plain, err) < 0))
        return err->code;
    return request_add_arg(req, source, err);
}

static int skopeo_request(const struct image_pull *pull, const struct image_ref *ref,
                          const struct image_fetch_dir *made, sbr_request **ret, sbr_error *err)
{
    char saved[IMAGE_FETCH_DIR_SIZE + sizeof(SAVED) + 1];
    static const char *const skopeo[] = { "skopeo", "--tmpdir", "/tmp", NULL };
    static const char *const copy[] = { "copy", "--quiet", NULL };
    sbr_request *req;

    if (tool_job_request(skopeo, ret, err) < 0)
        return err->code;
    req = *ret;
    req->limits.value[SBR_MEMORY_BYTES] = SKOPEO_MEMORY;
    req->limits.value[SBR_DISK_BYTES] = SKOPEO_DISK;
    if (ref->transport == IMAGE_REGISTRY &&
        (request_set_network(req, "full", err) < 0 || allow_loopback(req, ref->host, err) < 0))
        return err->code;
    snprintf(saved, sizeof(saved), "%s/" SAVED, made->path);
    if (tool_job_add_volume(req, made->layout, OUT, VOLUME_RW, err) < 0 ||
        add_config(req, false, err) < 0 || add_words(req, copy, err) < 0 ||
        (ref->transport == IMAGE_REGISTRY ? add_source(pull, ref, req, err)
                                          : add_archive(ref, saved, req, err)) < 0)
        return err->code;
    return request_add_arg(req, "oci:" OUT ":image", err);
}

/* The last line is the reason; skopeo writes `level=fatal msg="…"`. */
static int refuse(const struct image_ref *ref, const sbr_result *result, sbr_error *err)
{
    const char *text = result->err.data ? result->err.data : "", *at = text, *msg;
    char said[300];

    for (const char *next = strstr(at, "msg="); next; next = strstr(next + 1, "msg="))
        at = next;
    msg = at == text ? text : at + strlen("msg=");
    text_copy_visibly(said, sizeof(said), msg, strcspn(msg, "\n"));
    return err_set(err, SBR_E_NOT_FOUND, "image", "cannot fetch '%.150s': %.300s", ref->name,
                   said[0] ? said : result->explanation);
}

/* What has been written until now: parts that are whole, and the bytes of all. */
struct fetched {
    unsigned int parts;
    uint64_t bytes;
};

static int count_part(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct fetched *fetched = context;

    (void)err;
    if (!S_ISREG(entry->st.st_mode))
        return 0;
    fetched->parts += !strncmp(entry->path, "blobs/", strlen("blobs/"));
    fetched->bytes += (uint64_t)entry->st.st_size;
    return 0;
}

struct watched {
    const struct image_pull *pull;
    const struct image_ref *ref;
    int dir_fd;
};

/* skopeo renames files meanwhile: what is gone by then is counted at the next look. */
static void show_fetched(void *context)
{
    const struct watched *watched = context;
    struct fetched fetched = { 0 };
    const struct walk walk = {
        .visit = count_part, .context = &fetched, .stage = "image", .max_depth = 8, .max_path = 1024
    };
    sbr_error ignored;
    char line[300];

    (void)!walk_tree(watched->dir_fd, &walk, &ignored);
    snprintf(line, sizeof(line), "fetching %.200s: %u parts whole, %.1f MiB", watched->ref->name,
             fetched.parts, (double)fetched.bytes / (1 << 20));
    watched->pull->live(watched->pull->context, line);
}

static int run_skopeo(const struct image_pull *pull, const struct image_ref *ref,
                      const struct image_fetch *fetch, sbr_error *err)
{
    struct watched watched = { .pull = pull, .ref = ref, .dir_fd = fetch->dir_fd };
    struct tool_job tool = { .rt = pull->rt,
                             .options = { .keep_output = true, .stdin_fd = -1 },
                             .tick = pull->live ? show_fetched : NULL,
                             .tick_context = &watched };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = tool_job_check("skopeo", "images of registries and archives need", "image", err);

    if (r == 0 && ref->transport == IMAGE_DAEMON)
        r = image_daemon_save(ref->name, fetch->made.lock_fd, SAVED, err);
    if (r == 0)
        r = skopeo_request(pull, ref, &fetch->made, &req, err);
    if (r == 0)
        r = tool_job_run(&tool, req, &result, err);
    if (r == 0 && result && !result_success(result))
        r = refuse(ref, result, err);
    result_free(result);
    request_free(req);
    return r;
}

int image_fetch_begin(const struct image_pull *pull, const struct image_ref *ref,
                      struct image_fetch *ret, sbr_error *err)
{
    bool made = ref->transport != IMAGE_OCI;
    const char *dir = ref->name;

    *ret = (struct image_fetch){ .dir_fd = -1, .made.lock_fd = -1 };
    if (made) {
        if (image_fetch_dir_open(ref, &ret->made, err) < 0)
            return err->code;
        dir = ret->made.layout;
    }
    ret->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir_fd < 0)
        return err_set_errno(err, "image", "cannot read '%.200s'", dir);
    return made ? run_skopeo(pull, ref, ret, err) : 0;
}

void image_fetch_done(struct image_fetch *fetch)
{
    scope_close_fd(&fetch->dir_fd);
    image_fetch_dir_done(&fetch->made);
}
