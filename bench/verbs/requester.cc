#include "bench/verbs/requester.h"

#include <string>
#include <utility>

#include "bench/verbs/pattern.h"

namespace plov::bench {

namespace {

// Operations are counted from 0, messages from 1. What a READ without any request finds is the same
// all the time.
uint64_t NumberOf(uint64_t operation) { return operation + 1; }

}  // namespace

Requester::Requester(Endpoint* endpoint, const Run& run)
    : endpoint_(endpoint),
      combination_(run.combination),
      window_(run.window),
      arrived_(run.window, false) {}

std::expected<void, Error> Requester::Open() {
  const ReplyBy reply = combination_->reply;
  if (reply != ReplyBy::kSend && reply != ReplyBy::kSendUd) return {};
  for (uint64_t slot = 0; slot < window_; ++slot) {
    auto posted = endpoint_->PostReceive(slot, Endpoint::Into::kSlot);
    if (!posted) return posted;
  }
  return {};
}

std::expected<void, Error> Requester::Post(uint64_t count) {
  for (; count > 0; --count, ++posted_) {
    const uint64_t slot = SlotOf(posted_);
    std::expected<void, Error> added;
    if (combination_->request != RequestBy::kNothing) {
      Fill(Which::kRequest, NumberOf(posted_), endpoint_->outbox(slot), endpoint_->word_count());
    }
    switch (combination_->request) {
      case RequestBy::kNothing:
        break;
      case RequestBy::kSend:
        added = endpoint_->Send(slot);
        break;
      case RequestBy::kWrite:
      case RequestBy::kWriteUc:
        added = endpoint_->Write(slot);
        break;
      case RequestBy::kWriteImm:
        added = endpoint_->WriteImm(slot);
        break;
    }
    const bool reads =
        combination_->request == RequestBy::kNothing || combination_->reply == ReplyBy::kRead;
    if (added && reads) {
      ++reads_;
      added = endpoint_->Read(slot, posted_);
    }
    if (!added) return added;
  }
  return endpoint_->Flush();
}

std::unexpected<Error> Requester::Wrong(uint64_t operation) const {
  return Fail(Code::kCorrupt, std::string(combination_->name) + ": the reply to request " +
                                  std::to_string(operation) + " is not the right one");
}

bool Requester::HasReply(uint64_t operation) const {
  const uint64_t slot = SlotOf(operation);
  const uint64_t number = NumberOf(combination_->request == RequestBy::kNothing ? slot : operation);
  return IsWhole(Which::kReply, number, endpoint_->inbox(slot), endpoint_->word_count());
}

// The n-th reply is in the buffer that was posted n-th.
std::expected<void, Error> Requester::PollReceives() {
  while (answered_ < posted_) {
    const auto slot = endpoint_->PollReceive();
    if (!slot) return std::unexpected(slot.error());
    if (!*slot) return {};
    if (**slot != SlotOf(answered_) || !HasReply(answered_)) return Wrong(answered_);
    auto posted = endpoint_->PostReceive(**slot, Endpoint::Into::kSlot);
    if (!posted) return posted;
    ++answered_;
  }
  return {};
}

// What a READ found may be too early; then it is READ again.
std::expected<void, Error> Requester::PollReads() {
  if (auto polled = endpoint_->PollSends(&done_); !polled) return polled;
  if (done_.empty()) return {};
  for (const uint64_t operation : done_) {
    if (HasReply(operation)) {
      arrived_[SlotOf(operation)] = true;
      continue;
    }
    if (combination_->request == RequestBy::kNothing) return Wrong(operation);
    ++reads_;
    if (auto added = endpoint_->Read(SlotOf(operation), operation); !added) return added;
  }
  done_.clear();
  for (; answered_ < posted_ && arrived_[SlotOf(answered_)]; ++answered_) {
    arrived_[SlotOf(answered_)] = false;
  }
  return endpoint_->Flush();
}

void Requester::PollMemory() {
  while (answered_ < posted_ && HasReply(answered_)) ++answered_;
}

std::expected<void, Error> Requester::Poll() {
  switch (combination_->reply) {
    case ReplyBy::kSend:
    case ReplyBy::kSendUd:
      return PollReceives();
    case ReplyBy::kWrite:
      PollMemory();
      return {};
    case ReplyBy::kRead:
    case ReplyBy::kNothing:
      break;
  }
  return PollReads();
}

std::string Requester::Missing() const {
  const uint64_t slot = SlotOf(answered_);
  const uint64_t last = verify::LoadWord(endpoint_->inbox(slot) + endpoint_->word_count() - 1);
  const char* what = last == NumberOf(answered_) ? " came, and is wrong" : " never came";
  return std::string(combination_->name) + ": the reply to request " + std::to_string(answered_) +
         what;
}

}  // namespace plov::bench
