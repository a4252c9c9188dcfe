#include "bench/verbs/responder.h"

#include <string>

#include "bench/verbs/pattern.h"

namespace plov::bench {

namespace {

// Of a WRITE with immediate data only the completion goes to the receive.
Endpoint::Into IntoOf(const Combination& combination) {
  return combination.request == RequestBy::kWriteImm ? Endpoint::Into::kNothing
                                                     : Endpoint::Into::kSlot;
}

}  // namespace

Responder::Responder(Endpoint* endpoint, const Run& run)
    : endpoint_(endpoint), combination_(run.combination), window_(run.window) {}

std::expected<void, Error> Responder::Open() {
  const RequestBy request = combination_->request;
  for (uint64_t slot = 0; slot < window_; ++slot) {
    if (request == RequestBy::kNothing) {
      Fill(Which::kReply, slot + 1, endpoint_->outbox(slot), endpoint_->word_count());
    } else if (!combination_->is_polled()) {
      auto posted = endpoint_->PostReceive(slot, IntoOf(*combination_));
      if (!posted) return posted;
    }
  }
  return {};
}

std::expected<bool, Error> Responder::HasNext() {
  const uint64_t slot = replied_ % window_;
  const auto is_whole = [&] {
    return IsWhole(Which::kRequest, replied_ + 1, endpoint_->inbox(slot), endpoint_->word_count());
  };
  if (combination_->is_polled()) return is_whole();
  const auto received = endpoint_->PollReceive();
  if (!received) return std::unexpected(received.error());
  if (!*received) return false;
  if (**received != slot || !is_whole()) {
    return Fail(Code::kCorrupt, std::string(combination_->name) + ": request " +
                                    std::to_string(replied_) + " is not the right one");
  }
  auto posted = endpoint_->PostReceive(slot, IntoOf(*combination_));
  if (!posted) return std::unexpected(posted.error());
  return true;
}

std::expected<void, Error> Responder::Reply() {
  const uint64_t slot = replied_ % window_;
  Fill(Which::kReply, replied_ + 1, endpoint_->outbox(slot), endpoint_->word_count());
  ++replied_;
  switch (combination_->reply) {
    case ReplyBy::kSend:
    case ReplyBy::kSendUd:
      return endpoint_->Send(slot);
    case ReplyBy::kWrite:
      return endpoint_->Write(slot);
    case ReplyBy::kRead:
    case ReplyBy::kNothing:
      break;
  }
  return {};
}

std::expected<uint64_t, Error> Responder::Poll() {
  uint64_t count = 0;
  if (combination_->request == RequestBy::kNothing) return count;
  for (; count < window_; ++count) {
    const auto has_next = HasNext();
    if (!has_next) return std::unexpected(has_next.error());
    if (!*has_next) break;
    if (auto replied = Reply(); !replied) return std::unexpected(replied.error());
  }
  if (count == 0) return count;
  if (auto flushed = endpoint_->Flush(); !flushed) return std::unexpected(flushed.error());
  return count;
}

}  // namespace plov::bench
