#include "log/spares.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>

#include "log/folder.h"

namespace plov::log {

namespace {

constexpr std::string_view kSpareName = "spare.";
constexpr size_t kZeroesBytes = size_t{1} << 20;
constexpr auto kPauseAfterFailure = std::chrono::seconds(1);

std::expected<void, Error> FillWithZeroes(File* file, uint64_t bytes) {
  const std::vector<std::byte> zeroes(std::min<uint64_t>(bytes, kZeroesBytes));
  for (uint64_t at = 0; at < bytes; at += zeroes.size()) {
    const Bytes piece = Bytes(zeroes).first(std::min<uint64_t>(bytes - at, zeroes.size()));
    if (auto written = file->Write(at, std::span(&piece, 1)); !written) return written;
  }
  return file->Sync();
}

}  // namespace

Spares::Spares(Disk* disk, uint64_t file_bytes, std::vector<std::string> found)
    : disk_(disk), file_bytes_(file_bytes) {
  for (const std::string& name : found) Found(name);
}

// Every number that was seen is passed over, so that no new name meets an old file.
void Spares::Found(const std::string& name) {
  uint64_t number = 0;
  if (name.starts_with(kSpareName)) {
    std::from_chars(name.data() + kSpareName.size(), name.data() + name.size(), number);
    next_ = std::max(next_, number + 1);
  }
  if (wants() && IsReusable(name)) {
    ready_.push_back(name);
  } else {
    (void)disk_->Remove(name);  // in the way of nothing if it stays
  }
}

std::string Spares::NextName() { return std::string(kSpareName) + std::to_string(next_++); }

bool Spares::IsReusable(const std::string& name) {
  const auto file = disk_->Open(name, Disk::Mode::kRead);
  return file && (*file)->bytes() == file_bytes_ && !(*file)->has_other_names();
}

// It gets its name when it is whole, so that no part of one is ever taken for a spare.
std::expected<void, Error> Spares::MakeFile(const std::string& name, uint64_t bytes) {
  const std::string unfinished = Unfinished(name);
  auto file = disk_->Open(unfinished, Disk::Mode::kCreate);
  if (!file) return std::unexpected(file.error());
  auto made = FillWithZeroes(file->get(), bytes);
  if (made) made = disk_->Rename(unfinished, name);
  if (!made) (void)disk_->Remove(unfinished);
  return made;
}

std::expected<std::string, Error> Spares::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!ready_.empty()) {
      std::string name = std::move(ready_.back());
      ready_.pop_back();
      changed_.notify_all();
      return name;
    }
  }
  return MakeOf(file_bytes_);
}

std::expected<std::string, Error> Spares::MakeOf(uint64_t bytes) {
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    name = NextName();
  }
  if (auto made = MakeFile(name, bytes); !made) return std::unexpected(made.error());
  return name;
}

// The old name is gone for good before anything is written into the file: else it would come back after
// a power cut, with bytes that are another's.
bool Spares::Recycle(const std::string& from, const std::string& to) {
  return disk_->Rename(from, to) && disk_->SyncNames();
}

void Spares::Give(const std::string& name) {
  std::string to;
  if (IsReusable(name)) {
    const std::lock_guard lock(mutex_);
    if (wants()) {
      to = NextName();
      ++coming_;
    }
  }
  if (to.empty()) {
    (void)disk_->Remove(name);  // else the next start finds it again, and gives it again
    return;
  }
  const bool recycled = Recycle(name, to);
  const std::lock_guard lock(mutex_);
  --coming_;
  if (recycled) ready_.push_back(to);
  changed_.notify_all();
}

bool Spares::WaitUntilWanted() {
  std::unique_lock lock(mutex_);
  if (failed_) changed_.wait_for(lock, kPauseAfterFailure, [this] { return stopped_; });
  changed_.wait(lock, [this] { return stopped_ || wants(); });
  return !stopped_;
}

std::expected<void, Error> Spares::Make() {
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    if (!wants()) return {};
    name = NextName();
    ++coming_;
  }
  auto made = MakeFile(name, file_bytes_);
  const std::lock_guard lock(mutex_);
  --coming_;
  failed_ = !made;
  if (made) ready_.push_back(name);
  changed_.notify_all();
  return made;
}

void Spares::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace plov::log
