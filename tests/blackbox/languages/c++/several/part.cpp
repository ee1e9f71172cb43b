#include "part.hpp"

std::string join(const std::vector<std::string> &words)
{
    std::string joined;
    for (const auto &word : words)
        joined += (joined.empty() ? "" : "+") + word;
    return joined;
}
