/* Requests of a connection, in pieces: how they are cut changes nothing, nothing behind a fault is
 * passed on, and what is passed on has no line that begins with a space. */
#include <stdlib.h>
#include <string.h>

#include "front/front_check.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct front_check whole = { 0 }, cut = { 0 };
    size_t passed = front_check_feed(&whole, text, size), step = size ? data[0] % 7 + 1 : 1;

    for (size_t at = 0; at < size; at += step)
        (void)front_check_feed(&cut, text + at, size - at < step ? size - at : step);
    if (whole.status != cut.status || whole.heads != cut.heads || passed > size)
        abort();
    if (whole.status ? front_check_feed(&whole, text, size) != 0 : passed != size)
        abort();
    return 0;
}
