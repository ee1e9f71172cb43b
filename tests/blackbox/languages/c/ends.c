/* Ends in the way that its argument names. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int inner(const int *values)
{
    assert(values != NULL);
    return *values;
}

static int outer(void)
{
    return inner(NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "exit")) {
        puts("leaving");
        fputs("complaint\n", stderr);
        exit(7);
    }
    if (!strcmp(how, "error")) {
        puts("before");
        fflush(stdout);
        return outer();
    }
    if (!strcmp(how, "crash")) {
        puts("before");
        fflush(stdout);
        return *(volatile int *)NULL;
    }
    if (!strcmp(how, "loop")) {
        puts("started");
        fflush(stdout);
        for (volatile int i = 0;; i++)
            continue;
    }
    if (!strcmp(how, "memory")) {
        puts("started");
        fflush(stdout);
        for (;;) {
            char *block = malloc(4 << 20);
            if (!block)
                abort();
            memset(block, 'x', 4 << 20);
        }
    }
    for (;;)
        printf("%099d\n", 0);
}
