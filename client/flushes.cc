#include "client/flushes.h"

#include <algorithm>
#include <utility>

#include "fabric/random.h"

namespace plov {

using fabric::Clock;

namespace {

// Between two questions how far it is: some items take less, many hundreds of it.
constexpr Clock::duration kBetweenAsks = std::chrono::milliseconds(2);

}  // namespace

void Flushes::Start(std::chrono::seconds delay, Client::FlushCallback&& done) {
  Flush& flush = flushes_.emplace_back();
  flush.request.operation = verify::Operation::kFlush;
  flush.request.expected_version = fabric::RandomId() | 1;
  flush.request.ttl_seconds = static_cast<uint32_t>(std::min<int64_t>(delay.count(), UINT32_MAX));
  flush.controls.Begin(flush.request, Controls::To::kAll);
  flush.deadline = Clock::now() + timeout_;
  flush.done = std::move(done);
}

bool Flushes::Turn(const Peers& peers) {
  bool moved = false;
  const Deadline now = flushes_.empty() ? Deadline() : Clock::now();
  for (size_t i = 0; i < flushes_.size();) {
    Flush& flush = flushes_[i];
    flush.is_asked = flush.is_asked || now >= flush.next_ask;
    if (flush.is_asked) flush.controls.Send(peers);
    const bool is_done = flush.controls.done();
    auto result = is_done ? ResultOf(&flush) : std::nullopt;
    moved = moved || is_done;
    if (result) {
      End(i, std::move(*result));
    } else {
      ++i;
    }
  }
  return moved;
}

std::optional<Client::FlushResult> Flushes::ResultOf(Flush* flush) {
  const auto replies = flush->controls.Take();
  if (!replies) return std::unexpected(replies.error());
  uint64_t steps = 0;
  uint64_t deleted = 0;
  bool is_over = true;
  for (const Controls::Reply& reply : *replies) {
    steps += reply.version;
    deleted += reply.number;
    is_over = is_over && reply.version == 0;
  }
  if (is_over) return deleted;
  const Deadline now = Clock::now();
  if (steps != std::exchange(flush->steps, steps)) flush->deadline = now + timeout_;
  flush->next_ask = now + kBetweenAsks;
  flush->is_asked = false;
  flush->controls.Begin(flush->request, Controls::To::kAll);
  return std::nullopt;
}

void Flushes::End(size_t index, Client::FlushResult result) {
  Client::FlushCallback done = std::move(flushes_[index].done);
  flushes_.erase(flushes_.begin() + static_cast<ptrdiff_t>(index));
  callbacks_->Run([&] { done(std::move(result)); });
}

bool Flushes::OnReply(uint32_t shard, const verify::Reply& reply) {
  return std::ranges::any_of(
      flushes_, [shard, &reply](Flush& flush) { return flush.controls.OnReply(shard, reply); });
}

void Flushes::AskAgain() {
  for (Flush& flush : flushes_) flush.controls.Begin(flush.request, Controls::To::kAll);
}

void Flushes::Expire(const Peers& peers, Deadline now) {
  for (size_t i = 0; i < flushes_.size();) {
    if (flushes_[i].deadline > now) {
      ++i;
      continue;
    }
    const Error* why = flushes_[i].controls.WhyNotAsked(peers);
    End(i,
        std::unexpected(why != nullptr ? *why
                                       : Error{Code::kTimeout,
                                               "the flush does not get on: it may be over later"}));
  }
}

void Flushes::Close(const Error& error) {
  while (!flushes_.empty()) End(0, std::unexpected(error));
}

Deadline Flushes::NextEvent(Deadline otherwise) const {
  for (const Flush& flush : flushes_) {
    otherwise = std::min(otherwise, flush.is_asked ? flush.deadline : flush.next_ask);
  }
  return otherwise;
}

}  // namespace plov
