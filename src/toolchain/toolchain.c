#include "toolchain/toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "plan/features.h"
#include "toolchain/tool_root.h"
#include "toolchain/toolchain_paths.h"
#include "toolchain/toolchain_version.h"

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* True below /usr, and /bin, /lib etc. of older systems: visible inside under the same path. */
static bool is_system(const char *path)
{
    if (strncmp(path, "/usr/", 5) == 0)
        return true;
    for (size_t i = 0; i < N_ROOT_NAMES; i++) {
        size_t len = strlen(root_names[i]);

        if (strncmp(path + 1, root_names[i], len) == 0 && path[1 + len] == '/')
            return true;
    }
    return false;
}

/* Follows links within /usr/bin, such as python3 -> python3.11, at one call each; realpath would
 * check every directory.  1: done; 0: the link leads elsewhere. */
static int follow_beside(const char *path, char real[PATH_MAX])
{
    static const char dir[] = "/usr/bin/";
    const size_t dir_len = sizeof(dir) - 1;
    char target[NAME_MAX + 1];

    if (strncmp(path, dir, dir_len) != 0 || strchr(path + dir_len, '/') ||
        snprintf(real, PATH_MAX, "%s", path) >= PATH_MAX)
        return 0;
    for (int links = 0; links < 8; links++) {
        ssize_t len = readlink(real, target, sizeof(target));

        if (len < 0)
            return errno == EINVAL; /* not a link */
        if ((size_t)len == sizeof(target) || memchr(target, '/', (size_t)len))
            return 0;
        snprintf(real + dir_len, PATH_MAX - dir_len, "%.*s", (int)len, target);
    }
    return 0;
}

static bool resolve(const struct tool_root *root, const char *path, char real[PATH_MAX])
{
    return (!root && follow_beside(path, real) > 0) || tool_root_resolve(root, path, real);
}

static bool is_script(const struct tool_root *root, const char *path)
{
    scoped_fd int fd = tool_root_open(root, path, O_RDONLY);
    char start[2];

    return fd >= 0 && fd_read_full(fd, start, sizeof(start)) == sizeof(start) &&
           memcmp(start, "#!", sizeof(start)) == 0;
}

/* rustup provides all its tools itself, by hard links where not by symbolic ones. */
static bool is_rustup(const struct tool_root *root, const char *real, const struct stat *st)
{
    char sibling[PATH_MAX + 16];
    struct stat other;

    if (st->st_nlink < 2)
        return false;
    snprintf(sibling, sizeof(sibling), "%.*s/rustup", (int)(base_of(real) - real - 1), real);
    return tool_root_stat(root, sibling, &other) && other.st_dev == st->st_dev &&
           other.st_ino == st->st_ino;
}

/* gcc-* means gcc-12, not gcc-ar. */
static bool fits_as_version(const char *pattern, const char *name)
{
    size_t before = strcspn(pattern, PATTERN_SIGNS), len = strlen(name);
    const char *behind = pattern + strlen(pattern);

    if (!pattern[before])
        return true;
    while (behind > pattern + before + 1 && !strchr("*]", behind[-1]))
        behind--;
    return strspn(name + before, "0123456789.") + before + strlen(behind) >= len;
}

/* Multi-call programs: the name of the link selects the tool, and no link is a shim. */
static const char *const many[] = { "busybox", "toybox" };

/* True when a program of this name may be the tool of the pattern: python3.11 for python3, but not
 * volta-shim for node.  Where the path is kept (`stays`), clang may be clang++ by its link. */
static bool is_namesake(const char *name, const char *stem, bool stays)
{
    char own[NAME_MAX + 1];

    if (strstr(name, stem))
        return true;
    toolchain_version_stem(name, own, sizeof(own));
    for (size_t i = 0; stays && i < ARRAY_LEN(many); i++)
        if (strcmp(own, many[i]) == 0)
            return true;
    return stays && strlen(own) > 1 && strncmp(stem, own, strlen(own)) == 0;
}

