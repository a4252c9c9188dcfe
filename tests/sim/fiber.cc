#include "tests/sim/fiber.h"

#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/context/fixedsize_stack.hpp>
#include <exception>
#include <utility>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define PLOV_ADDRESS_SANITIZER
#endif
#endif

namespace plov::sim {

namespace {

namespace context = boost::context;

constexpr size_t kStackBytes = size_t{256} << 10;

Fiber* current = nullptr;
size_t rest_count = 0;

#ifdef PLOV_ADDRESS_SANITIZER
void BeginSwitch(void** fake_stack, const void* stack, size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
}
void EndSwitch(void* fake_stack, const void** stack, size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, stack, bytes);
}
#else
void BeginSwitch(void**, const void*, size_t) {}
void EndSwitch(void*, const void**, size_t*) {}
#endif

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
  context::fixedsize_stack allocator(kStackBytes);
  const context::stack_context stack = allocator.allocate();
  stack_ = static_cast<const std::byte*>(stack.sp) - stack.size;
  own_ = context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
                        allocator, [this](context::fiber&& caller) {
                          EndSwitch(nullptr, &caller_stack_, &caller_stack_bytes_);
                          caller_ = std::move(caller);
                          body_();
                          ended_ = true;
                          // The stack is not come back to.
                          BeginSwitch(nullptr, caller_stack_, caller_stack_bytes_);
                          return std::move(caller_);
                        });
}

Fiber::~Fiber() {
  if (!ended_) std::terminate();
}

void Fiber::Resume() {
  current = this;
  void* fake_stack = nullptr;
  BeginSwitch(&fake_stack, stack_, kStackBytes);
  own_ = std::move(own_).resume();
  EndSwitch(fake_stack, nullptr, nullptr);
  current = nullptr;
}

void Fiber::SwitchOut() {
  BeginSwitch(&own_fake_stack_, caller_stack_, caller_stack_bytes_);
  caller_ = std::move(caller_).resume();
  EndSwitch(own_fake_stack_, &caller_stack_, &caller_stack_bytes_);
}

Fiber* Fiber::Current() { return current; }

void Fiber::Rest() {
  if (current == nullptr) return;
  ++rest_count;
  current->SwitchOut();
}

size_t Fiber::rests() { return rest_count; }

}  // namespace plov::sim

extern "C" {

int poll(pollfd* fds, nfds_t count, int timeout) {
  if (plov::sim::Fiber::Current() == nullptr) {
    return static_cast<int>(::syscall(SYS_poll, fds, count, timeout));
  }
  plov::sim::Fiber::Rest();
  return 0;
}

int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  if (plov::sim::Fiber::Current() == nullptr) {
    return static_cast<int>(::syscall(SYS_ppoll, fds, count, timeout, mask, sizeof(*mask)));
  }
  plov::sim::Fiber::Rest();
  return 0;
}

int sched_yield() noexcept {
  if (plov::sim::Fiber::Current() == nullptr) return static_cast<int>(::syscall(SYS_sched_yield));
  plov::sim::Fiber::Rest();
  return 0;
}
}
