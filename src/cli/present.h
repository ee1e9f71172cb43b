/* How results look to a person: header, explanation, metrics; colours on a terminal only. */
#ifndef CLI_PRESENT_H
#define CLI_PRESENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "model/result.h"

struct jsonw;

#define PRESENT_ID 12 /* characters of the id of changes: enough to be unique */

#define PRESENT_DENIALS 10 /* lines for what one run was refused */

/* True when the stream is a terminal that wants colours. */
bool present_uses_color(int fd, const struct options *o);

void present_header(const char *title, const struct options *o);
/* Of what present_result prints. */
enum present_detail {
    PRESENT_END, /* for a log: why the run ended, if not by itself; what a failed one was refused */
    PRESENT_HELP, /* for a person: the diagnosis and all refusals too */
    PRESENT_ALL   /* the line of metrics too */
};
void present_result(const sbr_result *result, const struct options *o, enum present_detail detail);
/* True when present_result prints anything. */
bool present_has_words(const sbr_result *result, enum present_detail detail);
/* One line: what was refused and why; `allows` follows a remedy that is an option. */
void present_denial(const struct denial *d, const char *allows, const struct options *o);
/* The sentence that says why the run ended; part of present_result. */
void present_explanation(const sbr_result *result, const struct options *o);
/* Output that was lost because its reader did not read, and where all of it is kept. */
void present_streams(const sbr_result *result, const struct options *o);
/* That a failed command named a file of the caller's directory, which is not inside. */
void present_not_inside(const sbr_result *result, const struct options *o);
void present_error(const sbr_error *err, const struct options *o);
/* From here on stderr leads nowhere, for this process and its children; errors still come. */
void present_errors_only(void);

/* Prints a name of a file: control characters are made visible. */
void present_name(FILE *out, const char *name);
/* True when JSON on stdout is for a person: indented on a terminal.  A pipe gets one line for each
 * object, so that a reader can take it line by line. */
bool present_has_lines(void);
/* Prints what was written on stdout, and frees it. */
void present_json(struct jsonw *j);
/* Prints the result, in parts: its output may be gigabytes. */
int present_result_json(const sbr_result *result, sbr_error *err) must_check;

/* Changes in copy-on-write trees and files that were copied out, where the request wants them. */
/* With `asked` the question to the person follows (cli/changes_menu.h). */
void present_changes(const sbr_result *result, const struct options *o, bool asked);

/* Output of a stage that succeeded, before the program's own: with --verbose, and a compiler's on a
 * terminal, because it warns. */
void present_warnings(const sbr_result *stage, const struct options *o);
/* The same of a program from the cache, as its compiler wrote them when it made it. */
void present_earlier_warnings(const char *text, const struct options *o);
/* A published port listens. */
void present_port(const sbr_event *event);
/* Output of the stages before the program that failed, and warnings of those from `first` on. */
void present_stages(const sbr_result *result, size_t first, const struct options *o);

/* Pictures on a terminal.  kitty and iTerm2 draw a PNG themselves; for others `chafa` makes sixels
 * or coloured blocks of it.  The bytes come from an untrusted program, so chafa reads them in a
 * sandbox of its own, and what it answers is checked before it reaches the terminal. */

/* What a terminal can do, by its name and its variables, or by SANDBOX_RUN_PICTURES. */
enum picture_way { PICTURE_FILE, PICTURE_KITTY, PICTURE_ITERM, PICTURE_SIXEL, PICTURE_BLOCKS };

enum picture_way picture_way(bool color);
/* Shows a PNG on stdout; false: it cannot be shown, and nothing was written. */
bool picture_show(enum picture_way way, const char *bytes, size_t len);

/* A page of the documentation for a reader at a terminal: what Markdown means, not its signs. */
#define RENDER_LEAST 40 /* columns; a narrower terminal breaks lines itself */

/* Adds the page in lines of at most `width` columns; only long words and code are longer. */
void render_page(const char *page, size_t width, bool color, struct buf *out);

/* Tables of text that are wider than the terminal. */

/* Adds a table, whose columns stand between " | " and whose second line is of '-' and '+', with
 * its widest columns cut so that it has at most `width` columns.  False, and nothing is added: it
 * is no such table, it fits, or it has too many columns. */
bool table_fit(const char *text, size_t len, size_t width, struct buf *out);

/* Colours for code and values: texts, numbers, comments and the words of a language. */

/* Adds the text with colours to `out`.  What is shown is the same: only sequences that colour come
 * between.  A text with control characters, the newline and the tab apart, stays as it is. */
void highlight(const char *language, const char *text, size_t len, struct buf *out);

/* An explanation (explain/ending.h) for people. */
struct json_t; /* of jansson */

/* On stdout. */
void explain_print(const struct json_t *explanation, const struct options *o);

#endif