/* True for the tool itself, not for a program that starts it. */
static bool is_tool(const struct tool_root *root, const char *pattern, const char *path,
                    const char *real, const struct stat *st)
{
    bool stays = root || (is_system(path) && is_system(real));
    char stem[NAME_MAX + 1];

    toolchain_version_stem(base_of(pattern), stem, sizeof(stem));
    if (!fits_as_version(base_of(pattern), base_of(path)) ||
        !is_namesake(base_of(real), stem, stays))
        return false;
    if (is_system(pattern)) /* some real tools are scripts there */
        return strncmp(real, "/usr/bin/", 9) == 0 || !is_rustup(root, real, st);
    return !is_script(root, real) && !is_rustup(root, real, st);
}

/* The parent directory of "bin", or "". */
static void find_home(const char *real, char *buf, size_t size)
{
    const char *end = base_of(real) - 1; /* the slash before the name */
    int len = (int)(end - real) - 4;

    if (len < 0 || strncmp(end - 4, "/bin", 4) != 0)
        snprintf(buf, size, "%s", "");
    else
        snprintf(buf, size, "%.*s", len > 0 ? len : 1, real);
}

/* True when `path` is `dir` or above it. */
static bool contains(const char *path, const char *dir)
{
    size_t len = strlen(path);

    return strncmp(path, dir, len) == 0 &&
           (dir[len] == '\0' || dir[len] == '/' || path[len - 1] == '/');
}

/* Directories in a home that many programs share, some with secrets. */
static const char *const shared_below_home[] = { ".local", ".cargo",      ".config",
                                                 ".cache", ".npm-global", "go" };

/* ~/go holds modules of others, unless Go itself is in it. */
static bool is_shared_in_home(const char *path, const char *home, const char *tool)
{
    size_t len = strlen(home);

    while (len > 1 && home[len - 1] == '/')
        len--;
    if (contains(path, home))
        return true;
    if (strncmp(path, home, len) != 0 || path[len] != '/')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(shared_below_home); i++)
        if (strcmp(path + len + 1, shared_below_home[i]) == 0)
            return strcmp(shared_below_home[i], tool) != 0;
    return false;
}

/* True when the directory holds more than a toolchain: parts of the system or of a user's home. */
static bool is_shared(const char *path, const char *tool)
{
    const char *home = getenv("HOME"), *second = strchr(path + 1, '/');
    char real_home[PATH_MAX];

    if (!second || (strncmp(path, "/home/", 6) == 0 && !strchr(second + 1, '/')))
        return true; /* /opt, /srv; /home/NAME */
    if (!home || home[0] != '/')
        return false;
    return is_shared_in_home(path, home, tool) ||
           (realpath(home, real_home) && is_shared_in_home(path, real_home, tool));
}

