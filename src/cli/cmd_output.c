/* output: what runs with --keep-output have written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "changes/kept_output.h"
#include "cli/amounts.h"
#include "cli/documents.h"
#include "cli/present.h"
#include "cli/terminal.h"
#include "config/retention.h"

#define CHUNK (64 * 1024)

struct output_options {
    const char *range;
    bool of_stderr, all, ids;
};

static const struct output_options *own(const struct options *o)
{
    return o->own;
}

static const char *state_word(const struct kept_output *output)
{
    return output->running ? "running" : output->ended ? "ended" : "killed";
}

/* As the configuration has it. */
static uint64_t seconds_kept(const struct options *o)
{
    const struct retention *retention = o->documents ? o->documents->retention(o) : NULL;

    return retention ? retention->value[RETAIN_OUTPUT_AGE] : (uint64_t)kept_output_bounds.seconds;
}

static void put_output(struct jsonw *j, const struct options *o, const struct kept_output *output)
{
    static const char *const names[N_KEPT_STREAMS][2] = { { "stdout_bytes", "stdout_kept_bytes" },
                                                          { "stderr_bytes", "stderr_kept_bytes" } };

    jsonw_text(j, "id", output->id);
    jsonw_text(j, "about", output->about);
    jsonw_number(j, "created", output->created > 0 ? (uint64_t)output->created : 0);
    jsonw_number(j, "expires", (uint64_t)output->used + seconds_kept(o));
    jsonw_text(j, "state", state_word(output));
    for (unsigned int i = 0; i < N_KEPT_STREAMS; i++) {
        jsonw_number(j, names[i][0], output->total[i]);
        jsonw_number(j, names[i][1], output->kept[i]);
    }
}

struct output_listing {
    const struct options *o;
    struct jsonw json;
    size_t n;
};

static void print_line(const struct kept_output *output)
{
    char out[24], err[24], idle[24];

    amount_of_idle(output->created, idle, sizeof(idle));
    amount_of_bytes(output->kept[KEPT_STDOUT], out, sizeof(out));
    amount_of_bytes(output->kept[KEPT_STDERR], err, sizeof(err));
    printf("%.*s  %5s  %7s  stdout %6s  stderr %6s%s%s%s\n", PRESENT_ID, output->id, idle,
           state_word(output), out, err, output->about[0] ? "  (" : "", output->about,
           output->about[0] ? ")" : "");
}

static int list_one(void *context, const struct kept_output *output)
{
    struct output_listing *listing = context;

    listing->n++;
    if (own(listing->o)->ids) {
        printf("%s\n", output->id);
        return 0;
    }
    if (!listing->o->json) {
        print_line(output);
        return 0;
    }
    jsonw_open(&listing->json, NULL, '{');
    put_output(&listing->json, listing->o, output);
    jsonw_close(&listing->json, '}');
    return 0;
}

static int list_run(const struct options *o, sbr_error *err)
{
    struct output_listing listing = { .o = o };
    int r;

    jsonw_init(&listing.json, true);
    jsonw_open(&listing.json, NULL, '{');
    jsonw_open(&listing.json, "outputs", '[');
    r = kept_output_list(list_one, &listing, err);
    jsonw_close(&listing.json, ']');
    jsonw_number(&listing.json, "count", listing.n);
    jsonw_close(&listing.json, '}');
    if (r == 0 && o->json && !own(o)->ids) {
        present_json(&listing.json);
        return 0;
    }
    free(jsonw_take(&listing.json));
    fflush(stdout);
    if (r == 0 && !listing.n && !own(o)->ids)
        fprintf(stderr, "no output is kept; a run with --keep-output keeps it\n");
    return r;
}

static int bad_range(const char *text, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "options",
                   "--range '%.40s' should be the first and the last byte, counted from 0, as in "
                   "0-999; 1m- is all from there, -64k the end",
                   text);
}

/* START-END, START- or -LENGTH of `size` bytes, as the bytes [*first, *end). */
static int read_range(const char *text, uint64_t size, uint64_t *first, uint64_t *end,
                      sbr_error *err)
{
    const char *dash = strchr(text, '-');
    char start[40] = "";
    uint64_t last;

    *first = 0;
    *end = size;
    if (!dash || (size_t)(dash - text) >= sizeof(start) || (dash == text && !dash[1]))
        return bad_range(text, err);
    memcpy(start, text, (size_t)(dash - text));
    if (start[0] && text_parse_size(start, first) != TEXT_OK)
        return bad_range(text, err);
    if (dash[1] && text_parse_size(dash + 1, &last) != TEXT_OK)
        return bad_range(text, err);
    if (dash[1] && !start[0])
        *first = last < size ? size - last : 0;
    else if (dash[1] && last < *first)
        return bad_range(text, err);
    else if (dash[1] && last < size)
        *end = last + 1;
    return 0;
}

