#include "work/verify_tool.h"

#include <string.h>

#include "work/node_tool.h"
#include "work/signs.h"

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define PYTHON WORDS(".py", ".pyi")
#define SCRIPT WORDS(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")

/* clang-format off */
static const struct verify_tool tools[] = {
    { "types", { "tsc", "javascript", WORDS(NODE_TOOL("tsc", "typescript"), "--noEmit"),
                 .where = REPORT_ON_STDOUT }, SCRIPT, false },
    { "types", { "mypy", "python", WORDS("python3", "-m", "mypy", "--cache-dir=/tmp/mypy"),
                 .where = REPORT_ON_STDOUT, .missing = "No module named mypy", .package = "mypy" },
      PYTHON, true },
    { "types", { "go vet", "go", WORDS("go", "vet", "./..."), .where = REPORT_ON_STDERR },
      WORDS(".go"), false },
    { "types", { "cargo check", "rust", WORDS("cargo", "check", "--all-targets"),
                 .where = REPORT_ON_STDERR }, WORDS(".rs"), false },
    { "lint", { "ruff", "python", WORDS("python3", "-m", "ruff", "check", "--no-cache"),
                .where = REPORT_ON_STDOUT, .missing = "No module named ruff", .package = "ruff" },
      PYTHON, true },
    { "lint", { "flake8", "python", WORDS("python3", "-m", "flake8"), .where = REPORT_ON_STDOUT,
                .missing = "No module named flake8", .package = "flake8" }, PYTHON, true },
    { "lint", { "eslint", "javascript", WORDS(NODE_TOOL("eslint", "eslint")),
                .where = REPORT_ON_STDOUT }, SCRIPT, true },
    { "lint", { "shellcheck", "bash", WORDS("shellcheck"), .where = REPORT_ON_STDOUT },
      WORDS(".sh", ".bash"), true },
};

/* What configures a tool: a file of the project's directory, with this text. */
static const struct {
    const char *tool, *pattern, *text;
} signs[] = {
    { "tsc", "tsconfig.json", "" },
    { "mypy", "mypy.ini", "" },
    { "mypy", ".mypy.ini", "" },
    { "mypy", "pyproject.toml", "[tool.mypy" },
    { "mypy", "setup.cfg", "[mypy" },
    { "go vet", "go.mod", "" },
    { "cargo check", "Cargo.toml", "" },
    { "ruff", "ruff.toml", "" },
    { "ruff", ".ruff.toml", "" },
    { "ruff", "pyproject.toml", "[tool.ruff" },
    { "flake8", ".flake8", "" },
    { "flake8", "setup.cfg", "[flake8" },
    { "flake8", "tox.ini", "[flake8" },
    { "eslint", "eslint.config.*", "" },
    { "eslint", ".eslintrc*", "" },
    { "eslint", "package.json", "\"eslintConfig\"" },
    { "shellcheck", ".shellcheckrc", "" },
};
/* clang-format on */

static bool is_configured(const struct verify_tool *tool, const struct signs *project)
{
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
        if (!strcmp(signs[i].tool, tool->runner.name) &&
            signs_have(project, SIGNS_HERE, signs[i].pattern, signs[i].text))
            return true;
    return false;
}

const struct verify_tool *verify_tool_next(const struct signs *project, size_t *i)
{
    while (*i < sizeof(tools) / sizeof(*tools))
        if (is_configured(&tools[(*i)++], project))
            return &tools[*i - 1];
    return NULL;
}

bool verify_tool_takes(const struct verify_tool *tool, const char *path)
{
    size_t len = strlen(path);

    for (const char *const *ending = tool->endings; *ending; ending++)
        if (len > strlen(*ending) && !strcmp(path + len - strlen(*ending), *ending))
            return true;
    return false;
}
