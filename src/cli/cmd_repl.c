/* repl: a prompt for a session of its own. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json_read.h"
#include "cli/present.h"
#include "cli/repl.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "cli/waiting.h"

#define CELL_MAX ((size_t)16 << 20)
#define DEFAULT_LANGUAGE "python"

/* An error of one line does not end the prompt, as long as the session answers. */
static bool goes_on(struct repl *r, int status)
{
    sbr_error ignored;
    json_t *info;

    if (status == SBR_E_INVALID || status == SBR_E_UNSUPPORTED || status == SBR_E_BUSY)
        return true;
    info = repl_ask(r, json_pack("{s:s}", "op", "info"), &ignored);
    json_decref(info);
    return info != NULL;
}

static int loop(struct repl *r, sbr_error *err)
{
    struct buf cell;
    int status = 0;

    buf_init(&cell, CELL_MAX);
    while (!r->over && status == 0) {
        cell.len = 0;
        if (!repl_input_cell(r, &cell))
            break;
        status = cell.data[0] == ':' ? (buf_add(&cell, "", 1), repl_command(r, cell.data, err))
                                     : repl_execute(r, cell.data, cell.len, err);
        if (status < 0 && goes_on(r, status)) {
            present_error(err, r->o);
            r->status = EXIT_OURS;
            status = 0;
        }
    }
    buf_done(&cell);
    return status;
}

static int bring_files(const struct options *o, sbr_error *err)
{
    for (size_t i = 0; i < o->files.n; i++) {
        const char *path = o->files.items[i], *slash = strrchr(path, '/');
        scoped_free char *data = NULL;
        size_t len;

        if (source_read_path(path, &data, &len, err) < 0 ||
            request_add_file(o->request, slash ? slash + 1 : path, data, len, err) < 0)
            return err->code;
    }
    return 0;
}

static int open_session(struct repl *r, sbr_error *err)
{
    const char *language = r->o->n_positional ? r->o->positional[0] : r->o->lang;
    const sbr_session_bounds bounds = { .struct_size = sizeof(bounds), .held = true };
    scoped_free char *json = NULL;
    struct waiting waiting;
    json_t *made;
    bool installs;
    int status;

    r->language = language ? language : DEFAULT_LANGUAGE;
    r->display.language = r->language;
    if (request_set_text(&r->o->request->language, r->language, err) < 0 ||
        bring_files(r->o, err) < 0 || settings_apply(r->o, err) < 0)
        return err->code;
    installs = r->o->request->deps.n > 0;
    waiting_begin(&waiting, installs ? "installing packages" : "starting the session",
                  r->o->quiet || !(installs || isatty(STDERR_FILENO)));
    status = sbr_session_create(r->o->request, &bounds, &json, err);
    waiting_end(&waiting);
    if (status < 0)
        return err->code;
    made = json_read_own(json, 0);
    snprintf(r->id, sizeof(r->id), "%s", json_string_value(json_object_get(made, "id")));
    r->ours = true;
    json_decref(made);
    if (sbr_session_open(r->id, &r->session, err) < 0)
        return err->code;
    json_decref(repl_ask(r, json_pack("{s:s}", "op", "hold"), err));
    return 0;
}

static void greet(const struct repl *r)
{
    if (r->display.terminal && !r->o->quiet)
        fprintf(stderr, "%s in a sandbox; :help for help, Ctrl-D to leave\n", r->language);
}

/* The prompt of a session that was there before, and that stays. */
static int join_session(struct repl *r, sbr_error *err)
{
    json_t *info;

    if (sbr_session_open(r->o->positional[1], &r->session, err) < 0)
        return err->code;
    info = repl_ask(r, json_pack("{s:s}", "op", "info"), err);
    if (!info)
        return err->code;
    snprintf(r->id, sizeof(r->id), "%s", json_string_value(json_object_get(info, "id")));
    snprintf(r->joined, sizeof(r->joined), "%s", json_string_value(json_object_get(info, "lang")));
    r->language = r->joined;
    json_decref(info);
    return 0;
}

static int talk(struct options *o, int (*open)(struct repl *, sbr_error *))
{
    struct repl r = { .o = o, .cells = json_array() };
    sbr_error err = { 0 }, ignored;
    int status;

    display_init(&r.display, o);
    r.display.allow = ":allow";
    status = open(&r, &err);
    r.own = r.language;
    if (status == 0)
        status = repl_input_open(&r, &err);
    if (status == 0) {
        greet(&r);
        repl_watch_interrupts();
        repl_take_input(&r);
        status = loop(&r, &err);
        repl_input_close(&r);
    }
    if (r.display.terminal && isatty(STDIN_FILENO)) {
        display_forget(&r.display);
        r.status = r.ended ? r.status : 0; /* a person who leaves has seen what failed */
    }
    display_done(&r.display);
    sbr_session_free(r.session);
    if (r.ours)
        (void)!sbr_session_close(r.id, &ignored);
    json_decref(r.cells);
    return status < 0 ? cli_fail(o, &err) : r.status;
}

int cmd_repl_attach(struct options *o)
{
    return talk(o, join_session);
}

static int repl_run(struct options *o)
{
    return talk(o, open_session);
}

const struct command cmd_repl = {
    .name = "repl",
    .usage = "[OPTIONS] [LANG]",
    .help = "a prompt in a sandbox: each cell with its own limits and its own end",
    .examples = "Examples:\n"
                "  sandbox-run repl                        Python\n"
                "  sandbox-run repl javascript --memory 1g\n"
                "  sandbox-run repl python --dep numpy --file data.csv\n"
                "  echo '6 * 7' | sandbox-run repl\n",
    .options =
        (const struct option *const[]){ options_program, options_language_file, options_trees,
                                        options_network, options_isolation, options_config,
                                        options_look, options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .names_language = true,
    .run = repl_run,
};
