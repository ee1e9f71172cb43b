/* Where the words of the engine and its clients stand, for a test that plays one of both. */
#include <stddef.h>
#include <stdio.h>

#include "wire/engine.h"

int main(void)
{
    printf("{\"version\": %u, \"request\": %zu, \"key\": %zu, \"label\": %zu, \"reply\": %zu, "
           "\"position\": %zu, \"unknown\": %zu, \"reason\": %zu}\n",
           ENGINE_VERSION, sizeof(struct engine_request), offsetof(struct engine_request, key),
           offsetof(struct engine_request, label), sizeof(struct engine_reply),
           offsetof(struct engine_reply, position), offsetof(struct engine_reply, unknown),
           offsetof(struct engine_reply, reason));
    return 0;
}
