#include "part.h"

#include <stdio.h>

void print_joined(int n, char words[][20])
{
    for (int i = 0; i < n; i++)
        printf("%s%s", i ? "+" : "", words[i]);
    printf("\n");
}
