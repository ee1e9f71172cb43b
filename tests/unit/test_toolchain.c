/* A made-up home with the tools of version managers in it, and their shims. */
#include "toolchain/toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "toolchain/toolchain_paths.h"
#include "toolchain/toolchain_version.h"
#include "unit.h"

#define REAL                                                                                       \
    "\x7f"                                                                                         \
    "ELF"

static char root[PATH_MAX]; /* has the home directory in it, and others */
static struct toolchain found[TOOLCHAIN_MAX];

/* Below the root; good until the fourth next call. */
static const char *at(const char *path)
{
    static char paths[4][PATH_MAX * 2];
    static unsigned int next;
    char *buf = paths[next++ % 4];

    snprintf(buf, sizeof(paths[0]), "%s/%s", root, path);
    return buf;
}

static void make_parents(const char *path)
{
    char dir[PATH_MAX * 2];

    snprintf(dir, sizeof(dir), "%s", path);
    for (char *slash = dir + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(dir, 0755) < 0)
            assert_int_equal(errno, EEXIST);
        *slash = '/';
    }
}

static void put_file(const char *path, const char *text, mode_t mode)
{
    make_parents(at(path));
    {
        scoped_fd int fd = open(at(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
    }
}

static void put_tool(const char *path)
{
    put_file(path, REAL, 0755);
}

static void put_link(const char *path, const char *target)
{
    make_parents(at(path));
    assert_int_equal(symlink(target, at(path)), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int make_root(void **state)
{
    char name[] = "/tmp/sbr-unit-toolchain-XXXXXX";

    (void)state;
    if (!mkdtemp(name) || !realpath(name, root) || mkdir(at("home"), 0755) < 0)
        return -1;
    setenv("SANDBOX_RUN_CACHE", at("cache"), 1);
    mkdir(at("cache"), 0700);
    return setenv("HOME", at("home"), 1);
}

static int remove_root(void **state)
{
    (void)state;
    setenv("HOME", at("home"), 1);
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A language with up to three patterns; good until the next call. */
static const struct language *with(const char *a, const char *b, const char *c)
{
    static struct language language;
    static const char *patterns[3];
    unsigned int n = 0;

    for (size_t i = 0; i < 3; i++) {
        const char *pattern = i == 0 ? a : i == 1 ? b : c;

        if (pattern)
            patterns[n++] = pattern;
    }
    language = (struct language){ .name = "tongue",
                                  .package = "tongue-dev",
                                  .binaries = { .at = patterns, .n = n } };
    return &language;
}

/* Exactly these binaries, in this order; paths are below the root.  The last is NULL. */
static void assert_listed(const struct language *language, const char *const *paths)
{
    size_t n = toolchain_list(language, found, TOOLCHAIN_MAX), i = 0;

    for (; paths[i]; i++) {
        if (i == n)
            fail_msg("%s is not in the list", paths[i]);
        assert_string_equal(found[i].binary, at(paths[i]));
    }
    if (i < n)
        fail_msg("%s should not be in the list", found[i].binary);
}

#define listed(language, ...) assert_listed(language, (const char *const[]){ __VA_ARGS__, NULL })

static void the_newest_version_comes_first_and_names_without_one_last(void **state)
{
    (void)state;
    put_tool("home/.rustup/toolchains/1.9.2-x86_64-unknown-linux-gnu/bin/rustc");
    put_tool("home/.rustup/toolchains/1.26.0-x86_64-unknown-linux-gnu/bin/rustc");
    put_tool("home/.rustup/toolchains/nightly-2026-01-31-x86_64-unknown-linux-gnu/bin/rustc");
    put_tool("home/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/rustc");
    put_file("home/.rustup/toolchains/2.0.0-empty/readme", "", 0644);
    listed(with("~/.rustup/toolchains/*/bin/rustc", NULL, NULL),
           "home/.rustup/toolchains/1.26.0-x86_64-unknown-linux-gnu/bin/rustc",
           "home/.rustup/toolchains/1.9.2-x86_64-unknown-linux-gnu/bin/rustc",
           "home/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/rustc",
           "home/.rustup/toolchains/nightly-2026-01-31-x86_64-unknown-linux-gnu/bin/rustc");
    assert_string_equal(found[0].hint, "1.26.0");
    assert_string_equal(found[0].home,
                        at("home/.rustup/toolchains/1.26.0-x86_64-unknown-linux-gnu"));
    assert_string_equal(found[0].tree, found[0].home);
    assert_string_equal(found[0].version, "");
    assert_string_equal(found[2].hint, "");
    assert_string_equal(found[3].hint, "");
}

static void patterns_are_asked_in_their_order(void **state)
{
    (void)state;
    put_tool("sdk/old/bin/lang1.2");
    put_tool("sdk/new/bin/lang1.10");
    put_tool("sdk/new/bin/lang1.10-config");
    put_tool("sdk/.hidden/bin/lang9.9");
    listed(with(at("sdk/old/bin/lang*"), at("sdk/none/*/lang"), at("sdk/new/bin/lang*")),
           "sdk/old/bin/lang1.2", "sdk/new/bin/lang1.10");
    listed(with(at("sdk/*/bin/lang*"), NULL, NULL), "sdk/old/bin/lang1.2", "sdk/new/bin/lang1.10");
    assert_int_equal(toolchain_list(with("sdk/old/bin/lang1.2", "", "~sdk/x"), found, 9), 0);
}

static void what_is_no_executable_file_is_passed_over(void **state)
{
    (void)state;
    put_file("kinds/1.0/bin/tool", REAL, 0644);
    put_file("kinds/1.1/bin/tool/inside", REAL, 0755);
    put_link("kinds/1.2/bin/tool", "nowhere");
    put_link("kinds/1.3/bin/tool", "tool");
    put_file("kinds/1.4/bin/tool", "#!/bin/sh\nexec something-else\n", 0755);
    put_file("kinds/1.5/bin/tool", "", 0755);
    listed(with(at("kinds/*/bin/tool"), NULL, NULL), "kinds/1.5/bin/tool");
}

static void the_shims_of_version_managers_are_passed_over(void **state)
{
    (void)state;
    put_tool("home/.cargo/bin/rustup");
    put_link("home/.cargo/bin/rustc", "rustup");
    assert_int_equal(link(at("home/.cargo/bin/rustup"), at("home/.cargo/bin/rustdoc")), 0);
    put_tool("home/.volta/bin/volta-shim");
    put_link("home/.volta/bin/node", "volta-shim");
    put_tool("home/.local/bin/mise");
    put_link("home/.local/share/mise/shims/python3", at("home/.local/bin/mise"));
    put_file("home/.pyenv/shims/python3", "#!/usr/bin/env bash\n", 0755);
    assert_int_equal(toolchain_list(with("~/.cargo/bin/rustc", "~/.cargo/bin/rustdoc",
                                         "~/.volta/bin/node"),
                                    found, TOOLCHAIN_MAX),
                     0);
    assert_int_equal(toolchain_list(with("~/.local/share/mise/shims/python3",
                                         "~/.pyenv/shims/python3", NULL),
                                    found, TOOLCHAIN_MAX),
                     0);
}

static void a_link_to_the_tool_under_a_longer_name_is_the_tool(void **state)
{
    (void)state;
    put_tool("links/lib/bin/x86_64-linux-gnu-gcc-12");
    put_link("links/bin/gcc-12", "../lib/bin/x86_64-linux-gnu-gcc-12");
    put_link("links/bin/gcc", "gcc-12");
    put_tool("links/bin/gcc-ar");
    put_tool("links/php/bin/php8.2");
    put_link("links/bin/php", "../php/bin/php8.2");
    listed(with(at("links/bin/gcc"), NULL, NULL), "links/lib/bin/x86_64-linux-gnu-gcc-12");
    assert_string_equal(found[0].home, at("links/lib"));
    assert_string_equal(found[0].hint, "12");
    listed(with(at("links/bin/php"), NULL, NULL), "links/php/bin/php8.2");
    assert_string_equal(found[0].hint, "8.2");
    listed(with(at("links/bin/gcc-*"), at("links/bin/gcc"), at("links/bin/gcc-[0-9]*")),
           "links/lib/bin/x86_64-linux-gnu-gcc-12"); /* once, and gcc-ar is no version */
}

static void a_digit_is_asked_for_in_brackets(void **state)
{
    (void)state;
    put_tool("sdkman/21.0.2-tem/bin/java");
    put_tool("sdkman/8.0.392-tem/bin/java");
    put_tool("sdkman/other/bin/java");
    put_link("sdkman/current", "other");
    listed(with(at("sdkman/[0-9]*/bin/java"), NULL, NULL), "sdkman/21.0.2-tem/bin/java",
           "sdkman/8.0.392-tem/bin/java");
    assert_string_equal(found[0].hint, "21.0.2");
    listed(with(at("sdkman/[0-9][0-9].*/bin/java"), NULL, NULL), "sdkman/21.0.2-tem/bin/java");
}

/* Outside /usr the name of the link would be lost, and clang is no clang++. */
static void another_name_for_a_tool_of_many_counts_only_where_it_is_kept(void **state)
{
    (void)state;
    put_tool("llvm/bin/clang");
    put_link("llvm/bin/clang++", "clang");
    put_tool("tiny/bin/busybox");
    put_link("tiny/bin/sh", "busybox");
    assert_int_equal(toolchain_list(with(at("llvm/bin/clang++"), at("tiny/bin/sh"), NULL), found,
                                    9),
                     0);
    if (access("/usr/bin/clang++", X_OK) < 0)
        skip();
    assert_int_equal(toolchain_list(with("/usr/bin/clang++", NULL, NULL), found, 9), 1);
    assert_string_equal(found[0].binary, "/usr/bin/clang++");
}

static void a_version_that_only_a_link_bears_counts(void **state)
{
    (void)state;
    put_tool("alias/stable/bin/tool");
    put_link("alias/1.95.0", "stable");
    listed(with(at("alias/*/bin/tool"), NULL, NULL), "alias/stable/bin/tool");
    assert_string_equal(found[0].hint, "1.95.0");
}

static void a_directory_that_holds_more_than_the_tool_is_never_mounted(void **state)
{
    static const char *const lone[] = { "home/bin/tool",    "home/.local/bin/tool",
                                        "bin/tool",         "home/.cargo/bin/tool",
                                        "home/go/bin/tool", "home/sbin/tool",
                                        "elsewhere/tool" };
    static const char *const whole[] = { "home/.deno", "home/.local/share/tool-1.2", "opt/tool",
                                         "home/.local/bin" };
    char path[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lone); i++) {
        put_tool(lone[i]);
        listed(with(at(lone[i]), NULL, NULL), lone[i]);
        assert_string_equal(found[0].tree, at(lone[i]));
        assert_string_equal(found[0].home, "");
    }
    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        snprintf(path, sizeof(path), "%s/bin/tool", whole[i]);
        put_tool(path);
        listed(with(at(path), NULL, NULL), path);
        assert_string_equal(found[0].tree, at(whole[i]));
        assert_string_equal(found[0].home, at(whole[i]));
    }
}

static void a_shared_directory_may_be_the_home_of_its_namesake(void **state)
{
    (void)state;
    put_tool("home/go/bin/go");
    listed(with("~/go/bin/go", NULL, NULL), "home/go/bin/go");
    assert_string_equal(found[0].tree, at("home/go"));
}

static void a_home_behind_a_link_is_guarded_as_well(void **state)
{
    (void)state;
    put_tool("disk/users/me/bin/tool");
    put_tool("disk/users/me/.local/bin/tool");
    put_link("users", "disk/users");
    setenv("HOME", at("users/me"), 1);
    listed(with("~/bin/tool", "~/.local/bin/tool", NULL), "disk/users/me/bin/tool",
           "disk/users/me/.local/bin/tool");
    assert_string_equal(found[0].home, "");
    assert_string_equal(found[1].home, "");
    setenv("HOME", at("home"), 1);
}

static void without_a_home_nothing_below_it_is_found(void **state)
{
    static const char *const homes[] = { "", "relative", "." };

    (void)state;
    put_tool("home/tools/bin/tool");
    for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
        setenv("HOME", homes[i], 1);
        assert_int_equal(toolchain_list(with("~/tools/bin/tool", "~/*/bin/tool", NULL), found, 9),
                         0);
    }
    unsetenv("HOME");
    listed(with("~/tools/bin/tool", at("home/tools/bin/tool"), NULL), "home/tools/bin/tool");
    setenv("HOME", at("home"), 1);
}

static void a_star_in_the_name_of_the_home_is_a_letter(void **state)
{
    (void)state;
    put_tool("h*me/tools/1.0/bin/tool");
    put_tool("home/tools/1.0/bin/tool");
    setenv("HOME", at("h*me"), 1);
    listed(with("~/tools/*/bin/tool", NULL, NULL), "h*me/tools/1.0/bin/tool");
    setenv("HOME", at("home"), 1);
}

static void below_usr_the_path_stays_as_it_is_written(void **state)
{
    sbr_error err;

    (void)state;
    if (access("/usr/bin/env", X_OK) < 0)
        skip();
    assert_int_equal(toolchain_find(with("/usr/bin/env", NULL, NULL), NULL, found, &err), 0);
    assert_string_equal(found[0].binary, "/usr/bin/env");
    assert_string_equal(found[0].tree, "");
    assert_string_equal(found[0].home, "/usr");
    assert_string_equal(found[0].hint, "");
}

/* What packages put there; each row holds where the file exists. */
static void links_below_usr_lead_to_the_home_of_the_tool(void **state)
{
    static const char *const paths[] = { "/usr/bin/java", "/usr/bin/python3", "/usr/bin/gcc",
                                         "/usr/bin/clang" };
    char real[PATH_MAX], *bin;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (!realpath(paths[i], real) || strncmp(real, "/usr/", 5) != 0 ||
            !(bin = strstr(real, "/bin/")) || strchr(bin + 5, '/'))
            continue;
        *bin = '\0';
        assert_int_equal(toolchain_list(with(paths[i], NULL, NULL), found, 1), 1);
        assert_string_equal(found[0].binary, paths[i]);
        assert_string_equal(found[0].home, real);
        assert_string_equal(found[0].tree, "");
    }
}

static void a_language_that_is_not_there_names_its_package(void **state)
{
    struct language unpackaged = *with(at("none/*/tool"), NULL, NULL);
    struct toolchain_query query = { .wanted = "3" };
    struct toolchain kept = { .binary = "kept" };
    sbr_error err;

    (void)state;
    assert_refused(toolchain_find(with("/none/tool", NULL, NULL), NULL, &kept, &err), &err,
                   SBR_E_NOT_FOUND, "tongue is not installed; `apt-get install tongue-dev` brings");
    assert_refused(toolchain_find(with("/none/tool", NULL, NULL), &query, &kept, &err), &err,
                   SBR_E_NOT_FOUND, "apt-get install tongue-dev");
    unpackaged.package = NULL;
    assert_refused(toolchain_find(&unpackaged, NULL, &kept, &err), &err, SBR_E_NOT_FOUND,
                   "tongue is not installed");
    assert_string_equal(kept.binary, "kept");
}

/* Says a version by the directory that a tool is in, and counts. */
static int asked;

static int ask(void *context, const struct language *language, struct toolchain *t)
{
    assert_ptr_equal(context, &asked);
    assert_string_equal(language->name, "tongue");
    asked++;
    if (!strstr(t->home, "/stable") && !strstr(t->home, "/3.11"))
        return -1;
    snprintf(t->version, sizeof(t->version), strstr(t->home, "/stable") ? "3.12.1" : "3.11.7");
    return 0;
}

static void find_wanted(const char *wanted, const char *path)
{
    struct toolchain_query query = { .wanted = wanted, .ask = ask, .context = &asked };
    sbr_error err;
    int r = toolchain_find(with(at("py/*/bin/py"), NULL, NULL), &query, found, &err);

    if (!path) {
        assert_refused(r, &err, SBR_E_NOT_FOUND, "there is no tongue ");
        return;
    }
    if (r != 0)
        fail_msg("%s: %s", wanted, err.message);
    assert_string_equal(found[0].binary, at(path));
}

static void a_wanted_version_is_told_by_the_path_or_else_by_the_tool(void **state)
{
    (void)state;
    put_tool("py/3.1.9/bin/py");
    put_tool("py/3.11/bin/py");
    put_tool("py/stable/bin/py");
    asked = 0;
    find_wanted("3", "py/3.11/bin/py");
    find_wanted("3.11", "py/3.11/bin/py");
    find_wanted("3.1", "py/3.1.9/bin/py");
    find_wanted("3.1.9", "py/3.1.9/bin/py");
    assert_int_equal(asked, 0);
    find_wanted("3.11.7", "py/3.11/bin/py"); /* its path is too short to tell */
    assert_string_equal(found[0].version, "3.11.7");
    assert_int_equal(asked, 1);
    find_wanted("3.12", "py/stable/bin/py");
    assert_int_equal(asked, 2);
    find_wanted("3.12.1", "py/stable/bin/py"); /* answers are kept */
    find_wanted("3.11.8", NULL);
    find_wanted("3.2", NULL);
    find_wanted("4", NULL);
    assert_int_equal(asked, 2);
    put_file("py/stable/bin/py", REAL " of another length", 0755);
    find_wanted("3.12.1", "py/stable/bin/py"); /* another tool, another answer */
    assert_int_equal(asked, 3);
}

static void a_missing_version_is_answered_with_those_that_are_there(void **state)
{
    struct toolchain_query query = { .wanted = "3.14" };
    char path[64], long_name[160];
    sbr_error err;

    (void)state;
    put_tool("few/3.9.2/bin/py");
    put_tool("few/nightly/bin/py");
    assert_refused(toolchain_find(with(at("few/*/bin/py"), NULL, NULL), &query, found, &err), &err,
                   SBR_E_NOT_FOUND, "there is no tongue 3.14 here; found 3.9.2 (/");
    assert_non_null(strstr(err.message, "/few/3.9.2/bin/py), unknown (/"));
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof(path), "many/3.%d/bin/py", i % 14);
        put_tool(path);
    }
    assert_refused(toolchain_find(with(at("many/*/bin/py"), NULL, NULL), &query, found, &err), &err,
                   SBR_E_NOT_FOUND, " more");
    memset(long_name, 'x', sizeof(long_name));
    memcpy(long_name, "long/", 5);
    memcpy(long_name + 140, "/1.0/bin/py", 12);
    put_tool(long_name);
    assert_refused(toolchain_find(with(at(long_name), NULL, NULL), &query, found, &err), &err,
                   SBR_E_NOT_FOUND, "there is no tongue 3.14 here; found");
}

