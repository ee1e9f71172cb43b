/* Files that leave the sandbox after the run: what the request asks for, and what was collected. */
#ifndef MODEL_OUTPUTS_H
#define MODEL_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/jsonw.h"

#define OUTPUTS_MAX_RULES 32
#define OUTPUTS_MAX_PARTS 60 /* parts between the slashes of a pattern */

/* PATTERN[:DIR].  The pattern is relative to /work, or absolute below /work, /tmp or a volume.
 * `*`, `?` and `[...]` stay within one directory and also match a leading dot, `**` spans
 * directories, a backslash escapes the next character.  A directory that matches includes
 * everything below it. */
struct output_rule {
    char *pattern; /* absolute, inside, without ".." */
    /* On the host, absolute; NULL: the files are only listed, and stored with --keep. */
    char *dir;
};

struct output_rules {
    struct output_rule *items;
    size_t n;
};

/* `text` is PATTERN[:DIR]; messages call it `word`. */
int output_rules_add(struct output_rules *rules, const char *word, const char *text, sbr_error *err)
    must_check;
void output_rules_done(struct output_rules *rules);

struct output_file {
    char *path;    /* inside, absolute; any bytes */
    uint64_t size; /* the apparent size, holes included */
    const char *mime;
    char *saved;   /* path on the host; NULL: not saved, or part of the changeset */
    char *skipped; /* why it was not collected; NULL: it was */
};

struct output_files {
    struct output_file *items;
    size_t n;
    uint64_t dropped; /* files beyond OUTPUT_FILES_MAX */
};
#define OUTPUT_FILES_MAX 10000

/* Takes over path, saved and skipped, even on failure. */
int output_files_add(struct output_files *files, const struct output_file *file, sbr_error *err)
    must_check;
void output_files_done(struct output_files *files);
/* Chosen by the file name extension; "application/octet-stream" when it is unknown. */
const char *outputs_mime_of(const char *path);
/* Writes "files": [{path, size, mime, saved, skipped}]. */
void output_files_put_json(struct jsonw *j, const struct output_files *files);

/* The start of DIR in a spec, after the first colon outside a class; NULL when there is none. */
const char *output_spec_dir(const char *spec);

/* The length of the leading directories of a pattern that have no wildcard.  The last part never
 * counts: 5 of "/work/x", 9 of "/work/out/x*". */
size_t output_fixed_len(const char *pattern);

/* True when an absolute path inside matches.  Sets *ret_below when it does not, but something below
 * it might. */
bool output_matches(const char *pattern, const char *path, bool *ret_below);

#endif
