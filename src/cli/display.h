/* What a session shows to a person: output as it comes, values, errors, and why a cell ended. */
#ifndef CLI_DISPLAY_H
#define CLI_DISPLAY_H

#include <jansson.h>

#include "cli/options.h"
#include "cli/terminal.h"

struct display {
    const struct options *o;
    const char *language; /* for colours; NULL: none */
    const char *allow;    /* what gives this session a host: words before it; NULL: nothing does */
    bool terminal;        /* a person sees the output */
    struct terminal_filter filters[2];
    char folder[64]; /* of pictures and long output; empty: none yet */
    int folder_fd;   /* -1: none yet */
    size_t n_files;  /* of long output */
    bool waits;      /* it was said that the cell waits for the engine */
    /* stdout of the cell that runs: from some line on it goes to a file. */
    size_t lines;
    struct buf head; /* what was shown */
    int whole_fd;    /* all of it; -1: it is short so far */
    char whole[128];
};

void display_init(struct display *d, const struct options *o);
void display_done(struct display *d);
/* Removes the files of pictures and long output: the person has left the prompt that named them. */
void display_forget(struct display *d);
/* An event of a cell: a line of JSON.  `context` is the display. */
void display_event(void *context, const char *line, size_t len);
/* The end of a cell: its values, and why it ended. */
void display_result(struct display *d, const json_t *result);
/* What the cell was refused, where a run says it: to a person, and after a failure.  Part of
 * display_result. */
void display_denials(const struct display *d, const json_t *result, bool failed);
/* What the values of the session's next cell shall fit into: the person's terminal. */
void display_fit(const struct display *d, sbr_session *s);
/* Text of the program: on a terminal without control strings. */
void display_text(struct display *d, int fd, const char *text, size_t len);
/* The exit status that belongs to the result of a cell. */
int display_status(const json_t *result);

/* `sandbox-run --display`: a program as the only cell of a session, and what it shows. */
int display_run(struct options *o);

#endif
