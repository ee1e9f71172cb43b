#include "http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_read.h"
#include "base/listing.h"
#include "base/scope.h"
#include "base/text.h"
#include "changes/state_dir.h"

#define STATE_TOKENS "tokens"
#define SECRET_SIZE 32
#define HASH_SIZE crypto_generichash_BYTES
#define HASH_HEX_SIZE (2 * HASH_SIZE + 1)
#define FILE_MAX 16384
#define PREFIX "sbr_"
#define ID_LEN (TENANT_TOKEN_ID_SIZE - 1)

int token_start(sbr_error *err)
{
    return sodium_init() < 0 ? err_set(err, SBR_E_SYSTEM, "token",
                                       "the library for cryptography cannot start; there may be no "
                                       "source of random numbers")
                             : 0;
}

static void hash_secret(const char *secret, char hex[HASH_HEX_SIZE])
{
    unsigned char hash[HASH_SIZE];

    (void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)secret, strlen(secret),
                             NULL, 0);
    sodium_bin2hex(hex, HASH_HEX_SIZE, hash, sizeof(hash));
}

static json_t *ceilings_of(const struct tenant *tenant)
{
    json_t *limits = json_object();

    for (unsigned int i = 0; i < N_LIMITS; i++) {
        char value[32];

        if (!(tenant->ceilings.given & 1u << i))
            continue;
        limits_format((enum sbr_limit)i, tenant->ceilings.value[i], value, sizeof(value));
        json_object_set_new(limits, limit_defs[i].option, json_string(value));
    }
    return limits;
}

static json_t *scopes_of(unsigned int scopes)
{
    json_t *names = json_array();

    for (unsigned int bit = 1; bit < SCOPE_ALL; bit <<= 1)
        if (scopes & bit)
            json_array_append_new(names, json_string(tenant_scope_name(bit)));
    return names;
}

static json_t *describe(const struct token_grant *grant)
{
    const struct tenant *t = &grant->tenant;

    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:i, s:i, s:i, s:s, s:I, s:I}", "id",
                     t->token_id, "name", grant->name, "tenant", t->name, "scopes",
                     scopes_of(t->scopes), "limits", ceilings_of(t), "network",
                     network_mode_name(t->network), "allow_hosts", t->hosts, "concurrency",
                     (int)t->concurrency, "per_minute", (int)t->per_minute, "sessions",
                     (int)t->sessions, "languages", t->languages, "created", (json_int_t)time(NULL),
                     "expires", (json_int_t)grant->expires_s);
}

