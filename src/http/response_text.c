#include "http/response_text.h"

#include <stdlib.h>
#include <string.h>

struct response_text *response_text_of_bytes(char *bytes, size_t len)
{
    struct response_text *text = bytes ? malloc(sizeof(*text)) : NULL;

    if (text)
        *text = (struct response_text){ .bytes = bytes, .len = len, .users = 1 };
    else
        free(bytes);
    return text;
}

struct response_text *response_text_of(char *text)
{
    return response_text_of_bytes(text, text ? strlen(text) : 0);
}

struct response_text *response_text_share(struct response_text *text)
{
    text->users++;
    return text;
}

void response_text_drop(struct response_text *text)
{
    if (!text || --text->users)
        return;
    free(text->bytes);
    free(text);
}
