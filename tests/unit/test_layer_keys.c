/* Whatever can change what a stage leaves is a part of its key, and nothing else is. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "job/job_trees.h"
#include "unit.h"

#define WORDS(...)                                                                                 \
    {                                                                                              \
        (const char *[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)  \
    }

static struct manifest manifests[] = { { .file = "deps.txt", .when = "^[a-z]" },
                                       { .file = "always.txt" } };

static const struct language language = {
    .name = "keylang",
    .extensions = WORDS(".k"),
    .source = "main.k",
    .env = WORDS("A=1"),
    .driver_texts = WORDS("exit 0"),
    .prepare = { .run = WORDS("prepare") },
    .install = { .run = WORDS("install"),
                 .manifests = manifests,
                 .n_manifests = ARRAY_LEN(manifests),
                 .locks = WORDS("deps.lock") },
    .compile = { .run = WORDS("compile"), .env = WORDS("B=2") },
};

static const struct words variables = WORDS("KEY_INDEX", "KEY_LINKS", "KEY_PASSWORD"),
                          files_of_clients = WORDS("~/.keyrc", "~/.netrc");

static struct language changed;
static sbr_job *job;
static sbr_request *request;
static sbr_error err;

static int set_up(void **state)
{
    (void)state;
    changed = language;
    assert_int_equal(request_new("keylang", NULL, &request, &err), 0);
    assert_int_equal(request_add_file(request, "main.k", "text", 4, &err), 0);
    job = calloc(1, sizeof(*job));
    assert_non_null(job);
    job->language = &changed;
    job->req = request;
    strcpy(job->toolchain.binary, "/usr/bin/env");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    request_free(request);
    free(job);
    return 0;
}

/* What the project's root has, beside what the request brings. */
static void the_projects_own_lists_count(void **state)
{
    struct request_file files[] = {
        { .path = (char *)"deps.txt", .data = (char *)"abc", .len = 3 },
        { .path = (char *)"deps.lock", .data = (char *)"1", .len = 1 }
    };
    struct job_trees *trees = calloc(1, sizeof(*trees));
    char first[SHA256_HEX_SIZE], second[SHA256_HEX_SIZE];

    (void)state;
    assert_non_null(trees);
    job->trees = trees;
    assert_int_equal(layer_key_dependencies(job, &err), 0);
    trees->manifests = files;
    trees->n_manifests = ARRAY_LEN(files);
    assert_int_equal(layer_key_dependencies(job, &err), 1);
    memcpy(first, job->keys[LAYER_DEPS], sizeof(first));
    files[1].data = (char *)"2";
    assert_int_equal(layer_key_dependencies(job, &err), 1);
    memcpy(second, job->keys[LAYER_DEPS], sizeof(second));
    assert_string_not_equal(first, second);
    /* A file of the request hides the project's. */
    assert_int_equal(request_add_file(request, "deps.txt", "# none", 6, &err), 0);
    assert_int_equal(layer_key_dependencies(job, &err), 0);
    job->trees = NULL;
    free(trees);
}

/* A key that stays until the next call. */
static const char *key_now(enum layer layer)
{
    static char keys[2][SHA256_HEX_SIZE];
    static int turn;

    if (layer == LAYER_PREPARED)
        layer_key_prepared(job);
    else if (layer == LAYER_DEPS)
        assert_int_equal(layer_key_dependencies(job, &err), 1);
    else
        layer_key_artifact(job);
    turn = !turn;
    memcpy(keys[turn], job->keys[layer], SHA256_HEX_SIZE);
    assert_int_equal(strspn(keys[turn], "0123456789abcdef"), SHA256_HEX_SIZE - 1);
    return keys[turn];
}

#define ASSERT_CHANGES(layer, change)                                                              \
    do {                                                                                           \
        char before[SHA256_HEX_SIZE];                                                              \
        memcpy(before, key_now(layer), sizeof(before));                                            \
        change;                                                                                    \
        assert_string_not_equal(before, key_now(layer));                                           \
    } while (0)

#define ASSERT_STAYS(layer, change)                                                                \
    do {                                                                                           \
        char before[SHA256_HEX_SIZE];                                                              \
        memcpy(before, key_now(layer), sizeof(before));                                            \
        change;                                                                                    \
        assert_string_equal(before, key_now(layer));                                               \
    } while (0)

