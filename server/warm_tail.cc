#include "server/warm_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <utility>

#include "server/own_file.h"
#include "server/region.h"
#include "verify/record.h"
#include "verify/superblock.h"
#include "verify/words.h"

namespace plov::server {

namespace {

using verify::KeepStoreOrder;
using verify::kWordBytes;
using verify::LoadWord;
using verify::StoreWord;

constexpr uint64_t kMagic = 0x6c69'6174'766f'6c70;  // "plovtail"
constexpr uint64_t kFormat = 1;
// The words of the page.
enum TailWord : size_t {
  kMagicAt = 0,
  kFormatAt,
  kLogLowAt,
  kLogHighAt,
  kIncarnationAt,
  kLifeAt,
  kNextLifeAt,
  kStateAt,
  kBootAt,
  kBootRestAt,
  kPublishedAt,
  kDurableAt,
  kBeginAt,
  kEndAt,
  kAnnouncedAt,
  kIntendedAt = 16,
};
constexpr size_t kFileBytes = size_t{8} << 20;
constexpr size_t kEntryWords = 4;  // before the key

enum TailState : uint64_t { kNothing, kRestores, kServes };

constexpr size_t EntryBytes(size_t key_bytes) {
  return kEntryWords * kWordBytes + verify::RoundUpToWord(key_bytes);
}
// Room for writes that were let in and have not been made yet: a PUT of each of ten thousand clients.
constexpr size_t kRoomBytes = size_t{1} << 20;

// Of this run of the host's kernel: memory that is said to be of another one was on a disk.
std::array<uint64_t, 2> BootId() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  std::erase(text, '-');
  std::array<uint64_t, 2> id{};
  for (size_t i = 0; i < id.size() && text.size() == 32; ++i) {
    std::from_chars(text.data() + 16 * i, text.data() + 16 * (i + 1), id[i], 16);
  }
  return id;
}

std::string PathOf(const std::string& warm_path) { return warm_path + ".tail"; }

}  // namespace

WarmTail::WarmTail(std::string path, fabric::Mapping memory)
    : path_(std::move(path)),
      memory_(std::move(memory)),
      capacity_(memory_.bytes().size() - verify::kPageBytes) {
  ReadFormer();
}

// All of it is committed at once, so that no later store can end the process.
std::expected<WarmTail, Error> WarmTail::Open(const std::string& warm_path) {
  const std::string path = PathOf(warm_path);
  const auto fd = OpenOwnFile(path, "the file");
  if (!fd) return std::unexpected(fd.error());
  struct stat status;
  if (::fstat(fd->get(), &status) != 0) return FailErrno("cannot look at " + path, errno);
  const auto unit = static_cast<size_t>(status.st_blksize);  // of hugetlbfs: a page of it
  const size_t bytes = RoundUp(kFileBytes, unit);
  const int failed = ::posix_fallocate(fd->get(), 0, static_cast<off_t>(bytes));
  if (failed != 0) {
    auto error =
        FailErrno("cannot reserve " + std::to_string(bytes >> 20) + " MiB for " + path, failed);
    if (failed == ENOSPC) {
      error.error().code = Code::kNoSpace;
      error.error().message +=
          ": remove other files there, or make it larger (mount -o remount,size=SIZE)";
    }
    return error;
  }
  auto memory = fabric::Mapping::Map(fd->get(), bytes, PROT_READ | PROT_WRITE);
  if (!memory) return std::unexpected(memory.error());
  return WarmTail(path, std::move(*memory));
}

void WarmTail::Remove(const std::string& warm_path) { ::unlink(PathOf(warm_path).c_str()); }

uint64_t* WarmTail::Word(size_t index) const {
  return verify::WordsAt(memory_.bytes().data(), index * kWordBytes);
}

uint64_t* WarmTail::RingWord(uint64_t at) const {
  return verify::WordsAt(memory_.bytes().data(), verify::kPageBytes + at % capacity_);
}

void WarmTail::ReadFormer() {
  if (LoadWord(Word(kMagicAt)) != kMagic || LoadWord(Word(kFormatAt)) != kFormat) return Clear();
  begin_ = LoadWord(Word(kBeginAt));
  end_ = LoadWord(Word(kEndAt));
  durable_version_ = LoadWord(Word(kDurableAt));
  const std::array boot = {LoadWord(Word(kBootAt)), LoadWord(Word(kBootRestAt))};
  const uint64_t state = LoadWord(Word(kStateAt));
  if (state == kRestores) {
    former_ = Former::kUnfinished;
  } else if (state == kServes) {
    former_ = boot == BootId() ? Former::kServed : Former::kStale;
  }
}

// Of a file that is new, or of somebody else.
void WarmTail::Clear() {
  StoreWord(Word(kMagicAt), 0);
  KeepStoreOrder();
  for (size_t i = kFormatAt; i < verify::kPageBytes / kWordBytes; ++i) StoreWord(Word(i), 0);
  StoreWord(Word(kFormatAt), kFormat);
  KeepStoreOrder();
  StoreWord(Word(kMagicAt), kMagic);
}

bool WarmTail::IsOf(const verify::LogId& log, uint64_t incarnation, uint64_t life) const {
  const verify::LogId own = {LoadWord(Word(kLogLowAt)), LoadWord(Word(kLogHighAt))};
  return former_ == Former::kServed && own == log && life != 0 &&
         LoadWord(Word(kIncarnationAt)) == incarnation &&
         (LoadWord(Word(kLifeAt)) == life || LoadWord(Word(kNextLifeAt)) == life);
}

