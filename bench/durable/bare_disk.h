// BareDisk: durable writes, one after the other over a file of zeros, which is what a log does at least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

#include "fabric/os.h"
#include "verify/error.h"

namespace plov::bench {

class BareDisk {
 public:
  static constexpr size_t kWriteBytesMax = size_t{64} << 10;

  // Makes the file. Errors: kSystem.
  static std::expected<BareDisk, Error> Create(const std::string& path, uint64_t file_bytes);

  // The next bytes, up to kWriteBytesMax; returns when they are durable (O_DSYNC). Errors: kSystem.
  std::expected<void, Error> Write(size_t bytes);

 private:
  BareDisk(std::string path, fabric::Fd file, uint64_t file_bytes)
      : path_(std::move(path)), file_(std::move(file)), file_bytes_(file_bytes) {}

  std::string path_;
  fabric::Fd file_;
  uint64_t file_bytes_;
  uint64_t next_ = 0;
};

// Whether the folder lies in memory, which is no disk.
bool IsOnTmpfs(const std::string& folder);

}  // namespace plov::bench
