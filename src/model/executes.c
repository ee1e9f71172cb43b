#include "model/executes.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define PARTS_MAX (PATH_MAX / 2 + 1)
#define GIT ".git"
#define SET_ID 06000u
#define EXECUTABLE 0111u

/* "X/": everything in the directory X, and X itself when it is none.  A star stands at the
 * beginning or at the end of a name.  All lower case.  SECURITY.md has a row for each `what`
 * (tests/lint/documents.py). */
static const struct executed {
    const char *pattern, *what;
} executed[] = {
    { ".gitmodules", "git configuration" },
    { ".gitattributes", "git configuration" },
    { ".gitconfig", "git configuration" },
    { ".config/git/", "git configuration" },
    { ".hg/", "settings of a version control system" },
    { ".svn/", "settings of a version control system" },
    { ".jj/", "settings of a version control system" },
    { ".husky/", "git hook" },
    { ".githooks/", "git hook" },
    { ".pre-commit-config.y*", "git hook" },
    { "lefthook.y*", "git hook" },
    { ".lefthook.y*", "git hook" },
    { ".overcommit.yml", "git hook" },
    { ".envrc", "shell start-up file" },
    { "mise.toml", "shell start-up file" },
    { ".mise.toml", "shell start-up file" },
    { ".mise/", "shell start-up file" },
    { ".bash*", "shell start-up file" },
    { ".profile", "shell start-up file" },
    { ".zsh*", "shell start-up file" },
    { ".zprofile", "shell start-up file" },
    { ".zlog*", "shell start-up file" },
    { ".inputrc", "shell start-up file" },
    { ".config/fish/", "shell start-up file" },
    { ".config/autostart/", "program start-up file" },
    { ".config/systemd/", "program start-up file" },
    { ".local/bin/", "program start-up file" },
    { ".tmux.conf", "program start-up file" },
    { ".screenrc", "program start-up file" },
    { ".gdbinit", "program start-up file" },
    { ".lldbinit", "program start-up file" },
    { ".pdbrc*", "program start-up file" },
    { ".irbrc", "program start-up file" },
    { ".pryrc", "program start-up file" },
    { ".rprofile", "program start-up file" },
    { ".renviron", "program start-up file" },
    { ".ghci", "program start-up file" },
    { ".iex.exs", "program start-up file" },
    { ".psqlrc", "program start-up file" },
    { ".sqliterc", "program start-up file" },
    { ".curlrc", "program start-up file" },
    { ".wgetrc", "program start-up file" },
    { ".netrc", "credentials" },
    { ".ssh/", "credentials" },
    { ".gnupg/", "credentials" },
    { ".aws/", "credentials" },
    { ".kube/", "credentials" },
    { ".docker/config.json", "credentials" },
    { ".vscode/", "editor settings" },
    { "*.code-workspace", "editor settings" },
    { ".idea/", "editor settings" },
    { ".zed/", "editor settings" },
    { ".fleet/", "editor settings" },
    { ".devcontainer/", "editor settings" },
    { ".devcontainer.json", "editor settings" },
    { ".exrc", "editor settings" },
    { ".vimrc", "editor settings" },
    { ".lvimrc", "editor settings" },
    { ".nvimrc", "editor settings" },
    { ".nvim.lua", "editor settings" },
    { ".dir-locals*", "editor settings" },
    { ".npmrc", "package manager settings" },
    { ".yarnrc*", "package manager settings" },
    { ".yarn/", "package manager settings" },
    { ".pnpmfile.*", "package manager settings" },
    { ".pnp.*", "package manager settings" },
    { "bunfig.toml", "package manager settings" },
    { ".pypirc", "package manager settings" },
    { "pip.conf", "package manager settings" },
    { ".condarc", "package manager settings" },
    { ".gemrc", "package manager settings" },
    { ".bundle/", "package manager settings" },
    { ".cargo/", "package manager settings" },
    { "rust-toolchain*", "package manager settings" },
    { ".mvn/", "build tool wrapper" },
    { "mvnw*", "build tool wrapper" },
    { "gradle/wrapper/", "build tool wrapper" },
    { "gradlew*", "build tool wrapper" },
    { ".github/workflows/", "CI workflow" },
    { ".github/actions/", "CI workflow" },
    { ".gitlab-ci.y*", "CI workflow" },
    { ".gitlab/", "CI workflow" },
    { ".gitea/", "CI workflow" },
    { ".forgejo/", "CI workflow" },
    { ".circleci/", "CI workflow" },
    { ".buildkite/", "CI workflow" },
    { ".woodpecker/", "CI workflow" },
    { ".woodpecker.y*", "CI workflow" },
    { ".drone.y*", "CI workflow" },
    { ".travis.yml", "CI workflow" },
    { ".teamcity/", "CI workflow" },
    { ".azure-pipelines/", "CI workflow" },
    { "azure-pipelines.y*", "CI workflow" },
    { "bitbucket-pipelines.yml", "CI workflow" },
    { "appveyor.yml", "CI workflow" },
    { "jenkinsfile*", "CI workflow" },
    { ".claude/", "agent settings" },
    { ".claude.json", "agent settings" },
    { ".mcp.json", "agent settings" },
    { ".cursor/", "agent settings" },
    { ".cursorrules", "agent settings" },
    { ".windsurf/", "agent settings" },
    { ".codex/", "agent settings" },
    { ".gemini/", "agent settings" },
    { ".continue/", "agent settings" },
    { ".roo/", "agent settings" },
    { ".kiro/", "agent settings" },
    { ".opencode/", "agent settings" },
    { "opencode.json*", "agent settings" },
    { ".aider*", "agent settings" },
    { ".sandbox-run.yaml", "sandbox-run settings" },
    { "sitecustomize.py*", "python start-up file" },
    { "usercustomize.py*", "python start-up file" },
    { "*.pth", "python start-up file" },
};

