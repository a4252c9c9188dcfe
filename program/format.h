// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plov::program {

std::string Grouped(uint64_t number);  // 1,234,567
std::string Bytes(uint64_t bytes);     // 512 B, 1.5 MiB
std::string Duration(double seconds);  // 0.123 s, 4 min 5 s, 3 h 10 min, 2 d 7 h
std::string CountOf(uint64_t count, std::string_view noun);  // 1 item, 2 items
std::string Percent(uint64_t part, uint64_t all);            // 12.3 %

}  // namespace plov::program
