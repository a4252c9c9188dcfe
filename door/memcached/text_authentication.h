// TextAuthentication: memcached's text protocol before its client has shown who it is, where --memcached-auth-file
// wants that. The client sends a set of any key whose value is "user password"; everything else is refused.
//
// Threads: a worker's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "door/connection.h"
#include "door/memcached/users.h"
#include "door/protocol.h"

namespace plov::door::memcached {

class TextAuthentication final : public Protocol {
 public:
  TextAuthentication(Connection* connection, const Users& users)
      : connection_(connection), users_(users) {}

  size_t Take(std::string_view input) override;
  std::span<char> wanted() override { return {}; }
  void Filled(size_t /*bytes*/) override {}
  size_t bytes() const override { return 0; }

  // The client is known: TextProtocol goes on.
  bool is_over() const { return is_over_; }

 private:
  size_t TakeLine(std::string_view input, size_t end);
  size_t TakeBlock(std::string_view input);
  void Answer(std::string_view reply);

  Connection* connection_;
  const Users& users_;
  std::optional<size_t> block_bytes_;  // with its end, of the set whose line was taken
  bool is_over_ = false;
};

}  // namespace plov::door::memcached
