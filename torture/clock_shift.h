// Clock shift: a client process in a time namespace of its own, where the monotonic clock and the
// time since boot are others than its server's.
//
// Needs the right to make time namespaces (CAP_SYS_ADMIN) and a kernel that has them (5.6).
// Source: time_namespaces(7).
#pragma once

#include <chrono>
#include <expected>

#include "verify/error.h"

namespace plov::torture {

// Moves this process, before it has threads, to where both clocks are so many seconds ahead, or
// behind when negative. Now() goes on as before. Errors: kSystem, it is not permitted.
std::expected<void, Error> ShiftClock(std::chrono::seconds ahead);

// Whether a process may do that here: tries it in a child. Before this process has threads.
bool CanShiftClock();

// How far the clocks of a client are ahead: not at all, a day, or less than nothing.
std::chrono::seconds ShiftOfClient(size_t client);

}  // namespace plov::torture
