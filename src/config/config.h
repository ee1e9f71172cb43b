/* What holds for runs of this user in this place: defaults, the user's file, the project's file.
 *
 * A value of the user's file replaces the default.  One of the project's file is taken only when
 * it is stricter than what holds without it; the file is ignored unless the user trusts it.
 * Options and fields of a request win over both (config_apply fills only what is not given).
 * docs/decisions/0027-configuration.md has the reasons. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/buf.h"
#include "config/config_file.h"
#include "model/request.h"

enum config_origin { CONFIG_BY_DEFAULT, CONFIG_BY_USER, CONFIG_BY_PROJECT };

struct config_from {
    enum config_origin origin;
    unsigned int line;
};

/* Limits have the numbers of enum sbr_limit. */
enum config_item {
    CONFIG_NETWORK = N_LIMITS,
    CONFIG_POLICY,
    CONFIG_REQUIRE,
    CONFIG_BACKEND,
    CONFIG_AUDIT,
    CONFIG_EXCLUDE,
    CONFIG_INCLUDE,
    CONFIG_RETENTION,                                 /* and the numbers of enum retention_item */
    CONFIG_COMPILE = CONFIG_RETENTION + N_RETENTIONS, /* and the numbers of enum sbr_limit */
    N_CONFIG_ITEMS = CONFIG_COMPILE + N_LIMITS
};

enum config_state { CONFIG_ABSENT, CONFIG_READ, CONFIG_IGNORED };

struct config {
    struct limits limits, compile_limits;
    struct network network;
    char policy[64];
    enum tier require;
    const char *backend; /* of `user`, or "native" */
    bool audit, audit_code;
    struct string_list exclude, include; /* patterns: model/exclude.h */
    struct string_list secrets;          /* of the user's file; their values are read when used */
    struct retention retention;
    struct config_from from[N_CONFIG_ITEMS];
    char path[2][CONFIG_PATH_SIZE]; /* indexed by enum config_kind */
    enum config_state state[2];
    struct config_document *user; /* NULL: there is none; for its languages */
    unsigned int languages_line;
    struct buf notes; /* what was not taken and why: one sentence in each line */
};

/* `start`: where to look for the project's file; "": the current directory; NULL: nowhere.  A file
 * of the user with a fault is an error, and so is one of a project that is trusted. */
int config_load(const char *start, struct config *ret, sbr_error *err) must_check;
void config_done(struct config *config);

/* Adds the languages of the user's file for the life of the process. */
int config_add_languages(const struct config *config, sbr_error *err) must_check;
/* Sets what the request does not set itself. */
int config_apply(const struct config *config, sbr_request *req, sbr_error *err) must_check;

/* Reads and checks the file of a project as a run would, for `trust`. */
int config_check_project(const struct config_text *text, sbr_error *err) must_check;

/* What both files need: see config_values.c. */
/* A path of the user's file: ~/ is the home, others are relative to the configuration's directory.
 * The caller frees it; NULL without memory. */
char *config_value_path(const struct config *config, const char *path);
/* The sentence of *err with the place of the value in front. */
int config_value_fault(const struct config_text *text, const char *section, const char *key,
                       sbr_error *err);
int config_parse_network(const struct config_text *text, const struct config_network *from,
                         struct network *ret, sbr_error *err) must_check;
int config_set_limit(const struct config_text *text, const char *section, struct limits *limits,
                     enum sbr_limit which, const char *value, sbr_error *err) must_check;
/* Patterns of a file are added to those that hold. */
int config_add_patterns(struct config *config, const struct config_text *text,
                        const struct config_document *document, enum config_origin origin,
                        sbr_error *err) must_check;
/* Secrets that requests may name. */
int config_take_secrets(struct config *config, const struct config_text *text,
                        const struct config_document *document, sbr_error *err) must_check;
/* The project's file on top. */
int config_tighten(struct config *config, const struct config_text *text,
                   const struct config_document *document, sbr_error *err) must_check;
/* True when all that `narrow` opens `wide` opens too. */
bool config_rule_covers(const struct host_rule *wide, const struct host_rule *narrow);
/* True when all that `rule` opens is open. */
bool config_network_covers(const struct network *holds, const struct host_rule *rule);

#endif