static void add_file(const char *path, const char *text)
{
    assert_int_equal(request_add_file(request, path, text, strlen(text), &err), 0);
}

static void the_same_is_the_same(void **state)
{
    (void)state;
    ASSERT_STAYS(LAYER_BUILD, (void)0);
    ASSERT_STAYS(LAYER_PREPARED, (void)0);
    assert_int_equal(request_add_dep(request, "x", &err), 0);
    ASSERT_STAYS(LAYER_DEPS, (void)0);
}

static void kinds_do_not_meet(void **state)
{
    char prepared[SHA256_HEX_SIZE];

    (void)state;
    memcpy(prepared, key_now(LAYER_PREPARED), sizeof(prepared));
    assert_string_not_equal(prepared, key_now(LAYER_BUILD));
}

static void an_artifact_is_its_sources(void **state)
{
    (void)state;
    ASSERT_CHANGES(LAYER_BUILD, add_file("other.k", ""));
    ASSERT_CHANGES(LAYER_BUILD, request->files[1].executable = true);
    ASSERT_CHANGES(LAYER_BUILD, request->files[0].data[0] = 'T');
    ASSERT_CHANGES(LAYER_BUILD, request->files[0].path[0] = 'M');
    ASSERT_CHANGES(LAYER_BUILD, assert_int_equal(request_set_code(request, "", 0, &err), 0));
    ASSERT_CHANGES(LAYER_BUILD, assert_int_equal(request_set_code(request, "x", 1, &err), 0));
}

/* Which file is the main one is a matter of their order. */
static void the_order_of_files_counts(void **state)
{
    struct request_file first;

    (void)state;
    add_file("other.k", "text");
    ASSERT_CHANGES(LAYER_BUILD, (first = request->files[0], request->files[0] = request->files[1],
                                 request->files[1] = first));
}

/* "ab" "c" and "a" "bc" are not the same. */
static void boundaries_count(void **state)
{
    char one[SHA256_HEX_SIZE];

    (void)state;
    assert_int_equal(request_add_compile_arg(request, "ab", &err), 0);
    assert_int_equal(request_add_compile_arg(request, "c", &err), 0);
    memcpy(one, key_now(LAYER_BUILD), sizeof(one));
    request->compile_args.items[0][1] = '\0';
    free(request->compile_args.items[1]);
    request->compile_args.items[1] = strdup("bc");
    assert_string_not_equal(one, key_now(LAYER_BUILD));
}

static void an_artifact_is_its_flags_and_commands(void **state)
{
    static const char *others[] = { "other" };

    (void)state;
    ASSERT_CHANGES(LAYER_BUILD, assert_int_equal(request_add_compile_arg(request, "-O2", &err), 0));
    ASSERT_CHANGES(LAYER_BUILD, changed.compile.run.at = others);
    ASSERT_CHANGES(LAYER_BUILD, changed.compile.env.at = others);
    ASSERT_CHANGES(LAYER_BUILD, changed.env.at = others);
    ASSERT_CHANGES(LAYER_BUILD, changed.driver_texts.at = others);
    ASSERT_CHANGES(LAYER_BUILD, changed.name = "other");
}

/* What ${sources} stands for, and what the file of --code is called. */
static void an_artifact_is_the_names_of_its_language(void **state)
{
    static const char *others[] = { ".other" };

    (void)state;
    ASSERT_CHANGES(LAYER_BUILD, changed.extensions.at = others);
    ASSERT_CHANGES(LAYER_BUILD, changed.source = "other.k");
}

static void everything_is_its_toolchain(void **state)
{
    (void)state;
    ASSERT_CHANGES(LAYER_BUILD, strcpy(job->toolchain.binary, "/usr/bin/id"));
    ASSERT_CHANGES(LAYER_PREPARED, strcpy(job->toolchain.binary, "/usr/bin/env"));
    assert_int_equal(request_add_dep(request, "x", &err), 0);
    ASSERT_CHANGES(LAYER_DEPS, strcpy(job->toolchain.binary, "/usr/bin/id"));
}

static void an_artifact_is_the_layers_below(void **state)
{
    (void)state;
    ASSERT_CHANGES(LAYER_BUILD, strcpy(job->keys[LAYER_DEPS], "0123"));
    ASSERT_CHANGES(LAYER_BUILD, strcpy(job->keys[LAYER_PREPARED], "4567"));
}

