/* An editor of cells: keys go in, what the caller has to do comes out.  Pure: it neither reads nor
 * draws.  Three modes: the text, the menu of a completion, the search in the history. */
#ifndef EDIT_EDITOR_H
#define EDIT_EDITOR_H

#include "edit/edit_text.h"
#include "edit/history.h"
#include "edit/keys.h"

#define EDIT_FOUND_MAX 50

enum edit_mode { EDIT_TEXT, EDIT_MENU, EDIT_SEARCH };

/* What a key asks of the caller. */
enum edit_wish {
    EDIT_NOTHING,   /* but to draw */
    EDIT_ENTER,     /* is the text whole?  then it is the cell, else edit_new_line */
    EDIT_RUN,       /* the text is the cell, whole or not */
    EDIT_COMPLETE,  /* edit_matches with what the word before the cursor can become */
    EDIT_INTERRUPT, /* the text is given up */
    EDIT_OVER,      /* the input ends */
    EDIT_CLEAR,     /* the screen */
    EDIT_SUSPEND,
    EDIT_QUIT
};

struct editor {
    struct edit_text text;
    const struct history *history;
    size_t at;     /* the entry that is shown; n: the text is the person's own */
    char *own;     /* that one, while an entry is shown */
    char *prefix;  /* what entries begin with */
    bool recalled; /* the text is an entry, and unchanged */
    enum edit_mode mode;
    /* The menu. */
    char **matches;
    size_t n_matches, chosen; /* n_matches: none is */
    bool shown;               /* a match stands in the text */
    size_t word;              /* where the word begins */
    /* The search. */
    struct buf pattern;
    size_t found[EDIT_FOUND_MAX], n_found, selected;
};

void editor_init(struct editor *e);
void editor_done(struct editor *e);
/* A new text; the history is borrowed until the next one. */
void editor_begin(struct editor *e, const struct history *history, const char *text);
/* `paste`: of KEY_PASTE. */
enum edit_wish editor_key(struct editor *e, const struct key *key, const struct buf *paste);
/* The text goes on in a new line that begins with `indent`. */
void editor_new_line(struct editor *e, const char *indent);
/* What the word from `start` on can become; the editor copies it. */
void editor_matches(struct editor *e, const char *const *matches, size_t n, size_t start);
/* The text as a cell: a last line of blanks, which the indent made, is empty. */
size_t editor_cell_len(const struct editor *e);

#endif
