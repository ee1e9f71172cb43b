/* Where the words of the engine and its clients stand, for a test that plays the engine. */
#include <stddef.h>
#include <stdio.h>

#include "wire/engine.h"

int main(void)
{
    printf("{\"version\": %u, \"key\": %zu, \"label\": %zu, \"reply\": %zu, \"position\": %zu, "
           "\"unknown\": %zu, \"reason\": %zu}\n",
           ENGINE_VERSION, offsetof(struct engine_request, key),
           offsetof(struct engine_request, label), sizeof(struct engine_reply),
           offsetof(struct engine_reply, position), offsetof(struct engine_reply, unknown),
           offsetof(struct engine_reply, reason));
    return 0;
}
