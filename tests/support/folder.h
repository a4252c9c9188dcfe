// A temporary folder of a test.
#pragma once

#include <string>

namespace plov::test {

// A folder that goes with its object.
class TemporaryFolder {
 public:
  // kTmpfs: in /dev/shm, where there is one with room for a few tests, as a user's warm file is.
  enum class Where { kDisk, kTmpfs };
  explicit TemporaryFolder(Where where = Where::kDisk);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace plov::test
