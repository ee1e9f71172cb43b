/* Where sessions are: STATE/sessions/ID/, mode 0700, one directory each.
 *
 *   lock          held by the supervisor as long as it lives
 *   socket        on which the supervisor listens
 *   session.json  what is known without the supervisor: language, when, how it ended
 *   cells.jsonl   what was executed, one line per cell
 *   words.json    the command line that made it, for `restore` */
#ifndef SESSION_SESSION_DIR_H
#define SESSION_SESSION_DIR_H

#include "changes/given_trees.h"
#include "changes/state_dir.h"

#define SESSION_ID_SIZE 13 /* 48 random bits in hexadecimal, and NUL */
#define SESSION_LOCK "lock"
#define SESSION_SOCKET "socket"
#define SESSION_META GIVEN_TREES_FILE
#define SESSION_META_MEMORY "memory_limit_bytes" /* a key of it */
#define SESSION_CELLS "cells.jsonl"
#define SESSION_WORDS "words.json"

struct session_dir {
    char id[SESSION_ID_SIZE];
    int fd;      /* -1: not open */
    int lock_fd; /* -1: not held */
};

#define SESSION_DIR_NONE ((struct session_dir){ .fd = -1, .lock_fd = -1 })

/* Makes a directory and takes its lock. */
int session_dir_make(struct session_dir *ret, sbr_error *err) must_check;
/* A spare session (session/spare.c): STATE/spares/ID/, until it is adopted under an id of its own.
 * Removes those of dead supervisors, too. */
int session_dir_make_spare(const char *id, struct session_dir *ret, sbr_error *err) must_check;
/* -1: there is none. */
int session_dir_open_spare(const char *id, struct session_dir *ret) must_check;
int session_dir_adopt(struct session_dir *dir, sbr_error *err) must_check;
void session_dir_remove_spare(const struct session_dir *dir);
/* `id` may be the beginning of one, if it is the only one that begins so. */
int session_dir_open(const char *id, struct session_dir *ret, sbr_error *err) must_check;
/* Calls back for each session, oldest name first.  Negative stops and is returned. */
int session_dir_each(int (*one)(void *context, const struct session_dir *dir), void *context,
                     sbr_error *err) must_check;
/* True while its supervisor lives. */
bool session_dir_is_alive(const struct session_dir *dir);
/* Replaces a file at once: a reader finds the old text or the new one. */
int session_dir_write(const struct session_dir *dir, const char *name, const char *text,
                      sbr_error *err) must_check;
/* The caller frees it; NULL: there is none. */
char *session_dir_read(const struct session_dir *dir, const char *name);
int session_dir_remove(const struct session_dir *dir, sbr_error *err) must_check;
void session_dir_close(struct session_dir *dir);

/* Identifies this start of the machine; empty where the kernel does not say. */
#define SESSION_BOOT_SIZE 40
void session_dir_boot_id(char buf[SESSION_BOOT_SIZE]);

#endif
