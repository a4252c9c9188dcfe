// Credentials: a user's name and password, as a file of users has them, and as a client sends them by SASL's mechanism
// PLAIN. Pure.
//
// A comparison takes the same time whatever is compared.
#pragma once

#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "verify/error.h"

namespace plov::door::memcached {

// Each part has 1 to kBytesMax bytes, and zero bytes behind.
class Credentials {
 public:
  static constexpr size_t kBytesMax = 255;

  // Whether it may be a name or a password: it is not empty, not longer, and has no zero byte.
  static bool IsGood(std::string_view part);

  // Both are good.
  Credentials(std::string_view user, std::string_view password);

  bool Equals(const Credentials& other) const;

 private:
  std::array<char, kBytesMax> user_{};
  std::array<char, kBytesMax> password_{};
};

// The lines of such a file. Empty lines are passed over. kInvalidArgument, with the number of the line that is wrong.
std::expected<std::vector<Credentials>, Error> ParseUsers(std::string_view text);

struct PlainMessage {
  std::string_view user;
  std::string_view password;
};

// A message of PLAIN: identity to act as, zero byte, user, zero byte, password. std::nullopt: it is none, or the
// user wants to act as another one.
std::optional<PlainMessage> ParsePlain(std::string_view message);

}  // namespace plov::door::memcached
