#include "log/offline/index.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "verify/seal.h"

namespace plov::log::offline {

namespace {

// Values lie close to each other mostly; more of them cost no read of their own.
constexpr uint64_t kValueWindowBytes = uint64_t{256} << 10;

uint64_t ChecksumOf(std::string_view value) {
  return verify::Checksum(value.data(), value.size(), 0);
}

}  // namespace

uint32_t Index::FileOf(std::string_view name) {
  if (files_.empty() || files_.back() != name) {
    if (const auto found = std::ranges::find(files_, name); found != files_.end()) {
      return static_cast<uint32_t>(found - files_.begin());
    }
    files_.emplace_back(name);
  }
  return static_cast<uint32_t>(files_.size() - 1);
}

void Index::Apply(const verify::Logged& operation, const Place& place) {
  if (operation.key.empty()) return;
  const auto found = entries_.find(operation.key);
  if (found != entries_.end() && found->second.version > operation.version) return;
  const bool is_put = operation.kind == verify::Logged::Kind::kPut;
  if (!is_put && deletes_ == Deletes::kForget) {
    if (found != entries_.end()) entries_.erase(found);
    return;
  }
  Entry& entry = found != entries_.end() ? found->second : entries_[std::string(operation.key)];
  entry = {.version = operation.version};
  if (!is_put) return;
  entry.value_offset = place.value_offset;
  entry.value_checksum = ChecksumOf(operation.value);
  entry.file = FileOf(place.file);
  entry.value_bytes = static_cast<uint32_t>(operation.value.size());
  entry.flags = operation.flags;
  entry.expiry = operation.expiry;
}

// Reads values in the order of files and offsets, through a window.
class Index::Values {
 public:
  Values(Disk* disk, const std::vector<std::string>& files) : disk_(disk), files_(files) {}

  // Valid until the next call.
  std::expected<std::string_view, Error> Read(const Entry& entry) {
    if (entry.value_bytes == 0) return std::string_view();
    if (auto opened = Open(entry.file); !opened) return std::unexpected(opened.error());
    const uint64_t end = entry.value_offset + entry.value_bytes;
    if (entry.value_offset < window_at_ || end > window_at_ + window_.size()) {
      const uint64_t rest = file_->bytes() - std::min(file_->bytes(), entry.value_offset);
      auto read = Fill(entry.value_offset,
                       std::max<uint64_t>(std::min(rest, kValueWindowBytes), entry.value_bytes));
      // What lies behind the value may be what the disk cannot read.
      if (!read) read = Fill(entry.value_offset, entry.value_bytes);
      if (!read) return std::unexpected(read.error());
    }
    const std::string_view value(window_.data() + (entry.value_offset - window_at_),
                                 entry.value_bytes);
    if (ChecksumOf(value) == entry.value_checksum) return value;
    return Fail(Code::kCorrupt, name_ + ": it was changed while it was read");
  }

 private:
  std::expected<void, Error> Open(uint32_t index) {
    if (file_ && index_ == index) return {};
    const std::string& name = files_[index];
    auto opened = disk_->Open(name, Disk::Mode::kRead);
    if (!opened) return std::unexpected(opened.error());
    file_ = *std::move(opened);
    index_ = index;
    name_ = disk_->PathOf(name);
    window_.clear();
    return {};
  }

  std::expected<void, Error> Fill(uint64_t offset, uint64_t bytes) {
    window_.resize(bytes);
    window_at_ = offset;
    auto read = file_->Read(offset, std::as_writable_bytes(std::span(window_)));
    if (!read) window_.clear();
    return read;
  }

  Disk* disk_;
  const std::vector<std::string>& files_;
  std::unique_ptr<File> file_;
  uint32_t index_ = 0;
  std::string name_;
  std::vector<char> window_;
  uint64_t window_at_ = 0;
};

std::expected<void, Error> Index::ForEach(Disk* disk, uint64_t unix_seconds,
                                          const std::function<bool(const Item&)>& told) const {
  std::vector<const Entries::value_type*> items;
  for (const auto& entry : entries_) {
    const uint32_t expiry = entry.second.expiry;
    const bool has_expired = expiry != 0 && expiry <= unix_seconds;
    if (entry.second.file != kDeleted && !has_expired) items.push_back(&entry);
  }
  std::ranges::sort(items, {}, [](const Entries::value_type* item) {
    return std::tuple(item->second.file, item->second.value_offset);
  });
  Values values(disk, files_);
  for (const Entries::value_type* item : items) {
    const auto value = values.Read(item->second);
    if (!value) return std::unexpected(value.error());
    if (!told(
            {item->first, *value, item->second.version, item->second.flags, item->second.expiry})) {
      break;
    }
  }
  return {};
}

}  // namespace plov::log::offline
