/* Lines of a prompt that begin with a colon: one row each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/save.h"
#include "base/text.h"
#include "cli/amounts.h"
#include "cli/repl.h"
#include "cli/session_actions.h"
#include "cli/source.h"
#include "cli/waiting.h"
#include "model/limits.h"
#include "plan/language.h"

#define ALL_CELLS SIZE_MAX /* not only those of this prompt */

struct colon_command {
    const char *name, *words, *help;
    int (*run)(struct repl *r, const char *words, sbr_error *err);
};

static int help_run(struct repl *r, const char *words, sbr_error *err);

static int vars_run(struct repl *r, const char *words, sbr_error *err)
{
    json_t *answer = repl_ask(r, json_pack("{s:s, s:s*}", "op", "vars", "lang", r->second), err);

    (void)words;
    if (!answer)
        return err->code;
    session_print_vars(&r->display, json_object_get(json_object_get(answer, "data"), "vars"));
    json_decref(answer);
    return 0;
}

static double milliseconds(const json_t *metrics, const char *name)
{
    return json_number_value(json_object_get(metrics, name));
}

/* Of the last cell, and of the session. */
static int metrics_run(struct repl *r, const char *words, sbr_error *err)
{
    const json_t *last = json_array_get(r->cells, json_array_size(r->cells) - 1);
    const json_t *result = json_object_get(last, "result");
    const json_t *metrics = json_object_get(result, "metrics");
    const char *memory_is = json_string_value(json_object_get(result, "memory_is")), *lost;
    json_t *info = repl_ask(r, json_pack("{s:s}", "op", "info"), err);
    char memory[24];

    (void)words;
    if (!info)
        return err->code;
    if (last) {
        amount_of_bytes((uint64_t)json_integer_value(json_object_get(metrics, "peak_memory_bytes")),
                        memory, sizeof(memory));
        printf("cell %-6lld %.1f ms, CPU %.1f ms, memory %s%s\n",
               (long long)json_integer_value(json_object_get(result, "cell")),
               milliseconds(metrics, "wall_ms"),
               milliseconds(metrics, "cpu_user_ms") + milliseconds(metrics, "cpu_system_ms"),
               memory, memory_is && !strcmp(memory_is, "change") ? " more than before" : "");
    }
    amount_of_bytes((uint64_t)json_integer_value(json_object_get(info, "memory_bytes")), memory,
                    sizeof(memory));
    lost = json_string_value(json_object_get(info, "reason"));
    printf("session     %lld cells, %s%s\n",
           (long long)json_integer_value(json_object_get(info, "cells")),
           lost ? "lost: " : "memory ", lost ? lost : memory);
    json_decref(info);
    return 0;
}

static int limits_run(struct repl *r, const char *words, sbr_error *err)
{
    json_t *answer = repl_ask(r, json_pack("{s:s}", "op", "limits"), err);

    (void)words;
    if (!answer)
        return err->code;
    session_print_limits(answer);
    json_decref(answer);
    return 0;
}

/* The code of the cells that did not fail. */
static char *script(const struct repl *r, size_t *ret_cells)
{
    const json_t *cell;
    struct buf text;
    size_t i;

    buf_init(&text, SIZE_MAX / 2);
    json_array_foreach(r->cells, i, cell) {
        const json_t *code = json_object_get(cell, "code");

        if (!json_is_true(json_object_get(json_object_get(cell, "result"), "success")))
            continue;
        buf_add(&text, json_string_value(code), json_string_length(code));
        buf_add_text(&text, "\n");
        ++*ret_cells;
    }
    return buf_take(&text, &(size_t){ 0 });
}

/* A notebook and a document have all cells, with their output. */
static int saved_text(struct repl *r, const char *path, char **ret, size_t *ret_cells,
                      sbr_error *err)
{
    size_t len = strlen(path);
    const char *format = text_ends(path, len, ".ipynb") ? "ipynb"
                         : text_ends(path, len, ".md")  ? "md"
                                                        : NULL;

    if (format) {
        *ret_cells = r->ours ? json_array_size(r->cells) : ALL_CELLS;
        return sbr_session_export(r->id, format, ret, err);
    }
    *ret = script(r, ret_cells);
    return *ret ? 0 : err_set_oom(err, "repl");
}

static int save_run(struct repl *r, const char *words, sbr_error *err)
{
    scoped_save_file struct save_file to = SAVE_FILE_NONE;
    scoped_free char *text = NULL;
    size_t cells = 0;

    if (!words[0])
        return err_set(err, SBR_E_INVALID, "repl", "name a file: `:save work.ipynb`");
    if (session_open_file(r->id, words, &to, err) < 0 ||
        saved_text(r, words, &text, &cells, err) < 0 ||
        save_file_write(&to, text, strlen(text), err) < 0) {
        err->code = SBR_E_INVALID; /* the prompt goes on */
        return err->code;
    }
    if (cells == ALL_CELLS)
        printf("all cells of the session saved to %s\n", words);
    else
        printf("%zu %s saved to %s\n", cells, cells == 1 ? "cell" : "cells", words);
    return 0;
}

