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

#include "admit/grant_json.h"
#include "base/aside.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "base/listing.h"
#include "changes/state_dir.h"

#define STATE_TOKENS "tokens"
#define SECRET_SIZE 32
#define HASH_SIZE crypto_generichash_BYTES
#define HASH_HEX_SIZE (2 * HASH_SIZE + 1)
#define FILE_MAX 16384
#define PREFIX "sbr_"
#define ID_LEN (GRANT_TOKEN_SIZE - 1)

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

static json_t *describe(const struct token *token)
{
    json_t *value = grant_to_json(&token->tenant);

    json_object_set_new(value, "name", json_string(token->name));
    json_object_set_new(value, "created", json_integer((json_int_t)time(NULL)));
    json_object_set_new(value, "expires", json_integer((json_int_t)token->expires_s));
    return value;
}

/* A new file that is whole or not there. */
static int save(const struct state_dir *dir, const char *id, const json_t *object, sbr_error *err)
{
    scoped_free char *text = json_dumps(object, JSON_INDENT(2));
    struct aside aside = ASIDE_NONE;
    char name[64];

    snprintf(name, sizeof(name), "%s.json", id);
    if (text && aside_open(dir->fd, 0600, &aside) == 0 &&
        fd_write_all(aside.fd, text, strlen(text)) == 0 && fsync(aside.fd) == 0 &&
        aside_name(&aside, dir->fd, name) == 0)
        return 0;
    state_fail("save a token in", dir->path, err);
    aside_drop(&aside, dir->fd);
    return err->code;
}