static void what_is_no_version_is_refused(void **state)
{
    static const char *const texts[] = {
        "",   "three", "3.",   ".3",  "3..1", "3.x", "-1", "3.11.4.1234567890123456789012345",
        " 3", "3 ",    "v3.1", "../3"
    };
    struct toolchain_query query = { 0 };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        query.wanted = texts[i];
        assert_refused(toolchain_find(with("/usr/bin/env", NULL, NULL), &query, found, &err), &err,
                       SBR_E_INVALID, "is not a version of tongue");
    }
}

static void a_tool_that_says_nothing_has_no_version(void **state)
{
    struct toolchain_query query = { .ask = ask, .context = &asked };
    struct toolchain t = { .binary = "/nowhere", .home = "/mute" };

    (void)state;
    assert_int_equal(toolchain_version(with(NULL, NULL, NULL), &query, &t), SBR_E_NOT_FOUND);
    assert_int_equal(toolchain_version(with(NULL, NULL, NULL), NULL, &t), SBR_E_BUSY);
    assert_string_equal(t.version, "");
}

static int say_nothing(void *context, const struct language *language, struct toolchain *t)
{
    (void)language;
    (void)t;
    ++*(int *)context;
    return SBR_E_NOT_FOUND;
}

static void a_tool_without_a_version_is_asked_once(void **state)
{
    int times = 0;
    struct toolchain_query query = { .ask = say_nothing, .context = &times };

    (void)state;
    put_tool("mute/bin/tool");
    toolchain_list(with(at("mute/bin/tool"), NULL, NULL), found, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(toolchain_version(with(NULL, NULL, NULL), &query, found), SBR_E_NOT_FOUND);
    assert_int_equal(times, 1);
}

static int say_how_often(void *context, const struct language *language, struct toolchain *t)
{
    (void)language;
    snprintf(t->version, sizeof(t->version), "1.%d", ++*(int *)context);
    return 0;
}

static void a_tool_that_has_changed_is_asked_again(void **state)
{
    int times = 0;
    struct toolchain_query query = { .ask = say_how_often, .context = &times };
    static const char *const answers[] = { "1.1", "1.1", "1.2", "1.2" };

    (void)state;
    put_tool("again/bin/tool");
    toolchain_list(with(at("again/bin/tool"), NULL, NULL), found, 1);
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        if (i == 2)
            put_file("again/bin/tool", REAL "2", 0755);
        found[0].version[0] = '\0';
        assert_int_equal(toolchain_version(with(NULL, NULL, NULL), &query, found), 0);
        assert_string_equal(found[0].version, answers[i]);
    }
}

