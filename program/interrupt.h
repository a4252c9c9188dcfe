// Interrupt: a signal that ends a run early, and where it came from.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace plov::program {

// Blocks SIGINT, SIGTERM and SIGHUP, so that AwaitInterrupt takes them. Before there are threads.
void BlockInterrupts();

// Waits for one of them. Returns what came, "SIGINT from process 71 (bash)", or nothing when the
// time is over.
std::optional<std::string> AwaitInterrupt(std::chrono::nanoseconds longest);

}  // namespace plov::program
