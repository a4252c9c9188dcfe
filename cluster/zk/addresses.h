// Where an ensemble is: HOST[:PORT],.../ROOT, looked up.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "verify/error.h"

namespace plov::cluster::zk {

struct Host {
  std::string name;  // or an IP address, without brackets
  std::string port;
};

struct Place {
  std::vector<Host> hosts;
  std::string root;  // "/plov/NAME"
};

// kInvalidArgument.
std::expected<Place, Error> ParsePlace(std::string_view place);

// "127.0.0.1:2181,::1:2181" as the client library takes it: all of those of a family that this machine has. A name
// that is not known is left out beside others. kInvalidArgument when none is known, kUnavailable when the name service does
// not answer. Takes as long as that.
std::expected<std::string, Error> LookUp(const std::vector<Host>& hosts);

}  // namespace plov::cluster::zk
