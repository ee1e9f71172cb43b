#include <stdio.h>

#include "shapes/shapes.h"

int main(void)
{
    char line[50] = "";
    FILE *file = fopen("data/words.txt", "r");
    if (!file || !fgets(line, sizeof(line), file))
        return 1;
    printf("%s %d %s", SHAPE_NAME, shape_area(2, 3), line);
    return 0;
}
