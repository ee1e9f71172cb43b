#include "image/image_ref.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

/* clang-format off */
static const char *const prefixes[N_IMAGE_TRANSPORTS] = {
    [IMAGE_REGISTRY]    = "docker://",
    [IMAGE_OCI]         = "oci:",
    [IMAGE_ARCHIVE]     = "docker-archive:",
    [IMAGE_OCI_ARCHIVE] = "oci-archive:",
};
/* clang-format on */

static int bad_name(const char *text, sbr_error *err)
{
    return err_set(
        err, SBR_E_INVALID, "image",
        "'%.150s' is no name of an image; as in debian:12, registry.example/app@sha256:…, "
        "oci:DIR or docker-archive:FILE",
        text);
}

/* The first part of a name is a host if it looks like one: "a/b" is no host, "a.b/c" and "a:5/c"
 * are, and so is "localhost". */
static size_t host_len(const char *name)
{
    size_t len = strcspn(name, "/");
    bool is_host = memchr(name, '.', len) || memchr(name, ':', len) ||
                   (len == strlen("localhost") && !strncmp(name, "localhost", len));

    return name[len] == '/' && is_host ? len : 0;
}

static bool is_plain(const char *name)
{
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("._-/:@", *name))
            return false;
    return true;
}

static int parse_registry(const char *text, struct image_ref *ret, sbr_error *err)
{
    size_t host = host_len(text);
    const char *path = host ? text + host + 1 : text, *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    bool tagged = strchr(last, ':') || strchr(last, '@');
    bool official = !host && !slash;
    int n;

    if (!is_plain(text) || !*path || *path == '/' || !*last || strstr(text, "//") ||
        strchr(":@-.", *last))
        return bad_name(text, err);
    snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(host ? host : 9),
             host ? text : "docker.io");
    n = snprintf(ret->name, sizeof(ret->name), "%s/%s%s%s", ret->host, official ? "library/" : "",
                 path, tagged ? "" : ":latest");
    return n < 0 || (size_t)n >= sizeof(ret->name) ? bad_name(text, err) : 0;
}

/* A tag may follow a path behind a colon. */
static int parse_path(const char *text, struct image_ref *ret, sbr_error *err)
{
    scoped_free char *copy = strdup(text), *real = NULL;
    char *colon = copy ? strrchr(copy, ':') : NULL;

    if (!copy)
        return err_set_oom(err, "image");
    if (colon && ret->transport == IMAGE_OCI && !strchr(colon, '/')) {
        *colon = '\0';
        snprintf(ret->tag, sizeof(ret->tag), "%s", colon + 1);
    }
    real = realpath(copy, NULL);
    if (!real || strlen(real) >= sizeof(ret->name))
        return err_set(err, SBR_E_NOT_FOUND, "image", "there is no '%.200s'", copy);
    snprintf(ret->name, sizeof(ret->name), "%s", real);
    return 0;
}

void image_ref_text(const struct image_ref *ref, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s",
             ref->transport == IMAGE_REGISTRY ? "" : prefixes[ref->transport], ref->name,
             ref->tag[0] ? ":" : "", ref->tag);
}

int image_ref_parse(const char *text, struct image_ref *ret, sbr_error *err)
{
    *ret = (struct image_ref){ .transport = IMAGE_REGISTRY };
    for (unsigned int i = 0; i < N_IMAGE_TRANSPORTS; i++) {
        size_t len = strlen(prefixes[i]);

        if (strncmp(text, prefixes[i], len) != 0)
            continue;
        ret->transport = (enum image_transport)i;
        text += len;
        break;
    }
    if (!strncmp(text, "docker-daemon:", strlen("docker-daemon:")))
        return err_set(err, SBR_E_UNSUPPORTED, "image",
                       "a daemon is not asked; `docker save -o app.tar NAME` writes the image, and "
                       "docker-archive:app.tar names it");
    return (ret->transport == IMAGE_REGISTRY ? parse_registry : parse_path)(text, ret, err);
}
