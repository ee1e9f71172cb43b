#include <fstream>
#include <iostream>
#include <iterator>

#include "part.hpp"

int main()
{
    std::ifstream file("words.txt");
    std::cout << join({std::istream_iterator<std::string>(file), {}}) << '\n';
}
