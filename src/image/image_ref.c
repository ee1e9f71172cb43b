#include "image/image_ref.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define HUB "docker.io" /* what a name without a host means */
#define SHA256 "sha256:"
#define DIGEST_DIGITS 64
#define TAG_MAX 128

static int bad_name(const char *text, const char *why, sbr_error *err)
{
    return err_set(
        err, SBR_E_INVALID, "image",
        "'%.150s' is no name of an image: %s; as in debian:12, registry.example/app@sha256:…, "
        "oci:DIR or docker-archive:FILE",
        text, why);
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

static bool is_made_of(const char *text, size_t len, const char *set)
{
    for (size_t i = 0; i < len; i++)
        if (!text[i] || !strchr(set, text[i]))
            return false;
    return len > 0;
}

/* Each part has characters of the set, and begins and ends with a letter or a digit. */
static bool are_parts(const char *text, size_t len, char separator, const char *set)
{
    for (size_t from = 0; from <= len;) {
        const char *end = memchr(text + from, separator, len - from);
        size_t n = end ? (size_t)(end - text) - from : len - from;

        if (!is_made_of(text + from, n, set) || !isalnum((unsigned char)text[from]) ||
            !isalnum((unsigned char)text[from + n - 1]))
            return false;
        from += n + 1;
    }
    return true;
}

static bool is_host(const char *text, size_t len)
{
    const char *colon = memchr(text, ':', len);
    size_t name = colon ? (size_t)(colon - text) : len;
    unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 443;

    return are_parts(text, name, '.', UPPER LOWER DIGITS "-") && port > 0 && port < 65536 &&
           (!colon || is_made_of(colon + 1, len - name - 1, DIGITS));
}

/* A name of a registry and its pieces, which point into the text; tag and digest may be missing. */
struct pieces {
    const char *host, *path, *tag, *digest;
    size_t host_len, path_len, tag_len;
};

static struct pieces split(const char *text)
{
    struct pieces p = { .host = text, .host_len = host_len(text) };
    const char *at, *colon;

    p.path = p.host_len ? text + p.host_len + 1 : text;
    at = strchr(p.path, '@');
    p.path_len = strcspn(p.path, ":@");
    colon = p.path[p.path_len] == ':' ? p.path + p.path_len : NULL;
    p.tag = colon ? colon + 1 : "";
    p.tag_len = colon ? strcspn(p.tag, "@") : 0;
    p.digest = at ? at + 1 : NULL;
    return p;
}

/* NULL: nothing is wrong. */
static const char *what_is_wrong(const struct pieces *p)
{
    const bool has_tag = p->path[p->path_len] == ':';

    if (p->host_len && !is_host(p->host, p->host_len))
        return "its host is none";
    if (!p->path_len)
        return "there is nothing but a host, a tag or a digest";
    if (is_made_of(p->path, p->path_len, UPPER LOWER DIGITS "._-/") && strpbrk(p->path, UPPER) &&
        strpbrk(p->path, UPPER) < p->path + p->path_len)
        return "letters before the tag are small ones";
    if (!are_parts(p->path, p->path_len, '/', LOWER DIGITS "._-") ||
        memmem(p->path, p->path_len, "..", 2))
        return "its parts have small letters and digits, and '.', '_' or '-' between them";
    if (has_tag && (p->tag_len > TAG_MAX || strchr(".-", p->tag[0]) ||
                    !is_made_of(p->tag, p->tag_len, UPPER LOWER DIGITS "._-")))
        return "its tag has letters, digits, '_', '.' and '-', at most 128 of them, not first '.' "
               "or '-'";
    if (p->digest && (strncmp(p->digest, SHA256, strlen(SHA256)) != 0 ||
                      strlen(p->digest) != strlen(SHA256) + DIGEST_DIGITS ||
                      !is_made_of(p->digest + strlen(SHA256), DIGEST_DIGITS, DIGITS "abcdef")))
        return "its digest is not sha256: and 64 hexadecimal digits in small letters";
    return NULL;
}

/* With a digest the tag says nothing more, and skopeo does not take both. */
static int parse_registry(const char *text, struct image_ref *ret, sbr_error *err)
{
    const struct pieces p = split(text);
    const char *wrong = what_is_wrong(&p), *tag = p.tag_len ? p.tag : "latest";
    bool official;
    int n;

    if (wrong)
        return bad_name(text, wrong, err);
    n = snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(p.host_len ? p.host_len : 9),
                 p.host_len ? p.host : HUB);
    official = !strcmp(ret->host, HUB) && !memchr(p.path, '/', p.path_len);
    if ((size_t)n < sizeof(ret->host))
        n = snprintf(ret->name, sizeof(ret->name), "%s/%s%.*s%c%.*s", ret->host,
                     official ? "library/" : "", (int)p.path_len, p.path, p.digest ? '@' : ':',
                     p.digest ? IMAGE_REF_SIZE : (int)(p.tag_len ? p.tag_len : strlen(tag)),
                     p.digest ? p.digest : tag);
    return n < 0 || (size_t)n >= sizeof(ret->name) ? bad_name(text, "it is too long", err) : 0;
}

/* As it was typed: a daemon has names of its own, of which some have no host. */
static int parse_daemon(const char *text, struct image_ref *ret, sbr_error *err)
{
    const struct pieces p = split(text);
    const char *wrong = what_is_wrong(&p);
    int n;

    if (wrong)
        return bad_name(text, wrong, err);
    n = snprintf(ret->name, sizeof(ret->name), "%s%s", text,
                 p.tag_len || p.digest ? "" : ":latest");
    return n < 0 || (size_t)n >= sizeof(ret->name) ? bad_name(text, "it is too long", err) : 0;
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
        if (snprintf(ret->tag, sizeof(ret->tag), "%s", colon + 1) >= (int)sizeof(ret->tag))
            return bad_name(text, "its tag is longer than 128 characters", err);
    }
    if (!copy[0])
        return bad_name(text, "there is no path", err);
    real = realpath(copy, NULL);
    if (!real || strlen(real) >= sizeof(ret->name))
        return err_set(err, SBR_E_NOT_FOUND, "image", "there is no '%.200s'", copy);
    snprintf(ret->name, sizeof(ret->name), "%s", real);
    return 0;
}

/* clang-format off */
static const struct {
    const char *prefix;
    int (*parse)(const char *text, struct image_ref *ret, sbr_error *err);
} transports[N_IMAGE_TRANSPORTS] = {
    [IMAGE_REGISTRY]    = { "docker://",       parse_registry },
    [IMAGE_OCI]         = { "oci:",            parse_path },
    [IMAGE_ARCHIVE]     = { "docker-archive:", parse_path },
    [IMAGE_OCI_ARCHIVE] = { "oci-archive:",    parse_path },
    [IMAGE_DAEMON]      = { "docker-daemon:",  parse_daemon },
};
/* clang-format on */

void image_ref_text(const struct image_ref *ref, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s",
             ref->transport == IMAGE_REGISTRY ? "" : transports[ref->transport].prefix, ref->name,
             ref->tag[0] ? ":" : "", ref->tag);
}

int image_ref_parse(const char *text, struct image_ref *ret, sbr_error *err)
{
    *ret = (struct image_ref){ .transport = IMAGE_REGISTRY };
    for (unsigned int i = 0; i < N_IMAGE_TRANSPORTS; i++) {
        size_t len = strlen(transports[i].prefix);

        if (strncmp(text, transports[i].prefix, len) != 0)
            continue;
        ret->transport = (enum image_transport)i;
        text += len;
        break;
    }
    return transports[ret->transport].parse(text, ret, err);
}
