/* Messages of compilers and build tools, each in its own form: the place, the words, the code. */
#ifndef WORK_MESSAGE_FORMS_H
#define WORK_MESSAGE_FORMS_H

#include <stdbool.h>
#include <stddef.h>

#include "work/build_messages.h"

/* Bytes of the output; not NUL-terminated. */
struct message_span {
    const char *at;
    size_t len;
};

struct message_found {
    enum message_severity severity;
    struct message_span file, text, code;
    unsigned long line, column;
};

/* Output without colours, read line by line. */
struct message_lines {
    const char *text;
    size_t len;
    size_t at; /* of the next line */
};

/* The next message; false: there is none any more. */
bool message_forms_next(struct message_lines *lines, struct message_found *ret);
/* Takes the word off the front; false: it is not there. */
bool message_forms_take(struct message_span *s, const char *word);

#endif
