/* session: one sandbox kept alive, and one cell of code after the other in it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_read.h"
#include "base/text.h"
#include "cli/action.h"
#include "cli/amounts.h"
#include "cli/display.h"
#include "cli/documents.h"
#include "cli/repl.h"
#include "cli/session_actions.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "sandboxrun.h"

/* clang-format off */
static const struct option own_options[] = {
    { 0, "idle", "TIME", "end the session after so long without a cell (default: 1h)",
      OPTION_OWN(struct session_options, idle) },
    { 0, "age", "TIME", "end it after so long in any case (default: 24h)",
      OPTION_OWN(struct session_options, age) },
    { 0, "freeze", "TIME", "stop everything inside after so long without a cell (default: 1m)",
      OPTION_OWN(struct session_options, freeze) },
    { 0, "width", "COLUMNS", "of `exec`: tables and long values fit into so many columns",
      OPTION_OWN(struct session_options, width) },
    { 'y', "yes", NULL, "of `apply`: do it without asking",
      OPTION_OWN(struct session_options, changes.yes) },
    { 0, "force", "PATH", "of `apply`: this path, though it conflicts; repeatable",
      OPTION_OWN(struct session_options, changes.force) },
    { 0, "format", "NAME", "of `export`: ipynb (default), md, or the language's own, as py",
      OPTION_OWN(struct session_options, format) },
    { 0 },
};
/* clang-format on */

static int create_run(const struct options *o, sbr_error *err)
{
    const char *language = o->n_positional > 1 ? o->positional[1] : o->lang;
    scoped_free char *json = NULL;
    sbr_session_bounds bounds;
    json_t *made;

    if (!language && !o->request->language)
        return err_set(err, SBR_E_INVALID, "session",
                       "say which language: `sandbox-run session create python`");
    if ((language && request_set_text(&o->request->language, language, err) < 0) ||
        session_bring_files(o, err) < 0 || session_read_bounds(o, &bounds, err) < 0 ||
        settings_apply(o, err) < 0 || sbr_session_create(o->request, &bounds, &json, err) < 0)
        return err->code;
    session_words_keep(json, false);
    if (o->json) {
        session_print_json(json);
        return 0;
    }
    made = json_read_own(json, 0);
    printf("%s\n", json_string_value(json_object_get(made, "id")));
    json_decref(made);
    return 0;
}

static void print_row(const json_t *one)
{
    char memory[24], idle[24];
    json_t *memory_bytes = json_object_get(one, "memory_bytes");

    amount_of_bytes((uint64_t)json_integer_value(memory_bytes), memory, sizeof(memory));
    snprintf(idle, sizeof(idle), "%.0fs", json_number_value(json_object_get(one, "idle_s")));
    printf("%s  %-12s %-8s %6lld cells  %8s  idle %6s%s%s\n", session_text(one, "id"),
           session_text(one, "lang"), session_text(one, "state"),
           (long long)json_integer_value(json_object_get(one, "cells")), memory, idle,
           session_text(one, "reason")[0] ? "  " : "", session_text(one, "reason"));
}

static int list_run(const struct options *o, sbr_error *err)
{
    scoped_free char *json = NULL;
    json_t *all, *one;
    size_t i;

    if (sbr_session_list(&json, err) < 0)
        return err->code;
    if (o->json) {
        session_print_json(json);
        return 0;
    }
    all = json_read_own(json, 0);
    json_array_foreach(json_object_get(all, "sessions"), i, one)
        print_row(one);
    if (!i)
        fputs("there is no session; `sandbox-run session create LANG` makes one\n", stderr);
    json_decref(all);
    return 0;
}

/* All that can be closed are; the first that cannot is reported. */
static int close_run(const struct options *o, sbr_error *err)
{
    for (size_t i = 1; i < o->n_positional; i++) {
        scoped_free char *json = NULL;
        sbr_error why = { 0 };

        if (sbr_session_finish(o->positional[i], &json, &why) == 0)
            session_print_closed(json, o);
        else if (!err->code)
            *err = why;
    }
    return err->code;
}

