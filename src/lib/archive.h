/* Archives of workspaces, read and written by the host's `tar` in a sandbox of ours: the
 * supervisor parses none. */
#ifndef LIB_ARCHIVE_H
#define LIB_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "sandboxrun.h"
#include "workspace/workspace.h"

/* The messages of the host's `tar`, which ran in a sandbox. */
#define TAR_WORDS_SIZE 160

/* What tar said, by what it means here. */
struct tar_words {
    char fault[TAR_WORDS_SIZE]; /* the first line that is an error; empty: none             */
    char note[TAR_WORDS_SIZE];  /* the first of those that are none                          */
    uint64_t failed;            /* lines about what tar failed to do and can be done without */
    uint64_t devices;           /* that tar could not make: no sandbox can                   */
    char device[120];           /* the first of them */
};

struct tar_words tar_words_read(const char *text, size_t text_len);
/* Negative unless tar did its work in this run, small losses apart. */
int tar_words_judge(const struct tar_words *said, const sbr_result *result, sbr_error *err)
    must_check;

struct archive_target {
    int fd;           /* may be a pipe */
    const char *name; /* its end says how to compress, as in "x.tar.gz"; NULL: not at all */
};

/* Writes a tar archive (pax) of the workspace: names in the order of their bytes, no owners, and
 * nothing else that differs between two exports of the same content. */
int archive_export(const sbr_runtime *rt, const char *workspace, const struct archive_target *to,
                   sbr_error *err) must_check;

/* A tree of ours whose files all may read, for an archive that depends on nothing else: modes are
 * made plain, and later times become `newest`. */
struct archive_tree {
    const char *path;
    int fd;
    int64_t newest;
};
int archive_pack(const sbr_runtime *rt, const struct archive_tree *tree,
                 const struct archive_target *to, sbr_error *err) must_check;

/* Entries that a workspace does not hold: devices, pipes. */
struct archive_left_out {
    uint64_t n;
    char first[120]; /* the name of the first, made visible */
};

struct archive_source {
    int fd;
    /* The archive may end right after its last byte of content, as some layers of images do. */
    bool may_end_early;
    struct workspace_quota quota;
    struct archive_left_out left_out; /* filled */
    char note[TAR_WORDS_SIZE];        /* filled: what tar remarked; empty: nothing */
};

struct collect_list;
/* Unpacks into an empty directory of ours, within the quota.  `list` gets modes and times; NULL:
 * files keep "executable" only, and all may read them. */
int archive_unpack(const sbr_runtime *rt, int tree_fd, struct archive_source *source,
                   struct collect_list *list, sbr_error *err) must_check;

/* The SHA-256 of what is packed in the file, which is at its beginning before and after. */
int archive_digest(const sbr_runtime *rt, int fd, char digest[SHA256_HEX_SIZE], sbr_error *err)
    must_check;

/* The command that unpacks the file, as in "gzip -dc", by its first bytes. */
int archive_unpacker(int fd, char words[32], sbr_error *err) must_check;
/* Negative unless tar did its work in this run, devices and small losses apart. */
int archive_judge(const sbr_result *result, sbr_error *err) must_check;
/* Says of an error that nothing was taken because of it; returns its code. */
int archive_refuse(sbr_error *err);

/* Makes a workspace from an archive, which may be hostile and compressed: whole or not at all,
 * but for devices and pipes. */
int archive_import(const sbr_runtime *rt, const char *workspace, struct archive_source *source,
                   sbr_error *err) must_check;

#endif
