// SaslSession: how far one connection of memcached's binary protocol has come with showing who it is, by SASL's
// mechanism PLAIN (RFC 4616), as memcached has it by Cyrus SASL.
//
// Threads: a worker's.
#pragma once

#include <string_view>

#include "door/memcached/binary_header.h"
#include "door/memcached/users.h"

namespace plov::door::memcached {

inline constexpr std::string_view kSaslMechanisms = "PLAIN";
inline constexpr size_t kSaslMechanismMax = 32;

class SaslSession {
 public:
  // users: nullptr if all may come in.
  explicit SaslSession(const Users* users) : users_(users) {}

  bool is_enabled() const { return users_ != nullptr; }
  // Whether a request of this opcode may be answered.
  bool Allows(Opcode opcode) const;
  // As memcached does with each request about SASL: who the client was before is forgotten.
  void Forget() { is_authenticated_ = false; }
  // With the first message, or without it, which comes with a step then: kSuccess, kAuthContinue, kAuthError. Who
  // has succeeded fails once before a next success.
  Status Begin(std::string_view mechanism, std::string_view message);
  Status Step(std::string_view message);

 private:
  Status Check(std::string_view message);

  const Users* users_;
  bool is_authenticated_ = false;
  bool has_begun_ = false;
  bool has_succeeded_ = false;  // since it has begun
};

}  // namespace plov::door::memcached
