/* Gives a worker what the interpreter would have learned about its program from the command line.
 * It is in C because a client waits meanwhile: a few lines of Python touch more memory, which then
 * has to be copied, than the whole rest of a small program. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "worker/worker.h"

#define ARCHIVE_MARK "PK\5\6" /* starts the end record of an archive, which a comment may follow */
#define MARK_SIZE (sizeof(ARCHIVE_MARK) - 1)
#define ARCHIVE_TAIL ((64l << 10) + 22)

static bool has_archive_mark(int file, off_t size)
{
    char part[4096];
    off_t at = size > ARCHIVE_TAIL ? size - ARCHIVE_TAIL : 0;
    ssize_t n;

    while ((n = pread(file, part, sizeof(part), at)) >= (ssize_t)MARK_SIZE) {
        if (memmem(part, (size_t)n, ARCHIVE_MARK, MARK_SIZE))
            return true;
        at += n - (ssize_t)(MARK_SIZE - 1); /* the mark may lie across two parts */
    }
    return n < 0;
}

/* A program in a directory or in an archive is loaded in other ways. */
static bool is_plain_file(const char *path)
{
    scoped_fd int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    return file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode) &&
           !has_archive_mark(file, st.st_size);
}

static bool is_among(const char *modules, const char *name, size_t len)
{
    for (; *modules; modules += strlen(modules) + 1)
        if (strncmp(modules, name, len) == 0 && modules[len] == '\0')
            return true;
    return false;
}

/* True when a file there would be found instead of a module that is loaded already. */
static bool hides_module(const char *directory, const char *modules)
{
    scoped_dir DIR *entries = opendir(directory);
    const struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        if (is_among(modules, entry->d_name, strcspn(entry->d_name, ".")))
            return true;
    return false;
}

int sbr_worker_can_run(const char *script, const char *modules)
{
    const char *slash = strrchr(script, '/');
    scoped_free char *directory =
        slash ? strndup(script, (size_t)(slash - script) + 1) : strdup(".");

    return directory && !hides_module(directory, modules) && is_plain_file(script);
}

void sbr_worker_put_script(const struct script_place *places, int n, const wchar_t *placeholder,
                           const wchar_t *script, const wchar_t *absolute)
{
    for (int i = 0; i < n; i++) {
        wchar_t *at = places[i].at;

        if (wcscmp(at, placeholder) != 0)
            continue;
        if (places[i].lead)
            wcscpy(at - places[i].lead,
                   absolute); /* NOLINT: the driver has seen that there is room */
        else
            wcscpy(at, script); /* NOLINT: as above */
    }
}
