// Callbacks: runs what a caller gave, and keeps what it throws until the call that runs it ends.
//
// So an exception of a callback never unwinds the client's own bookkeeping: the client stays
// usable, and the caller gets the first exception once everything is in order.
#pragma once

#include <exception>
#include <utility>

namespace plov {

class Callbacks {
 public:
  template <typename Body>
  void Run(Body&& body) noexcept {
    try {
      std::forward<Body>(body)();
    } catch (...) {
      if (first_ == nullptr) first_ = std::current_exception();
    }
  }

  bool failed() const { return first_ != nullptr; }
  // Throws what was kept, once.
  void Rethrow() {
    if (first_ != nullptr) std::rethrow_exception(std::exchange(first_, nullptr));
  }
  void Drop() { first_ = nullptr; }

 private:
  std::exception_ptr first_;
};

}  // namespace plov
