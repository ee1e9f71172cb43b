// Ends in the way that its argument names.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

static int inner(const std::vector<int> &values)
{
    return values.at(5);
}

static int outer()
{
    return inner({1, 2});
}

int main(int argc, char **argv)
{
    const std::string how = argc > 1 ? argv[1] : "";
    if (how == "exit") {
        std::cout << "leaving\n";
        std::cerr << "complaint\n";
        std::exit(7);
    } else if (how == "error") {
        std::cout << "before" << std::endl;
        return outer();
    } else if (how == "crash") {
        std::cout << "before" << std::endl;
        return *(volatile int *)nullptr;
    } else if (how == "loop") {
        std::cout << "started" << std::endl;
        for (volatile int i = 0;; i = i + 1)
            continue;
    } else if (how == "memory") {
        std::cout << "started" << std::endl;
        std::vector<std::vector<char>> kept;
        for (;;)
            kept.emplace_back(4 << 20, 'x');
    } else {
        for (;;)
            std::cout << std::string(99, 'x') << '\n';
    }
}
