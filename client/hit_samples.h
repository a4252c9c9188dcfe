// HitSamples: which items a client found lately, for a server that evicts items and sees no GET.
//
// Every hit is noted while there is room until the next message, else each second one, each fourth and so on,
// evenly over the time since the last. Who asks for no hits has none noted.
//
// Cost: a decrement per GET, and for what is noted a store. Threads: the client's.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/fabric.h"
#include "verify/message.h"

namespace plov {

class HitSamples {
 public:
  // A message goes after so long; or with half of what it can hold after so many others, of which it is a small part then.
  static constexpr std::chrono::seconds kPeriod{1};
  static constexpr uint64_t kMessagesPerReport = 64;

  // Whether the server wants to be told.
  void Want(bool wanted) {
    if (wanted == wanted_) return;
    wanted_ = wanted;
    Clear();
  }

  void Hit(uint64_t hash) {
    if (--left_ == 0) [[unlikely]] {
      Note(verify::HitNameOf(hash));
    }
  }

  // messages: sent so far.
  bool IsDue(fabric::Deadline now, uint64_t messages) const {
    if (count_ == 0) return false;
    const bool rides = count_ >= names_.size() / 2 && messages - messages_ >= kMessagesPerReport;
    return rides || now - told_at_ >= kPeriod;
  }
  // Those noted, until the next Hit; they are told.
  std::span<const verify::HitName> Take(fabric::Deadline now, uint64_t messages) {
    const auto taken = std::span(names_).first(count_);
    if (count_ < names_.size() / 2) stride_ = std::max<uint64_t>(stride_ / 2, 1);
    told_at_ = now;
    messages_ = messages;
    Clear();
    return taken;
  }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  void Clear() {
    count_ = 0;
    left_ = wanted_ ? stride_ : kNever;
  }
  void Note(verify::HitName name) {
    if (count_ == names_.size()) Halve();
    names_[count_++] = name;
    left_ = stride_;
  }
  // Keeps each second one.
  void Halve() {
    count_ /= 2;
    for (size_t i = 0; i < count_; ++i) names_[i] = names_[2 * i];
    stride_ *= 2;
  }

  uint64_t left_ = kNever;  // until one is noted
  uint64_t stride_ = 1;
  bool wanted_ = false;
  size_t count_ = 0;
  uint64_t messages_ = 0;  // when they were told last
  fabric::Deadline told_at_{};
  std::array<verify::HitName, verify::kHitNamesMax> names_;
};

}  // namespace plov