/* What a commit writes below .git, and nobody executes.  All else there is configuration. */
static const char *const git_data[] = {
    "objects/",       "refs/",      "logs/",        "head",        "index",
    "commit_editmsg", "orig_head",  "fetch_head",   "merge_head",  "merge_msg",
    "merge_mode",     "auto_merge", "squash_msg",   "packed-refs", "shallow",
    "description",    "gc.log",     "info/exclude", "info/refs",   "cherry_pick_head",
    "revert_head",
};
/* Objects of another repository, which its owner chooses. */
static const char *const git_alternates[] = { "objects/info/" };

/* A path by its names, as a file system without case takes them. */
struct names {
    size_t n;
    uint16_t start[PARTS_MAX]; /* in the path as it is */
    uint16_t at[PARTS_MAX];    /* in `folded` */
    char folded[PATH_MAX + 16];
};

/* Code points that some file systems leave out when they compare names. */
static bool is_ignored(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } rows[] = {
        { 0xad, 0xad },     { 0x34f, 0x34f },   { 0x61c, 0x61c },     { 0x115f, 0x1160 },
        { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },   { 0x202a, 0x202e },
        { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
        { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0xe0000, 0xe0fff },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (c >= rows[i].first && c <= rows[i].last)
            return true;
    return false;
}

/* One character of UTF-8, as wide as it is; a byte that is none stands for itself. */
static uint32_t next_char(const char *text, size_t len, size_t *ret_len)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0xc2 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 1;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

    for (size_t i = 1; i < n; i++) {
        if (i >= len || (p[i] & 0xc0) != 0x80) {
            *ret_len = 1;
            return p[0];
        }
        c = c << 6 | (p[i] & 0x3f);
    }
    *ret_len = n;
    return c;
}

/* The beginning of a name without its number: "git~1" is short for ".git" on some. */
static void expand_short(char *name, size_t size)
{
    static const struct {
        const char *begins, *whole;
    } rows[] = { { "git~", GIT }, { "gitmod~", ".gitmodules" }, { "gitatt~", ".gitattributes" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t len = strlen(rows[i].begins);

        if (!strncmp(name, rows[i].begins, len) && isdigit((unsigned char)name[len]) &&
            strlen(rows[i].whole) < size)
            memcpy(name, rows[i].whole, strlen(rows[i].whole) + 1);
    }
}

/* Lower case, without what is ignored, without a stream's name, and without dots and blanks at the
 * end.  Returns the length. */
static size_t fold(const char *name, size_t len, char *to, size_t size)
{
    size_t used = 0, n;

    for (size_t i = 0; i < len && name[i] != ':'; i += n) {
        uint32_t c = next_char(name + i, len - i, &n);

        if (c == 0x212a || c == 0x17f) { /* the signs that fold to k and s */
            to[used++] = c == 0x212a ? 'k' : 's';
        } else if (!is_ignored(c)) {
            for (size_t k = 0; k < n; k++)
                to[used++] = (char)(n == 1 ? tolower((unsigned char)name[i]) : name[i + k]);
        }
    }
    while (used > 1 && (to[used - 1] == '.' || to[used - 1] == ' '))
        used--;
    to[used] = '\0';
    expand_short(to, size);
    return strlen(to);
}

/* False: more than any path. */
static bool split(const char *path, struct names *names)
{
    size_t used = 0;

    names->n = 0;
    for (size_t at = 0; path[at];) {
        size_t len = strcspn(path + at, "/\\");

        if (len && (names->n == PARTS_MAX || at + len > PATH_MAX ||
                    used + len + 16 > sizeof(names->folded)))
            return false;
        if (len) {
            size_t folded =
                fold(path + at, len, names->folded + used, sizeof(names->folded) - used);

            names->start[names->n] = (uint16_t)at;
            names->at[names->n] = (uint16_t)used;
            names->n += folded > 0; /* of some names nothing is left */
            used += folded ? folded + 1 : 0;
        }
        at += len + (path[at + len] != '\0');
    }
    return true;
}

static bool name_fits(const char *name, const char *pattern, size_t len)
{
    size_t have;

    if (pattern[len - 1] == '*')
        return !strncmp(name, pattern, len - 1);
    if (pattern[0] != '*')
        return !strncmp(name, pattern, len) && !name[len];
    have = strlen(name);
    return have >= len - 1 && !memcmp(name + have - (len - 1), pattern + 1, len - 1);
}

/* Whether the names from the i-th on are what the pattern stands for. */
static bool fits(const struct names *names, size_t i, const char *pattern, enum node_kind kind)
{
    for (; *pattern; i++) {
        size_t len = strcspn(pattern, "/");

        if (i >= names->n || !name_fits(names->folded + names->at[i], pattern, len))
            return false;
        pattern += len;
        if (!strcmp(pattern, "/")) /* what is in the directory, or in its place */
            return i + 1 < names->n || kind != NODE_DIR;
        pattern += *pattern == '/';
    }
    return i == names->n;
}

static bool fits_any(const struct names *names, size_t i, const char *const *list, size_t n,
                     enum node_kind kind)
{
    for (size_t k = 0; k < n; k++)
        if (fits(names, i, list[k], kind))
            return true;
    return false;
}

/* The i-th name is that of a repository's directory. */
static const char *in_git(const struct names *names, size_t i, enum node_kind kind)
{
    if (kind == NODE_DIR)
        return NULL;
    if (i + 1 == names->n)
        return "git directory"; /* a file or a link names another one */
    if (!strcmp(names->folded + names->at[i + 1], "hooks"))
        return "git hook";
    if (kind != NODE_LINK && fits_any(names, i + 1, git_data, ARRAY_LEN(git_data), kind) &&
        !fits_any(names, i + 1, git_alternates, ARRAY_LEN(git_alternates), kind))
        return NULL;
    return "git configuration";
}

/* Where the last name of a path begins. */
static size_t last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash + 1 - path) : 0;
}