static void the_identity_changes_with_the_file(void **state)
{
    struct toolchain t = { 0 };
    char before[TOOLCHAIN_IDENTITY], after[TOOLCHAIN_IDENTITY];

    (void)state;
    put_tool("same/bin/tool1.0");
    put_link("same/bin/tool", "tool1.0");
    snprintf(t.binary, sizeof(t.binary), "%s", at("same/bin/tool"));
    toolchain_identity(&t, before, sizeof(before));
    toolchain_identity(&t, after, sizeof(after));
    assert_string_equal(before, after);
    assert_memory_equal(before, at("same/bin/tool1.0 "), strlen(at("same/bin/tool1.0 ")));
    put_file("same/bin/tool1.0", REAL "2", 0755);
    toolchain_identity(&t, after, sizeof(after));
    assert_string_not_equal(before, after);
}

static void a_note_has_the_name_of_a_file(void **state)
{
    char name[TOOLCHAIN_NOTE], key[TOOLCHAIN_PATH];

    (void)state;
    toolchain_note_name("version", "c++", "/usr/bin/x 12 3.4", name, sizeof(name));
    assert_string_equal(name, "version-c__-_usr_bin_x_12_3.4");
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    key[sizeof(key) - 2] = 'e';
    toolchain_note_name("version", "c", key, name, sizeof(name));
    assert_int_equal(strlen(name), sizeof(name) - 1);
    assert_int_equal(name[sizeof(name) - 2], 'e');
}

