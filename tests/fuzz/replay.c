/* Feeds every file of directories to a fuzz target, without a fuzzer: replay_NAME DIRECTORY...
 *
 * A line on stderr names each file before the target gets it: the last one names what ended the
 * program. */
#include <dirent.h>
#include <stdio.h>

#include "fuzz.h"

#define INPUT_MAX (1u << 20)

static int replay(const char *path)
{
    static uint8_t input[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    uint8_t *exact;
    size_t size;

    fprintf(stderr, "%s\n", path);
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
    return 0;
}

static int replay_all(const char *path)
{
    char name[4096];
    struct dirent **files;
    int n = scandir(path, &files, NULL, alphasort), failed = n < 0;

    if (failed)
        perror(path);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s/%s", path, files[i]->d_name);
        if (files[i]->d_name[0] != '.')
            failed |= replay(name);
        free(files[i]);
    }
    if (n >= 0)
        free(files);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed |= replay_all(argv[i]);
    return failed;
}
