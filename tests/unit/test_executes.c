/* model/executes.c: which paths others execute, in every spelling. */
#include "model/executes.h"

#include <string.h>

#include "unit.h"

static const struct {
    const char *path, *what;
} rows[] = {
    { ".git/hooks/pre-commit", "git hook" },
    { ".git/HOOKS/pre-commit", "git hook" },
    { ".GIT/hooks/x", "git hook" },
    { "git~1/hooks/x", "git hook" },
    { "GIT~1/config", "git configuration" },
    { ".git./config", "git configuration" },
    { ".git /config", "git configuration" },
    { ".git::$INDEX_ALLOCATION/config", "git configuration" },
    { ".g\xe2\x80\x8cit/config", "git configuration" }, /* U+200C */
    { ".git\xef\xbb\xbf/config", "git configuration" }, /* U+FEFF */
    { ".git\\config", "git configuration" },
    { "sub/.git/config", "git configuration" },
    { "sub/.git", "git directory" },
    { ".git", "git directory" },
    { ".git/config", "git configuration" },
    { ".git/config.worktree", "git configuration" },
    { ".git/modules/a/config", "git configuration" },
    { ".git/modules/objects/hooks/x", "git configuration" },
    { ".git/worktrees/a/gitdir", "git configuration" },
    { ".git/commondir", "git configuration" },
    { ".git/info/attributes", "git configuration" },
    { ".git/info/sparse-checkout", "git configuration" },
    { ".git/objects/info/alternates", "git configuration" },
    { ".git/rebase-merge/git-rebase-todo", "git configuration" },
    { ".git/objects/.git/hooks/x", "git hook" },
    { "bare/HEAD", "git directory" },
    { ".gitattributes", "git configuration" },
    { "a/b/.gitattributes", "git configuration" },
    { "GITMOD~1", "git configuration" },
    { ".husky/pre-commit", "git hook" },
    { ".hus\xe2\x84\xaay/pre-commit", "git hook" }, /* the Kelvin sign */
    { ".v\xc5\xbf"
      "code/tasks.json",
      "editor settings" }, /* a long s */
    { ".vscode", "editor settings" },
    { "x.code-workspace", "editor settings" },
    { ".envrc", "shell start-up file" },
    { ".bashrc", "shell start-up file" },
    { ".npmrc", "package manager settings" },
    { ".yarnrc.yml", "package manager settings" },
    { ".cargo/config.toml", "package manager settings" },
    { "gradle/wrapper/gradle-wrapper.jar", "build tool wrapper" },
    { ".github/workflows/ci.yml", "CI workflow" },
    { "Jenkinsfile", "CI workflow" },
    { ".claude/settings.json", "agent settings" },
    { ".mcp.json", "agent settings" },
    { ".sandbox-run.yaml", "sandbox-run settings" },
    { "lib/x.pth", "python start-up file" },
    { ".ssh/authorized_keys", "credentials" },
    /* ordinary */
    { ".git/objects/ab/cdef", NULL },
    { ".git/refs/heads/main", NULL },
    { ".git/logs/HEAD", NULL },
    { ".git/HEAD", NULL },
    { ".git/index", NULL },
    { ".git/COMMIT_EDITMSG", NULL },
    { ".git/ORIG_HEAD", NULL },
    { "Makefile", NULL },
    { "package.json", NULL },
    { ".github/ISSUE_TEMPLATE.md", NULL },
    { "src/git/hooks/x", NULL },
    { ".gitignore", NULL },
    { "head", NULL },
    { "a:b", NULL },
    { "...", NULL },
    { "", NULL },
};

static void test_paths(void **state)
{
    size_t start;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *what = executes_path(rows[i].path, NODE_FILE, &start);

        if (!what != !rows[i].what || (what && strcmp(what, rows[i].what) != 0))
            fail_msg("%s: %s", rows[i].path, what ? what : "nothing");
    }
    assert_null(executes_path(".git", NODE_DIR, &start));
    assert_null(executes_path(".vscode", NODE_DIR, &start));
    assert_string_equal(executes_path(".git/objects/ab", NODE_LINK, &start), "git configuration");
    assert_string_equal(executes_path("a/.git/hooks", NODE_LINK, &start), "git hook");
    assert_int_equal(start, 2);
}

