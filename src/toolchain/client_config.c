/* The configuration of package managers.  Registries, proxies and certificates are the user's
 * choice, so the clients read inside what they read outside.  Read with the caller's rights. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/user_dir.h"
#include "toolchain/client_config.h"
#include "toolchain/client_config_key.h"
#include "toolchain/credentials.h"
#include "toolchain/registries.h"
#include "toolchain/toolchain_paths.h"

#define CONFIG_MAX (1 << 20)
#define CONFIG_TEXT_MAX (16 << 20) /* all files and variables together */
#define HOME_WORD "${home}/"

/* Variables that every client may need. */
static const char *const common_env[] = {
    "http_proxy",  "https_proxy", "no_proxy",  "all_proxy",    "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY",    "ALL_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE",
};

/* Files that every client may need: the host's certificates hold for the host's registries. */
static const char *const common_files[] = { "/etc/ssl/certs/ca-certificates.crt" };

static int words_add(struct words *words, const char *text, sbr_error *err)
{
    const char **grown = realloc(words->at, (words->n + 1) * sizeof(*grown));

    if (!grown)
        return err_set_oom(err, "config");
    words->at = grown;
    grown[words->n] = strdup(text);
    if (!grown[words->n])
        return err_set_oom(err, "config");
    words->n++;
    return 0;
}

void client_config_words_done(struct words *words)
{
    for (unsigned int i = 0; i < words->n; i++)
        free((char *)words->at[i]);
    free(words->at);
    *words = (struct words){ 0 };
}

/* True for paths that every sandbox with a network shows; one on an image shows none of them. */
static bool is_visible(const char *path, const char *home)
{
    static const char *const visible[] = { "/usr/", "/etc/ssl/", "/etc/ca-certificates/" };

    for (size_t i = 0; home && i < ARRAY_LEN(visible); i++)
        if (!strncmp(path, visible[i], strlen(visible[i])))
            return true;
    return false;
}

/* The file without its credentials, which stay outside.  Nothing of it may be left. */
static int read_file(int fd, enum credential_form form, struct secrets *secrets,
                     struct config_file *ret, sbr_error *err)
{
    char *data = NULL;
    struct buf plain;
    size_t len;
    int r = fd_read_text(fd, CONFIG_MAX, &data, &len, err);

    if (r < 0)
        return r;
    buf_init(&plain, CONFIG_MAX + 1);
    r = credentials_take(form, data, len, secrets, &plain, err);
    explicit_bzero(data, len);
    free(data);
    if (r == 0 && (plain.len || len == 0))
        ret->data = buf_take(&plain, &ret->len);
    buf_done(&plain);
    return r;
}

static int add_file(struct stage_config *config, const char *variable, const char *from,
                    const char *inside, sbr_error *err)
{
    scoped_fd int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct config_file file = { 0 }, *grown;
    struct stat st;

    for (size_t i = 0; i < config->n_files; i++)
        if (!strcmp(config->files[i].path, inside))
            return 0; /* two variables may name the same file */
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0; /* not configured */
    if (read_file(fd, credentials_form(variable, inside), &config->secrets, &file, err) < 0)
        return err->code;
    if (!file.data)
        return 0;
    file.path = strdup(inside);
    grown = realloc(config->files, (config->n_files + 1) * sizeof(*grown));
    if (!file.path || !grown) {
        free(file.path);
        free(file.data);
        if (grown)
            config->files = grown;
        return err_set_oom(err, "config");
    }
    config->files = grown;
    config->files[config->n_files++] = file;
    return 0;
}

/* A file ~/x of the host is ~/x inside. */
static int add_pattern(struct stage_config *config, const char *path, const char *tools,
                       sbr_error *err)
{
    const char *home = user_dir_home();
    char from[4096], inside[4096];

    if (strncmp(path, "~/", 2) != 0)
        return is_visible(path, tools) ? 0 : add_file(config, NULL, path, path, err);
    if (!home)
        return 0;
    if ((size_t)snprintf(from, sizeof(from), "%s/%s", home, path + 2) >= sizeof(from) ||
        (size_t)snprintf(inside, sizeof(inside), INSIDE_WORK "/%s", path + 2) >= sizeof(inside))
        return err_set(err, SBR_E_INVALID, "config", "the path of '%.100s' is too long", path);
    return add_file(config, NULL, from, inside, err);
}