/* A new file that is whole or not there. */
static int save(const struct state_dir *dir, const char *id, const json_t *object, sbr_error *err)
{
    scoped_free char *text = json_dumps(object, JSON_INDENT(2));
    char name[64], aside[72];
    scoped_fd int fd = -1;

    snprintf(name, sizeof(name), "%s.json", id);
    snprintf(aside, sizeof(aside), "%s.new", name);
    fd = openat(dir->fd, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (!text || fd < 0 || fd_write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0 ||
        renameat(dir->fd, aside, dir->fd, name) < 0) {
        state_fail("save a token in", dir->path, err);
        (void)unlinkat(dir->fd, aside, 0);
        return err->code;
    }
    return 0;
}

int token_create(struct token_grant *grant, char ret_text[TOKEN_TEXT_SIZE], sbr_error *err)
{
    char secret[SECRET_SIZE * 2], hash[HASH_HEX_SIZE];
    unsigned char random[SECRET_SIZE], id[ID_LEN / 2];
    struct state_dir dir = { .fd = -1 };
    json_t *object;
    int r;

    randombytes_buf(random, sizeof(random));
    randombytes_buf(id, sizeof(id));
    sodium_bin2hex(grant->tenant.token_id, sizeof(grant->tenant.token_id), id, sizeof(id));
    sodium_bin2base64(secret, sizeof(secret), random, sizeof(random),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    hash_secret(secret, hash);
    if (state_open(STATE_TOKENS, true, &dir, err) < 0)
        return err->code;
    object = describe(grant);
    json_object_set_new(object, "hash", json_string(hash));
    r = object ? save(&dir, grant->tenant.token_id, object, err) : err_set_oom(err, "token");
    json_decref(object);
    state_close(&dir);
    snprintf(ret_text, TOKEN_TEXT_SIZE, PREFIX "%s_%s", grant->tenant.token_id, secret);
    sodium_memzero(secret, sizeof(secret));
    sodium_memzero(random, sizeof(random));
    return r;
}

/* NULL: there is no such token, or its file is damaged. */
static json_t *load(const struct state_dir *dir, const char *id)
{
    char name[64], text[FILE_MAX];
    ssize_t len;

    snprintf(name, sizeof(name), "%s.json", id);
    len = fd_read_small(dir->fd, name, text, sizeof(text));
    return len < 0 ? NULL
                   : json_read(text, (size_t)len, &json_read_line, JSON_REJECT_DUPLICATES,
                               "the token", NULL);
}

struct token_walk {
    const struct state_dir *dir;
    json_t *found;
    const char *which; /* NULL: all */
};

static bool is_wanted(const struct token_walk *walk, const json_t *token)
{
    const char *id = json_string_value(json_object_get(token, "id"));
    const char *name = json_string_value(json_object_get(token, "name"));

    return !walk->which || (id && !strcmp(id, walk->which)) || (name && !strcmp(name, walk->which));
}

static void add_token(const struct token_walk *walk, const char *file)
{
    char id[TENANT_TOKEN_ID_SIZE];
    json_t *token;

    if (strlen(file) != ID_LEN + 5 || strcmp(file + ID_LEN, ".json") != 0)
        return;
    snprintf(id, sizeof(id), "%.*s", (int)ID_LEN, file);
    token = load(walk->dir, id);
    (void)json_object_del(token, "hash");
    if (token && is_wanted(walk, token))
        json_array_append(walk->found, token);
    json_decref(token);
}

/* All tokens, or those that `which` names; the caller owns the array. */
static int gather(const char *which, json_t **ret, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    struct token_walk walk = { &dir, json_array(), which };
    struct listing listing = { 0 };
    int r = state_open(STATE_TOKENS, false, &dir, err);

    if (r == 1 && listing_read_at(dir.fd, ".", &listing) < 0)
        r = state_fail("read the tokens in", dir.path, err);
    for (size_t i = 0; r == 1 && i < listing.n; i++)
        add_token(&walk, listing.names[i]);
    listing_done(&listing);
    state_close(&dir);
    if (r < 0)
        json_decref(walk.found);
    else
        *ret = walk.found;
    return r < 0 ? r : 0;
}

int token_list(char **ret, sbr_error *err)
{
    json_t *found, *all;

    if (gather(NULL, &found, err) < 0)
        return err->code;
    all = json_pack("{s:o}", "tokens", found);
    *ret = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return *ret ? 0 : err_set_oom(err, "token");
}

static int forget(const char *id, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    char file[64];
    int r = state_open(STATE_TOKENS, false, &dir, err);

    snprintf(file, sizeof(file), "%s.json", id);
    if (r == 1 && unlinkat(dir.fd, file, 0) < 0)
        r = state_fail("revoke a token in", dir.path, err);
    state_close(&dir);
    return r < 0 ? r : 0;
}

int token_revoke(const char *which, char ret_id[TENANT_TOKEN_ID_SIZE], sbr_error *err)
{
    json_t *found;
    size_t n;

    if (gather(which, &found, err) < 0)
        return err->code;
    n = json_array_size(found);
    if (n == 1)
        snprintf(ret_id, TENANT_TOKEN_ID_SIZE, "%s",
                 json_string_value(json_object_get(json_array_get(found, 0), "id")));
    json_decref(found);
    if (n == 1)
        return forget(ret_id, err);
    return err_set(err, n ? SBR_E_INVALID : SBR_E_NOT_FOUND, "token",
                   n ? "several tokens have the name '%.60s'; revoke one by its id, which "
                       "`sandbox-run token list` shows"
                     : "there is no token '%.60s'; `sandbox-run token list` shows those there are",
                   which);
}

static unsigned int count_at(const json_t *token, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(token, key));

    return value > 0 && value < 1 << 30 ? (unsigned int)value : 0;
}

static int read_ceilings(const json_t *limits, struct limits *ret, sbr_error *err)
{
    const char *key;
    json_t *value;

    limits_init(ret);
    json_object_foreach((json_t *)limits, key, value) {
        scoped_free char *pair = text_format("%s=%s", key, json_string_value(value));

        if (!pair || limits_set_pair(ret, "the ceiling", pair, err) < 0)
            return SBR_E_INVALID;
    }
    return 0;
}

static int read_tenant(const json_t *token, struct tenant *ret, sbr_error *err)
{
    const char *name = json_string_value(json_object_get(token, "tenant"));
    const char *network = json_string_value(json_object_get(token, "network"));
    const char *languages = json_string_value(json_object_get(token, "languages"));
    const char *hosts = json_string_value(json_object_get(token, "allow_hosts"));
    const json_t *scopes = json_object_get(token, "scopes"), *scope;
    size_t i;

    if (!name || !tenant_is_name(name) || !network ||
        network_mode_from_name(network, &ret->network, err) < 0 ||
        read_ceilings(json_object_get(token, "limits"), &ret->ceilings, err) < 0)
        return SBR_E_DENIED;
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    snprintf(ret->hosts, sizeof(ret->hosts), "%s", hosts ? hosts : "");
    snprintf(ret->languages, sizeof(ret->languages), "%s", languages ? languages : "");
    json_array_foreach(scopes, i, scope) {
        unsigned int bits = 0;

        if (json_is_string(scope) && tenant_parse_scopes(json_string_value(scope), &bits) == 0)
            ret->scopes |= bits;
    }
    ret->concurrency = count_at(token, "concurrency");
    ret->per_minute = count_at(token, "per_minute");
    ret->sessions = count_at(token, "sessions");
    return 0;
}

/* One sentence for every reason: which of them it is helps only those who guess. */
static int refuse(sbr_error *err)
{
    return err_set(err, SBR_E_DENIED, "token",
                   "the token is unknown, revoked or expired; the operator makes one with "
                   "`sandbox-run token create`");
}

/* A token whose file was read.  A request asks the file system only whether that file is still
 * there and the same: a revoked token opens nothing from that moment on. */
struct known {
    char path[STATE_PATH_SIZE + 64];
    struct stat file;
    char hash[HASH_HEX_SIZE];
    json_int_t expires;
    struct tenant tenant; /* its token_id is empty while the row is */
};

#define KNOWN_MAX 16
static struct known known[KNOWN_MAX]; /* of the loop's thread */
static size_t newest;

static bool is_expired(const struct known *k)
{
    return k->expires && k->expires <= (json_int_t)time(NULL);
}

static bool is_right(const struct known *k, const char *secret)
{
    char hash[HASH_HEX_SIZE];

    hash_secret(secret, hash);
    return sodium_memcmp(k->hash, hash, sizeof(hash) - 1) == 0 && !is_expired(k);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) &&
           !memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim));
}