/* What the identity of a tool of an image begins with: a digest, or what changes with the file. */
static void mark(const struct tool_root *root, const struct stat *st, char *buf, size_t size)
{
    if (root && root->id[0])
        snprintf(buf, size, "%s", root->id);
    else if (root)
        snprintf(buf, size, "%lld %lld.%09ld %s", (long long)st->st_size,
                 (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec, root->name);
}

static bool settle(const struct tool_root *root, const char *path, const char *real,
                   const struct stat *st, struct toolchain *ret)
{
    const char *binary = root || (is_system(path) && is_system(real)) ? path : real;

    if (strlen(binary) >= sizeof(ret->binary))
        return false;
    *ret = (struct toolchain){ 0 };
    memcpy(ret->binary, binary, strlen(binary) + 1);
    find_home(real, ret->home, sizeof(ret->home));
    mark(root, st, ret->image, sizeof(ret->image));
    if (root || is_system(real)) {
        if (strcmp(ret->home, "/") == 0)
            ret->home[0] = '\0';
        return true;
    }
    if (ret->home[0] && is_shared(ret->home, base_of(real)))
        ret->home[0] = '\0';
    snprintf(ret->tree, sizeof(ret->tree), "%s", ret->home[0] ? ret->home : ret->binary);
    return true;
}

/* Uses the version in a name unless it contradicts the others. */
static bool add_hint(struct toolchain *t, const char *name, const char *stem)
{
    char version[TOOLCHAIN_VERSION];

    if (!toolchain_version_of_name(name, stem, version))
        return true;
    if (t->hint[0] && toolchain_version_matches(t->hint, version) == 0)
        return false;
    if (toolchain_version_compare(version, t->hint) > 0)
        memcpy(t->hint, version, sizeof(t->hint));
    return true;
}

/* Hints from the binary's name, from its directory if that has the tool's name, and from the parts
 * that match a `*`. */
static void find_hint(const char *pattern, const char *path, const char *real, struct toolchain *t)
{
    char stem[NAME_MAX + 1], name[NAME_MAX + 1];
    const char *home = base_of(t->home);
    bool good;

    toolchain_version_stem(base_of(pattern), stem, sizeof(stem));
    good = add_hint(t, base_of(real), stem) &&
           (!*stem || !strstr(home, stem) || add_hint(t, home, stem));
    while (good && *pattern && *path) { /* component by component: both have the same number */
        size_t part = strcspn(pattern, "/"), len = strcspn(path, "/");

        if (strcspn(pattern, PATTERN_SIGNS) < part) {
            snprintf(name, sizeof(name), "%.*s", (int)len, path);
            good = add_hint(t, name, stem);
        }
        pattern += part + (pattern[part] == '/');
        path += len + (path[len] == '/');
    }
    if (!good)
        t->hint[0] = '\0';
}

/* The tools found so far, with their inodes: a file with two names is listed once. */
struct finds {
    const struct tool_root *root;
    struct toolchain *at;
    size_t n, max;
    dev_t dev[TOOLCHAIN_MAX];
    ino_t ino[TOOLCHAIN_MAX];
};

static bool is_known(const struct finds *finds, const struct stat *st)
{
    for (size_t i = 0; i < finds->n; i++)
        if (finds->dev[i] == st->st_dev && finds->ino[i] == st->st_ino)
            return true;
    return false;
}

/* `pattern` has no ~. */
static void examine(struct finds *finds, const char *pattern, const char *path)
{
    const struct tool_root *root = finds->root;
    struct toolchain *t = &finds->at[finds->n];
    char real[PATH_MAX];
    struct stat st;

    if (finds->n == finds->max || !tool_root_is_program(root, path, &st) || is_known(finds, &st) ||
        !resolve(root, path, real) || !is_tool(root, pattern, path, real, &st) ||
        !settle(root, path, real, &st, t))
        return;
    find_hint(pattern, path, real, t);
    finds->dev[finds->n] = st.st_dev;
    finds->ino[finds->n] = st.st_ino;
    finds->n++;
}

static void examine_pattern(struct finds *finds, const char *pattern)
{
    char absolute[TOOLCHAIN_PATH];
    struct toolchain_paths paths;

    if ((finds->root && pattern[0] == '~') ||
        !toolchain_path_absolute(pattern, absolute, sizeof(absolute)))
        return;
    if (!pattern[strcspn(pattern, PATTERN_SIGNS)]) {
        examine(finds, absolute, absolute);
        return;
    }
    toolchain_paths_expand(finds->root, pattern, &paths);
    for (size_t i = 0; i < paths.n; i++)
        examine(finds, absolute, paths.at[i]);
    toolchain_paths_done(&paths);
}

/* In an image the command of that name is what its author meant, wherever it lies. */
static void examine_commands(struct finds *finds, const char *name)
{
    char path[TOOLCHAIN_PATH];

    if (name[strcspn(name, PATTERN_SIGNS)])
        return;
    for (const char *dir = finds->root->path; *dir; dir += *dir == ':') {
        size_t len = strcspn(dir, ":");
        int n = snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, name);

        if (*dir == '/' && n > 0 && (size_t)n < sizeof(path))
            examine(finds, path, path);
        dir += len;
    }
}

