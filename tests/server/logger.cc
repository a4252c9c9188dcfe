// The logger is made before all threads of these tests: the thread sanitizer sees nothing of what its library, which is
// not compiled with it, orders.
#include <spdlog/spdlog.h>

namespace {

const auto kLogger = spdlog::default_logger();

}  // namespace
