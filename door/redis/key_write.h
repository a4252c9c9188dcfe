// KeyWrite: a command that may change one key, or one key of a command that changes several, by one operation of
// libplov: StoreWrite, TouchWrite, DeleteWrite, NumberWrite. Those that Redis knows and the server does not are a
// Rewrite.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "door/counters.h"
#include "door/redis/change.h"
#include "door/redis/group.h"
#include "door/redis/step.h"

namespace plov::door::redis {

class KeyWrite : public Step {
 public:
  // Of several keys.
  SharedGroup group;

  std::string_view key() const final { return key_; }
  bool TakeItem(const Client::GetResult&, std::string*) final { return true; }
  void RunOn(TransactionItems* items, std::string* to) final;
  void Start(Worker* worker) final;
  // It has copies from the beginning.
  void Keep() final {}
  std::string_view closing() const final;
  void Recycle() final { delete this; }
  size_t bytes() const override;

 protected:
  explicit KeyWrite(std::string_view key) : key_(key) { kind = Kind::kWrite; }

  // What it makes of the item, which is nullptr where the key is absent, and then nothing is touched or deleted.
  virtual Change Plan(const Item* item) = 0;
  // Has the server do it.
  virtual void Begin() = 0;
  Client& client();
  void Count(door::Count which);
  void EndWith(std::string_view bytes);
  void EndWithError(std::string_view text);
  void EndWithFailure(const Error& error);
  // In a group the number is added to its sum.
  void EndWithInteger(int64_t number);

 private:
  const std::string key_;
  Worker* worker_ = nullptr;
};

class StoreWrite final : public KeyWrite {
 public:
  // What is said where it was stored, and where it was not, for the mode.
  struct Replies {
    std::string_view stored = kOkReply;
    std::string_view refused;
  };
  StoreWrite(std::string_view key, std::string value, const PutOptions& options, Replies replies)
      : KeyWrite(key), value_(std::move(value)), options_(options), replies_(replies) {}

  size_t bytes() const override { return KeyWrite::bytes() + value_.capacity(); }

 private:
  Change Plan(const Item* item) override;
  void Begin() override;

  const std::string value_;
  const PutOptions options_;
  const Replies replies_;
};

class TouchWrite final : public KeyWrite {
 public:
  TouchWrite(std::string_view key, Lifetime ttl) : KeyWrite(key), ttl_(ttl) {}

 private:
  Change Plan(const Item* item) override;
  void Begin() override;

  const Lifetime ttl_;
};

class DeleteWrite final : public KeyWrite {
 public:
  explicit DeleteWrite(std::string_view key) : KeyWrite(key) {}

 private:
  Change Plan(const Item* item) override;
  void Begin() override;
};

// The server reads "007" and "-0" as numbers, which Redis does not: the value is looked at before, if that need not
// wait.
class NumberWrite final : public KeyWrite {
 public:
  NumberWrite(std::string_view key, int64_t delta) : KeyWrite(key), delta_(delta) {}

 private:
  Change Plan(const Item* item) override;
  void Begin() override;

  const int64_t delta_;
};

}  // namespace plov::door::redis
