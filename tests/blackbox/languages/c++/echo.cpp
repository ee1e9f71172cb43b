// Says what it was given: arguments, one variable, stdin line by line.
#include <cstdlib>
#include <iostream>
#include <string>

int main(int argc, char **argv)
{
    std::cout << "args: ";
    for (int i = 1; i < argc; i++)
        std::cout << '[' << argv[i] << ']';
    const char *greeting = std::getenv("GREETING");
    std::cout << "\nGREETING: " << (greeting ? greeting : "unset") << '\n';
    std::string line;
    for (int number = 1; std::getline(std::cin, line); number++)
        std::cout << number << ": " << line << '\n';
}