uint64_t WarmTail::published() const { return LoadWord(Word(kPublishedAt)); }

std::expected<void, Error> WarmTail::ForEach(const std::function<void(const Entry&)>& visit) const {
  const bool is_whole = begin_ % kWordBytes == 0 && end_ % kWordBytes == 0 && begin_ <= end_ &&
                        end_ - begin_ <= capacity_;
  uint64_t at = begin_;
  while (is_whole && at < end_) {
    const auto word = [this, at](size_t index) {
      return LoadWord(RingWord(at + index * kWordBytes));
    };
    std::array<uint64_t, verify::RoundUpToWord(verify::kKeyBytesMax) / kWordBytes> key;
    const uint64_t key_bytes = word(3);
    if (key_bytes > verify::kKeyBytesMax || EntryBytes(key_bytes) > end_ - at) break;
    for (size_t i = 0; i < verify::RoundUpToWord(key_bytes) / kWordBytes; ++i) {
      key[i] = word(kEntryWords + i);
    }
    std::array<char, sizeof(key)> text;
    std::memcpy(text.data(), key.data(), key_bytes);
    visit({word(0), word(1), word(2), {text.data(), key_bytes}});
    at += EntryBytes(key_bytes);
  }
  if (!is_whole || at != end_) {
    return Fail(Code::kCorrupt, path_ +
                                    " is damaged: remove it and the memory file beside it, and "
                                    "plovd starts from the log");
  }
  const auto intended = [this](size_t index) { return LoadWord(Word(kIntendedAt + index)); };
  if (intended(0) != 0) visit({intended(0), intended(1), intended(2)});
  return {};
}

void WarmTail::BeginRestore() { StoreWord(Word(kStateAt), kRestores); }

void WarmTail::AnnounceLife(uint64_t life) { StoreWord(Word(kNextLifeAt), life); }

void WarmTail::GoOn(uint64_t life) { StoreWord(Word(kLifeAt), life); }

void WarmTail::BeginLife(const Life& life, const Versions& versions) {
  StoreWord(Word(kLogLowAt), life.log.low);
  StoreWord(Word(kLogHighAt), life.log.high);
  StoreWord(Word(kIncarnationAt), life.incarnation);
  StoreWord(Word(kLifeAt), life.life);
  const auto boot = BootId();
  StoreWord(Word(kBootAt), boot[0]);
  StoreWord(Word(kBootRestAt), boot[1]);
  Forget(versions);
  KeepStoreOrder();
  StoreWord(Word(kStateAt), kServes);
}

void WarmTail::Forget(const Versions& versions) {
  StoreWord(Word(kIntendedAt), 0);
  SetPublished(versions.published);
  SetDurable(versions.durable);
  begin_ = end_;
  StoreWord(Word(kBeginAt), begin_);
  marks_.clear();
}

bool WarmTail::HasRoom(uint64_t durable) {
  while (!marks_.empty() && marks_.front().batch <= durable) {
    begin_ = marks_.front().end;
    SetDurable(marks_.front().version);
    marks_.pop_front();
    StoreWord(Word(kBeginAt), begin_);
  }
  return capacity_ - (end_ - begin_) >= kRoomBytes;
}

void WarmTail::Intend(uint64_t version, uint64_t client_id, uint64_t sequence) {
  StoreWord(Word(kIntendedAt), 0);
  KeepStoreOrder();
  StoreWord(Word(kIntendedAt + 1), client_id);
  StoreWord(Word(kIntendedAt + 2), sequence);
  KeepStoreOrder();
  StoreWord(Word(kIntendedAt), version);
  KeepStoreOrder();
}

void WarmTail::Add(const Entry& entry, uint64_t batch) {
  const std::array<uint64_t, kEntryWords> head = {entry.version, entry.client_id, entry.sequence,
                                                  entry.key.size()};
  assert(EntryBytes(entry.key.size()) <= capacity_ - (end_ - begin_));
  uint64_t at = end_;
  for (const uint64_t word : head) {
    StoreWord(RingWord(at), word);
    at += kWordBytes;
  }
  for (std::string_view rest = entry.key; !rest.empty();) {
    uint64_t word = 0;
    const size_t bytes = std::min(rest.size(), kWordBytes);
    std::memcpy(&word, rest.data(), bytes);
    rest.remove_prefix(bytes);
    StoreWord(RingWord(at), word);
    at += kWordBytes;
  }
  KeepStoreOrder();
  end_ = at;
  StoreWord(Word(announces_ ? kAnnouncedAt : kEndAt), end_);
  KeepStoreOrder();
  const uint64_t version = std::max(entry.version, marks_.empty() ? 0 : marks_.back().version);
  if (marks_.empty() || marks_.back().batch != batch) marks_.push_back({batch, end_, version});
  marks_.back() = {batch, end_, version};
}

void WarmTail::Announce() {
  StoreWord(Word(kAnnouncedAt), end_);
  announces_ = true;
}

void WarmTail::Show() {
  announces_ = false;
  StoreWord(Word(kEndAt), end_);
  KeepStoreOrder();
}

void WarmTail::ShowAnnounced() {
  end_ = std::max(end_, LoadWord(Word(kAnnouncedAt)));
  Show();
}

void WarmTail::SetPublished(uint64_t version) {
  KeepStoreOrder();
  StoreWord(Word(kPublishedAt), version);
}

void WarmTail::SetDurable(uint64_t version) {
  durable_version_ = version;
  StoreWord(Word(kDurableAt), version);
}

}  // namespace plov::server
