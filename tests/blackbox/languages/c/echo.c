/* Says what it was given: arguments, one variable, stdin line by line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    printf("args: ");
    for (int i = 1; i < argc; i++)
        printf("[%s]", argv[i]);
    const char *greeting = getenv("GREETING");
    printf("\nGREETING: %s\n", greeting ? greeting : "unset");
    char line[200];
    for (int number = 1; fgets(line, sizeof(line), stdin); number++) {
        line[strcspn(line, "\n")] = '\0';
        printf("%d: %s\n", number, line);
    }
    return 0;
}
