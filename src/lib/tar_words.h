/* The messages of the host's `tar`, which ran in a sandbox. */
#ifndef LIB_TAR_WORDS_H
#define LIB_TAR_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sandboxrun.h"

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

#endif
