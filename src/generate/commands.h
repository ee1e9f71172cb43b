/* The commands of sandbox-run-generate.  Each writes C text, or JSON, to `out`. */
#ifndef GENERATE_COMMANDS_H
#define GENERATE_COMMANDS_H
#include <stdio.h>

#include "base/err.h"

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
