#include "edit/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"

#define ESCAPE 0x1b
#define PASTE_BEGIN "200~"
#define PASTE_END "\033[201~"

/* Sequences behind ESC [ or ESC O, as xterm and its likes, rxvt and the Linux console send them. */
static const struct {
    const char *text;
    enum key_code code;
} sequences[] = {
    { "A", KEY_UP },
    { "B", KEY_DOWN },
    { "C", KEY_RIGHT },
    { "D", KEY_LEFT },
    { "H", KEY_HOME },
    { "F", KEY_END },
    { "Z", KEY_BACK_TAB },
    { "1~", KEY_HOME },
    { "7~", KEY_HOME },
    { "4~", KEY_END },
    { "8~", KEY_END },
    { "3~", KEY_DELETE },
    { "5~", KEY_PAGE_UP },
    { "6~", KEY_PAGE_DOWN },
    { "1;5C", KEY_WORD_RIGHT },
    { "1;3C", KEY_WORD_RIGHT },
    { "1;5D", KEY_WORD_LEFT },
    { "1;3D", KEY_WORD_LEFT },
    { "5C", KEY_WORD_RIGHT },
    { "5D", KEY_WORD_LEFT },
    { "1;5H", KEY_TEXT_HOME },
    { "1;5F", KEY_TEXT_END },
    { "1;3A", KEY_PAGE_UP },
    { "1;3B", KEY_PAGE_DOWN },
    { "27;3;13~", KEY_ALT_ENTER },
    { "13;3u", KEY_ALT_ENTER },
};

void keys_init(struct keys *k)
{
    *k = (struct keys){ 0 };
    buf_init(&k->paste, KEYS_PASTE_MAX);
}

void keys_done(struct keys *k)
{
    buf_done(&k->paste);
}

static bool is_key(struct keys *k, enum key_code code, struct key *ret)
{
    *ret = (struct key){ .code = code };
    k->state = KEYS_START;
    k->n = 0;
    k->alt = false;
    return true;
}

static bool is_character(struct keys *k, enum key_code code, const char *text, size_t len,
                         struct key *ret)
{
    is_key(k, code, ret);
    memcpy(ret->text, text, len);
    return true;
}

static bool control(struct keys *k, unsigned char byte, struct key *ret)
{
    char sign = (char)(byte | 0x40);

    if (byte >= 1 && byte <= 26)
        sign = (char)(byte | 0x60);
    switch (byte) {
    case '\r':
    case '\n':
        return is_key(k, k->alt ? KEY_ALT_ENTER : KEY_ENTER, ret);
    case '\t':
        return is_key(k, KEY_TAB, ret);
    case '\b':
    case 0x7f:
        return is_key(k, k->alt ? KEY_ALT_BACKSPACE : KEY_BACKSPACE, ret);
    default:
        return is_character(k, KEY_CONTROL, &sign, 1, ret);
    }
}

/* The bytes of one character come one by one. */
static bool character(struct keys *k, char byte, struct key *ret)
{
    unsigned char first;
    size_t len;

    k->held[k->n++] = byte;
    first = (unsigned char)k->held[0];
    len = first >= 0xf8 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    k->state = KEYS_CHARACTER;
    if (k->n > 1 && ((unsigned char)byte & 0xc0) != 0x80) {
        k->n = 0; /* the character before it was broken off */
        return keys_add((k->state = KEYS_START, k), byte, ret);
    }
    if (k->n < len)
        return false;
    if (text_character_len(k->held, k->n) != len)
        return is_character(k, KEY_TEXT, "\xef\xbf\xbd", 3, ret);
    return is_character(k, k->alt ? KEY_ALT : KEY_TEXT, k->held, len, ret);
}

static bool sequence(struct keys *k, char byte, struct key *ret)
{
    if (k->n + 1 >= sizeof(k->held))
        return is_key(k, KEY_UNKNOWN, ret);
    k->held[k->n++] = byte;
    if (byte == ESCAPE) { /* broken off */
        k->n = 0;
        k->state = KEYS_ESCAPED;
        return false;
    }
    if ((byte < 0x40 || byte > 0x7e) && k->state == KEYS_SEQUENCE)
        return false;
    k->held[k->n] = '\0';
    if (!strcmp(k->held, PASTE_BEGIN)) {
        k->paste.len = 0;
        k->state = KEYS_PASTE;
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(sequences); i++)
        if (!strcmp(k->held, sequences[i].text))
            return is_key(k, sequences[i].code, ret);
    return is_key(k, KEY_UNKNOWN, ret);
}

static bool escaped(struct keys *k, char byte, struct key *ret)
{
    if (byte == '[' || byte == 'O') {
        k->state = byte == '[' ? KEYS_SEQUENCE : KEYS_LETTER;
        k->n = 0;
        return false;
    }
    if (byte == ESCAPE)
        return is_key(k, KEY_ESCAPE, ret);
    k->alt = true;
    if ((unsigned char)byte < 0x20 || byte == 0x7f)
        return control(k, (unsigned char)byte, ret);
    return character(k, byte, ret);
}

/* A terminal sends Enter as \r, also within pasted text. */
static bool pasted(struct keys *k, char byte, struct key *ret)
{
    const size_t end = sizeof(PASTE_END) - 1;

    (void)buf_add(&k->paste, byte == '\r' ? "\n" : &byte, 1); /* what is too long ends there */
    if (k->paste.len < end || memcmp(k->paste.data + k->paste.len - end, PASTE_END, end) != 0)
        return false;
    k->paste.len -= end;
    k->paste.data[k->paste.len] = '\0';
    return is_key(k, KEY_PASTE, ret);
}

bool keys_add(struct keys *k, char byte, struct key *ret)
{
    switch (k->state) {
    case KEYS_PASTE:
        return pasted(k, byte, ret);
    case KEYS_SEQUENCE:
    case KEYS_LETTER:
        return sequence(k, byte, ret);
    case KEYS_ESCAPED:
        return escaped(k, byte, ret);
    case KEYS_CHARACTER:
        return character(k, byte, ret);
    case KEYS_START:
        break;
    }
    if (byte == ESCAPE) {
        k->state = KEYS_ESCAPED;
        return false;
    }
    if ((unsigned char)byte < 0x20 || byte == 0x7f)
        return control(k, (unsigned char)byte, ret);
    return character(k, byte, ret);
}

bool keys_waits(const struct keys *k)
{
    return k->state == KEYS_ESCAPED ||
           ((k->state == KEYS_SEQUENCE || k->state == KEYS_LETTER) && !k->n);
}

void keys_end(struct keys *k, struct key *ret)
{
    enum keys_state state = k->state;

    is_key(k, KEY_ESCAPE, ret);
    if (state == KEYS_SEQUENCE || state == KEYS_LETTER)
        is_character(k, KEY_ALT, state == KEYS_SEQUENCE ? "[" : "O", 1, ret);
}
