// The files that a page is made of, compiled in.
#pragma once

#include <string_view>

namespace plov::bench {

std::string_view PageTemplate();  // page.html
std::string_view PageScript();    // page.js
std::string_view ChartLibrary();  // Chart.js, of the package libjs-chart.js; empty without it

}  // namespace plov::bench