static void names_tell_their_versions(void **state)
{
    static const struct {
        const char *name, *stem, *version;
    } rows[] = {
        { "python3.11", "python", "3.11" },
        { "python3", "python", "3" },
        { "python3", NULL, NULL },
        { "go1.26rc1", "go", "1.26" },
        { "v20.11.1", "node", "20.11.1" },
        { "v20", NULL, "20" },
        { "node-v18.19.0-linux-x64", "node", "18.19.0" },
        { "java-17-openjdk-amd64", "java", "17" },
        { "jdk-21.0.2+13.0.LTS", NULL, "21.0.2" },
        { "1.8.0_392", NULL, "1.8.0" },
        { "x86_64-linux-gnu-gcc-12", "gcc", "12" },
        { "stable-x86_64-unknown-linux-gnu", NULL, NULL },
        { "nightly-2026-01-31", NULL, NULL },
        { "pypy3.10-v7.3.15-linux64", NULL, NULL },
        { "cpython-3.12.1-linux-x86_64-gnu", NULL, "3.12.1" },
        { "amd64", NULL, NULL },
        { "1-2", NULL, NULL },
        { "1", NULL, "1" },
        { "", NULL, NULL },
        { "123456789012345.678901234567890123", NULL, NULL },
    };
    char version[TOOLCHAIN_VERSION];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool has = toolchain_version_of_name(rows[i].name, rows[i].stem, version);

        if (has != (rows[i].version != NULL) || (has && strcmp(version, rows[i].version) != 0))
            fail_msg("'%s' says '%s'", rows[i].name, has ? version : "nothing");
    }
}

