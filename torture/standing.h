// Standing items: what every server of a run holds and nobody writes, so that any GET must find it.
//
// Clients get them all the time, also while they wait for a fail-over to end; so there are GETs
// under way when the server that they are connected to dies and another takes its name.
#pragma once

#include <plov/client.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "torture/key_names.h"

namespace plov::torture {

class Standing {
 public:
  explicit Standing(uint32_t run);

  // Stores what is not there. Errors: of the client.
  std::expected<void, Error> Load(Client* client) const;
  // Gets all. What was wrong, if anything; errors of the client are not.
  std::optional<std::string> Get(Client* client) const;

 private:
  static constexpr size_t kItems = 1024;

  static std::string ValueOf(size_t index);

  std::vector<KeyName> names_;
  std::vector<std::string_view> keys_;
};

}  // namespace plov::torture
