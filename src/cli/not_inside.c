#include "cli/not_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/inode.h"
#include "base/user_dir.h"
#include "cli/cli.h"

/* Paths from the root are mostly those of the sandbox's own /usr. */
const char *not_inside_find(const struct options *o)
{
    if (!o->command->command_line || o->request->project || o->request->workspace || !o->rest)
        return NULL;
    for (char **word = o->rest; *word; word++)
        if (**word && **word != '-' && **word != '/' && strcmp(*word, ".") != 0 &&
            access(*word, F_OK) == 0)
            return *word;
    return NULL;
}

void not_inside_explain(const struct options *o, sbr_error *err)
{
    const char *word = err->code == SBR_E_NOT_FOUND ? not_inside_find(o) : NULL;
    size_t len = strlen(err->message);

    if (word)
        snprintf(err->message + len, sizeof(err->message) - len,
                 "; your directory has '%.100s' but is not inside: --project . brings it in", word);
}

/* 0, or why there is nothing at `path`; EXDEV when it leads out of the file system of `top`.  The
 * program chose the path: what is mounted may be a network's or an automounter's, which would ask a
 * host that the program named. */
static int look_within(const char *top, const char *path)
{
    size_t len = strlen(top);
    scoped_fd int at = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC), found = -1;

    if (strncmp(path, top, len) != 0)
        return EXDEV;
    path += len + strspn(path + len, "/");
    found = inode_resolve(at, *path ? path : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC,
                          RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS);
    return found < 0 ? errno : 0;
}

bool not_inside_nor_here(const char *path)
{
    const char *home = user_dir_home();
    int found = look_within("/", path);

    if (found == EXDEV && home)
        found = look_within(home, path);
    return found == ENOENT;
}
