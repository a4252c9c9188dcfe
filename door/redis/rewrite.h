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

class Rewrite final : public KeyWrite {
 public:
  // Eight clients that append to one key by one worker: one of 1600 was the slower one more than 1000 times.
  static constexpr uint32_t kTriesMax = 20'000;
  // As KeyWrite::Plan; it may be asked several times.
  using Planner = std::move_only_function<Change(const Item* item)>;

  Rewrite(std::string_view key, Planner plan) : KeyWrite(key), plan_(std::move(plan)) {}

  bool has_steps() const override { return true; }
  size_t bytes() const override {
    return KeyWrite::bytes() + change_.value.capacity() + change_.reply.capacity();
  }

 private:
  Change Plan(const Item* item) override { return plan_(item); }
  void Begin() override { LookUp(); }
  void LookUp();
  void TakeFound(const Client::GetResult& result);
  void Apply(const Item* item);
  void Put(const PutOptions& options);
  // Another one was faster, or it has failed.
  void EndLost(const Error& error);
  void End();

  Planner plan_;
  Change change_;
  uint32_t tries_ = 0;
};

}  // namespace plov::door::redis
