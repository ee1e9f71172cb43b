#include "lib/image_pull.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/log.h"
#include "base/text.h"
#include "toolchain/registries.h"

#define FILE_MAX (1u << 20)
#define TEXT_MAX (8u << 20)

/* The files that apt reads, and not those that lie beside them, as old.list.save does. */
static const struct place {
    const char *dir;
    const char *names[2]; /* the whole name, or its end where it begins with a dot */
    bool without_dot;     /* and names that have none */
} places[] = {
    { IMAGE_MIRRORS_APT, { "sources.list", "apt.conf" }, false },
    { IMAGE_MIRRORS_APT "/sources.list.d", { ".list", ".sources" }, false },
    { IMAGE_MIRRORS_APT "/apt.conf.d", { ".conf", NULL }, true },
};

/* The variables that apt and its methods read. */
static const char *const proxies[] = { "http_proxy", "https_proxy", "all_proxy", "no_proxy" };

static bool is_read(const struct place *place, const char *name)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; i < ARRAY_LEN(place->names); i++) {
        const char *known = place->names[i];

        if (known && (!strcmp(name, known) || (known[0] == '.' && dot && !strcmp(dot, known))))
            return true;
    }
    return place->without_dot && !dot;
}

/* A file that this user may not read is none of apt's, which runs as the same user. */
static void add_file(int dir_fd, const char *name, struct buf *text)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    scoped_free char *data = NULL;
    sbr_error why = { 0 };
    size_t len = 0;

    if (fd < 0)
        return;
    if (fd_read_text(fd, FILE_MAX, &data, &len, &why) == 0)
        registries_add_text(text, data, len);
    else
        log_info("build", "not read for mirrors: %.100s: %s", name, why.message);
}

static void add_place(const struct place *place, struct buf *text)
{
    scoped_fd int fd = open(place->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_listing struct listing names = { 0 };

    if (fd < 0 || listing_read(fd, &names) < 0)
        return;
    for (size_t i = 0; i < names.n; i++)
        if (is_read(place, names.names[i]))
            add_file(fd, names.names[i], text);
}

/* NAME=VALUE as text that is searched for hosts, and for the job if it is to see the variable. */
static int add_variable(sbr_request *req, const char *name, bool for_job, struct buf *text,
                        sbr_error *err)
{
    const char *value = getenv(name);
    scoped_free char *pair = NULL;

    if (!value || !*value)
        return 0;
    pair = text_format("%s=%s", name, value);
    if (!pair)
        return err_set_oom(err, "build");
    if (strcmp(name, "no_proxy") != 0)
        registries_add_text(text, pair, strlen(pair));
    return for_job ? request_add_env(req, pair, err) : 0;
}

static int find_hosts(struct buf *text, struct network *ret, sbr_error *err)
{
    static const struct stage_def none;

    if (buf_add(text, "", 1) < 0)
        return err_set(err, SBR_E_INVALID, "build",
                       "the configuration of apt is longer than %u bytes", TEXT_MAX);
    return registries_find(&none, text->data, ret, err);
}

static int allow_operators(sbr_request *req, sbr_error *err)
{
    struct buf text;
    int r = 0;

    buf_init(&text, TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        add_place(&places[i], &text);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(proxies); i++)
        r = add_variable(req, proxies[i], true, &text, err);
    if (r == 0)
        r = add_variable(req, REGISTRIES_ENV, false, &text, err);
    if (r == 0)
        r = find_hosts(&text, &req->network, err);
    buf_done(&text);
    return r;
}

/* A rule for an address would open exactly that address, private or not; names open only what is
 * public, unless the operator named them, too. */
static int add_public(sbr_request *req, const struct network *found, sbr_error *err)
{
    for (size_t i = 0; i < found->n_rules; i++) {
        struct host_rule rule = found->rules[i];

        rule.anywhere = false;
        if (rule.kind == HOST_NAME && !network_rule_is_loopback(&rule) &&
            network_add_rule(&req->network, &rule, err) < 0)
            return err->code;
    }
    return 0;
}

static int allow_sources(sbr_request *req, char **sources, unsigned int n, sbr_error *err)
{
    struct network found = { 0 };
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    for (unsigned int i = 0; i < n; i++)
        registries_add_text(&text, sources[i], strlen(sources[i]));
    r = find_hosts(&text, &found, err);
    if (r == 0)
        r = add_public(req, &found, err);
    network_done(&found);
    buf_done(&text);
    return r;
}

int image_mirrors_allow(sbr_request *req, char **sources, unsigned int n_sources, sbr_error *err)
{
    if (request_set_network(req, "allow", err) < 0 || allow_operators(req, err) < 0)
        return err->code;
    return allow_sources(req, sources, n_sources, err);
}
