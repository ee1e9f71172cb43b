/* Writes C: string literals, and the file that contains them. */
#ifndef GENERATE_C_TEXT_H
#define GENERATE_C_TEXT_H

#include <stdio.h>

#include "base/err.h"
#include "plan/calls.h"

/* A quoted literal; NULL for NULL. */
void c_text_string(FILE *out, const char *text);

/* Replaces the file at `path`. */
int c_text_save(const char *path, const char *text, size_t len, sbr_error *err) must_check;

/* The names that libseccomp and our own table know, for the table of the run time. */

/* All names of all architectures, sorted, each once; the caller frees them.  How many. */
size_t calls_names(char **ret, size_t max);

/* The commands of sandbox-run-generate.  Each writes C text, or JSON, to `out`. */

/* policy_table[] from policies/, for one architecture. */
int generate_policies(FILE *out, const char *arch, char *const *paths, sbr_error *err) must_check;

/* call_table[] for one architecture, and policy_sources[] with the texts of policies/. */
int generate_sources(FILE *out, const char *arch, char *const *paths, sbr_error *err) must_check;

/* language_table[] from languages/, the same for every architecture, so `arch` is NULL. */
int generate_languages(FILE *out, const char *arch, char *const *paths, sbr_error *err) must_check;

/* template_table[] from templates/; `arch` is NULL. */
int generate_templates(FILE *out, const char *arch, char *const *paths, sbr_error *err) must_check;

/* The schema of a request, as JSON, from model/request_fields.def; reads no files. */
int generate_request(FILE *out, const char *arch, char *const *paths, sbr_error *err) must_check;

/* tools.json of MCP, with the schemas of fields of a request. */
int generate_tools(FILE *out, const char *arch, char *const *paths, sbr_error *err) must_check;

/* netlink_scripts[]; reads no files, and `arch` is NULL. */
int generate_netlink(FILE *out, const char *arch, char *const *paths, sbr_error *err) must_check;

#endif