static int load_run(struct repl *r, const char *words, sbr_error *err)
{
    scoped_free char *text = NULL;
    size_t len;

    if (!words[0])
        return err_set(err, SBR_E_INVALID, "repl", "name a file: `:load part.py`");
    if (source_read_path(words, &text, &len, err) < 0)
        return SBR_E_INVALID; /* the prompt goes on */
    return repl_execute(r, text, len, err);
}

static int quit_run(struct repl *r, const char *words, sbr_error *err)
{
    (void)words, (void)err;
    r->over = true;
    return 0;
}

static int files_run(struct repl *r, const char *words, sbr_error *err)
{
    json_t *answer = repl_ask(r, json_pack("{s:s}", "op", "files"), err);
    const json_t *file;
    char size[24];
    size_t i;

    (void)words;
    if (!answer)
        return err->code;
    json_array_foreach(json_object_get(answer, "files"), i, file) {
        const char *path = json_string_value(json_object_get(file, "path"));

        amount_of_bytes((uint64_t)json_integer_value(json_object_get(file, "size")), size,
                        sizeof(size));
        printf("%8s  ", size);
        display_text(&r->display, STDOUT_FILENO, path ? path : "", path ? strlen(path) : 0);
        fputc('\n', stdout);
    }
    json_decref(answer);
    return 0;
}

/* Back to the state before the last cell. */
static int undo_run(struct repl *r, const char *words, sbr_error *err)
{
    size_t n = json_array_size(r->cells);
    const json_t *result = json_object_get(json_array_get(r->cells, n - 1), "result");
    json_int_t cell = json_integer_value(json_object_get(result, "cell"));
    json_t *answer;

    (void)words;
    if (!n && !r->ours)
        return err_set(err, SBR_E_INVALID, "repl",
                       "there is no cell to take back that this prompt has run; `sandbox-run "
                       "session rollback %s N` returns to the state before cell N",
                       r->id);
    if (!n)
        return err_set(err, SBR_E_INVALID, "repl", "there is no cell to take back");
    answer = repl_ask(r, json_pack("{s:s, s:I}", "op", "rollback", "cell", cell), err);
    if (!answer)
        return err->code;
    json_array_remove(r->cells, n - 1);
    printf("cell %lld is taken back\n", (long long)cell);
    json_decref(answer);
    return 0;
}

static int fork_run(struct repl *r, const char *words, sbr_error *err)
{
    json_t *answer = repl_ask(r, json_pack("{s:s}", "op", "fork"), err);
    const char *id = json_string_value(json_object_get(answer, "id"));

    (void)words;
    if (!answer)
        return err->code;
    printf(
        "session %s goes on from here, too; `sandbox-run session exec %s` executes a cell there\n",
        id ? id : "", id ? id : "");
    json_decref(answer);
    return 0;
}

struct grant {
    const char *op, *key, *wanted, *done, *doing;
};

/* A sandbox without a way out cannot get one: the session goes on in another one, which was made
 * with it, and the prompt goes with it. */
static int move(struct repl *r, const json_t *answer, sbr_error *err)
{
    const char *id = json_string_value(json_object_get(answer, "id"));
    const char *by = json_string_value(json_object_get(answer, "by"));
    sbr_session *there = NULL, *before = r->session;
    sbr_error ignored;
    json_t *held;

    if (sbr_session_open(id, &there, err) < 0)
        return err->code;
    r->session = there;
    held = repl_ask(r, json_pack("{s:s}", "op", "hold"), err);
    if (!held) {
        r->session = before;
        sbr_session_free(there);
        return err->code;
    }
    json_decref(held);
    sbr_session_free(before); /* it is held by this prompt, and ends */
    (void)!sbr_session_close(r->id, &ignored);
    snprintf(r->id, sizeof(r->id), "%s", id);
    repl_take_input(r);
    printf("the session goes on in a sandbox with a way out, with its %s\n",
           by && !strcmp(by, "fork") ? "memory and files"
                                     : "files, after its cells were executed again");
    return 0;
}

