/* Files of a project that show by what it is built or tested: in a directory of the host, or among
 * the files of a request. */
#ifndef WORK_BUILD_SIGNS_H
#define WORK_BUILD_SIGNS_H

#include "model/request.h"

struct build_signs {
    int dir_fd;             /* -1: there is none */
    const sbr_request *req; /* whose files count as well */
};

/* A file whose name matches in the top directory, and which has the text; an empty text: any. */
bool build_signs_have(const struct build_signs *signs, const char *pattern, const char *text);
/* The content of a file as text, at most BUILD_SIGNS_MOST bytes of it; NULL: it is not there. */
char *build_signs_read(const struct build_signs *signs, const char *path);
#define BUILD_SIGNS_MOST (256 * 1024)

#endif