int token_create(struct token *token, char ret_text[TOKEN_TEXT_SIZE], sbr_error *err)
{
    char secret[SECRET_SIZE * 2], hash[HASH_HEX_SIZE];
    unsigned char random[SECRET_SIZE], id[ID_LEN / 2];
    struct state_dir dir = { .fd = -1 };
    json_t *object;
    int r;

    randombytes_buf(random, sizeof(random));
    randombytes_buf(id, sizeof(id));
    sodium_bin2hex(token->tenant.token_id, sizeof(token->tenant.token_id), id, sizeof(id));
    sodium_bin2base64(secret, sizeof(secret), random, sizeof(random),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    hash_secret(secret, hash);
    if (state_open(STATE_TOKENS, true, &dir, err) < 0)
        return err->code;
    object = describe(token);
    json_object_set_new(object, "hash", json_string(hash));
    r = object ? save(&dir, token->tenant.token_id, object, err) : err_set_oom(err, "token");
    json_decref(object);
    state_close(&dir);
    snprintf(ret_text, TOKEN_TEXT_SIZE, PREFIX "%s_%s", token->tenant.token_id, secret);
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
    char id[GRANT_TOKEN_SIZE];
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

int token_show(const char *which, char **ret, sbr_error *err)
{
    struct grant local;
    json_t *found;
    int r = gather(which, &found, err);

    if (r < 0)
        return r;
    if (!json_array_size(found) && !strcmp(which, GRANT_LOCAL)) {
        grant_init_local(&local);
        json_array_append_new(found, grant_to_json(&local));
    }
    if (json_array_size(found) == 1)
        *ret = json_dumps(json_array_get(found, 0), JSON_INDENT(2));
    else
        r = err_set(err, json_array_size(found) ? SBR_E_INVALID : SBR_E_NOT_FOUND, "token",
                    json_array_size(found) ? "several tokens are called '%.60s': show one by its id"
                                           : "there is no token '%.60s'; `token list` shows them",
                    which);
    json_decref(found);
    return r < 0 ? r : *ret ? 0 : err_set_oom(err, "token");
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

int token_revoke(const char *which, char ret_id[GRANT_TOKEN_SIZE], sbr_error *err)
{
    json_t *found;
    size_t n;

    if (gather(which, &found, err) < 0)
        return err->code;
    n = json_array_size(found);
    if (n == 1)
        snprintf(ret_id, GRANT_TOKEN_SIZE, "%s",
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
    struct grant tenant; /* its token_id is empty while the row is */
};

#define KNOWN_MAX 16

struct token_cache {
    struct known known[KNOWN_MAX];
    size_t newest;
    struct timespec looked; /* the directory, when its tenants were counted */
    unsigned int tenants;
};

struct token_cache *token_cache_new(void)
{
    return calloc(1, sizeof(struct token_cache));
}

void token_cache_free(struct token_cache *cache)
{
    free(cache);
}

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
static const struct known *find_known(const struct token_cache *cache, const char *id)
{
    struct stat now;

    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (!strcmp(cache->known[i].tenant.token_id, id) &&
            lstat(cache->known[i].path, &now) == 0 && is_same_file(&now, &cache->known[i].file))
            return &cache->known[i];
    return NULL;
}

/* Reads it into a row; NULL: there is no such token. */
static const struct known *read_known(struct token_cache *cache, const char *id, sbr_error *err)
{
    struct known *k = &cache->known[cache->newest];
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
    if (hash && strlen(hash) == HASH_HEX_SIZE - 1 && grant_from_json(token, &k->tenant, err) == 0) {
        memcpy(k->hash, hash, HASH_HEX_SIZE);
        k->expires = json_integer_value(json_object_get(token, "expires"));
        snprintf(k->tenant.token_id, sizeof(k->tenant.token_id), "%s", id);
        cache->newest = (cache->newest + 1) % KNOWN_MAX;
    }
    json_decref(token);
    return k->tenant.token_id[0] ? k : NULL;
}

int token_check(struct token_cache *cache, const char *text, struct grant *ret, sbr_error *err)
{
    char id[GRANT_TOKEN_SIZE];
    const struct known *k;

    *ret = (struct grant){ .scopes = 0 };
    if (strlen(text) >= TOKEN_TEXT_SIZE || strncmp(text, PREFIX, strlen(PREFIX)) != 0)
        return refuse(err);
    text += strlen(PREFIX);
    snprintf(id, sizeof(id), "%.*s", (int)ID_LEN, text);
    if (strcspn(text, "_") != ID_LEN || !encoding_is_hex(id, ID_LEN))
        return refuse(err);
    k = find_known(cache, id);
    if (!k)
        k = read_known(cache, id, err);
    if (!k || !is_right(k, text + ID_LEN + 1))
        return refuse(err);
    *ret = k->tenant;
    return 0;
}

static const struct known *look_up(struct token_cache *cache, const char *id)
{
    const struct known *k = find_known(cache, id);
    sbr_error ignored;

    return k ? k : read_known(cache, id, &ignored);
}

bool token_grants(struct token_cache *cache, const char *id, struct grant *ret)
{
    const struct known *k = encoding_is_hex(id, ID_LEN) ? look_up(cache, id) : NULL;

    if (k)
        *ret = k->tenant;
    return k != NULL;
}

bool token_holds(struct token_cache *cache, const char *id)
{
    const struct known *k = look_up(cache, id);

    return k && !is_expired(k);
}

/* True: the token's file is gone.  One that cannot be looked at is no reason to end what runs. */
static bool is_gone(const struct token_cache *cache)
{
    const struct known *k = &cache->known[cache->newest];
    struct stat gone;

    return k->path[0] && lstat(k->path, &gone) < 0 && errno == ENOENT;
}

bool token_is_revoked(void *cache, const char *id)
{
    return !look_up(cache, id) && is_gone(cache);
}

bool token_is_over(struct token_cache *cache, const char *id)
{
    const struct known *k = look_up(cache, id);

    return k ? is_expired(k) : is_gone(cache);
}

/* Tenants of an array of tokens, each once. */
static unsigned int count_tenants(const json_t *tokens)
{
    json_t *names = json_object(), *token;
    unsigned int n;
    size_t i;

    json_array_foreach(tokens, i, token) {
        const char *name = json_string_value(json_object_get(token, "tenant"));
        json_int_t expires = json_integer_value(json_object_get(token, "expires"));

        if (name && (!expires || expires > (json_int_t)time(NULL)))
            json_object_set_new(names, name, json_true());
    }
    n = (unsigned int)json_object_size(names);
    json_decref(names);
    return n;
}

unsigned int token_count_tenants(struct token_cache *cache)
{
    struct state_dir dir = { .fd = -1 };
    struct stat now = { 0 };
    sbr_error ignored;
    json_t *found;

    if (state_open(STATE_TOKENS, false, &dir, &ignored) != 1)
        return 0;
    (void)fstat(dir.fd, &now);
    state_close(&dir);
    if (!memcmp(&cache->looked, &now.st_mtim, sizeof(now.st_mtim)) ||
        gather(NULL, &found, &ignored) < 0)
        return cache->tenants;
    cache->looked = now.st_mtim;
    cache->tenants = count_tenants(found);
    json_decref(found);
    return cache->tenants;
}
