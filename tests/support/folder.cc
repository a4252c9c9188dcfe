#include "tests/support/folder.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace plov::test {

namespace {

constexpr uintmax_t kRoomBytes = uintmax_t{512} << 20;

std::filesystem::path Parent(TemporaryFolder::Where where) {
  const std::filesystem::path tmpfs = "/dev/shm";
  std::error_code failed;
  if (where == TemporaryFolder::Where::kTmpfs && ::access(tmpfs.c_str(), W_OK) == 0 &&
      std::filesystem::space(tmpfs, failed).available >= kRoomBytes && !failed) {
    return tmpfs;
  }
  return std::filesystem::temp_directory_path();
}

}  // namespace

TemporaryFolder::TemporaryFolder(Where where) {
  std::string pattern = Parent(where) / "plov-test-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace plov::test