/* --code, a file, or stdin. */
static int read_cell(const struct options *o, char **ret, size_t *ret_len, sbr_error *err)
{
    const char *path = o->n_positional > 2 ? o->positional[2]
                       : o->files.n        ? o->files.items[0]
                                           : "-";

    if (o->code && o->n_positional > 2)
        return err_set(err, SBR_E_INVALID, "session", "give --code or a file, not both");
    if (o->code) {
        *ret = strdup(o->code);
        *ret_len = strlen(o->code);
        return *ret ? 0 : err_set_oom(err, "session");
    }
    if (strcmp(path, "-") != 0)
        return source_read_path(path, ret, ret_len, err);
    return fd_read_text(STDIN_FILENO, REQUEST_MAX_BYTES, ret, ret_len, err);
}

static int read_width(const struct options *o, unsigned int *ret, sbr_error *err)
{
    const char *text = ((const struct session_options *)o->own)->width;
    uint64_t value = SBR_WIDTH_LEAST;

    if (text && (text_parse_count(text, &value) != TEXT_OK || value < SBR_WIDTH_LEAST ||
                 value > SBR_WIDTH_MOST))
        return err_set(err, SBR_E_INVALID, "session",
                       "--width is a number of columns from %d to %d, not '%.40s'", SBR_WIDTH_LEAST,
                       SBR_WIDTH_MOST, text);
    *ret = text ? (unsigned int)value : 0;
    return 0;
}

static int exec_in(sbr_session *s, const struct options *o, sbr_error *err)
{
    scoped_free char *code = NULL;
    struct session_cell cell = { .language = o->lang };
    struct display display;
    char allow[80];
    int r;

    if (read_cell(o, &code, &cell.len, err) < 0 || read_width(o, &cell.width, err) < 0)
        return err->code;
    cell.code = code;
    if (o->request->limits.given & 1u << SBR_WALL_MS)
        cell.timeout_ms = o->request->limits.value[SBR_WALL_MS];
    display_init(&display, o);
    snprintf(allow, sizeof(allow), "sandbox-run session allow %.50s", o->positional[1]);
    display.allow = allow;
    r = session_show_cell(s, &cell, &display, err);
    display_done(&display);
    return r;
}

static int exec_run(const struct options *o, sbr_error *err)
{
    sbr_session *s = NULL;
    int r = sbr_session_open(o->positional[1], &s, err);

    if (r == 0)
        r = exec_in(s, o, err);
    sbr_session_free(s);
    return r;
}

/* attach ID: a prompt; the session goes on after it. */
static int attach_run(const struct options *o, sbr_error *err)
{
    struct options own = *o;

    (void)err;
    return cmd_repl_attach(&own);
}

static int info_run(const struct options *o, sbr_error *err)
{
    return session_ask(o, "{\"op\": \"info\"}", err);
}

static int interrupt_run(const struct options *o, sbr_error *err)
{
    return session_ask(o, "{\"op\": \"interrupt\"}", err);
}

static int vars_run(const struct options *o, sbr_error *err)
{
    return session_ask(o, "{\"op\": \"vars\"}", err);
}

