// A warm file in which any one byte was changed, or that is no warm file at all: the server starts
// and serves right values only, or refuses.
//
// PLOV_DAMAGE_STRIDE sets how far apart the changed bytes are (61; 1: every byte).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/server/warm_check.h"
#include "tests/server/warm_script.h"
#include "tests/support/folder.h"
#include "verify/journal.h"

namespace plov::server {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

size_t Stride() {
  const char* stride = std::getenv("PLOV_DAMAGE_STRIDE");
  return stride == nullptr ? 61 : std::strtoull(stride, nullptr, 10);
}

class WarmDamage : public ::testing::Test {
 protected:
  StoreOptions Options() const { return WarmOptions(path_); }
  // A file with inline items, records and a run; what is in it goes to `model_`.
  void SetUp() override {
    StoreWorld world(Options());
    const auto steps = ScriptOf({.seed = 7,
                                 .steps = 150,
                                 .keys = 50,
                                 .value_bytes = {4, 20, 100, 700, 9000},
                                 .expires = false});
    for (size_t i = 0; i < steps.size(); ++i) {
      Apply(steps[i], i, DoStep(&world.store(), steps[i], i, model_), &model_);
    }
    ASSERT_EQ(Wrong(&world, model_), "");
    ASSERT_GT(world.store().table().stats().displaced, 3);
    table_ = world.geometry();
    Used(&world);
  }

  // The ranges of the file that mean something.
  void Used(StoreWorld* world) {
    ranges_ = {{0, verify::kJournalOffset + verify::kJournalWords * verify::kWordBytes},
               {table_.offset, table_.table_bytes()}};
    for (const auto& [key, item] : model_) {
      const auto bucket = world->BucketAt(*world->IndexOf(key));
      if (bucket->kind() != verify::BucketKind::kReference) continue;
      ranges_.push_back({bucket->reference().offset, bucket->reference().record_bytes});
    }
  }

  void FlipInFile(uint64_t offset, uint8_t bits) {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    uint8_t byte = 0;
    ASSERT_EQ(::pread(fd, &byte, 1, static_cast<off_t>(offset)), 1);
    byte ^= bits;
    ASSERT_EQ(::pwrite(fd, &byte, 1, static_cast<off_t>(offset)), 1);
    ::close(fd);
  }
  bool IsIn(uint64_t offset, uint64_t begin, uint64_t bytes) const {
    return offset >= begin && offset < begin + bytes;
  }

  // The first key with another answer than what was stored or none; empty when there is none.
  std::string WrongAnswer(StoreWorld* world) {
    OneSidedReader reader(world);
    for (const auto& [key, stored] : model_) {
      const Answer answer = reader.Get(key);
      if (!answer.absent() && answer.item != stored) return key;
    }
    return {};
  }

  // Every item is what was stored, or absent and counted.
  std::string Check(uint64_t offset) {
    auto store = Store::Create(Options());
    if (!store) return "refused: " + store.error().message;
    StoreWorld world(std::move(*store));
    Model left;
    OneSidedReader reader(&world);
    for (const auto& [key, stored] : model_) {
      const Answer answer = reader.Get(key);
      if (answer.hit() && answer.item == stored) left[key] = stored;
      if (answer.hit() && answer.item != stored) return key + " has another value";
      if (!answer.hit() && !answer.absent()) return key + " cannot be read";
    }
    lost_ = model_.size() - left.size();
    const uint64_t damaged = world.store().recovery().damaged;
    if (lost_ > damaged || damaged > 1) return "lost " + std::to_string(lost_);
    if (offset < verify::kRegionHeadBytes && damaged > 0) return "the head cost an item";
    if (auto wrong = Wrong(&world, left); !wrong.empty()) return wrong;
    for (const auto& [key, stored] : model_) {
      if (world.Put(key, "new").status != Code::kOk) return key + " cannot be written";
    }
    return WrongWhenEmptied(&world);
  }

  std::string Refusal() {
    const auto before = std::filesystem::file_size(path_);
    const auto store = Store::Create(Options());
    EXPECT_FALSE(store.has_value());
    EXPECT_EQ(std::filesystem::file_size(path_), before);
    return store ? "" : store.error().message;
  }

