#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The directory of this program; without /proc, from the path that was executed. */
static int find_own_directory(char *dir, size_t size, sbr_error *err)
{
    const char *executed = (const char *)getauxval(AT_EXECFN); /* NOLINT: as the kernel gives it */
    ssize_t len = readlink("/proc/self/exe", dir, size - 1);
    char *slash;

    if (len >= 0)
        dir[len] = '\0';
    else
        snprintf(dir, size, "%s", executed ? executed : "");
    slash = strrchr(dir, '/');
    if (!slash)
        return err_set_errno(err, "command", "cannot find the program's own directory");
    *slash = '\0';
    return 0;
}

int companion_exec(const char *name, char *const *argv, sbr_error *err)
{
    static const char *const places[] = { "", "../libexec/sandbox-run/" };
    char own[4096], path[4200];

    if (find_own_directory(own, sizeof(own), err) < 0)
        return err->code;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(path, sizeof(path), "%s/%s%.60s", own, places[i], name);
        execv(path, argv);
    }
    return err_set_errno(err, "command", "cannot execute '%s'", path);
}