static bool is_named(const char *path, const char *name)
{
    const struct change c = { .op = CHANGE_CREATED,
                              .path = (char *)path,
                              .now = { .kind = NODE_FILE, .mode = 0644 } };

    return executes_is_named(&c, &name, 1);
}

static void test_names(void **state)
{
    const struct change gained = { .op = CHANGE_MODE,
                                   .path = (char *)"bin/run",
                                   .base = { .kind = NODE_FILE, .mode = 0644 },
                                   .now = { .kind = NODE_FILE, .mode = 0755 } };
    const char *above = "bin", *itself = "bin/run";

    (void)state;
    assert_true(is_named("src/.envrc", "src/.envrc"));
    assert_false(is_named("src/.envrc", "src"));
    assert_false(is_named("src/.envrc", ""));
    assert_true(is_named("a/.git/hooks/x", "a/.git"));
    assert_true(is_named("a/.git/hooks/x", "a/.git/hooks"));
    assert_false(is_named("a/.git/hooks/x", "a"));
    assert_false(is_named("a/.git/hooks/x", "a/.gi"));
    assert_true(is_named("plain", "other")); /* nothing has to name it */
    assert_false(executes_is_named(&gained, &above, 1));
    assert_true(executes_is_named(&gained, &itself, 1));
}

static void test_modes_and_renames(void **state)
{
    struct change c = { .op = CHANGE_MODE,
                        .path = (char *)"run.sh",
                        .base = { .kind = NODE_FILE, .mode = 0644 },
                        .now = { .kind = NODE_FILE, .mode = 0755 } };

    (void)state;
    assert_string_equal(executes_change(&c), "file that becomes executable");
    c.base.mode = 0755;
    assert_null(executes_change(&c));
    c.base.mode = 0700; /* for others */
    assert_string_equal(executes_change(&c), "file that becomes executable");
    c.op = CHANGE_MODIFIED;
    c.base = (struct node){ NODE_LINK, 0777, 1, 0 };
    assert_string_equal(executes_change(&c), "file that becomes executable");
    c.base = (struct node){ NODE_FILE, 0755, 1, 0 };
    c.now.mode = 04755;
    assert_string_equal(executes_change(&c), "set-id program");
    assert_null(executes_mark(&c));
    c = (struct change){ .op = CHANGE_CREATED, .path = c.path, .now = { NODE_FILE, 0755, 1, 0 } };
    assert_null(executes_change(&c));
    assert_string_equal(executes_mark(&c), "new executable file");
    c.now.mode = 02755;
    assert_null(executes_change(&c));
    assert_string_equal(executes_mark(&c), "new set-id program");
    c.now = (struct node){ NODE_DIR, 02755, 0, 0 };
    assert_null(executes_mark(&c));
    c = (struct change){ .op = CHANGE_RENAMED,
                         .path = (char *)"tools/run",
                         .from = (char *)"notes",
                         .base = { NODE_FILE, 0644, 1, 0 },
                         .now = { NODE_FILE, 0755, 1, 0 } };
    assert_string_equal(executes_change(&c), "file that becomes executable");
    c = (struct change){ .op = CHANGE_RENAMED,
                         .path = (char *)"plain",
                         .from = (char *)".npmrc",
                         .base = { NODE_FILE, 0644, 1, 0 },
                         .now = { NODE_FILE, 0644, 1, 0 } };
    assert_string_equal(executes_change(&c), "package manager settings");
    c = (struct change){ .op = CHANGE_MODIFIED,
                         .path = (char *)".git",
                         .base = { NODE_DIR, 0755, 0, 0 },
                         .now = { NODE_LINK, 0777, 1, 0 } };
    assert_string_equal(executes_change(&c), "git directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_modes_and_renames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
