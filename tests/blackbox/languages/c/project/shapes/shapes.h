#ifndef SHAPES_H
#define SHAPES_H

#define SHAPE_NAME "circle"

int shape_area(int width, int height);

#endif