/* A change of a living sandbox: the session says what it cannot be given, and what to do. */
static int grant(struct repl *r, const struct grant *what, const char *words, sbr_error *err)
{
    struct waiting waiting;
    char doing[120], said[400];
    json_t *answer;

    if (!words[0])
        return err_set(err, SBR_E_INVALID, "repl", "name one: `:%s %s`", what->op, what->wanted);
    snprintf(doing, sizeof(doing), "%s %.80s", what->doing, words);
    waiting_begin(&waiting, doing, r->o->quiet);
    answer = repl_ask(r,
                      json_pack("{s:s, s:s, s:b}", "op", what->op, what->key, words, "move",
                                r->ours && !r->o->request->network_given),
                      err);
    waiting_end(&waiting);
    if (!answer)
        return err->code;
    if (json_object_get(answer, "id") && move(r, answer, err) < 0) {
        json_decref(answer);
        return err->code;
    }
    snprintf(said, sizeof(said), "%.300s %s from now on\n", words, what->done);
    display_text(&r->display, STDOUT_FILENO, said, strlen(said));
    json_decref(answer);
    return 0;
}

static int dep_run(struct repl *r, const char *words, sbr_error *err)
{
    static const struct grant dep = { "dep", "name", "NAME", "is there", "installing" };

    return grant(r, &dep, words, err);
}

static int allow_run(struct repl *r, const char *words, sbr_error *err)
{
    static const struct grant allow = { "allow", "host", "HOST", "can be reached",
                                        "opening the way to" };

    return grant(r, &allow, words, err);
}

/* Cells are for another language from here on, in a kernel beside the session's own. */
static int lang_run(struct repl *r, const char *words, sbr_error *err)
{
    const char *name = words[0] ? words : r->own;
    json_t *answer = repl_ask(r, json_pack("{s:s, s:s}", "op", "kernel", "lang", name), err);
    const char *lang = json_string_value(json_object_get(answer, "lang"));

    if (!answer)
        return err->code;
    snprintf(r->spoken, sizeof(r->spoken), "%s", lang ? lang : r->own);
    r->language = r->display.language = r->spoken;
    r->second = strcmp(r->spoken, r->own) ? r->spoken : NULL;
    json_decref(answer);
    return 0;
}

/* clang-format off */
static const struct colon_command colon_commands[] = {
    { "help",    "",     "these lines, and what stays from cell to cell",      help_run    },
    { "vars",    "",     "names, types and values",                            vars_run    },
    { "files",   "",     "the files in /work",                                 files_run   },
    { "metrics", "",     "time and memory of the last cell, and of the session", metrics_run },
    { "limits",  "",     "what each cell may use",                             limits_run  },
    { "save",    "FILE", "write the cells to a file; .ipynb: with their output", save_run    },
    { "load",    "FILE", "run a file as one cell",                             load_run    },
    { "undo",    "",     "take the last cell back",                            undo_run    },
    { "fork",    "",     "a second session that goes on from here",            fork_run    },
    { "lang",    "NAME", "cells for another language here; alone: back",       lang_run    },
    { "dep",     "NAME", "add a package",                                      dep_run     },
    { "allow",   "HOST", "let it reach a host, as in example.org:443",         allow_run   },
    { "quit",    "",     "end the session",                                    quit_run    },
    { 0 },
};
/* clang-format on */

static int help_run(struct repl *r, const char *words, sbr_error *err)
{
    const struct language *language = language_find(r->language);

    (void)words, (void)err;
    for (const struct colon_command *c = colon_commands; c->name; c++)
        printf(":%-8s %-6s %s\n", c->name, c->words, c->help);
    puts("Ctrl-C interrupts a cell and keeps its variables; Ctrl-D leaves; Tab completes.");
    if (language && language->session.keeps)
        puts(language->session.keeps);
    return 0;
}

const char *repl_command_name(size_t i)
{
    return i < sizeof(colon_commands) / sizeof(*colon_commands) ? colon_commands[i].name : NULL;
}

static const struct colon_command *find_command(const char *name, size_t len)
{
    for (const struct colon_command *c = colon_commands; c->name; c++)
        if (strlen(c->name) == len && !strncmp(c->name, name, len))
            return c;
    return NULL;
}

int repl_command(struct repl *r, const char *line, sbr_error *err)
{
    size_t len = strcspn(line + 1, " \t"), end = strlen(line);
    const char *behind = line + 1 + len;
    const struct colon_command *c = find_command(line + 1, len);
    scoped_free char *words = NULL;

    while (end > 1 && strchr(" \t", line[end - 1]))
        end--;
    behind += strspn(behind, " \t");
    words = strndup(behind, behind < line + end ? (size_t)(line + end - behind) : 0);
    if (!words)
        return err_set_oom(err, "repl");
    if (!c)
        return err_set(err, SBR_E_INVALID, "repl",
                       "there is no '%.40s'; :help lists what there is, and a blank before the "
                       "colon makes the line a cell",
                       line);
    if (words[0] && !c->words[0])
        return err_set(err, SBR_E_INVALID, "repl", "`:%s` takes no '%.40s'; give it alone", c->name,
                       words);
    return c->run(r, words, err);
}