/* A terminal gets no control sequences that do more than colour and move, as from `run`. */
static int print_bytes(int fd, uint64_t first, uint64_t end, bool clean, sbr_error *err)
{
    static char chunk[CHUNK];
    struct terminal_filter filter = { 0 };
    struct buf out;
    ssize_t n = 1;

    buf_init(&out, 4 * CHUNK + 1024);
    while (first < end && n > 0 && !ferror(stdout)) {
        n = pread(fd, chunk, end - first < CHUNK ? (size_t)(end - first) : CHUNK, (off_t)first);
        if (n <= 0)
            break;
        first += (uint64_t)n;
        out.len = 0;
        if (clean)
            terminal_clean(&filter, chunk, (size_t)n, &out);
        (void)fwrite(clean ? out.data : chunk, 1, clean ? out.len : (size_t)n,
                     stdout); /* cli_main checks the stream */
    }
    buf_done(&out);
    return n < 0 ? err_set_errno(err, "state", "cannot read the kept output") : 0;
}

static int show_run(const struct options *o, sbr_error *err)
{
    enum kept_stream stream = own(o)->of_stderr ? KEPT_STDERR : KEPT_STDOUT;
    const char *range = own(o)->range ? own(o)->range : "0-";
    scoped_fd int fd = -1;
    struct kept_output output;
    uint64_t first, end;
    struct jsonw j;

    if (kept_output_open(o->positional[0], stream, &output, &fd, err) < 0)
        return err->code;
    if (o->json) {
        jsonw_init(&j, present_has_lines());
        jsonw_open(&j, NULL, '{');
        put_output(&j, o, &output);
        jsonw_close(&j, '}');
        present_json(&j);
        return 0;
    }
    if (read_range(range, output.kept[stream], &first, &end, err) < 0)
        return err->code;
    return print_bytes(fd, first, end, !o->raw && isatty(STDOUT_FILENO), err);
}

static int rm_run(const struct options *o, sbr_error *err)
{
    size_t n = 0;
    struct jsonw j;

    if (own(o)->all != (o->n_positional == 1))
        return err_set(
            err, SBR_E_INVALID, "options",
            "say which: `sandbox-run output rm ID...`, or `sandbox-run output rm --all`");
    if (own(o)->all && kept_output_remove_all(&n, err) < 0)
        return err->code;
    for (size_t i = 1; i < o->n_positional; i++, n++)
        if (kept_output_remove(o->positional[i], err) < 0)
            return err->code;
    if (o->json) {
        jsonw_init(&j, present_has_lines());
        jsonw_open(&j, NULL, '{');
        jsonw_number(&j, "removed", n);
        jsonw_close(&j, '}');
        present_json(&j);
    } else {
        fprintf(stderr, "removed %zu\n", n);
    }
    return 0;
}

/* Which of the three is meant; NULL: an option does not go with it. */
static int (*choose(const struct options *o, sbr_error *err))(const struct options *, sbr_error *)
{
    const char *word = o->n_positional ? o->positional[0] : "list";
    bool list = !strcmp(word, "list"), rm = !strcmp(word, "rm");
    bool of_one = own(o)->range || own(o)->of_stderr;

    if ((list || rm) && of_one)
        err_set(err, SBR_E_INVALID, "options", "--range and --stderr need the id of an output");
    else if (!rm && own(o)->all)
        err_set(err, SBR_E_INVALID, "options", "--all is for `sandbox-run output rm`");
    else if (!rm && o->n_positional > 1)
        err_set(err, SBR_E_INVALID, "options", "one output at a time");
    else
        return list ? list_run : rm ? rm_run : show_run;
    return NULL;
}

static int output_run(struct options *o)
{
    sbr_error err;
    int (*run)(const struct options *, sbr_error *) = choose(o, &err);
    int r = run ? run(o, &err) : err.code;

    return r < 0 ? cli_fail(o, &err) : r;
}

/* clang-format off */
static const struct option own_options[] = {
    { 0, "stderr", NULL,        "of stderr; without it, of stdout",
      OPTION_OWN(struct output_options, of_stderr) },
    { 0, "range",  "START-END", "only these bytes, counted from 0; START- and -LENGTH also",
      OPTION_OWN(struct output_options, range) },
    { 0, "all",    NULL,        "with `rm`: all whose runs have ended",
      OPTION_OWN(struct output_options, all) },
    { 0, "ids",    NULL,        "with `list`: only the ids, for scripts",
      OPTION_OWN(struct output_options, ids) },
    { 0, "raw",    NULL,        "let terminal control sequences through", OPTION_FIELD(raw) },
    { 0 },
};
/* clang-format on */

const struct command cmd_output = {
    .name = "output",
    .usage = "[list | ID | rm ID... | rm --all]",
    .help = "print or remove the output that runs with --keep-output have kept",
    .examples =
        "  sandbox-run output                          what is kept, newest first\n"
        "  sandbox-run output 3f9ac0                   all of stdout, by the start of the id\n"
        "  sandbox-run output 3f9ac0 --stderr          all of stderr\n"
        "  sandbox-run output 3f9ac0 --range -64k      the end\n"
        "  sandbox-run output 3f9ac0 --range 1m-2m     a part of the middle\n"
        "  sandbox-run output rm 3f9ac0                removes it\n\n"
        "A run keeps at most 1 GiB, all runs 4 GiB; the oldest go first, and all after a day.\n",
    .options = (const struct option *const[]){ own_options, options_report, options_config,
                                               options_look, options_quiet, options_general, NULL },
    .own_size = sizeof(struct output_options),
    .ids = "output list --ids",
    .run = output_run,
};