/* What only the program's own stage is given. */
static void the_rest_of_a_request_changes_nothing(void **state)
{
    (void)state;
    ASSERT_STAYS(LAYER_BUILD, assert_int_equal(request_add_arg(request, "x", &err), 0));
    ASSERT_STAYS(LAYER_BUILD, assert_int_equal(request_add_env(request, "X=1", &err), 0));
    ASSERT_STAYS(LAYER_BUILD, assert_int_equal(request_add_volume(request, "/srv:/d:ro", &err), 0));
    ASSERT_STAYS(LAYER_BUILD, request->limits.value[SBR_WALL_MS] = 1);
    ASSERT_STAYS(LAYER_PREPARED, add_file("other.k", "x"));
}

static void dependencies_are_wanted_by_name_or_by_manifest(void **state)
{
    (void)state;
    assert_int_equal(layer_key_dependencies(job, &err), 0);
    add_file("deps.lock", "a lock alone asks for nothing");
    assert_int_equal(layer_key_dependencies(job, &err), 0);
    add_file("deps.txt", "# only a comment\n");
    assert_int_equal(layer_key_dependencies(job, &err), 0);
    add_file("sub/deps.txt", "name\n"); /* not the project's own */
    assert_int_equal(layer_key_dependencies(job, &err), 0);
    add_file("always.txt", "");
    assert_int_equal(layer_key_dependencies(job, &err), 1);
}

static void a_manifest_asks_by_any_of_its_lines(void **state)
{
    (void)state;
    add_file("deps.txt", "# a comment\nname\n");
    assert_int_equal(layer_key_dependencies(job, &err), 1);
}

static void a_layer_is_its_names_manifests_and_locks(void **state)
{
    (void)state;
    assert_int_equal(request_add_dep(request, "x", &err), 0);
    ASSERT_CHANGES(LAYER_DEPS, assert_int_equal(request_add_dep(request, "y@1", &err), 0));
    ASSERT_CHANGES(LAYER_DEPS, add_file("deps.txt", "name\n"));
    ASSERT_CHANGES(LAYER_DEPS, add_file("deps.lock", "1"));
    ASSERT_STAYS(LAYER_DEPS, add_file("other.k", "sources are not given to installers"));
    ASSERT_STAYS(LAYER_DEPS, request->files[0].data[0] = 'T');
}

/* ---- where packages come from ---- */

static char room[] = "/tmp/test_keys.XXXXXX";

