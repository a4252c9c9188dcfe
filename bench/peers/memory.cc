// The memory itself, as the limit of what any store of this kind can do: for each item 64 bytes at
// a random place, which say where 120 more are. Nothing is verified, nothing compared.
//
// The memory is shared like a plovd's: an anonymous file, filled through one mapping, read through
// another that is read-only. So pages, and what it costs to look them up, are the same.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "bench/peers/peer.h"
#include "torture/random.h"

namespace plov::bench {

namespace {

constexpr size_t kBucketWords = 8;
constexpr size_t kRecordWords = 15;
constexpr size_t kRecordStride = 16;  // words; the allocator's size class for 120 bytes
constexpr size_t kBatch = 16;         // READs that are prefetched before the first is done
constexpr uint64_t kSeed = 7;         // any, but the order's

template <size_t kWords>
uint64_t Xor(const uint64_t* words) {
  uint64_t all = 0;
  for (size_t at = 0; at < kWords; ++at) all ^= words[at];
  return all;
}

class Memory final : public Peer {
 public:
  Memory(const Work& work, uint64_t buckets)
      : Peer(work), buckets_(std::max(buckets, work.count())), count_(work.count()) {}
  ~Memory() override {
    if (words_ != nullptr) ::munmap(const_cast<uint64_t*>(words_), bytes());
  }

  std::expected<void, Error> Open();

  bool Can(Way way) const override { return way == Way::kGet || way == Way::kGetMany; }
  std::expected<void, Error> Do(Way way, Turn turn) override {
    const uint64_t sum = way == Way::kGet ? Chain(turn) : Prefetched(turn);
    if (sum == 0) return {};
    return Fail(Code::kCorrupt, "the memory does not hold what was stored there");
  }

 private:
  size_t bytes() const { return (buckets_ * kBucketWords + count_ * kRecordStride) * 8; }
  void Fill(uint64_t* words);
  uint64_t Chain(Turn turn) const;
  uint64_t Prefetched(Turn turn) const;

  uint64_t buckets_;
  uint64_t count_;
  const uint64_t* words_ = nullptr;
  std::vector<uint32_t> homes_;  // by place in the order
};

// The words of a bucket come to the record's place when all are xored, those of a record to 0, so
// that whoever wants to go on has to have read them all.
void Memory::Fill(uint64_t* words) {
  std::vector<uint32_t> free(buckets_);
  for (uint32_t index = 0; index < free.size(); ++index) free[index] = index;
  torture::Random random(kSeed);
  for (uint64_t left = buckets_; left > 1; --left) {
    std::swap(free[left - 1], free[random.Below(left)]);
  }
  const auto fill = [&random](uint64_t* to, size_t count, uint64_t all) {
    for (size_t at = 0; at + 1 < count; ++at) to[at] = random.Next();
    to[count - 1] = 0;
    for (size_t at = 0; at + 1 < count; ++at) all ^= to[at];
    to[count - 1] = all;
  };
  homes_.resize(count_);
  for (uint64_t place = 0; place < count_; ++place) {
    const uint32_t number = work().order()[place];  // in whose order records were stored
    const uint64_t record = buckets_ * kBucketWords + number * kRecordStride;
    homes_[place] = free[number];
    fill(words + homes_[place] * kBucketWords, kBucketWords, record);
    fill(words + record, kRecordWords, 0);
  }
}

std::expected<void, Error> Memory::Open() {
  const auto failed = [](const char* what) {
    return Fail(Code::kSystem, std::string(what) + ": " + std::strerror(errno));
  };
  const int fd = ::memfd_create("plov-bench", MFD_CLOEXEC);
  if (fd < 0) return failed("cannot create memory");
  void* own = MAP_FAILED;
  void* shared = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(bytes())) == 0) {
    own = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    shared = ::mmap(nullptr, bytes(), PROT_READ, MAP_SHARED, fd, 0);
  }
  ::close(fd);
  if (own != MAP_FAILED && shared != MAP_FAILED) {
    Fill(static_cast<uint64_t*>(own));
    words_ = static_cast<const uint64_t*>(shared);
    shared = MAP_FAILED;
  }
  if (own != MAP_FAILED) ::munmap(own, bytes());
  if (shared != MAP_FAILED) ::munmap(shared, bytes());
  if (words_ == nullptr) return failed("cannot map memory");
  return {};
}

// Where the next bucket is follows from the record before, so nothing overlaps.
uint64_t Memory::Chain(Turn turn) const {
  uint64_t zero = 0;
  for (size_t place = turn.first; place < turn.first + turn.count; ++place) {
    const uint64_t bucket = (homes_[place] ^ zero) * kBucketWords;
    const uint64_t record = Xor<kBucketWords>(words_ + bucket);
    zero = Xor<kRecordWords>(words_ + record);
  }
  return zero;
}

uint64_t Memory::Prefetched(Turn turn) const {
  uint64_t sum = 0;
  std::array<uint64_t, kBatch> records;
  for (size_t place = turn.first; place < turn.first + turn.count; place += kBatch) {
    const size_t count = std::min(kBatch, turn.first + turn.count - place);
    for (size_t i = 0; i < count; ++i) {
      __builtin_prefetch(words_ + homes_[place + i] * kBucketWords);
    }
    for (size_t i = 0; i < count; ++i) {
      records[i] = Xor<kBucketWords>(words_ + homes_[place + i] * kBucketWords);
      __builtin_prefetch(words_ + records[i]);
      __builtin_prefetch(words_ + records[i] + kRecordWords - 1);
    }
    for (size_t i = 0; i < count; ++i) sum |= Xor<kRecordWords>(words_ + records[i]);
  }
  return sum;
}

}  // namespace

StartedPeer StartMemory(const Work& work, const PeerPlace& place) {
  auto memory = std::make_unique<Memory>(work, place.buckets);
  if (auto opened = memory->Open(); !opened) return std::unexpected(opened.error());
  return memory;
}

}  // namespace plov::bench
