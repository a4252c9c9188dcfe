// Numbers as tables and axes show them.
#pragma once

#include <string>

namespace plov::bench {

std::string Whole(double value);                // 1,234,567; below 0 is 0
std::string Fixed(double value, int decimals);  // 1.27
std::string Compact(double value);              // 0, 0.25, 950, 1.5 k, 20 M, 3 G
std::string CompactBytes(double bytes);         // 64 B, 4 KiB, 1.5 MiB
std::string Readable(double value);             // 1,234,567 from 1000 on, else 4 digits: 12.35

}  // namespace plov::bench