static const char *in_room(const char *name)
{
    static char paths[4][128];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", room, name);
    return paths[turn];
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_room(name), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* As a new job of the same caller would see it. */
static void forget(void)
{
    client_config_installer_done(&job->installer);
}

#define ASSERT_INSTALLS(check, change) check(LAYER_DEPS, change; forget())

static void remove_room(void)
{
    assert_int_equal(tree_remove(AT_FDCWD, room), 0);
    memcpy(room, "/tmp/test_keys.XXXXXX", sizeof(room));
}

static void make_room(void)
{
    assert_non_null(mkdtemp(room));
    setenv("SANDBOX_RUN_CACHE", in_room("cache"), 1);
    setenv("HOME", in_room("home"), 1);
    assert_int_equal(mkdir(in_room("home"), 0700), 0);
    changed.install.network = true;
    changed.install.config_env = variables;
    changed.install.config_files = files_of_clients;
    assert_int_equal(request_add_dep(request, "x", &err), 0);
}

static void a_layer_is_where_its_packages_come_from(void **state)
{
    (void)state;
    make_room();
    ASSERT_INSTALLS(ASSERT_CHANGES, setenv("KEY_INDEX", "https://a.example/simple", 1));
    ASSERT_INSTALLS(ASSERT_CHANGES, setenv("KEY_INDEX", "https://b.example/simple", 1));
    ASSERT_INSTALLS(ASSERT_CHANGES, setenv("KEY_INDEX", "https://b.example/other", 1));
    ASSERT_INSTALLS(ASSERT_STAYS, setenv("https_proxy", "http://proxy.example:3128", 1));
    ASSERT_INSTALLS(ASSERT_CHANGES, setenv("SANDBOX_RUN_REGISTRIES", "c.example", 1));
    ASSERT_INSTALLS(ASSERT_CHANGES, write_text("home/.keyrc", "registry = https://a.example\n"));
    ASSERT_INSTALLS(ASSERT_CHANGES, write_text("home/.keyrc", "registry = https://b.example\n"));
    ASSERT_INSTALLS(ASSERT_CHANGES,
                    write_text("home/.keyrc", "registry = https://b.example\npre = yes\n"));
    ASSERT_INSTALLS(ASSERT_STAYS, setenv("KEY_UNRELATED", "https://c.example", 1));
    unsetenv("KEY_INDEX");
    unsetenv("https_proxy");
    unsetenv("SANDBOX_RUN_REGISTRIES");
    forget();
    remove_room();
}

static void packages_of_a_directory_count(void **state)
{
    (void)state;
    make_room();
    assert_int_equal(mkdir(in_room("links"), 0700), 0);
    ASSERT_INSTALLS(ASSERT_CHANGES, setenv("KEY_LINKS", in_room("links"), 1));
    ASSERT_INSTALLS(ASSERT_CHANGES, write_text("links/x-1.whl", "one"));
    ASSERT_INSTALLS(ASSERT_CHANGES, write_text("links/x-1.whl", "other"));
    ASSERT_INSTALLS(ASSERT_CHANGES, rename(in_room("links/x-1.whl"), in_room("links/x-2.whl")));
    ASSERT_INSTALLS(ASSERT_CHANGES, mkdir(in_room("links/sub"), 0700));
    ASSERT_INSTALLS(ASSERT_CHANGES, write_text("links/sub/y", "deep"));
    ASSERT_INSTALLS(ASSERT_STAYS, write_text("beside", "x"));
    unsetenv("KEY_LINKS");
    forget();
    remove_room();
}

static void credentials_are_no_part_of_a_key(void **state)
{
    (void)state;
    make_room();
    setenv("KEY_INDEX", "https://user:one@a.example/simple", 1);
    write_text("home/.keyrc", "//a.example/:_authToken=one\n");
    write_text("home/.netrc", "machine a.example login u password one\n");
    setenv("KEY_PASSWORD", "one", 1);
    ASSERT_INSTALLS(ASSERT_STAYS, setenv("KEY_INDEX", "https://user:two@a.example/simple", 1));
    ASSERT_INSTALLS(ASSERT_STAYS, setenv("KEY_INDEX", "https://a.example/simple", 1));
    ASSERT_INSTALLS(ASSERT_STAYS, write_text("home/.keyrc", "//a.example/:_authToken=two\n"));
    ASSERT_INSTALLS(ASSERT_STAYS,
                    write_text("home/.netrc", "machine a.example login u password two\n"));
    ASSERT_INSTALLS(ASSERT_STAYS, setenv("KEY_PASSWORD", "two", 1));
    unsetenv("KEY_INDEX");
    unsetenv("KEY_PASSWORD");
    forget();
    remove_room();
}

/* Whoever sees a key cannot try out what went into it: that takes the secret of the store. */
static void another_store_has_other_keys(void **state)
{
    (void)state;
    make_room();
    ASSERT_INSTALLS(ASSERT_STAYS, (void)0);
    ASSERT_INSTALLS(ASSERT_CHANGES, setenv("SANDBOX_RUN_CACHE", in_room("other"), 1));
    ASSERT_INSTALLS(ASSERT_STAYS, (void)0);
    /* A store that cannot be written has no secret: every key is new. */
    ASSERT_INSTALLS(ASSERT_CHANGES, setenv("SANDBOX_RUN_CACHE", "/proc/none", 1));
    ASSERT_INSTALLS(ASSERT_CHANGES, (void)0);
    forget();
    remove_room();
}

/* ---- tests and builds of a project, whose stages see all of it ---- */

static struct job_trees *trees;

static void see(const char *project)
{
    if (trees->n)
        close(trees->at[0].source_fd);
    trees->n = 1;
    trees->at[0] = (struct job_tree){ .target = INSIDE_WORK };
    trees->at[0].source_fd = open(in_room(project), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(trees->at[0].source_fd >= 0);
}

/* Two projects, `a` and `b`, with the same source. */
static void begin_projects(const struct words *sources)
{
    make_room();
    trees = calloc(1, sizeof(*trees));
    assert_non_null(trees);
    job->trees = trees;
    request->of_project = true;
    changed.install.sources = changed.compile.sources = *sources;
    assert_int_equal(mkdir(in_room("a"), 0700), 0);
    assert_int_equal(mkdir(in_room("b"), 0700), 0);
    write_text("a/it.k", "source");
    write_text("b/it.k", "source");
    see("a");
}

static void end_projects(void)
{
    close(trees->at[0].source_fd);
    job->trees = NULL;
    free(trees);
    forget();
    remove_room();
}

static void what_a_projects_code_made_is_its_own(void **state)
{
    const struct words sources = WORDS("*.k");

    (void)state;
    begin_projects(&sources);
    ASSERT_STAYS(LAYER_BUILD, (void)0);
    ASSERT_STAYS(LAYER_BUILD, write_text("a/other", "no pattern fits"));
    ASSERT_CHANGES(LAYER_BUILD, write_text("a/it.k", "new source"));
    ASSERT_CHANGES(LAYER_BUILD, write_text("a/it.k", "source"));
    /* The code reads any file, and a copy has the same sources. */
    ASSERT_CHANGES(LAYER_BUILD, see("b"));
    ASSERT_CHANGES(LAYER_BUILD, add_file("given", "of the request"));
    end_projects();
}

static void packages_of_equal_lists_are_shared(void **state)
{
    const struct words sources = WORDS("*.k", "./top.t", ".hidden/it");

    (void)state;
    begin_projects(&sources);
    ASSERT_INSTALLS(ASSERT_STAYS, see("b"));
    ASSERT_INSTALLS(ASSERT_CHANGES, write_text("b/top.t", "1"));
    assert_int_equal(mkdir(in_room("b/below"), 0700), 0);
    ASSERT_INSTALLS(ASSERT_STAYS, write_text("b/below/top.t", "1"));
    assert_int_equal(mkdir(in_room("b/.other"), 0700), 0);
    ASSERT_INSTALLS(ASSERT_STAYS, write_text("b/.other/it.k", "left by a tool"));
    assert_int_equal(mkdir(in_room("b/.hidden"), 0700), 0);
    ASSERT_INSTALLS(ASSERT_CHANGES, write_text("b/.hidden/it", "1"));
    end_projects();
}

/* An installer follows a link, and what it leads to is in no key. */
static void packages_of_a_project_with_links_are_its_own(void **state)
{
    const struct words sources = WORDS("*.k");

    (void)state;
    begin_projects(&sources);
    assert_int_equal(symlink("data", in_room("a/more.k")), 0);
    assert_int_equal(symlink("data", in_room("b/more.k")), 0);
    ASSERT_INSTALLS(ASSERT_STAYS, (void)0);
    ASSERT_INSTALLS(ASSERT_CHANGES, see("b"));
    end_projects();
}

#define KEYS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEYS_TEST(the_same_is_the_same),
        KEYS_TEST(kinds_do_not_meet),
        KEYS_TEST(an_artifact_is_its_sources),
        KEYS_TEST(the_order_of_files_counts),
        KEYS_TEST(boundaries_count),
        KEYS_TEST(an_artifact_is_its_flags_and_commands),
        KEYS_TEST(an_artifact_is_the_names_of_its_language),
        KEYS_TEST(everything_is_its_toolchain),
        KEYS_TEST(an_artifact_is_the_layers_below),
        KEYS_TEST(the_rest_of_a_request_changes_nothing),
        KEYS_TEST(dependencies_are_wanted_by_name_or_by_manifest),
        KEYS_TEST(a_manifest_asks_by_any_of_its_lines),
        KEYS_TEST(a_layer_is_its_names_manifests_and_locks),
        KEYS_TEST(a_layer_is_where_its_packages_come_from),
        KEYS_TEST(packages_of_a_directory_count),
        KEYS_TEST(credentials_are_no_part_of_a_key),
        KEYS_TEST(another_store_has_other_keys),
        KEYS_TEST(the_projects_own_lists_count),
        KEYS_TEST(what_a_projects_code_made_is_its_own),
        KEYS_TEST(packages_of_equal_lists_are_shared),
        KEYS_TEST(packages_of_a_project_with_links_are_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
