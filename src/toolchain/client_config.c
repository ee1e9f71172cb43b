/* The configuration of package managers.  Registries, proxies and certificates are the user's
 * choice, so the clients read inside what they read outside.  Read with the caller's rights. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/user_dir.h"
#include "toolchain/client_config.h"
#include "toolchain/client_config_key.h"
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

static int add_file(struct stage_config *config, const char *from, const char *inside,
                    sbr_error *err)
{
    scoped_fd int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct config_file file = { 0 }, *grown;
    struct stat st;

    for (size_t i = 0; i < config->n_files; i++)
        if (!strcmp(config->files[i].path, inside))
            return 0; /* two variables may name the same file */
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0; /* not configured */
    if (fd_read_text(fd, CONFIG_MAX, &file.data, &file.len, err) < 0)
        return err->code;
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
        return is_visible(path, tools) ? 0 : add_file(config, path, path, err);
    if (!home)
        return 0;
    if ((size_t)snprintf(from, sizeof(from), "%s/%s", home, path + 2) >= sizeof(from) ||
        (size_t)snprintf(inside, sizeof(inside), INSIDE_WORK "/%s", path + 2) >= sizeof(inside))
        return err_set(err, SBR_E_INVALID, "config", "the path of '%.100s' is too long", path);
    return add_file(config, from, inside, err);
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

/* A value that is a path needs its file or directory inside, too. */
static int add_env(struct stage_config *config, const char *name, const char *home,
                   struct words *needs, sbr_error *err)
{
    const char *value = getenv(name);
    scoped_free char *pair = NULL, *real = NULL;
    struct stat st;

    if (!value)
        return 0;
    if (asprintf(&pair, "%s=%s", name, value) < 0)
        return err_set_oom(err, "config");
    if (words_add(&config->env, pair, err) < 0)
        return err->code;
    if (value[0] != '/' || is_visible(value, home) || is_shown(needs, value) ||
        stat(value, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return add_file(config, value, value, err);
    real = realpath(value, NULL);
    return real && !strcmp(real, value) && !is_too_much(real) ? words_add(needs, value, err) : 0;
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
    return 0;
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
    for (unsigned int i = 0; i < def->config_shown.n; i++) {
        scoped_free char *data = NULL;
        size_t len = 0;

        if (read_shown(def->config_shown.at[i], home, &data, &len, err) < 0)
            return err->code;
        if (data)
            registries_add_text(text, data, len);
    }
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

int client_config_find_registries(const struct stage_def *def, const char *home,
                                  struct stage_config *ret, sbr_error *err)
{
    struct buf text;
    int r;

    if (!def || !def->network)
        return 0;
    ret->network.mode = NETWORK_ALLOW;
    buf_init(&text, CONFIG_TEXT_MAX);
    r = read_config(def, home, ret, &text, err);
    if (r == 0)
        r = registries_find(def, text.data ? text.data : "", &ret->network, err);
    buf_done(&text);
    return r;
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
