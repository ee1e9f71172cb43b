/* Bytes of a terminal to keys.  Pure: no byte is read here. */
#ifndef EDIT_KEYS_H
#define EDIT_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define KEYS_PASTE_MAX ((size_t)16 << 20)

enum key_code {
    KEY_UNKNOWN, /* a sequence that means nothing here */
    KEY_TEXT,    /* one character, UTF-8, in `text` */
    KEY_PASTE,   /* pasted text: keys_paste has it */
    KEY_CONTROL, /* Ctrl with the letter or sign in `text`; Ctrl-Space comes as '@' */
    KEY_ALT,     /* Alt with the character in `text` */
    KEY_ENTER,
    KEY_ALT_ENTER,
    KEY_TAB,
    KEY_BACK_TAB,
    KEY_BACKSPACE,
    KEY_ALT_BACKSPACE,
    KEY_DELETE,
    KEY_ESCAPE,
    KEY_UP,
    KEY_DOWN,
    KEY_RIGHT,
    KEY_LEFT,
    KEY_WORD_RIGHT,
    KEY_WORD_LEFT,
    KEY_HOME,
    KEY_END,
    KEY_TEXT_HOME, /* Ctrl-Home */
    KEY_TEXT_END,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN
};

struct key {
    enum key_code code;
    char text[8];
};

enum keys_state {
    KEYS_START,
    KEYS_CHARACTER,
    KEYS_ESCAPED,
    KEYS_SEQUENCE,
    KEYS_LETTER,
    KEYS_PASTE
};

struct keys {
    enum keys_state state;
    char held[32]; /* bytes of a key that is not whole */
    size_t n;
    bool alt; /* of a character */
    struct buf paste;
};

void keys_init(struct keys *k);
void keys_done(struct keys *k);
/* True: *ret is a key. */
bool keys_add(struct keys *k, char byte, struct key *ret);
/* Whether an Escape may be the key by itself: nothing followed it yet. */
bool keys_waits(const struct keys *k);
/* Nothing followed: the key that the held bytes are by themselves. */
void keys_end(struct keys *k, struct key *ret);

#endif