/* clang-format off */
static const struct action actions[] = {
    { "list",      list_run,      0, 0,   "" },
    { "create",    create_run,    0, 1,   " [LANG]" },
    { "exec",      exec_run,      1, 2,   " ID [--code TEXT | FILE | -] [--lang NAME]" },
    { "close",     close_run,     1, 100000, " ID..." },
    { "info",      info_run,      1, 1,   " ID" },
    { "interrupt", interrupt_run, 1, 1,   " ID" },
    { "vars",      vars_run,      1, 1,   " ID" },
    { "restart", session_restart_run,   1, 1,   " ID" },
    { "checkpoint", session_checkpoint_run, 1, 1, " ID" },
    { "fork", session_fork_run, 1, 1, " ID" },
    { "rollback", session_rollback_run, 2, 2, " ID CELL" },
    { "attach", attach_run, 1, 1, " ID" },
    { "diff", session_diff_run, 1, 1, " ID" },
    { "apply", session_apply_run, 1, 64, " ID [PATH...] [--yes] [--force PATH]" },
    { "reload", session_reload_run, 1, 1, " ID" },
    { "allow", session_allow_run, 2, 64, " ID HOST[:PORT]..." },
    { "dep", session_dep_run, 2, 64, " ID NAME[@VERSION]..." },
    { "metrics", session_metrics_run,   1, 1,   " ID" },
    { "limits", session_limits_run,   1, 1,   " ID" },
    { "files", session_files_run,     1, 1,   " ID" },
    { "put", session_put_run,       2, 3,   " ID FILE [PATH]" },
    { "get", session_get_run,       2, 3,   " ID PATH [FILE]" },
    { "export", session_export_run,    1, 2,   " ID [FILE] [--format ipynb|md|py|...]" },
    { "replay", session_replay_run,    1, 2,   " [ID] FILE" },
    /* The words of `create` follow, with its language. */
    { "restore", session_restore_run,   1, 2,   " ID [OPTIONS]" },
    { 0 },
};
/* clang-format on */

/* These see to --stream themselves; other actions have an answer and no events. */
static bool streams(const struct action *action)
{
    return action->run == exec_run || action->run == attach_run ||
           action->run == session_restore_run;
}

static int session_run(struct options *o)
{
    sbr_error err = { 0 };
    const struct action *action = action_find(o, actions, &err);
    struct source source = { 0 };
    int r;

    if (!action || (o->request_path && o->documents->load_request(o, &source, &err) < 0))
        r = err.code;
    else if (o->stream && !streams(action))
        r = session_stream_answers(o, action->run, &err);
    else
        r = action->run(o, &err);
    return r < 0 ? cli_fail(o, &err) : r;
}

const struct command cmd_session = {
    .name = "session",
    .usage = "list | create LANG [OPTIONS] | exec ID [--code TEXT | FILE | -] | close ID... "
             "| ...",
    .help = "keep a sandbox alive, and run one cell of code after the other in it",
    .examples =
        "Examples:\n"
        "  id=$(sandbox-run session create python --memory 512m)\n"
        "  sandbox-run session exec $id --code 'x = 41'\n"
        "  sandbox-run session exec $id --code 'x + 1' --timeout 5s\n"
        "  sandbox-run session list             all sessions, also those that are lost\n"
        "  sandbox-run session interrupt $id    stop the cell that runs, keep the variables\n"
        "  sandbox-run session limits $id       what a cell may use, and all of them together\n"
        "  sandbox-run session put $id data.csv; sandbox-run session get $id plot.png plot.png\n"
        "  sandbox-run session export $id work.ipynb; sandbox-run session replay $id work.ipynb\n"
        "  sandbox-run session restart $id      a new kernel, also after it was lost\n"
        "  sandbox-run session attach $id       a prompt; the session goes on after it\n"
        "  sandbox-run session diff $id; sandbox-run session apply $id   of --project, at any "
        "time\n"
        "  sandbox-run session checkpoint $id; sandbox-run session rollback $id 3\n"
        "  sandbox-run session fork $id         a second session from here on\n"
        "  sandbox-run session exec $id --lang bash --code ls   a second kernel, the same files\n"
        "  sandbox-run session allow $id example.org:443; sandbox-run session dep $id requests\n"
        "  sandbox-run session close $id\n",
    .options =
        (const struct option *const[]){ options_program, options_language_file, options_trees,
                                        options_network, options_isolation, own_options,
                                        options_json, options_stream, options_output,
                                        options_config, options_look, options_general, NULL },
    .limits = LIMITS_ALL,
    .names_language = true,
    .own_size = sizeof(struct session_options),
    .ids = "session list 2>/dev/null | sed \"s/ .*//\"",
    .actions = actions,
    .run = session_run,
};
