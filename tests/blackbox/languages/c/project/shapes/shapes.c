#include "shapes.h"

int shape_area(int width, int height)
{
    return width * height;
}
