// Users: who may come in to memcached's protocols, from a file that --memcached-auth-file names, as memcached's -Y
// has it: a line user:password for each.
//
// How long an answer takes depends on the number of users alone.
//
// Threads: any.
#pragma once

#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "door/memcached/credentials.h"
#include "verify/error.h"

namespace plov::door::memcached {

class Users {
 public:
  // kInvalidArgument: it is no such file, or others than its owner and its group may read or write it; kPermission,
  // kSystem: it cannot be read.
  static std::expected<std::unique_ptr<Users>, Error> Of(const std::string& path);

  // Reads the file again. If that fails, those who are known stay.
  std::expected<void, Error> Reload();
  bool Has(std::string_view user, std::string_view password) const;

 private:
  explicit Users(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<Credentials> all_;  // under mutex_
};

}  // namespace plov::door::memcached
