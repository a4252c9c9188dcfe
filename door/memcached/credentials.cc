#include "door/memcached/credentials.h"

#include <algorithm>
#include <string>

namespace plov::door::memcached {

namespace {

// Looks at every byte, so that the time tells nothing of where the first difference is.
template <size_t kBytes>
unsigned Difference(const std::array<char, kBytes>& one, const std::array<char, kBytes>& other) {
  unsigned difference = 0;
  for (size_t i = 0; i < kBytes; ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference;
}

}  // namespace

bool Credentials::IsGood(std::string_view part) {
  return !part.empty() && part.size() <= kBytesMax && part.find('\0') == part.npos;
}

Credentials::Credentials(std::string_view user, std::string_view password) {
  user.copy(user_.data(), user_.size());
  password.copy(password_.data(), password_.size());
}

bool Credentials::Equals(const Credentials& other) const {
  return (Difference(user_, other.user_) | Difference(password_, other.password_)) == 0;
}

std::expected<std::vector<Credentials>, Error> ParseUsers(std::string_view text) {
  std::vector<Credentials> users;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, std::min(text.find('\r'), end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const size_t colon = std::min(line.find(':'), line.size());
    const std::string_view user = line.substr(0, colon);
    const std::string_view password = line.substr(std::min(colon + 1, line.size()));
    if (!Credentials::IsGood(user) || !Credentials::IsGood(password)) {
      return Fail(Code::kInvalidArgument, "line " + std::to_string(number) +
                                              " is not user:password, of up to 255 bytes each");
    }
    users.emplace_back(user, password);
  }
  if (users.empty()) return Fail(Code::kInvalidArgument, "there is no line user:password");
  return users;
}

std::optional<PlainMessage> ParsePlain(std::string_view message) {
  const size_t user_begin = message.find('\0');
  if (user_begin == message.npos) return std::nullopt;
  const std::string_view acts_as = message.substr(0, user_begin);
  message.remove_prefix(user_begin + 1);
  const size_t user_end = message.find('\0');
  if (user_end == message.npos) return std::nullopt;
  const PlainMessage plain{.user = message.substr(0, user_end),
                           .password = message.substr(user_end + 1)};
  const bool has_more = plain.password.find('\0') != plain.password.npos;
  if (has_more || (!acts_as.empty() && acts_as != plain.user)) return std::nullopt;
  return plain;
}

}  // namespace plov::door::memcached