  test::TemporaryFolder folder_{test::TemporaryFolder::Where::kTmpfs};
  std::string path_ = folder_.path() + "/memory";
  std::string image_ = folder_.path() + "/image";
  Model model_;
  uint64_t lost_ = 0;  // in the last Check
  cuckoo::Geometry table_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
};

TEST_F(WarmDamage, AnyChangedByteCostsAtMostTheItemItIsIn) {
  std::filesystem::rename(path_, image_);
  uint64_t changes = 0;
  std::mt19937 random(1);
  for (const auto& [begin, bytes] : ranges_) {
    for (uint64_t at = begin + (Stride() > 1 ? random() % 16 : 0); at < begin + bytes;
         at += Stride(), ++changes) {
      std::filesystem::copy_file(image_, path_, std::filesystem::copy_options::overwrite_existing);
      FlipInFile(at, static_cast<uint8_t>(1 + random() % 255));
      ASSERT_EQ(Check(at), "") << "byte " << at << " of the file, " << at - begin
                               << " of a range of " << bytes;
    }
  }
  std::printf("%lu bytes changed\n", changes);
}

// Each bucket on its own, which the stride may have left out: exactly its item is missing.
TEST_F(WarmDamage, ADamagedBucketCostsItsItemAndIsCounted) {
  std::filesystem::rename(path_, image_);
  uint64_t lost = 0;
  for (uint64_t index = 0; index < table_.bucket_count; ++index) {
    std::filesystem::copy_file(image_, path_, std::filesystem::copy_options::overwrite_existing);
    FlipInFile(table_.BucketOffset(index) + index % 64, 0x10);
    ASSERT_EQ(Check(table_.BucketOffset(index)), "") << "bucket " << index;
    lost += lost_;
  }
  // The journal mends the bucket that was rewritten last.
  EXPECT_THAT(lost, AnyOf(model_.size(), model_.size() - 1));
}

TEST_F(WarmDamage, BothSuperblocksDamagedIsRefused) {
  for (const size_t at : {size_t{0}, size_t{9}, size_t{35}, size_t{600}}) {
    FlipInFile(at, 1);
    FlipInFile(verify::kMirrorOffset + at, 1);
    EXPECT_THAT(Refusal(), HasSubstr("move it away"));
    FlipInFile(at, 1);
    FlipInFile(verify::kMirrorOffset + at, 1);
  }
  FlipInFile(100, 1);
  EXPECT_EQ(Check(100), "") << "one of them alone is mended by the other";
}

TEST_F(WarmDamage, AWipedHeadIsNoFreshFile) {
  const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  const std::string zeros(verify::kRegionHeadBytes, '\0');
  ASSERT_EQ(::pwrite(fd, zeros.data(), zeros.size(), 0), static_cast<ssize_t>(zeros.size()));
  ::close(fd);
  EXPECT_THAT(Refusal(), HasSubstr("not the memory of a plov shard"));
}

TEST_F(WarmDamage, CutAtAnyPageIsRefused) {
  size_t bytes = std::filesystem::file_size(path_);
  ASSERT_EQ(bytes, 3 * kMiB);
  while (bytes > 0) {
    bytes -= bytes > verify::kRegionHeadBytes ? 4 * kPageBytes - 1 : 1 + bytes / 2;
    std::filesystem::resize_file(path_, bytes);
    if (bytes == 0) break;
    ASSERT_THAT(Refusal(), HasSubstr("move it away")) << bytes;
  }
  auto store = Store::Create(Options());
  ASSERT_TRUE(store.has_value()) << "an empty file is a fresh one";
  EXPECT_FALSE((*store)->recovery().warm);
}

// A head with numbers that no server wrote, under good checksums.
TEST_F(WarmDamage, ASealedHeadThatMakesNoSenseIsRefusedOrCostsItemsOnly) {
  std::mt19937_64 random(5);
  std::filesystem::rename(path_, image_);
  size_t refused = 0;
  constexpr size_t kWordsThatMean = 24;
  for (int round = 0; round < 600; ++round) {
    std::filesystem::copy_file(image_, path_, std::filesystem::copy_options::overwrite_existing);
    const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    std::array<uint64_t, sizeof(verify::Superblock) / 8> words;
    ASSERT_EQ(::pread(fd, words.data(), sizeof(words), 0), sizeof(words));
    const std::array<uint64_t, 6> numbers = {0,
                                             random() % 16,
                                             ~uint64_t{0},
                                             random(),
                                             uint64_t{1} << random() % 64,
                                             words[random() % kWordsThatMean]};
    for (uint64_t i = 0; i <= random() % 3; ++i) {
      words[2 + random() % kWordsThatMean] = numbers[random() % numbers.size()];
    }
    auto superblock = std::bit_cast<verify::Superblock>(words);
    verify::SealSuperblock(&superblock);
    for (const size_t offset : {size_t{0}, verify::kMirrorOffset}) {
      ASSERT_EQ(::pwrite(fd, &superblock, sizeof(superblock), static_cast<off_t>(offset)),
                sizeof(superblock));
    }
    ::close(fd);
    auto store = Store::Create(Options());
    refused += store ? 0 : 1;
    if (!store) continue;
    StoreWorld world(std::move(*store));
    ASSERT_EQ(WrongAnswer(&world), "");
    ASSERT_EQ(WrongWhenEmptied(&world), "");
  }
  EXPECT_GT(refused, 100);
}

TEST_F(WarmDamage, GarbageIsRefusedOrCostsItemsOnly) {
  std::mt19937_64 random(3);
  std::filesystem::rename(path_, image_);
  for (int round = 0; round < 60; ++round) {
    std::filesystem::copy_file(image_, path_, std::filesystem::copy_options::overwrite_existing);
    std::string garbage(kPageBytes * (1 + random() % 16), '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    const uint64_t at = random() % (round % 2 == 0 ? 3 * kMiB : 8 * kPageBytes);
    ASSERT_GT(::pwrite(fd, garbage.data(), garbage.size(), static_cast<off_t>(at)), 0);
    ::close(fd);
    auto store = Store::Create(Options());
    if (!store) {
      ASSERT_THAT(store.error().message, HasSubstr("move it away"));
      continue;
    }
    StoreWorld world(std::move(*store));
    ASSERT_EQ(WrongAnswer(&world), "");
    ASSERT_EQ(WrongDirectory(&world), "");
    ASSERT_EQ(WrongWhenEmptied(&world), "");
  }
}

}  // namespace
}  // namespace plov::server
