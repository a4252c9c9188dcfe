// Subject: a cluster that is measured while the server of some of its keys is harmed: plov's or Redis's.
//
// Threads: the main one, but for its clients, of which each has one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "verify/error.h"

namespace plov::bench {

enum class Harm : uint8_t {
  kKill,  // the server is killed, and started again without its memory
  kStop,  // is stopped, and goes on
  kCut,   // is cut off from the others, and from what they agree by, but not from clients
  kMove,  // its part is handed over to another one
};
inline constexpr std::array kHarmNames =
    std::to_array<std::string_view>({"killed", "stopped", "cut off", "moved"});
constexpr std::string_view NameOf(Harm harm) { return kHarmNames.at(static_cast<size_t>(harm)); }

// Keys have numbers; there are so many that each server has some.
inline constexpr size_t kSubjectKeys = 256;
inline std::string SubjectKey(size_t key) { return "key:" + std::to_string(key); }

class SubjectClient {
 public:
  virtual ~SubjectClient() = default;
  // Until it is acknowledged, or an error that says that it may not have been done.
  virtual std::expected<void, Error> Put(size_t key, uint64_t value) = 0;
  // 0: there is none.
  virtual std::expected<uint64_t, Error> Get(size_t key) = 0;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::expected<std::unique_ptr<SubjectClient>, Error> Connect() const = 0;
  virtual bool Can(Harm harm) const = 0;
  // Harms a server that has some of the keys. Returns at once.
  virtual std::expected<void, Error> Do(Harm harm) = 0;
  // Mends it, and waits until the cluster is as it was.
  virtual std::expected<void, Error> Mend(Harm harm) = 0;
};

using StartedSubject = std::expected<std::unique_ptr<Subject>, Error>;

// Six servers, three of them replicas; a node timeout of 1 s. folder: of its files. kUnavailable: it is not installed, or
// plov-bench was built without hiredis.
StartedSubject StartRedisCluster(const std::string& folder);
// The same where hiredis was there.
StartedSubject MakeRedisCluster(const std::string& folder);

}  // namespace plov::bench
