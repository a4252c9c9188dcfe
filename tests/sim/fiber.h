// Fiber: a call that can be left in its middle and gone on with, so that a client's blocking calls
// take part in a schedule that one thread makes.
//
// Whatever waits in a fiber rests: poll(2), ppoll(2) and sched_yield(2) are replaced by this
// program (fiber.cc) and give the turn back to whoever has resumed the fiber. Outside of fibers
// they are the kernel's.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <memory>

namespace plov::sim {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // The body has ended.
  ~Fiber();

  // Runs the body until it rests or ends. Not from within a fiber.
  void Resume();
  bool ended() const { return ended_; }

  // The one that runs, or null.
  static Fiber* Current();
  // Gives the turn back; returns when it is resumed. Nothing happens outside of a fiber.
  static void Rest();
  // How often any fiber has rested: who sees the same number twice has had no turn between.
  static size_t rests();

 private:
  void SwitchOut();

  std::function<void()> body_;
  boost::context::fiber own_;     // while it rests
  boost::context::fiber caller_;  // while it runs
  bool ended_ = false;
  // What the address sanitizer knows of the stacks.
  void* own_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
  const void* stack_ = nullptr;
};

}  // namespace plov::sim
