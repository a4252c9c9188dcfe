// Command: what Redis's commands are called and how many arguments they have; Call: one of them with its arguments.
//
// Threads: a worker's.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "door/connection.h"
#include "door/redis/group.h"
#include "door/redis/key_read.h"
#include "door/redis/key_write.h"
#include "door/redis/multi.h"
#include "door/redis/reply.h"
#include "door/redis/rewrite.h"
#include "door/redis/step.h"

namespace plov::door {
class BlockingCalls;
}

namespace plov::door::redis {

class KeyWalks;
struct ExecAnswer;
struct KeysAnswer;

inline constexpr size_t kKeyBytesMax = 1024;
// Of a pattern of KEYS and SCAN: as keys, it takes time with each of its bytes.
inline constexpr size_t kGlobBytesMax = 1024;
inline constexpr std::string_view kLongGlob = "ERR plov: a pattern has at most 1024 bytes";
inline constexpr std::string_view kVersion = "7.0.15";

struct RedisOptions {
  size_t item_bytes_max = size_t{1} << 20;
  // Of the library's calls.
  std::chrono::microseconds timeout = std::chrono::seconds(1);
  bool is_cluster = false;
  // What INFO says, in sections.
  std::function<std::string(std::string_view section)> info;
  // For what concerns all items: long looks, and short ones.
  KeyWalks* walks = nullptr;
  BlockingCalls* calls = nullptr;
};

// What a client has said of itself.
struct Session {
  uint64_t id = 0;
  Resp resp = Resp::k2;
  std::string name;
  std::chrono::steady_clock::time_point began_at = std::chrono::steady_clock::now();
};

class Call;

// What is done with a command between MULTI and EXEC.
enum class InMulti : uint8_t {
  kQueued,
  kDone,     // at once
  kRefused,  // it concerns all items
};

struct Command {
  std::string_view name;
  // With the name; negative: at least so many.
  int arity;
  void (*run)(Call& call);
  InMulti in_multi = InMulti::kQueued;

  bool Takes(size_t count) const;
};

// Words are compared without regard to case. nullptr: Redis has it not, or it is not offered here.
const Command* FindCommand(std::string_view name);
size_t command_count();
std::string UpperCaseOf(std::string_view name);
bool IsWord(std::string_view text, std::string_view word);

class Call {
 public:
  struct Place {
    Connection* connection;
    Session* session;
    redis::Multi* multi;
    const RedisOptions* options;
    // The arguments end before the turn does, so requests have copies.
    bool copies;
    // Of a transaction that takes its requests; nullptr: the connection does.
    Steps* steps = nullptr;
  };
  Call(const Place& place, const Command* command, std::span<const std::string_view> arguments)
      : place_(place), command_(command), arguments_(arguments) {}

  // Adds requests for it. One of many keys, or with a long reply, is added in pieces: then is_over is false, and it is
  // run again.
  void Run() { command_->run(*this); }
  bool is_over() const {
    return next_key_ == 0 && keys_answer == nullptr && exec_answer == nullptr;
  }

  std::string_view name() const { return command_->name; }
  size_t count() const { return arguments_.size(); }
  std::string_view operator[](size_t i) const { return arguments_[i]; }
  const Place& place() const { return place_; }
  Connection* connection() const { return place_.connection; }
  redis::Multi& multi() const { return *place_.multi; }
  bool is_in_transaction() const { return place_.steps != nullptr; }
  Session& session() const { return *place_.session; }
  Resp resp() const { return place_.session->resp; }
  const RedisOptions& options() const { return *place_.options; }

  // At the server of the key that is the first argument, in Unix milliseconds.
  int64_t NowMs() const;

  // The reply of what needs no server.
  void Answer(std::string_view reply) const;
  // `text` is "ERR ..." or another kind.
  void Refuse(std::string_view text) const;
  void RefuseArity(std::string_view subcommand = {}) const;
  // What that says, without its kind.
  std::string ArityText(std::string_view subcommand = {}) const;
  void RefuseSubcommand() const;
  void RefuseExpiry() const;

  // Takes the request over.
  void Add(Step* step) const;

  // Whether every `step`th argument from the first on can be a key; where not, it is refused.
  bool TakesKeys(size_t step) const;
  // Of the key that is the first argument: refused where it can be none.
  void Read(KeyRead::Show show, int64_t first = 0, int64_t last = 0) const;
  void Write(KeyWrite* write) const;
  void Rewrite(redis::Rewrite::Planner plan) const;
  // Of every `step`th argument from the first on; `make` makes the request of the argument.
  struct Several {
    Group::Kind kind;
    size_t step = 1;
  };
  template <typename Make>
  void AddSeveral(const Several& several, Make&& make) {
    if (next_key_ == 0) {
      if (!TakesKeys(several.step)) return;
      group_ = std::make_shared<Group>(several.kind);
      next_key_ = 1;
    }
    size_t added = 0;
    for (; next_key_ < count() && (added < kAtOnce || count() <= kAtOnce);
         next_key_ += several.step) {
      auto* request = make(next_key_);
      request->group = group_;
      request->opens_group = next_key_ == 1;
      request->closes_group = next_key_ + several.step >= count();
      if (place_.copies) request->Keep();
      Add(request);
      ++added;
    }
    if (next_key_ < count()) return;
    next_key_ = 0;
    group_.reset();
  }

  // Of KEYS, until all is told.
  std::shared_ptr<KeysAnswer> keys_answer;
  // Of EXEC, until its transaction is over.
  std::shared_ptr<ExecAnswer> exec_answer;

 private:
  // Requests that are added without asking whether there is room.
  static constexpr size_t kAtOnce = 256;

  bool TakesKey(std::string_view key) const;

  const Place place_;
  const Command* const command_;
  const std::span<const std::string_view> arguments_;
  size_t next_key_ = 0;
  SharedGroup group_;
};

// What the commands do, for the table.
namespace commands {

void Get(Call& call);
void MGet(Call& call);
void Exists(Call& call);
void StrLen(Call& call);
void GetRange(Call& call);
void Ttl(Call& call);
void PTtl(Call& call);
void ExpireTime(Call& call);
void PExpireTime(Call& call);
void Type(Call& call);

void Set(Call& call);
void SetNx(Call& call);
void SetEx(Call& call);
void PSetEx(Call& call);
void GetSet(Call& call);
void MSet(Call& call);
void MSetNx(Call& call);
void GetEx(Call& call);

void Del(Call& call);
void GetDel(Call& call);
void Append(Call& call);
void SetRange(Call& call);
void Incr(Call& call);
void Decr(Call& call);
void IncrBy(Call& call);
void DecrBy(Call& call);
void IncrByFloat(Call& call);

void Expire(Call& call);
void PExpire(Call& call);
void ExpireAt(Call& call);
void PExpireAt(Call& call);
void Persist(Call& call);

void Ping(Call& call);
void Echo(Call& call);
void Select(Call& call);
void Quit(Call& call);
void Reset(Call& call);
void Hello(Call& call);
void Auth(Call& call);
void Client(Call& call);

void Multi(Call& call);
void Exec(Call& call);
void Discard(Call& call);
void Watch(Call& call);
void Unwatch(Call& call);

void Keys(Call& call);
void Scan(Call& call);
void DbSize(Call& call);
void RandomKey(Call& call);

void FlushAll(Call& call);
void Info(Call& call);
void Config(Call& call);
void CommandCommand(Call& call);

}  // namespace commands

}  // namespace plov::door::redis
