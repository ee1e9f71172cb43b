#pragma once

#include <string>
#include <vector>

std::string join(const std::vector<std::string> &words);
