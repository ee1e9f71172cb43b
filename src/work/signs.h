/* Files of a project that show by what it is built, tested or checked: in a directory of the host,
 * or among the files of a request. */
#ifndef WORK_SIGNS_H
#define WORK_SIGNS_H

#include "model/exclude.h"
#include "model/request.h"

struct signs {
    int dir_fd;                  /* -1: there is none */
    const sbr_request *req;      /* whose files count as well; NULL: none */
    const struct exclude *rules; /* what of the directory does not count; NULL: all does */
    struct exclude own;          /* of signs_open */
};

enum signs_reach {
    SIGNS_HERE, /* in the project's directory itself */
    SIGNS_NEAR, /* also in those directly below that tests and sources usually are in */
    SIGNS_BELOW /* also in deeper ones, but for those of results and of installed packages */
};

/* Those of a request: its files and its project.  `source`: who asks, for the error. */
int signs_open(struct signs *ret, const sbr_request *req, const char *source, sbr_error *err)
    must_check;
void signs_close(struct signs *signs);
#define scoped_signs __attribute__((cleanup(signs_close)))

/* A file whose name matches, and which has the text; an empty text: any.  A link counts by its name
 * alone: what it leads to is not read. */
bool signs_have(const struct signs *signs, enum signs_reach reach, const char *pattern,
                const char *text);
/* The content of a file as text, at most SIGNS_MOST bytes of it; NULL: it is not there, or no
 * regular file. */
char *signs_read(const struct signs *signs, const char *path);
#define SIGNS_MOST (256 * 1024)

#endif
