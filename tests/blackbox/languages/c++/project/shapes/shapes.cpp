#include "shapes.hpp"

int shapes::area(int width, int height)
{
    return width * height;
}
