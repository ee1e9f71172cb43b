#include "toolchain/allowed_commands.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/fd.h"
#include "base/scope.h"
#include "plan/plan.h"
#include "toolchain/elf_file.h"

#define STAGE "commands"

/* Where the loader looks by itself. */
static const char *const library_dirs[] = {
    "/lib/" ARCH_NAME "-linux-gnu",
    "/usr/lib/" ARCH_NAME "-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib/" ARCH_NAME "-linux-gnu",
};

static const char *const system_dirs[] = { "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/" };

/* One file that is many commands, by the name that it is called by. */
static const char *const multiple[] = { "busybox", "toybox", "coreutils", "box" };

static bool is_of_system(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(system_dirs); i++)
        if (!strncmp(path, system_dirs[i], strlen(system_dirs[i])))
            return true;
    return false;
}

static bool has(const struct allowed_commands *c, const char *path)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->files[i].to, path + 1))
            return true;
    return false;
}

/* Content of `real` at the place of `path`. */
static int add_file(struct allowed_commands *c, const char *real, const char *path, sbr_error *err)
{
    struct plan_file *grown = NULL;

    if (c->n == COMMANDS_MAX_FILES)
        return err_set(err, SBR_E_INVALID, STAGE,
                       "the commands need more than %d files; allow fewer of them",
                       COMMANDS_MAX_FILES);
    grown = realloc(c->files, (c->n + 1) * sizeof(*grown));
    if (!grown)
        return err_set_oom(err, STAGE);
    c->files = grown;
    grown[c->n] = (struct plan_file){ .from = strdup(real), .to = strdup(path + 1) };
    c->n++;
    return grown[c->n - 1].from && grown[c->n - 1].to ? 0 : err_set_oom(err, STAGE);
}

static int add_with_needs(struct allowed_commands *c, const char *real, const char *path,
                          sbr_error *err);

static int add_library(struct allowed_commands *c, const char *path, sbr_error *err)
{
    char real[PATH_MAX];

    if (has(c, path))
        return 0;
    if (!realpath(path, real))
        return err_set_errno(err, STAGE, "cannot find '%.200s'", path);
    return add_with_needs(c, real, path, err);
}

static bool exists_in(const char *dir, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX && access(path, R_OK) == 0;
}

static int find_library(const struct elf_file *file, const char *name, const char *by,
                        char path[PATH_MAX], sbr_error *err)
{
    if (strchr(name, '/'))
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? 0 : err_set_oom(err, STAGE);
    for (size_t i = 0; i < file->paths.n; i++)
        if (exists_in(file->paths.items[i], name, path))
            return 0;
    for (size_t i = 0; i < ARRAY_LEN(library_dirs); i++)
        if (exists_in(library_dirs[i], name, path))
            return 0;
    return err_set(err, SBR_E_INVALID, STAGE,
                   "'%.150s' needs '%.100s', which is in none of the usual directories; it cannot "
                   "be allowed by itself",
                   by, name);
}

static int add_needs(struct allowed_commands *c, const struct elf_file *file, const char *path,
                     sbr_error *err)
{
    char library[PATH_MAX];

    if (file->loader && add_library(c, file->loader, err) < 0)
        return err->code;
    for (size_t i = 0; i < file->needed.n; i++)
        if (find_library(file, file->needed.items[i], path, library, err) < 0 ||
            add_library(c, library, err) < 0)
            return err->code;
    return 0;
}

/* A library needs others: the depth is bounded by COMMANDS_MAX_FILES, because each is added before
 * its own needs are looked at. */
static int add_with_needs(struct allowed_commands *c, const char *real, const char *path,
                          sbr_error *err)
{
    struct elf_file file;
    int r = elf_file_read(real, &file, err);

    if (r == 0)
        r = add_file(c, real, path, err);
    if (r == 0)
        r = add_needs(c, &file, path, err);
    elf_file_done(&file);
    return r;
}

static int find_path(const char *name, char path[PATH_MAX], sbr_error *err)
{
    if (name[0] == '/' && is_of_system(name) && access(name, X_OK) == 0)
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? 0 : err_set_oom(err, STAGE);
    for (const char *dirs = PLAN_USUAL_PATH; !strchr(name, '/') && *dirs; dirs += *dirs == ':') {
        size_t len = strcspn(dirs, ":");

        if (snprintf(path, PATH_MAX, "%.*s/%s", (int)len, dirs, name) < PATH_MAX &&
            access(path, X_OK) == 0)
            return 0;
        dirs += len;
    }
    return err_set(err, SBR_E_INVALID, STAGE,
                   "this machine has no command '%.100s' in /usr or /bin that could be allowed",
                   name);
}

/* A script's interpreter could run anything else that is written for it. */
static int check_script(const char *name, const char *real, sbr_error *err)
{
    scoped_fd int fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char line[256] = "";
    ssize_t n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
    const char *interpreter = line + 2 + strspn(line + 2, " ");

    if (n < 2 || memcmp(line, "#!", 2) != 0)
        return 0;
    line[strcspn(line, "\n")] = '\0';
    return err_set(err, SBR_E_INVALID, STAGE,
                   "'%.60s' is a script for '%.100s', which would have to be allowed and could run "
                   "others; allow programs that are no scripts",
                   name, interpreter);
}

static int check_multiple(const char *name, const char *real, sbr_error *err)
{
    const char *base = strrchr(real, '/') + 1;

    for (size_t i = 0; i < ARRAY_LEN(multiple); i++)
        if (!strcmp(base, multiple[i]))
            return err_set(err, SBR_E_INVALID, STAGE,
                           "'%.60s' is '%.100s' on this machine, one file for many commands, so "
                           "none can be allowed by itself",
                           name, real);
    return 0;
}

static int add_command(struct allowed_commands *c, const char *name, sbr_error *err)
{
    char path[PATH_MAX], real[PATH_MAX];

    if (find_path(name, path, err) < 0)
        return err->code;
    if (has(c, path))
        return 0;
    if (!realpath(path, real))
        return err_set_errno(err, STAGE, "cannot find '%.200s'", path);
    if (check_script(name, real, err) < 0 || check_multiple(name, real, err) < 0)
        return err->code;
    return add_with_needs(c, real, path, err);
}

int allowed_commands_find(const struct string_list *names, const char *program,
                          struct allowed_commands *ret, sbr_error *err)
{
    *ret = (struct allowed_commands){ 0 };
    if (program && (!strchr(program, '/') || is_of_system(program)) &&
        add_command(ret, program, err) < 0)
        return err->code;
    for (size_t i = 0; i < names->n; i++)
        if (add_command(ret, names->items[i], err) < 0)
            return err->code;
    return 0;
}

void allowed_commands_done(struct allowed_commands *commands)
{
    for (size_t i = 0; i < commands->n; i++) {
        free((char *)commands->files[i].from);
        free((char *)commands->files[i].to);
    }
    free(commands->files);
    *commands = (struct allowed_commands){ 0 };
}
