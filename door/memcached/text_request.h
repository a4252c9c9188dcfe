// TextRequest: a request of memcached's text protocol under way - what was asked, the steps at the server that it
// takes, and its reply.
//
// Most are one operation of libplov. Those that memcached knows and the server does not are a GET and a write
// that is conditional on the version found, again where another one was faster, and an error after kTriesMax times.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "door/connection.h"
#include "door/memcached/command.h"
#include "door/memcached/text_reply.h"
#include "door/request.h"
#include "door/worker.h"

namespace plov::door::memcached {

// How long an item lives from now on, as memcached counts: up to 30 days from now, above that Unix time, negative
// ends at once.
struct Lifetime {
  std::chrono::seconds ttl{0};  // 0: for ever
  bool is_over = false;

  static Lifetime Of(int32_t exptime);
};

class TextRequest final : public Request {
 public:
  static constexpr uint32_t kTriesMax = 20'000;

  static TextRequest* Make();
  // What was asked; views of the connection's input.
  Command command;
  // Of a GET or a GAT: one of its keys.
  void SetKey(std::string_view key) { command.key_text = key; }
  // The data block, without its end.
  std::string value;

  std::string_view key() const override { return command.key(); }
  bool has_steps() const override;
  bool TakeItem(const Client::GetResult& result, std::string* to) override;
  void Start(Worker* worker) override;
  void Keep() override;
  std::string_view closing() const override;
  void Recycle() override;
  size_t bytes() const override;

 private:
  enum class Outcome : uint8_t { kStored, kExists, kNotFound, kNotStored };

  Client& client() { return worker_->client(); }

  // text_request.cc: ends.
  void End() { connection()->End(this); }
  void EndWith(std::string_view line);
  void EndWithFailure(const Error& error);
  void EndStore(Outcome outcome, Version version);
  void EndWithCode(std::string_view code, Version version);
  // Another one was faster. False: too often, and the request has ended.
  bool MayRetry();
  void Count(door::Count which) { worker_->counters().Add(which); }

  // text_reply.cc: what is said of an item.
  void AddItem(const Item& item, std::string* to) const;
  void AddMetaItem(const Item& item, std::optional<uint32_t> expiry, std::string* to) const;
  void AddDebug(const Item& item, std::string* to) const;
  void AddMiss(std::string* to) const;
  void AddReturned(Version version, std::string* to) const;
  bool HasMemory(size_t bytes, std::string* to);

  // store_steps.cc
  void StartStore();
  // What the server does not append itself.
  bool IsLongJoin() const;
  void StartPut(const PutOptions& options);
  void StartExpiredStore();
  void StartCheckedStore();
  void StartLongJoin();
  void Join(const Item& item);
  void EndPut(const Client::PutResult& result);
  void EndStoreByDelete(const Client::DeleteResult& result);
  // The ttl of what replaces the item.
  static std::chrono::seconds RemainingOf(const Item& item);

  // touch_steps.cc
  void StartTouch();
  void StartGat();
  void TouchFound(const Item& item);
  void EndGat(Version version, uint32_t expiry);
  void StartDelete();
  void StartDrop();
  void StartFlush();
  void StartMetaDelete();

  // arithmetic_steps.cc
  void StartArithmetic();
  void LookAgain();
  void TakeFound(const Client::GetResult& result);
  void ChangeFound(const Item& item);
  void Increment();
  void PutNumber(const Item& item);
  void Vivify();
  void EndNumber(uint64_t number, Version version);
  void EndMetaNumber(Version version);

  bool is_kept_ = false;
  Worker* worker_ = nullptr;
  std::string line_;  // a copy of what `command` refers to
  uint32_t tries_ = 0;

  // What a step found, for the next one.
  std::string found_value_;
  uint32_t found_flags_ = 0;
  uint32_t found_expiry_ = 0;
  Version found_version_ = 0;
  uint64_t number_ = 0;
};

}  // namespace plov::door::memcached
