#include "cluster/kept.h"

#include <algorithm>

namespace plov::cluster {

void Kept::CutAfter(uint64_t number) {
  for (Given& given : given_) given.number = std::min(given.number, number);
  number_ = std::min(number_, number);
}

void Kept::BeginAnew() {
  for (Given& given : given_) given = {};
  epoch_ = number_ = 0;
}

void Kept::SetDurable(uint64_t count) {
  for (; durable_ < count && !given_.empty(); ++durable_) {
    epoch_ = given_.front().epoch;
    number_ = given_.front().number;
    given_.pop_front();
  }
}

}  // namespace plov::cluster
