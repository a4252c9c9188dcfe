// Group: what the requests of one command with several keys have in common, and the end of their reply.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "door/redis/reply.h"

namespace plov::door::redis {

class Group {
 public:
  // Whether the reply is the sum of what they add, or is said as a whole, or by each of them.
  enum class Kind : uint8_t { kSum, kOk, kEach };

  explicit Group(Kind kind) : kind_(kind) {}

  bool is_each() const { return kind_ == Kind::kEach; }
  void Add(int64_t number) { sum_ += number; }
  // Once all of them have ended. They may then begin again.
  std::string_view Closing() {
    text_.clear();
    const int64_t sum = std::exchange(sum_, 0);
    if (kind_ == Kind::kSum) AddInteger(sum, &text_);
    if (kind_ == Kind::kOk) text_ = kOkReply;
    return text_;
  }

 private:
  const Kind kind_;
  int64_t sum_ = 0;
  std::string text_;
};

using SharedGroup = std::shared_ptr<Group>;

}  // namespace plov::door::redis