/* True when the directory holds more than a client's certificates or packages: the root, a home, a
 * parent of a home. */
static bool is_too_much(const char *dir)
{
    const char *home = getenv("HOME");
    size_t len = strlen(dir);

    return strchr(dir + 1, '/') == NULL || !strncmp(dir, "/proc/", 6) ||
           (!strncmp(dir, "/home/", 6) && !strchr(dir + 6, '/')) ||
           (home && !strncmp(home, dir, len) && (home[len] == '\0' || home[len] == '/'));
}

/* True when a directory that is shown holds the file. */
static bool is_shown(const struct words *needs, const char *path)
{
    for (unsigned int i = 0; i < needs->n; i++) {
        size_t len = strlen(needs->at[i]);

        if (!strncmp(path, needs->at[i], len) && path[len] == '/')
            return true;
    }
    return false;
}

/* The variable without its credentials, if it is of use inside. */
static int add_variable(struct stage_config *config, const char *name, const char *value,
                        sbr_error *err)
{
    struct buf plain;
    int r = 0;

    buf_init(&plain, CONFIG_MAX);
    (void)buf_printf(&plain, "%s=", name);
    switch (credentials_take_variable(name, value, &config->secrets, &plain, err)) {
    case CREDENTIAL_STAYS:
        r = plain.failed ? err_set_oom(err, "config") : words_add(&config->env, plain.data, err);
        break;
    case CREDENTIAL_GONE:
        break;
    case CREDENTIAL_ERROR:
        r = err->code;
        break;
    }
    buf_done(&plain);
    return r;
}

/* A value that is a path needs its file or directory inside, too. */
static int add_env(struct stage_config *config, const char *name, const char *home,
                   struct words *needs, sbr_error *err)
{
    const char *value = getenv(name);
    scoped_free char *real = NULL;
    struct stat st;

