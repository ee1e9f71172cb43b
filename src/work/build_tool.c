#include "work/build_tool.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"

#define LIST(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* A build directory of the host names the host's paths in it: then another one is made. */
#define DIRECTORY "d=build; [ ! -e $d ] || d=build-sandbox; "

static int add_python_packages(const struct signs *signs, sbr_request *req, sbr_error *err);

static const struct build_tool tools[] = {
    { .name = "cargo",
      .language = "rust",
      .words = LIST("cargo", "build", "--release"),
      .places = LIST("target/release/*"),
      .leaves_out = LIST("*.d", "*/.*"),
      .offline = "--offline" },
    { .name = "go",
      .language = "go",
      .words = LIST("sh", "-c",
                    "if [ -n \"$(go list -f '{{if eq .Name \"main\"}}{{.Dir}}{{end}}' ./...)\" ]; "
                    "then mkdir -p bin && exec go build -buildvcs=false -o bin/ \"$@\" ./...; fi; "
                    "exec go build -buildvcs=false \"$@\" ./...",
                    "build"),
      .places = LIST("bin/") },
    { .name = "maven",
      .language = "java",
      .words = LIST("mvn", "-B", "-DskipTests", "package"),
      .places = LIST("target/*.jar", "target/*.war", "*/target/*.jar", "*/target/*.war"),
      .packages = LIST("maven-lifecycle"),
      .offline = "-o" },
    { .name = "npm",
      .language = "javascript",
      .words = LIST("npm", "run", "build", "--"),
      .places = LIST("dist/", "build/", "out/", "lib/", "public/"),
      .leaves_out = LIST("*.tsbuildinfo") },
    { .name = "tsc",
      .language = "typescript",
      .words = LIST("sh", "-c",
                    "PATH=$PWD/node_modules/.bin:$PATH; command -v tsc > /dev/null || "
                    "{ echo 'tsc: not found' >&2; exit 127; }; exec tsc --pretty false \"$@\"",
                    "build"),
      .places = LIST(""),
      .leaves_out = LIST("node_modules/", "*.tsbuildinfo"),
      .missing = "tsc: not found",
      .packages = LIST("typescript") },
    { .name = "meson",
      .language = "c",
      .words =
          LIST("sh", "-c", DIRECTORY "meson setup $d \"$@\" && exec meson compile -C $d", "build"),
      .places = LIST("build/", "build-sandbox/"),
      .leaves_out =
          LIST("*/meson-*/", "*.p/", "*/build.ninja", "*/compile_commands.json", "*/.*", "*.o") },
    { .name = "cmake",
      .language = "c",
      .words = LIST("sh", "-c",
                    DIRECTORY "cmake -S . -B $d -DCMAKE_BUILD_TYPE=Release \"$@\" && "
                              "exec cmake --build $d",
                    "build"),
      .places = LIST("build/", "build-sandbox/"),
      .leaves_out = LIST("*CMakeFiles/", "*/CMakeCache.txt", "*/Makefile", "*.cmake", "*.o",
                         "*/build.ninja", "*/.*") },
    { .name = "python",
      .language = "python",
      .words = LIST("python3", "-m", "build", "--no-isolation"),
      .places = LIST("dist/*"),
      .missing = "No module named build",
      .packages = LIST("build", "setuptools", "wheel"),
      .add_packages = add_python_packages },
    { .name = "make",
      .language = "c",
      .words = LIST("make"),
      .places = LIST(""),
      .leaves_out = LIST("*.o", "*.d", "*.lo", "*.a.tmp", ".*", "*/.*") },
};

#define N_TOOLS (sizeof(tools) / sizeof(*tools))

/* The first row whose file has its text decides: a language's own tool before one that calls it. */
static const struct {
    const char *tool, *pattern, *text;
} rows[] = {
    { "cargo", "Cargo.toml", "" },
    { "go", "go.mod", "" },
    { "maven", "pom.xml", "" },
    { "npm", "package.json", "\"build\":" },
    { "tsc", "tsconfig.json", "" },
    { "meson", "meson.build", "" },
    { "cmake", "CMakeLists.txt", "" },
    { "python", "pyproject.toml", "[build-system]" },
    { "python", "pyproject.toml", "[project]" },
    { "python", "setup.py", "" },
    { "make", "GNUmakefile", "" },
    { "make", "makefile", "" },
    { "make", "Makefile", "" },
};

const char *build_tool_name(size_t i)
{
    return i < N_TOOLS ? tools[i].name : NULL;
}

static const struct build_tool *named(const char *name)
{
    for (size_t i = 0; i < N_TOOLS; i++)
        if (!strcmp(tools[i].name, name))
            return &tools[i];
    return NULL;
}

int build_tool_find(const struct signs *signs, const char *name, const struct build_tool **ret,
                    sbr_error *err)
{
    *ret = name ? named(name) : NULL;
    if (name && !*ret)
        return err_set(err, SBR_E_NOT_FOUND, "build",
                       "there is no build tool '%.60s'; give one of cargo, go, maven, npm, tsc, "
                       "meson, cmake, python and make",
                       name);
    for (size_t i = 0; !*ret && i < sizeof(rows) / sizeof(*rows); i++)
        if (signs_have(signs, SIGNS_HERE, rows[i].pattern, rows[i].text))
            *ret = named(rows[i].tool);
    if (*ret)
        return 0;
    return err_set(err, SBR_E_NOT_FOUND, "build",
                   "there is no sign of a build here, such as a Makefile or Cargo.toml; name the "
                   "tool with --tool, or the command: `sandbox-run exec --project DIR -- COMMAND`");
}

/* "DIR/" is everything below it, also with '*'; "*.o" is such a file in any directory. */
static bool matches(const char *pattern, const char *path)
{
    size_t len = strlen(pattern);
    char below[80];

    if (!len)
        return true;
    if (pattern[len - 1] != '/')
        return !fnmatch(pattern, path, strchr(pattern, '/') && *pattern != '*' ? FNM_PATHNAME : 0);
    snprintf(below, sizeof(below), "%s*", pattern);
    return !fnmatch(below, path, 0);
}

static bool some_match(const char *const *patterns, const char *path)
{
    for (; patterns && *patterns; patterns++)
        if (matches(*patterns, path))
            return true;
    return false;
}

bool build_tool_makes(const struct build_tool *tool, const char *path)
{
    return some_match(tool->places, path) && !some_match(tool->leaves_out, path);
}

/* requires = ["setuptools>=61", 'wheel'] of [build-system]: what is between quotes. */
static int add_python_packages(const struct signs *signs, sbr_request *req, sbr_error *err)
{
    scoped_free char *text = signs_read(signs, "pyproject.toml");
    char *at = text ? strstr(text, "[build-system]") : NULL;
    char *end;

    at = at ? strstr(at, "requires") : NULL;
    at = at ? strchr(at, '[') : NULL;
    end = at ? strchr(at, ']') : NULL;
    while (end && (at = strpbrk(at, "\"'")) && at < end) {
        size_t len = strcspn(at + 1, (char[]){ *at, '\0' });
        scoped_free char *word = strndup(at + 1, len);

        if (!word)
            return err_set_oom(err, "build");
        if (at + 1 + len >= end)
            break;
        if (request_add_dep(req, word, err) < 0)
            return err->code;
        at += len + 2;
    }
    return 0;
}
