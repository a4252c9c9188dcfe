// Rewrite: a command whose effect depends on the item that is there: a GET, and a write that is conditional on the
// version found, again where another one was faster, and an error after kTriesMax times.
//
// Threads: a worker's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "door/redis/key_write.h"

namespace plov::door::redis {

// What is to become of an item, and the reply once it has.
struct Change {
  enum class Action : uint8_t {
    kNothing,
    kPut,     // `value`, with `ttl`
    kAppend,  // `value` behind the one that is there; at most kAppendMax bytes
    kTouch,   // `ttl`
    kDelete,
  };
  static constexpr size_t kAppendMax = size_t{16} << 10;

  Action action = Action::kNothing;
  std::string value;
  Lifetime ttl = {};
  std::string reply;
  bool is_error = false;
};

class Rewrite final : public KeyWrite {
 public:
  // Eight clients that append to one key by one worker: one of 1600 was the slower one more than 1000 times.
  static constexpr uint32_t kTriesMax = 20'000;
  // `item` is nullptr where the key is absent, and then the change touches and deletes nothing.
  using Plan = std::move_only_function<Change(const Item* item)>;

  Rewrite(std::string_view key, Plan plan) : KeyWrite(key), plan_(std::move(plan)) {}

  bool has_steps() const override { return true; }
  size_t bytes() const override {
    return KeyWrite::bytes() + change_.value.capacity() + change_.reply.capacity();
  }

 private:
  void Begin() override { LookUp(); }
  void LookUp();
  void TakeFound(const Client::GetResult& result);
  void Apply(const Item* item);
  void Put(const PutOptions& options);
  // Another one was faster, or it has failed.
  void EndLost(const Error& error);
  void End();

  Plan plan_;
  Change change_;
  uint32_t tries_ = 0;
};

}  // namespace plov::door::redis
