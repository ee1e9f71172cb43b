/* Files that leave the sandbox after the run: what is asked for, and what came. */
#ifndef MODEL_OUTPUTS_H
#define MODEL_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/jsonw.h"

#define OUTPUTS_MAX_RULES 32
#define OUTPUTS_MAX_PARTS 60 /* of a pattern, between its slashes */

/* PATTERN[:DIR].  The pattern is relative to /work, or absolute below /work, /tmp or a volume; `*`, `?` and `[...]` stay
 * within one directory and match a dot in front too, `**` spans directories, a backslash takes the meaning from the next
 * character; a directory that matches stands for all that is below it. */
struct output_rule {
    char *pattern; /* absolute, inside, without ".." */
    char *dir;     /* on the host, absolute; NULL: the files are listed, and kept with --keep */
};

struct output_rules {
    struct output_rule *items;
    size_t n;
};

int output_rules_add(struct output_rules *rules, const char *spec, sbr_error *err) must_check;
void output_rules_done(struct output_rules *rules);

struct output_file {
    char *path;    /* inside, absolute; any bytes */
    uint64_t size; /* as the file says, holes included */
    const char *mime;
    char *saved;   /* where it is on the host; NULL: nowhere, or with the changes */
    char *skipped; /* why it was not taken; NULL: it was */
};

struct output_files {
    struct output_file *items;
    size_t n;
    uint64_t dropped; /* beyond OUTPUT_FILES_MAX */
};
#define OUTPUT_FILES_MAX 10000

/* Takes over path, saved and skipped, also when it fails. */
int output_files_add(struct output_files *files, const struct output_file *file, sbr_error *err)
    must_check;
void output_files_done(struct output_files *files);
/* By the name's ending; "application/octet-stream" when nothing is known. */
const char *outputs_mime_of(const char *path);
/* "files": [{path, size, mime, saved, skipped}]. */
void output_files_put_json(struct jsonw *j, const struct output_files *files);

/* Where DIR begins in a spec, which is behind the first colon outside a class; NULL: there is none. */
const char *output_spec_dir(const char *spec);

/* The length of the directories at a pattern's start that have no wildcard; the last part is never one of them: 5 of
 * "/work/x", 9 of "/work/out/x*". */
size_t output_fixed_len(const char *pattern);

/* Whether a path inside (absolute) matches; `below`: it does not, but something below it might. */
bool output_matches(const char *pattern, const char *path, bool *ret_below);

#endif
