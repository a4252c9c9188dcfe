// CommandRequest: a request of memcached's protocols under way - what was asked, and the steps at the server that it
// takes. What is said of it is the protocol's: TextRequest, BinaryRequest.
//
// Most are one operation of libplov. Those that memcached knows and the server does not are a GET and a write
// that is conditional on the version found, again where another one was faster, and an error after kTriesMax times.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "door/connection.h"
#include "door/memcached/command.h"
#include "door/request.h"
#include "door/worker.h"

namespace plov::door::memcached {

// When an item ends, as memcached counts: up to 30 days from now, above that in Unix time, negative at once.
struct Ending {
  uint32_t expiry = 0;  // 0: never
  bool is_over = false;

  static Ending Of(int64_t exptime, int64_t now_us);
  Lifetime ttl() const { return Lifetime::Until(expiry); }
};

class CommandRequest : public Request {
 public:
  static constexpr uint32_t kTriesMax = 20'000;

  // What was asked; views of the connection's input.
  Command command;
  // The data block, without its end.
  std::string value;

  std::string_view key() const override { return command.key(); }
  bool has_steps() const override;
  bool TakeItem(const Client::GetResult& result, std::string* to) override;
  void Start(Worker* worker) override;
  void Keep() override;
  size_t bytes() const override;

 protected:
  // What has come of a request that is no failure.
  enum class Outcome : uint8_t {
    kStored,
    kExists,  // the item has another version
    kNotFound,
    kNotStored,
    kTouched,
    kDeleted,
    kFlushed,
    kNotANumber,
  };

  // What is said, perhaps nothing, added to `to`. Of an item that a GET found, or that was touched: then
  // `touched_expiry` is what it has now.
  virtual void AddItem(const Item& item, std::optional<uint32_t> touched_expiry,
                       std::string* to) const = 0;
  virtual void AddMiss(std::string* to) const = 0;
  // Of an item that was written, 0 if none was.
  virtual void AddOutcome(Outcome outcome, Version version, std::string* to) const = 0;
  virtual void AddNumber(uint64_t number, Version version, std::string* to) const = 0;
  virtual void AddFailure(const Error& error, std::string* to) const = 0;
  // The reply has no memory.
  virtual void AddNoMemory(std::string* to) const = 0;

  // For the next request: forgets all but some memory.
  void Reset();
  // Of the item that a write found, or made.
  uint32_t found_expiry() const { return found_expiry_; }
  // From the second that has begun at the server; negative when it is over.
  int64_t SecondsLeft(uint32_t expiry) const;

 private:
  Client& client() { return worker_->client(); }
  // Most items have no end, and need no clock.
  Ending EndingOf(int64_t exptime) {
    return Ending::Of(exptime, exptime > 0 ? worker_->ServerUs(key()) : 0);
  }

  // command_request.cc: ends.
  void End() { connection()->End(this); }
  void EndWith(Outcome outcome, Version version = 0);
  void EndWithFailure(const Error& error);
  void EndStore(Outcome outcome, Version version);
  // Another one was faster. False: too often, and the request has ended.
  bool MayRetry();
  void Count(door::Count which) { worker_->counters().Add(which); }
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

  // touch_steps.cc
  void StartTouch();
  void StartGat();
  void TouchFound(const Item& item);
  void EndGat(Version version, uint32_t expiry);
  void StartDelete();
  void StartDrop();
  void StartFlush();

  // arithmetic_steps.cc
  void StartArithmetic();
  void LookAgain();
  void TakeFound(const Client::GetResult& result);
  void ChangeFound(const Item& item);
  void Increment();
  void PutNumber(const Item& item);
  void Vivify();
  void EndNumber(uint64_t number, Version version);
  void EndWithNumber(Version version);

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

// Requests of one thread that have ended, for the next ones.
template <typename Made>
class SpareRequests {
 public:
  static Made* Take() {
    if (all().empty()) return new Made;
    Made* request = all().back().release();
    all().pop_back();
    return request;
  }
  // After Reset.
  static void Give(Made* request) {
    std::unique_ptr<Made> given(request);
    if (all().size() < kMost) all().push_back(std::move(given));
  }

 private:
  static constexpr size_t kMost = 1024;

  static std::vector<std::unique_ptr<Made>>& all() {
    thread_local std::vector<std::unique_ptr<Made>> all;
    return all;
  }
};

}  // namespace plov::door::memcached
