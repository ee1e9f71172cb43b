/* Hands stdin to sbr_execute, and prints what it gives. */
#include <sandboxrun.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static char text[1 << 20];
    size_t len = fread(text, 1, sizeof(text), stdin);
    sbr_runtime *runtime;
    char *answer = NULL;
    sbr_error err;

    if (sbr_runtime_open(NULL, &runtime, &err) < 0)
        return 2;
    if (sbr_execute(runtime, text, len, &answer, &err) < 0)
        printf("{\"refused\": %d}\n", (int)err.code);
    else
        puts(answer);
    free(answer);
    sbr_runtime_close(runtime);
    return 0;
}