/* NULL: it has to be read. */
static const struct known *find_known(const char *id)
{
    struct stat now;

    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (!strcmp(known[i].tenant.token_id, id) && lstat(known[i].path, &now) == 0 &&
            is_same_file(&now, &known[i].file))
            return &known[i];
    return NULL;
}

/* Reads it into a row; NULL: there is no such token. */
static const struct known *read_known(const char *id, sbr_error *err)
{
    struct known *k = &known[newest];
    struct state_dir dir = { .fd = -1 };
    json_t *token;
    const char *hash;

    *k = (struct known){ .expires = 0 };
    if (state_open(STATE_TOKENS, false, &dir, err) != 1)
        return NULL;
    snprintf(k->path, sizeof(k->path), "%s/%s.json", dir.path, id);
    token = lstat(k->path, &k->file) == 0 ? load(&dir, id) : NULL;
    state_close(&dir);
    hash = json_string_value(json_object_get(token, "hash"));
    if (hash && strlen(hash) == HASH_HEX_SIZE - 1 && read_tenant(token, &k->tenant, err) == 0) {
        memcpy(k->hash, hash, HASH_HEX_SIZE);
        k->expires = json_integer_value(json_object_get(token, "expires"));
        snprintf(k->tenant.token_id, sizeof(k->tenant.token_id), "%s", id);
        newest = (newest + 1) % KNOWN_MAX;
    }
    json_decref(token);
    return k->tenant.token_id[0] ? k : NULL;
}

int token_check(const char *text, struct tenant *ret, sbr_error *err)
{
    char id[TENANT_TOKEN_ID_SIZE];
    const struct known *k;

    *ret = (struct tenant){ .scopes = 0 };
    if (strlen(text) >= TOKEN_TEXT_SIZE || strncmp(text, PREFIX, strlen(PREFIX)) != 0)
        return refuse(err);
    text += strlen(PREFIX);
    snprintf(id, sizeof(id), "%.*s", (int)ID_LEN, text);
    if (strcspn(text, "_") != ID_LEN || !encoding_is_hex(id, ID_LEN))
        return refuse(err);
    k = find_known(id);
    if (!k)
        k = read_known(id, err);
    if (!k || !is_right(k, text + ID_LEN + 1))
        return refuse(err);
    *ret = k->tenant;
    return 0;
}

bool token_holds(const char *id)
{
    const struct known *k = find_known(id);
    sbr_error ignored;

    if (!k)
        k = read_known(id, &ignored);
    return k && !is_expired(k);
}

bool token_is_revoked(const char *id)
{
    const struct known *k = find_known(id);
    sbr_error ignored;
    struct stat gone;

    if (!k)
        k = read_known(id, &ignored);
    /* A file that cannot be looked at is no reason to end what runs. */
    return !k && known[newest].path[0] && lstat(known[newest].path, &gone) < 0 && errno == ENOENT;
}
