// PosixDisk: a folder of the system's, as a Disk.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "fabric/os.h"
#include "log/disk.h"

namespace plov::log {

class PosixDisk : public Disk {
 public:
  // The folder, which is made when it is not there and its parent is. kPermission: it cannot be written.
  // kInvalidArgument: it is not a folder, or on a network's file system, whose fsync promises nothing here.
  static std::expected<std::unique_ptr<PosixDisk>, Error> Open(const std::string& path);
  // The same for reading alone: it must be there, and may be read-only.
  static std::expected<std::unique_ptr<PosixDisk>, Error> OpenForReading(const std::string& path);

  std::expected<std::unique_ptr<File>, Error> Open(const std::string& name, Mode mode) override;
  std::expected<void, Error> Rename(const std::string& from, const std::string& to) override;
  std::expected<void, Error> Remove(const std::string& name) override;
  std::expected<void, Error> Link(const std::string& from, const std::string& to) override;
  std::expected<void, Error> SyncNames() override;
  std::expected<std::vector<std::string>, Error> List() override;
  std::string PathOf(const std::string& name) const override;

 private:
  PosixDisk(std::string path, fabric::Fd folder);

  std::string path_;
  fabric::Fd folder_;
};

}  // namespace plov::log