static size_t list(const struct tool_root *root, const struct language *language,
                   struct toolchain *ret, size_t max)
{
    struct finds finds = { .root = root,
                           .at = ret,
                           .max = max < TOOLCHAIN_MAX ? max : TOOLCHAIN_MAX };

    for (unsigned int i = 0; root && i < language->binaries.n && finds.n < finds.max; i++)
        examine_commands(&finds, base_of(language->binaries.at[i]));
    for (unsigned int i = 0; i < language->binaries.n && finds.n < finds.max; i++)
        examine_pattern(&finds, language->binaries.at[i]);
    return finds.n;
}

size_t toolchain_list(const struct language *language, struct toolchain *ret, size_t max)
{
    return list(NULL, language, ret, max);
}

static int not_installed(const struct tool_root *root, const struct language *language,
                         sbr_error *err)
{
    if (root)
        return err_set(err, SBR_E_NOT_FOUND, "language",
                       "%s is not in the image; take an image that has it, or leave --image out",
                       language->name);
    if (!language->package)
        return err_set(err, SBR_E_NOT_FOUND, "language", "%s is not installed", language->name);
    return err_set(err, SBR_E_NOT_FOUND, "language",
                   "%s is not installed; `apt-get install %s` brings it", language->name,
                   language->package);
}

static const char *known_version(const struct toolchain *t)
{
    if (t->version[0])
        return t->version;
    return t->hint[0] ? t->hint : "unknown";
}

static int not_this_version(const struct language *language, const char *wanted,
                            const struct toolchain *found, size_t n, sbr_error *err)
{
    char list[320] = "", more[32] = "";
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        size_t room = sizeof(list) - used;
        int len = snprintf(list + used, room, "%s%s (%s)", i ? ", " : "", known_version(&found[i]),
                           found[i].binary);

        if (len < 0 || (size_t)len >= room) {
            list[used] = '\0';
            snprintf(more, sizeof(more), "%s%zu%s", i ? " and " : "", n - i, i ? " more" : "");
            break;
        }
        used += (size_t)len;
    }
    return err_set(err, SBR_E_NOT_FOUND, "language", "there is no %.40s %s here; found %s%s",
                   language->name, wanted, list, more);
}

/* 1: yes; 0: no; -1: unknown. */
static int has_version(const struct language *language, const struct toolchain_query *query,
                       struct toolchain *t)
{
    int r = t->hint[0] ? toolchain_version_matches(t->hint, query->wanted) : -1;

    if (r >= 0 || toolchain_version(language, query, t) < 0)
        return r;
    return toolchain_version_matches(t->version, query->wanted);
}

static int find_version(const struct language *language, const struct toolchain_query *query,
                        struct toolchain *all, struct toolchain *ret, sbr_error *err)
{
    size_t n = list(query->root, language, all, TOOLCHAIN_MAX);

    for (size_t i = 0; i < n; i++) {
        if (has_version(language, query, &all[i]) > 0) {
            *ret = all[i];
            return 0;
        }
    }
    return n > 0 ? not_this_version(language, query->wanted, all, n, err)
                 : not_installed(query->root, language, err);
}

int toolchain_find(const struct language *language, const struct toolchain_query *query,
                   struct toolchain *ret, sbr_error *err)
{
    const struct tool_root *root = query ? query->root : NULL;
    struct toolchain *all;
    int r;

    if (!query || !query->wanted)
        return list(root, language, ret, 1) == 1 ? 0 : not_installed(root, language, err);
    if (!toolchain_version_is_valid(query->wanted))
        return err_set(err, SBR_E_INVALID, "language",
                       "'%.40s' is not a version of %.40s; write numbers, as in %.40s@1.2",
                       query->wanted, language->name, language->name);
    all = calloc(TOOLCHAIN_MAX, sizeof(*all));
    if (!all)
        return err_set_oom(err, "language");
    r = find_version(language, query, all, ret, err);
    free(all);
    return r;
}
