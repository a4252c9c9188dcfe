// Safe time: up to which time of its own clock a replica has published all that anybody has acknowledged or READ of the
// shard. So what is READ of it, whoever the primary is by then, was the newest at that time or later.
//
// A replica tells its clock in each acknowledgement. The primary that hears it asks, as for a GET by message (S8), whether
// it is the primary still; when it is, what it has published has all of that, and it sends the time back with that number.
// No two clocks are compared.
//
// Source: safe time, t_safe of Spanner (Corbett et al., OSDI 2012, section 4.1.3); CockroachDB's closed timestamps.
//
// Threads: one.
#pragma once

#include <cstdint>

namespace plov::cluster {

// What a primary knows of one replica's, or of its own.
class SafeTime {
 public:
  // The replica's clock has shown `clock_us`, when the last message of the primary was of `sent_us`.
  void Hear(uint64_t clock_us, uint64_t sent_us) {
    if (is_asked()) return;
    heard_us_ = clock_us;
    since_us_ = sent_us;
  }
  bool is_asked() const { return heard_us_ != 0; }
  uint64_t since_us() const { return since_us_; }  // of the question
  // The answer is yes.
  void Confirm() {
    safe_us_ = heard_us_;
    heard_us_ = 0;
  }
  uint64_t us() const { return safe_us_; }  // 0: none yet

 private:
  uint64_t heard_us_ = 0;  // 0: none that is not confirmed
  uint64_t since_us_ = 0;
  uint64_t safe_us_ = 0;
};

// What a replica has been told, and has not published all of.
class ComingSafeTime {
 public:
  // It is `safe_us` when all up to `number` is published.
  void Hear(uint64_t safe_us, uint64_t number) {
    if (is_coming_ || safe_us <= us_) return;
    is_coming_ = true;
    us_ = safe_us;
    number_ = number;
  }
  // Whether it has come.
  bool Take(uint64_t published) {
    const bool has_come = is_coming_ && published >= number_;
    if (has_come) is_coming_ = false;
    return has_come;
  }
  uint64_t us() const { return us_; }

 private:
  bool is_coming_ = false;
  uint64_t us_ = 0;
  uint64_t number_ = 0;
};

}  // namespace plov::cluster
