/* Pieces that the dialects share: limits into our request, parts of our result out of it. */
#ifndef DIALECT_TRANSLATE_H
#define DIALECT_TRANSLATE_H

#include <jansson.h>

#include "http/execution.h"

/* Sets the limit in `limits` unless the tenant's ceiling is lower: the default of a dialect never
 * makes a request be refused. */
void translate_default(json_t *limits, const struct grant *tenant, enum sbr_limit which,
                       uint64_t value);
/* Appends {"path", "content", "encoding"}; the content is taken over. */
void translate_add_file(json_t *files, const char *path, json_t *content, const char *encoding);

/* A stream of a result or of a stage as bytes, with NUL behind; the caller frees it.  NULL: no
 * memory. */
char *translate_stream(const json_t *result, const char *name, size_t *ret_len);
/* The same as text, which is the result's own where it can be. */
json_t *translate_stream_text(const json_t *result, const char *name);
/* As text: what is no UTF-8 becomes U+FFFD. */
json_t *translate_text(const char *data, size_t len);
/* Base64 of bytes, null for none. */
json_t *translate_base64(const char *data, size_t len);
/* Both streams in the order in which they came; NULL: it is not known any more. */
json_t *translate_both(const struct execution *e);
/* The words of a line for a shell: quotes and backslashes, nothing else of a shell. */
json_t *translate_words(const char *line);
/* The stage of this name; NULL: it was not done. */
const json_t *translate_stage(const json_t *result, const char *name);
const char *translate_word(const json_t *object, const char *key); /* "" for none */
/* A number of `metrics` of a result or of a stage. */
double translate_metric(const json_t *result, const char *name);
/* Replies with a document, which is freed.  A thread may write it: nobody else changes it. */
void translate_reply(struct exchange *x, unsigned int status, json_t *document);

#endif
