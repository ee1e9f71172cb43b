#include <fstream>
#include <iostream>

#include "shapes/shapes.hpp"

int main()
{
    std::cout << shapes::name << ' ' << shapes::area(2, 3) << ' ' << std::ifstream("data/words.txt").rdbuf();
}
