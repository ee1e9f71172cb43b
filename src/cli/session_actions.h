/* What `sandbox-run session` does with sessions that are there; cmd_session.c has the rest. */
#ifndef CLI_SESSION_ACTIONS_H
#define CLI_SESSION_ACTIONS_H

#include <jansson.h>

#include "base/save.h"
#include "cli/changesets.h"
#include "cli/display.h"
#include "cli/options.h"
#include "sandboxrun.h"

struct session_options {
    struct changeset_options changes; /* first: what `apply` shares with sessions looks here */
    const char *idle, *age, *freeze, *format, *width;
};

/* session_cell.c */
struct session_cell {
    const char *code;
    size_t len;
    const char *language; /* NULL: the session's */
    uint64_t timeout_ms;  /* 0: the session's */
    unsigned int width;   /* of its values; 0: the terminal's */
};

/* Events for another program, as they come. */
void session_pass_line(void *context, const char *line, size_t len);
/* SIGINT interrupts the cell that runs; NULL: it ends us, as usual. */
void session_watch_interrupt(sbr_session *s);
/* Runs a cell and shows what comes of it as the options ask.  Returns its exit status; a negative
 * one is an error. */
int session_show_cell(sbr_session *s, const struct session_cell *cell, struct display *display,
                      sbr_error *err);

/* session_words.c: the options of a session whose description is `json`, for `restore`, which
 * executes itself again with them when it has none of its own. */
void session_words_keep(const char *json, bool restored);
int session_words_again(const char *id, const struct options *o, sbr_error *err);

/* session_answer.c */
/* A member of an object that is text; "" when there is none. */
const char *session_text(const json_t *object, const char *key);
/* Prints JSON on stdout, indented for a person. */
void session_print_json(const char *text);
/* As JSON where the options ask for it, otherwise a line for each word. */
void session_print_answer(const struct options *o, const char *text);
/* Names, types, sizes and values of variables. */
void session_print_vars(struct display *d, const json_t *vars);
/* What each cell may use, and all of them together; `limits` is the answer of the session. */
void session_print_limits(const json_t *limits);
/* The answer of a session that was closed: where its changes are. */
void session_print_closed(const char *json, const struct options *o);
/* The files of --file become the session's. */
int session_bring_files(const struct options *o, sbr_error *err);
int session_read_bounds(const struct options *o, sbr_session_bounds *ret, sbr_error *err);
/* session_stream.c: runs an action that has no events; its answers become the lines of --stream. */
int session_stream_answers(const struct options *o,
                           int (*run)(const struct options *o, sbr_error *err), sbr_error *err);
/* The first look at a file of the host that gets something of the session; `path` NULL: none.
 * `id` NULL: of no session. */
int session_open_file(const char *id, const char *path, struct save_file *file, sbr_error *err);
/* One operation; *ret is the answer, which the caller frees. */
int session_call(const char *id, json_t *take_request, char **ret, sbr_error *err);
/* An operation on the session that the first word names; its answer is printed. */
int session_ask(const struct options *o, const char *request, sbr_error *err);

int session_diff_run(const struct options *o, sbr_error *err);
int session_apply_run(const struct options *o, sbr_error *err);
int session_reload_run(const struct options *o, sbr_error *err);
int session_dep_run(const struct options *o, sbr_error *err);
int session_allow_run(const struct options *o, sbr_error *err);
int session_restart_run(const struct options *o, sbr_error *err);
int session_checkpoint_run(const struct options *o, sbr_error *err);
int session_fork_run(const struct options *o, sbr_error *err);
int session_rollback_run(const struct options *o, sbr_error *err);
int session_limits_run(const struct options *o, sbr_error *err);
int session_metrics_run(const struct options *o, sbr_error *err);
int session_files_run(const struct options *o, sbr_error *err);
int session_put_run(const struct options *o, sbr_error *err);
int session_get_run(const struct options *o, sbr_error *err);
int session_export_run(const struct options *o, sbr_error *err);
int session_replay_run(const struct options *o, sbr_error *err);
int session_restore_run(const struct options *o, sbr_error *err);

#endif
