#include "explain/ending.h"

#include <stdlib.h>
#include <string.h>

#define ESCAPE '\x1b'
#define BELL '\a'

/* Colours and the like: ESC [ parameters letter. */
static size_t control_len(const char *text, size_t len)
{
    size_t i = 2;

    while (i < len && (text[i] < '@' || text[i] > '~'))
        i++;
    return i < len ? i + 1 : len;
}

/* Titles and links: ESC ] text, then BEL or ESC \. */
static size_t command_len(const char *text, size_t len)
{
    size_t i = 2;

    while (i < len && text[i] != BELL && text[i] != ESCAPE)
        i++;
    if (i < len && text[i] == ESCAPE)
        i++;
    return i < len ? i + 1 : len;
}

static size_t escape_len(const char *text, size_t len)
{
    if (len < 2)
        return len;
    return text[1] == '[' ? control_len(text, len) : text[1] == ']' ? command_len(text, len) : 2;
}

size_t last_words_clean(char *text, size_t len)
{
    size_t used = 0;

    for (size_t i = 0; i < len;) {
        if (text[i] == ESCAPE) {
            i += escape_len(text + i, len - i);
        } else if (text[i] == '\r') { /* a line that is drawn again is another line */
            while (i < len && text[i] == '\r')
                i++;
            if (i < len && text[i] != '\n')
                text[used++] = '\n';
        } else {
            text[used++] = text[i++];
        }
    }
    return used;
}

struct last_words last_words_of(const sbr_result *result)
{
    bool is_tty = result->tty_rows && !result->err.total;
    struct last_words words = { 0 };

    words.text = result_output_end(is_tty ? &result->out : &result->err, &words.len);
    if (!is_tty || !words.len)
        return words;
    words.copy = malloc(words.len + 1);
    if (!words.copy)
        return (struct last_words){ 0 };
    memcpy(words.copy, words.text, words.len);
    words.len = last_words_clean(words.copy, words.len);
    words.copy[words.len] = '\0';
    words.text = words.copy;
    return words;
}

void last_words_done(struct last_words *words)
{
    free(words->copy);
    words->copy = NULL;
}
