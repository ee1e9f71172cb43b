/* Files in the directories of a living session, which the program may change at any time. */
#ifndef SESSION_FILES_H
#define SESSION_FILES_H

#include "session/supervisor.h"

/* Each fills an answer, or an error. */
json_t *session_files_list(struct session *s, sbr_error *err);
json_t *session_files_get(struct session *s, const char *path, sbr_error *err);
json_t *session_files_remove(struct session *s, const char *path, sbr_error *err);
json_t *session_files_put(struct session *s, const char *path, const char *base64, sbr_error *err);

/* Writes a file below /tmp of the session, for a kernel. */
int session_files_place(struct session *s, const char *path, const void *data, size_t len,
                        sbr_error *err) must_check;
/* The same with the first `size` bytes of a file, of which nothing is held in memory. */
int session_files_copy(struct session *s, const char *path, int from_fd, uint64_t size,
                       sbr_error *err) must_check;

/* While it is open, this process has the rights of the program's user to files. */
struct session_top {
    int fd; /* O_PATH */
};
/* `name`: "work" or "tmp". */
int session_top_open(struct session *s, const char *name, struct session_top *ret, sbr_error *err)
    must_check;
void session_top_close(struct session_top *top);

#endif
