// A warm file that somebody changed, under good checksums where that takes it further: what a store
// finds that takes it over.
//
// Property: it is refused, or the store serves a GET of every key that lies in it, takes a PUT over
// each and then returns that, and is empty, its accounts too, when all keys are deleted.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fabric/os.h"
#include "server/store.h"
#include "tests/fuzz/input.h"
#include "verify/journal.h"

namespace plov::fuzz {
namespace {

using cuckoo::Geometry;
using cuckoo::StashGeometry;
using server::Store;
using verify::Bucket;
using verify::BucketKind;
using verify::Operation;
using verify::Superblock;

constexpr uint64_t kNowUs = 1'000'000'000;
constexpr size_t kMemoryBytes = 128 << 10;
constexpr uint64_t kBuckets = 64;
constexpr int kItems = 80;  // more than there are buckets

// On tmpfs where there is one; it goes with the process.
class WarmFile {
 public:
  WarmFile() {
    const char* folder = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    path_ = std::string(folder) + "/plov-fuzz-warm." + std::to_string(::getpid());
  }
  ~WarmFile() { ::unlink(path_.c_str()); }

  const std::string& path() const { return path_; }

  std::vector<std::byte> Read() const {
    std::vector<std::byte> image(std::filesystem::file_size(path_));
    const fabric::Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    Check(::pread(file.get(), image.data(), image.size(), 0) == static_cast<ssize_t>(image.size()),
          "the file is read");
    return image;
  }

  // Pages of zeros stay holes, as a server leaves them.
  void Write(std::span<const std::byte> image) const {
    const fabric::Fd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    Check(file && ::ftruncate(file.get(), static_cast<off_t>(image.size())) == 0, "a file");
    for (size_t at = 0; at < image.size(); at += server::kPageBytes) {
      const auto page = image.subspan(at, std::min(server::kPageBytes, image.size() - at));
      if (std::ranges::all_of(page, [](std::byte b) { return b == std::byte{0}; })) continue;
      Check(::pwrite(file.get(), page.data(), page.size(), static_cast<off_t>(at)) > 0, "a page");
    }
  }

