#include "bench/verbs/send_queue.h"

#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace plov::bench {

namespace {

// A completion for so many work requests at most, so that there is always one on its way.
constexpr uint32_t kSignalEvery = 16;
constexpr size_t kBatchMax = 16;
constexpr std::chrono::seconds kRoomWithin{10};  // a device that completes nothing is gone

}  // namespace

SendQueue::SendQueue(ibv_qp* qp, uint32_t depth) : qp_(qp), depth_(depth), tags_(depth) {
  batch_.reserve(kBatchMax);
  memory_.reserve(kBatchMax);
}

std::expected<void, Error> SendQueue::Add(ibv_send_wr request, const ibv_sge& memory,
                                          uint64_t tag) {
  if (batch_.size() == kBatchMax) {
    if (auto flushed = Flush(); !flushed) return flushed;
  }
  if (posted_ + batch_.size() - retired_ == depth_) {
    if (auto flushed = Flush(); !flushed) return flushed;
    const auto end = std::chrono::steady_clock::now() + kRoomWithin;
    while (posted_ - retired_ == depth_) {
      if (auto collected = Collect(); !collected) return collected;
      if (std::chrono::steady_clock::now() > end) {
        return Fail(Code::kTimeout, "the device completes no work requests");
      }
    }
  }
  const uint64_t number = posted_ + batch_.size();
  tags_[number % depth_] = tag;
  request.wr_id = number;
  request.num_sge = 1;
  batch_is_awaited_ |= tag != kNoTag;
  if (++unsignaled_ == kSignalEvery) {
    request.send_flags |= IBV_SEND_SIGNALED;
    unsignaled_ = 0;
  }
  memory_.push_back(memory);
  batch_.push_back(request);
  return {};
}

std::expected<void, Error> SendQueue::Flush() {
  if (batch_.empty()) return {};
  if (std::exchange(batch_is_awaited_, false)) {
    batch_.back().send_flags |= IBV_SEND_SIGNALED;
    unsignaled_ = 0;
  }
  for (size_t i = 0; i < batch_.size(); ++i) {
    batch_[i].sg_list = &memory_[i];
    batch_[i].next = i + 1 < batch_.size() ? &batch_[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  if (const int failed = ::ibv_post_send(qp_, batch_.data(), &bad); failed != 0) {
    return FailErrno("the device takes no work request", failed);
  }
  posted_ += batch_.size();
  batch_.clear();
  memory_.clear();
  return {};
}

// A completion tells of all work requests before it, too.
std::expected<void, Error> SendQueue::Collect() {
  std::array<ibv_wc, 16> completions;
  const int count =
      ::ibv_poll_cq(qp_->send_cq, static_cast<int>(completions.size()), completions.data());
  if (count < 0) return Fail(Code::kSystem, "the completion queue cannot be polled");
  for (int i = 0; i < count; ++i) {
    const ibv_wc& completion = completions[static_cast<size_t>(i)];
    if (completion.status != IBV_WC_SUCCESS) {
      return Fail(Code::kUnavailable,
                  std::string("a work request failed: ") + ::ibv_wc_status_str(completion.status));
    }
    for (; retired_ <= completion.wr_id; ++retired_) {
      const uint64_t tag = tags_[retired_ % depth_];
      if (tag != kNoTag) done_.push_back(tag);
    }
  }
  return {};
}

std::expected<void, Error> SendQueue::Poll(std::vector<uint64_t>* tags) {
  if (auto collected = Collect(); !collected) return collected;
  tags->insert(tags->end(), done_.begin(), done_.end());
  done_.clear();
  return {};
}

}  // namespace plov::bench
