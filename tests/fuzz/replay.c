/* Feeds files to a fuzz target, without a fuzzer: replay_NAME FILE... */
#include <stdio.h>

#include "fuzz.h"

#define MAX_INPUT (1u << 20)

static int replay(const char *path)
{
    static uint8_t input[MAX_INPUT];
    FILE *file = fopen(path, "rb");
    uint8_t *exact;
    size_t size;

    if (!file) {
        perror(path);
        return 1;
    }
    size = fread(input, 1, sizeof(input), file);
    fclose(file);
    /* Exactly as large as the input, so that a sanitizer sees one byte too many. */
    exact = malloc(size + (size == 0));
    if (!exact)
        return 1;
    memcpy(exact, input, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    printf("%s: %zu bytes\n", path, size);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    return failed;
}
