// PaddedDisk: a log's folder, read as if no segment had been cut short: what is missing at its end is zeros.
//
// Threads: as the disk below it. Nothing can be written.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log/disk.h"
#include "verify/log.h"

namespace plov::log::offline {

class PaddedDisk final : public Disk {
 public:
  explicit PaddedDisk(Disk* disk) : disk_(disk) {}

  // Only for reading. Files that have no segment's head are as they are.
  std::expected<std::unique_ptr<File>, Error> Open(const std::string& name, Mode) override {
    auto file = disk_->Open(name, Mode::kRead);
    if (!file) return file;
    verify::LogBlock block;
    if ((*file)->bytes() < block.size() || !(*file)->Read(0, block)) return file;
    const auto head = verify::CheckLogHead(verify::LogFile::kSegment, block);
    const bool is_short = head && (*file)->bytes() < head->file_bytes;
    if (!is_short || head->file_bytes > kBytesMax) return file;
    return std::make_unique<Padded>(*std::move(file), head->file_bytes);
  }
  std::expected<std::vector<std::string>, Error> List() override { return disk_->List(); }
  std::string PathOf(const std::string& name) const override { return disk_->PathOf(name); }

  std::expected<void, Error> Rename(const std::string& name, const std::string&) override {
    return Refuse(name);
  }
  std::expected<void, Error> Remove(const std::string& name) override { return Refuse(name); }
  std::expected<void, Error> Link(const std::string& name, const std::string&) override {
    return Refuse(name);
  }
  std::expected<void, Error> SyncNames() override { return Refuse(""); }

 private:
  // More than any segment has; zeros without end are not worth reading.
  static constexpr uint64_t kBytesMax = uint64_t{64} << 30;

  class Padded final : public File {
   public:
    Padded(std::unique_ptr<File> file, uint64_t bytes) : file_(std::move(file)), bytes_(bytes) {}

    uint64_t bytes() const override { return bytes_; }
    bool has_other_names() const override { return file_->has_other_names(); }
    std::expected<void, Error> Read(uint64_t offset, std::span<std::byte> to) override {
      if (offset + to.size() > bytes_) return Fail(Code::kCorrupt, "the file ends too early");
      const uint64_t there = file_->bytes() - std::min(file_->bytes(), offset);
      const size_t from_file = std::min<uint64_t>(there, to.size());
      std::ranges::fill(to.subspan(from_file), std::byte{0});
      return file_->Read(offset, to.first(from_file));
    }
    std::expected<void, Error> Write(uint64_t, std::span<const Bytes>) override {
      return Fail(Code::kPermission, "this file is only read");
    }
    std::expected<void, Error> Sync() override { return {}; }
    void DropCache() override { file_->DropCache(); }

   private:
    std::unique_ptr<File> file_;
    uint64_t bytes_;
  };

  std::expected<void, Error> Refuse(const std::string& name) const {
    return Fail(Code::kPermission, PathOf(name) + ": this folder is only read");
  }

  Disk* disk_;
};

}  // namespace plov::log::offline