static void versions_are_compared_as_numbers(void **state)
{
    (void)state;
    assert_true(toolchain_version_compare("1.9", "1.26") < 0);
    assert_true(toolchain_version_compare("1.26", "1.26.0") < 0);
    assert_true(toolchain_version_compare("2", "1.99.99") > 0);
    assert_int_equal(toolchain_version_compare("1.01", "1.1"), 0);
    assert_true(toolchain_version_compare("99999999999999999999999", "1") > 0);
    assert_int_equal(toolchain_version_matches("3.11.7", "3.11"), 1);
    assert_int_equal(toolchain_version_matches("3.11", "3.11"), 1);
    assert_int_equal(toolchain_version_matches("3.11", "3.1"), 0);
    assert_int_equal(toolchain_version_matches("3", "3.11"), -1);
}

static void the_first_dotted_number_is_the_version_that_a_tool_prints(void **state)
{
    static const struct {
        const char *text, *version;
    } rows[] = {
        { "Python 3.11.2\n", "3.11.2" },
        { "go version go1.19.8 linux/amd64", "1.19.8" },
        { "gcc (Debian 12.2.0-14) 12.2.0", "12.2.0" },
        { "This is perl 5, version 36, subversion 0 (v5.36.0)", "5.36.0" },
        { "ends with 2.1.", "2.1" },
        { "1..2 3.4", "3.4" },
        { "version 7", NULL },
        { "", NULL },
        { "...", NULL },
    };
    char version[TOOLCHAIN_VERSION];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool has = toolchain_read_version(rows[i].text, version, sizeof(version));

        if (has != (rows[i].version != NULL) || (has && strcmp(version, rows[i].version) != 0))
            fail_msg("'%s' says '%s'", rows[i].text, has ? version : "nothing");
    }
}

