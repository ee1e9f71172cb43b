#include "part.h"

#include <stdio.h>

int main(void)
{
    char words[3][20];
    FILE *file = fopen("words.txt", "r");
    if (!file || fscanf(file, "%19s %19s %19s", words[0], words[1], words[2]) != 3)
        return 1;
    print_joined(3, words);
    return 0;
}
