// Answer: a request that needs no server.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "door/redis/reply.h"
#include "door/redis/step.h"

namespace plov::door::redis {

class Answer final : public Step {
 public:
  explicit Answer(std::string_view bytes) { reply = bytes; }
  static Answer* OfError(std::string_view text) {
    std::string bytes;
    AddError(text, &bytes);
    return new Answer(bytes);
  }

  std::string_view key() const override { return {}; }
  bool TakeItem(const Client::GetResult&, std::string*) override { return true; }
  void RunOn(TransactionItems*, std::string* to) override { *to += reply; }
  void Start(Worker*) override {}
  void Keep() override {}
  void Recycle() override { delete this; }
  size_t bytes() const override { return sizeof(*this) + reply.capacity(); }
};

}  // namespace plov::door::redis