static void patterns_match_directories_and_files_alike(void **state)
{
    struct toolchain_paths paths;

    (void)state;
    put_file("etc/java-9-openjdk/a.cfg", "", 0644);
    put_file("etc/java-17-openjdk/b.cfg", "", 0644);
    put_file("etc/javas", "", 0644);
    toolchain_paths_expand(NULL, at("etc/java-*-openjdk"), &paths);
    assert_int_equal(paths.n, 2);
    assert_string_equal(paths.at[0], at("etc/java-17-openjdk"));
    toolchain_paths_done(&paths);
    toolchain_paths_expand(NULL, at("etc/*/*.cfg"), &paths);
    assert_int_equal(paths.n, 2);
    toolchain_paths_done(&paths);
    toolchain_paths_expand(NULL, at("etc/javas"), &paths);
    assert_int_equal(paths.n, 1);
    toolchain_paths_done(&paths);
    toolchain_paths_expand(NULL, at("etc/none"), &paths);
    assert_int_equal(paths.n, 0);
    toolchain_paths_done(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_version_comes_first_and_names_without_one_last),
        cmocka_unit_test(patterns_are_asked_in_their_order),
        cmocka_unit_test(what_is_no_executable_file_is_passed_over),
        cmocka_unit_test(the_shims_of_version_managers_are_passed_over),
        cmocka_unit_test(a_link_to_the_tool_under_a_longer_name_is_the_tool),
        cmocka_unit_test(a_digit_is_asked_for_in_brackets),
        cmocka_unit_test(another_name_for_a_tool_of_many_counts_only_where_it_is_kept),
        cmocka_unit_test(a_version_that_only_a_link_bears_counts),
        cmocka_unit_test(a_directory_that_holds_more_than_the_tool_is_never_mounted),
        cmocka_unit_test(a_shared_directory_may_be_the_home_of_its_namesake),
        cmocka_unit_test(a_home_behind_a_link_is_guarded_as_well),
        cmocka_unit_test(without_a_home_nothing_below_it_is_found),
        cmocka_unit_test(a_star_in_the_name_of_the_home_is_a_letter),
        cmocka_unit_test(below_usr_the_path_stays_as_it_is_written),
        cmocka_unit_test(links_below_usr_lead_to_the_home_of_the_tool),
        cmocka_unit_test(a_language_that_is_not_there_names_its_package),
        cmocka_unit_test(a_wanted_version_is_told_by_the_path_or_else_by_the_tool),
        cmocka_unit_test(a_missing_version_is_answered_with_those_that_are_there),
        cmocka_unit_test(what_is_no_version_is_refused),
        cmocka_unit_test(a_tool_that_says_nothing_has_no_version),
        cmocka_unit_test(a_tool_without_a_version_is_asked_once),
        cmocka_unit_test(a_tool_that_has_changed_is_asked_again),
        cmocka_unit_test(the_identity_changes_with_the_file),
        cmocka_unit_test(a_note_has_the_name_of_a_file),
        cmocka_unit_test(names_tell_their_versions),
        cmocka_unit_test(versions_are_compared_as_numbers),
        cmocka_unit_test(the_first_dotted_number_is_the_version_that_a_tool_prints),
        cmocka_unit_test(patterns_match_directories_and_files_alike),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
