// KeyRead: a command that looks at one key, or one key of a command that looks at several.
//
// Threads: a worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "door/redis/group.h"
#include "door/redis/reply.h"
#include "door/redis/step.h"

namespace plov::door::redis {

class KeyRead final : public Step {
 public:
  // Adds the reply; `item` is nullptr where the key is absent.
  using Show = void (*)(const KeyRead& read, const Item* item, std::string* to);

  static KeyRead* Make(std::string_view key, Show show, Resp resp);

  Resp resp() const { return resp_; }
  // Of GETRANGE.
  int64_t first = 0;
  int64_t last = 0;
  // Of several keys: what they have in common, and what stands before the first one's reply.
  SharedGroup group;
  std::string heading;

  std::string_view key() const override { return key_; }
  bool TakeItem(const Client::GetResult& result, std::string* to) override;
  void RunOn(TransactionItems* items, std::string* to) override;
  // It has no steps: a write of its key never comes here.
  void Start(Worker*) override {}
  void Keep() override;
  std::string_view closing() const override;
  void Recycle() override;
  size_t bytes() const override;

 private:
  KeyRead() = default;

  std::string_view key_;
  std::string kept_key_;
  Show show_ = nullptr;
  Resp resp_ = Resp::k2;
  bool is_kept_ = false;
};

}  // namespace plov::door::redis
