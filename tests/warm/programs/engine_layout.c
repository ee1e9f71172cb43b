/* Where the words of the engine and its clients stand, for a test that plays one of both. */
#include <stddef.h>
#include <stdio.h>

#include "wire/engine.h"

int main(void)
{
    printf("{\"version\": %u, \"request\": %zu, \"key\": %zu, \"label\": %zu, \"reply\": %zu, "
           "\"position\": %zu, \"unknown\": %zu, \"reason\": %zu, \"caller\": %zu, \"share\": %zu, "
           "\"memory\": %zu}\n",
           ENGINE_VERSION, sizeof(struct engine_request), offsetof(struct engine_request, key),
           offsetof(struct engine_request, label), sizeof(struct engine_reply),
           offsetof(struct engine_reply, position), offsetof(struct engine_reply, unknown),
           offsetof(struct engine_reply, reason), offsetof(struct engine_request, caller),
           offsetof(struct engine_request, share), offsetof(struct engine_request, memory_bytes));
    return 0;
}
