#pragma once

#include <string_view>

namespace shapes {
inline constexpr std::string_view name = "circle";
int area(int width, int height);
}
