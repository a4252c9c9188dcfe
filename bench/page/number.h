// Numbers as tables show them.
#pragma once

#include <string>

namespace plov::bench {

std::string Whole(double value);                // 1,234,567; below 0 is 0
std::string Fixed(double value, int decimals);  // 1.27
std::string Readable(double value);             // 1,234,567 from 1000 on, else 4 digits: 12.35
std::string Compact(double value);              // 950, 1.5 k, 20 M, three digits

}  // namespace plov::bench