 private:
  std::string path_;
};

const WarmFile& File() {
  static const WarmFile file;
  return file;
}

// With `grows` a full table grows into memory that was never used.
server::StoreOptions Options(bool grows) {
  return {.memory_bytes = kMemoryBytes,
          .hash_seed = 0x5eed,
          .bucket_count = kBuckets,
          .grows = grows,
          .block_bytes = 8192,
          .warm_path = File().path()};
}

verify::Request RequestOf(Operation operation, std::string_view key, std::string_view value = {}) {
  verify::Request request;
  request.operation = operation;
  request.key = key;
  request.value = value;
  request.value_bytes = static_cast<uint32_t>(value.size());
  return request;
}

// What an honest store leaves: items inline, in records and in runs of pages, displaced and stashed.
std::vector<std::byte> HonestImage() {
  ::unlink(File().path().c_str());
  auto store = Store::Create(Options(false));
  Check(store.has_value(), "a fresh store");
  for (int i = 0; i < kItems; ++i) {
    const size_t bytes = i % 10 == 9 ? 2000 : i % 2 == 0 ? 8 : 60 + static_cast<size_t>(i);
    const std::string value(bytes, static_cast<char>('a' + i % 26));
    (*store)->Write(RequestOf(Operation::kPut, "key:" + std::to_string(i), value), kNowUs);
  }
  Check((*store)->table().stats().stashed > 0, "items are stashed");
  store->reset();
  return File().Read();
}

// The image, and how to change it.
class Image {
 public:
  explicit Image(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    std::memcpy(&superblock_, bytes_.data(), sizeof(superblock_));
    table_ = Geometry::Of(superblock_.tables[0], superblock_.incarnation);
    stash_ = StashGeometry::Of(superblock_);
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

  void Change(Input* input) {
    switch (input->Take<uint8_t>() % 7) {
      case 0:
        return ChangeBytes(input);
      case 1:
        return ChangeSuperblock(input);
      case 2:
        return ChangeBucket(input);
      case 3:
        return ChangeRecord(input);
      case 4:
        return CopyBucket(input);
      case 5:
        return ChangeJournal(input);
      case 6:
        bytes_.resize(input->Take<uint32_t>() % (bytes_.size() + 1));
        return;
    }
  }

 private:
  // A bucket of the table or of the stash, which an input chooses.
  struct Place {
    uint64_t generation;
    uint64_t index;
    size_t offset;
    uint64_t seed;
  };
  Place PlaceOf(Input* input) const {
    const uint64_t at = input->Take<uint8_t>() % (table_.bucket_count + stash_.bucket_count());
    if (at < table_.bucket_count) {
      return {table_.generation, at, table_.BucketOffset(at), table_.SeedOf(at)};
    }
    const uint64_t index = at - table_.bucket_count;
    return {StashGeometry::kGeneration, index, stash_.BucketOffset(index), stash_.SeedOf(index)};
  }
  Bucket BucketAt(const Place& place) const {
    Bucket bucket;
    if (!Has(place.offset, table_.bucket_bytes)) return bucket;
    std::memcpy(bucket.words(), bytes_.data() + place.offset, table_.bucket_bytes);
    return bucket;
  }
  void Store(const Place& place, Bucket bucket) {
    if (!Has(place.offset, table_.bucket_bytes)) return;
    bucket.Seal(table_.bucket_bytes, place.seed);
    std::memcpy(bytes_.data() + place.offset, bucket.words(), table_.bucket_bytes);
  }

  bool Has(size_t offset, size_t bytes) const {
    return offset <= bytes_.size() && bytes <= bytes_.size() - offset;
  }
  uint64_t* WordsAt(size_t offset) {
    return std::launder(reinterpret_cast<uint64_t*>(bytes_.data() + offset));
  }

  void ChangeBytes(Input* input) {
    const size_t at = input->Take<uint32_t>() % (bytes_.size() + 1);
    const auto fresh = std::as_bytes(input->TakeBytes(input->Take<uint8_t>()));
    const size_t count = std::min(fresh.size(), bytes_.size() - at);
    std::ranges::copy(fresh.first(count), bytes_.begin() + static_cast<ptrdiff_t>(at));
  }

  void ChangeSuperblock(Input* input) {
    if (!Has(0, verify::kRegionHeadBytes)) return;
    Superblock page;
    std::memcpy(&page, bytes_.data(), sizeof(page));
    const size_t word = 2 + input->Take<uint8_t>() % 32;
    const auto value = input->Take<uint64_t>();
    std::memcpy(reinterpret_cast<std::byte*>(&page) + word * 8, &value, sizeof(value));
    verify::SealSuperblock(&page);
    for (const size_t at : {size_t{0}, verify::kMirrorOffset}) {
      std::memcpy(bytes_.data() + at, &page, sizeof(page));
    }
  }

  void ChangeBucket(Input* input) {
    const Place place = PlaceOf(input);
    Bucket bucket = BucketAt(place);
    bucket.words()[1 + input->Take<uint8_t>() % 7] = input->Take<uint64_t>();
    Store(place, bucket);
  }

  // The record that a bucket refers to, and the version there with it, so that it stays its record.
  void ChangeRecord(Input* input) {
    const Bucket bucket = BucketAt(PlaceOf(input));
    const verify::Reference to = bucket.reference();
    if (bucket.kind() != BucketKind::kReference || to.offset % 8 != 0 || to.record_bytes < 64 ||
        to.record_bytes % 8 != 0 || !Has(to.offset, to.record_bytes)) {
      return;
    }
    const size_t word = 1 + input->Take<uint8_t>() % (to.record_bytes / 8 - 1);
    WordsAt(to.offset)[word] = input->Take<uint64_t>();
    verify::SealRecord(WordsAt(to.offset), to.record_bytes,
                       verify::RecordSeed(superblock_.incarnation));
  }

  void CopyBucket(Input* input) {
    const Bucket bucket = BucketAt(PlaceOf(input));
    Store(PlaceOf(input), bucket);
  }

  void ChangeJournal(Input* input) {
    const Place place = PlaceOf(input);
    if (!Has(verify::kJournalOffset, verify::kPageBytes)) return;
    Bucket bucket;
    for (size_t i = 1; i < 8; ++i) bucket.words()[i] = input->Take<uint64_t>();
    bucket.Seal(table_.bucket_bytes, place.seed);
    verify::WriteJournal(WordsAt(verify::kJournalOffset), {place.generation, place.index}, bucket,
                         table_.bucket_bytes);
  }

  std::vector<std::byte> bytes_;
  Superblock superblock_;
  Geometry table_;
  StashGeometry stash_;
};

template <typename TableGeometry>
void AddKeysOf(const Store& store, const TableGeometry& table, uint64_t bucket_count,
               std::set<std::string>* keys) {
  const std::byte* memory = store.region().data();
  for (uint64_t i = 0; i < bucket_count; ++i) {
    Bucket bucket;
    verify::CopyFromShared(bucket.words(), memory + table.BucketOffset(i), table.bucket_bytes);
    Check(bucket.Whole(table.bucket_bytes, table.SeedOf(i)), "a bucket is whole");
    if (bucket.kind() == BucketKind::kInline) {
      keys->emplace(bucket.inline_item(table.bucket_bytes)->key());
    } else if (bucket.kind() == BucketKind::kReference) {
      keys->emplace(verify::OwnRecord(memory, bucket.reference().offset).key());
    }
  }
}

// The keys in what the superblock lists.
std::set<std::string> KeysOf(const Store& store) {
  std::set<std::string> keys;
  const Superblock& superblock = store.superblock();
  for (const auto& extent : superblock.tables) {
    if (extent.generation == 0) continue;
    const Geometry table = Geometry::Of(extent, store.incarnation());
    AddKeysOf(store, table, table.bucket_count, &keys);
  }
  const auto stash = StashGeometry::Of(superblock);
  AddKeysOf(store, stash, stash.bucket_count(), &keys);
  return keys;
}

// GETs, PUTs and DELETEs of every key. What expires may be absent at any time.
void Use(Store* store) {
  for (const std::string& key : KeysOf(*store)) {
    const auto hit = store->Get(key, kNowUs);
    const bool may_expire = store->recovery().expiring > 0;
    Check(hit.has_value() || (may_expire && hit.error() == Code::kNotFound), "a GET finds its key");
  }
  const std::string value(100, 'z');
  for (const std::string& key : KeysOf(*store)) {
    const auto reply = store->Write(RequestOf(Operation::kPut, key, value), kNowUs);
    Check(reply.status == Code::kOk || reply.status == Code::kNoSpace, "a PUT is taken");
    const auto hit = store->Get(key, kNowUs);
    if (reply.status == Code::kOk) {
      Check(hit.has_value() && hit->item.value() == value, "a GET returns it");
    }
  }
  for (const std::string& key : KeysOf(*store)) {
    store->Delete(RequestOf(Operation::kDelete, key), kNowUs);
  }
  Check(store->table().stats().items == 0, "no item is left");
  Check(store->stats().payload_bytes == 0, "no payload is left");
  Check(store->records().allocated_bytes() == 0, "no record is left");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  static const std::vector<std::byte> honest = HonestImage();
  Input input(data, bytes);
  const bool grows = input.Take<uint8_t>() % 2 != 0;
  Image image(honest);
  while (!input.empty()) image.Change(&input);
  File().Write(image.bytes());
  auto store = Store::Create(Options(grows));
  if (store) {
    Use(store->get());
  } else {
    Check(!store.error().message.empty(), "a refusal says why");
  }
  return 0;
}
