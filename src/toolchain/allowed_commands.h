/* The only commands that exist inside, when a request names some: their files, and the loader and
 * shared libraries that they need. */
#ifndef TOOLCHAIN_ALLOWED_COMMANDS_H
#define TOOLCHAIN_ALLOWED_COMMANDS_H

#include "base/string_list.h"
#include "plan/planner.h"

#define COMMANDS_MAX_FILES 1000

struct allowed_commands {
    struct plan_file *files; /* owned, with their paths */
    size_t n;
};

/* `program` is what the request runs, as a name or a path; it exists, too, unless it is a path
 * outside of the system's directories.  The caller calls allowed_commands_done, also after an
 * error. */
int allowed_commands_find(const struct string_list *names, const char *program,
                          struct allowed_commands *ret, sbr_error *err) must_check;
void allowed_commands_done(struct allowed_commands *commands);

#endif