const char *executes_path(const char *path, enum node_kind kind, size_t *ret_start)
{
    struct names names;

    *ret_start = 0;
    if (!split(path, &names))
        return "name that is too long";
    for (size_t i = 0; i < names.n; i++) {
        const char *what =
            strcmp(names.folded + names.at[i], GIT) == 0 ? in_git(&names, i, kind) : NULL;

        for (size_t k = 0; !what && k < ARRAY_LEN(executed); k++)
            if (fits(&names, i, executed[k].pattern, kind))
                what = executed[k].what;
        if (what) {
            *ret_start = names.start[i];
            return what;
        }
    }
    /* With this file, its directory is a repository without a work tree. */
    *ret_start = last_name(path);
    if (strcmp(path + *ret_start, "HEAD") != 0 || kind == NODE_DIR)
        return NULL;
    for (size_t i = 0; i < names.n; i++)
        if (!strcmp(names.folded + names.at[i], GIT))
            return NULL;
    return "git directory";
}

static enum node_kind kind_of(const struct change *c)
{
    return c->now.kind == NODE_NONE ? c->base.kind : c->now.kind;
}

/* Bits that the file has and what stood there before had not. */
static uint32_t gained_bits(const struct change *c)
{
    if (c->now.kind != NODE_FILE)
        return 0;
    return c->now.mode & ~(c->base.kind == NODE_FILE ? c->base.mode : 0);
}

/* Which path is special, and from where on. */
static const char *look(const struct change *c, const char **ret_path, size_t *ret_start)
{
    const char *what;

    *ret_path = c->path;
    what = executes_path(c->path, kind_of(c), ret_start);
    /* A directory that is no directory any more. */
    if (!what && c->base.kind != NODE_NONE && c->base.kind != kind_of(c) && !c->from)
        what = executes_path(c->path, c->base.kind, ret_start);
    if (!what && c->from) {
        *ret_path = c->from;
        what = executes_path(c->from, c->base.kind, ret_start);
    }
    if (what)
        return what;
    *ret_path = c->path;
    *ret_start = last_name(c->path);
    if (c->base.kind == NODE_NONE) /* a program may write a script; it is only marked */
        return NULL;
    if (gained_bits(c) & SET_ID)
        return "set-id program";
    return gained_bits(c) & EXECUTABLE ? "file that becomes executable" : NULL;
}

const char *executes_change(const struct change *c)
{
    const char *path;
    size_t start;

    return look(c, &path, &start);
}

const char *executes_mark(const struct change *c)
{
    if (c->base.kind != NODE_NONE)
        return NULL;
    if (gained_bits(c) & SET_ID)
        return "new set-id program";
    return gained_bits(c) & EXECUTABLE ? "new executable file" : NULL;
}

bool executes_is_named(const struct change *c, const char *const *names, size_t n)
{
    const char *path;
    size_t start;

    if (!look(c, &path, &start))
        return true;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]);

        if (len > start && !strncmp(path, names[i], len) && (!path[len] || path[len] == '/'))
            return true;
    }
    return false;
}

bool executes_is_bookkeeping(const struct change *c)
{
    const char *git = strstr(c->path, GIT "/");

    return git && (git == c->path || git[-1] == '/') && !executes_change(c);
}
