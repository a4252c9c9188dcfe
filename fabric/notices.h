// Notices: what the operator should hear, in order.
#pragma once

#include <deque>
#include <string>
#include <utility>

namespace plov::fabric {

class Notices {
 public:
  // An empty one is none.
  void Add(std::string notice) {
    if (!notice.empty()) waiting_.push_back(std::move(notice));
  }
  // Empty when there is none.
  std::string Take() {
    if (waiting_.empty()) return {};
    std::string notice = std::move(waiting_.front());
    waiting_.pop_front();
    return notice;
  }

 private:
  std::deque<std::string> waiting_;
};

}  // namespace plov::fabric