    if (!value)
        return 0;
    if (add_variable(config, name, value, err) < 0)
        return err->code;
    if (value[0] != '/' || is_visible(value, home) || is_shown(needs, value) ||
        stat(value, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return add_file(config, name, value, value, err);
    real = realpath(value, NULL);
    return real && !strcmp(real, value) && !is_too_much(real) ? words_add(needs, value, err) : 0;
}

/* Reads a file that is visible inside anyway, such as one of the toolchain.  *ret is NULL when it
 * does not exist; the caller frees it. */
static int read_shown(const char *path, const char *home, char **ret, size_t *ret_len,
                      sbr_error *err)
{
    bool of_home = !strncmp(path, HOME_WORD, strlen(HOME_WORD));
    scoped_free char *from = NULL;
    scoped_fd int fd = -1;
    struct stat st;

    *ret = NULL;
    if (!home || (of_home && !home[0]))
        return 0;
    if (asprintf(&from, "%s%s", of_home ? home : "",
                 of_home ? path + strlen(HOME_WORD) - 1 : path) < 0)
        return err_set_oom(err, "config");
    fd = open(from, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    return fd_read_text(fd, CONFIG_MAX, ret, ret_len, err);
}

/* A file of the machine that clients read, and all programs may, can have credentials as well. */
static int take_shown(const char *path, const char *home, struct secrets *found, struct buf *ret,
                      sbr_error *err)
{
    char *data = NULL;
    size_t len = 0;
    int r = read_shown(path, home, &data, &len, err);

    if (r == 0 && data)
        r = credentials_take(credentials_form(NULL, path), data, len, found, ret, err);
    free(data);
    return r;
}

/* What clients ask by such a file, without its proxies. */
static int add_shown(const char *path, const char *home, struct buf *text, sbr_error *err)
{
    struct secrets known = { 0 };
    struct buf plain;
    int r;

    buf_init(&plain, CONFIG_MAX + 1);
    r = take_shown(path, home, &known, &plain, err);
    if (r == 0)
        registries_add_text(text, plain.data, plain.len);
    secrets_done(&known);
    buf_done(&plain);
    return r;
}

static int gather_shown(const struct stage_def *def, const char *home, struct stage_config *ret,
                        sbr_error *err)
{
    struct buf plain;
    int r = 0;

    buf_init(&plain, CONFIG_TEXT_MAX);
    for (unsigned int i = 0; r == 0 && i < def->config_shown.n; i++)
        r = take_shown(def->config_shown.at[i], home, &ret->secrets, &plain, err);
    buf_done(&plain);
    return r;
}

static int gather(const struct stage_def *def, const char *home, struct stage_config *ret,
                  struct words *needs, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(common_env); i++)
        if (add_env(ret, common_env[i], home, needs, err) < 0)
            return err->code;
    for (size_t i = 0; i < ARRAY_LEN(common_files); i++)
        if (!is_shown(needs, common_files[i]) && add_pattern(ret, common_files[i], home, err) < 0)
            return err->code;
    for (unsigned int i = 0; i < def->config_env.n; i++)
        if (add_env(ret, def->config_env.at[i], home, needs, err) < 0)
            return err->code;
    for (unsigned int i = 0; i < def->config_files.n; i++)
        if (add_pattern(ret, def->config_files.at[i], home, err) < 0)
            return err->code;
    return gather_shown(def, home, ret, err);
}

/* Collects all text that may name a registry. */
static int read_config(const struct stage_def *def, const char *home,
                       const struct stage_config *config, struct buf *text, sbr_error *err)
{
    const char *more = getenv(REGISTRIES_ENV);

    if (more)
        buf_printf(text, REGISTRIES_ENV "=%s\n", more);
    for (unsigned int i = 0; i < config->env.n; i++)
        registries_add_text(text, config->env.at[i], strlen(config->env.at[i]));
    for (size_t i = 0; i < config->n_files; i++)
        registries_add_text(text, config->files[i].data, config->files[i].len);
    for (unsigned int i = 0; i < def->config_shown.n; i++)
        if (add_shown(def->config_shown.at[i], home, text, err) < 0)
            return err->code;
    if (text->failed)
        return err_set(err, SBR_E_INVALID, "config",
                       "the configuration of the package managers is longer than %d bytes",
                       CONFIG_TEXT_MAX);
    return 0;
}

/* The key covers everything that reaches the clients or opens hosts to them. */
static int make_key(const struct stage_def *def, const char *home, struct installer *installer,
                    sbr_error *err)
{
    const struct stage_config *config = &installer->config;
    const char *more = getenv(REGISTRIES_ENV);
    struct config_key key;

    client_config_key_begin(&key);
    if (more)
        client_config_key_text(&key, REGISTRIES_ENV, more, strlen(more));
    for (unsigned int i = 0; i < config->env.n; i++)
        client_config_key_text(&key, "", config->env.at[i], strlen(config->env.at[i]));
    for (size_t i = 0; i < config->n_files; i++)
        client_config_key_text(&key, config->files[i].path, config->files[i].data,
                               config->files[i].len);
    for (unsigned int i = 0; i < installer->needs.n; i++)
        client_config_key_directory(&key, installer->needs.at[i]);
    for (unsigned int i = 0; i < def->config_shown.n; i++) {
        scoped_free char *data = NULL;
        size_t len = 0;

        if (read_shown(def->config_shown.at[i], home, &data, &len, err) < 0)
            return err->code;
        if (data)
            client_config_key_text(&key, def->config_shown.at[i], data, len);
    }
    for (unsigned int i = 0; i < def->n_registries; i++) {
        sha256_add_text(&key.sum, def->registries[i].host);
        sha256_add_text(&key.sum, def->registries[i].when);
        sha256_add_text(&key.sum, def->registries[i].unless);
    }
    client_config_key_finish(&key, installer->key);
    return 0;
}

int client_config_read(const struct stage_def *def, const char *home, struct installer *ret,
                       sbr_error *err)
{
    if (ret->read || !def || !def->network)
        return 0;
    if (gather(def, home, &ret->config, &ret->needs, err) < 0)
        return err->code;
    ret->read = true;
    return make_key(def, home, ret, err);
}

static bool is_asked(const struct secret *one, const struct network *network)
{
    const struct host_rule *host = &one->hosts[0];

    for (size_t i = 0; i < network->n_rules; i++) {
        const struct host_rule *rule = &network->rules[i];

        if (rule->port == host->port && !strcasecmp(rule->text, host->text))
            return true;
    }
    return false;
}

/* A file like .netrc has credentials for hosts that no installer asks. */
static void keep_asked(struct secrets *secrets, const struct network *network)
{
    for (size_t i = 0; i < secrets->n;)
        if (is_asked(&secrets->at[i], network))
            i++;
        else
            secrets_remove(secrets, i);
}

static void drop_file(struct stage_config *config, const char *path)
{
    for (size_t i = 0; i < config->n_files; i++)
        if (!strcmp(config->files[i].path, path)) {
            free(config->files[i].path);
            free(config->files[i].data);
            config->files[i] = config->files[--config->n_files];
            return;
        }
}

/* A stage with secrets trusts the way out, and no other choice of certificates may hide that: the
 * way out trusts those. */
static int trust_way_out(struct stage_config *config, sbr_error *err)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < config->env.n; i++) {
        char *pair = (char *)config->env.at[i], *value = strchr(pair, '=');

        *value = '\0';
        if (!credentials_is_roots(pair)) {
            *value = '=';
            config->env.at[n++] = pair;
            continue;
        }
        drop_file(config, value + 1);
        if (strcmp(pair, "SSL_CERT_FILE") != 0 && /* it is the way out's own */
            credentials_trust(&config->secrets, value + 1, err) < 0)
            return err->code;
        free(pair);
    }
    config->env.n = n;
    drop_file(config, common_files[0]);
    return 0;
}

