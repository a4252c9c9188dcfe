#include "door/memcached/sasl.h"

#include <strings.h>

#include <string>
#include <utility>

namespace plov::door::memcached {

namespace {

// Mechanisms have names without upper and lower case.
bool IsPlain(std::string_view mechanism) {
  const std::string name(mechanism.substr(0, mechanism.find('\0')));
  return ::strcasecmp(name.c_str(), "PLAIN") == 0;
}

}  // namespace

bool SaslSession::Allows(Opcode opcode) const {
  switch (opcode) {
    case Opcode::kSaslList:
    case Opcode::kSaslAuth:
    case Opcode::kSaslStep:
    case Opcode::kVersion:
      return true;
    default:
      return !is_enabled() || is_authenticated_;
  }
}

Status SaslSession::Begin(std::string_view mechanism, std::string_view message) {
  Forget();
  has_begun_ = false;
  if (std::exchange(has_succeeded_, false) || !IsPlain(mechanism)) return Status::kAuthError;
  const Status status = message.empty() ? Status::kAuthContinue : Check(message);
  has_begun_ = status != Status::kAuthError;
  return status;
}

Status SaslSession::Step(std::string_view message) {
  Forget();
  return has_begun_ && !has_succeeded_ ? Check(message) : Status::kAuthError;
}

Status SaslSession::Check(std::string_view message) {
  const auto plain = ParsePlain(message);
  is_authenticated_ = plain && users_->Has(plain->user, plain->password);
  has_succeeded_ = is_authenticated_;
  return is_authenticated_ ? Status::kSuccess : Status::kAuthError;
}

}  // namespace plov::door::memcached