int client_config_find_registries(const struct stage_def *def, const char *home,
                                  struct stage_config *ret, sbr_error *err)
{
    struct buf text;
    int r;

    if (!def || !def->network)
        return 0;
    ret->network.mode = NETWORK_ALLOW;
    ret->network.closes = true;
    buf_init(&text, CONFIG_TEXT_MAX);
    r = read_config(def, home, ret, &text, err);
    if (r == 0)
        r = registries_find(def, text.data ? text.data : "", &ret->network, err);
    if (r == 0)
        r = credentials_spread(&ret->secrets, &ret->network, err);
    if (r == 0)
        r = credentials_find_plain(&ret->secrets, text.data ? text.data : "", err);
    if (r == 0)
        keep_asked(&ret->secrets, &ret->network);
    buf_done(&text);
    return r == 0 && secrets_are_given(&ret->secrets) ? trust_way_out(ret, err) : r;
}

void client_config_installer_done(struct installer *installer)
{
    client_config_done(&installer->config);
    client_config_words_done(&installer->needs);
    *installer = (struct installer){ 0 };
}

void client_config_done(struct stage_config *config)
{
    for (size_t i = 0; i < config->n_files; i++) {
        free(config->files[i].path);
        free(config->files[i].data);
    }
    free(config->files);
    client_config_words_done(&config->env);
    secrets_done(&config->secrets);
    network_done(&config->network);
    *config = (struct stage_config){ 0 };
}

int client_config_expand(const struct words *patterns, struct words *ret, sbr_error *err)
{
    for (unsigned int i = 0; i < patterns->n; i++) {
        struct toolchain_paths found;
        int r = 0;

        toolchain_paths_expand(NULL, patterns->at[i], &found);
        for (size_t k = 0; r == 0 && k < found.n; k++)
            r = words_add(ret, found.at[k], err);
        toolchain_paths_done(&found);
        if (r < 0)
            return r;
    }
    return 0;
}
