// A client stores, under keys of its own, values that are full of a record of another key, sealed as all
// clients know how, in memory where that key's record lay. Who remembers the place is not deceived: what
// a client sends lies there under a mask that it could not know (rule W11 of plov(7)).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cuckoo/geometry.h"
#include "cuckoo/hash.h"
#include "fabric/fabric.h"
#include "fabric/random.h"
#include "tests/support/plovd.h"
#include "verify/record.h"
#include "verify/superblock.h"
#include "verify/words.h"

namespace plov {
namespace {

using test::Plovd;
using Words = std::vector<uint64_t>;

const std::string kVictim = "victim";

class Forgery : public ::testing::TestWithParam<size_t> {
 protected:
  Forgery()
      : connection_(fabric::Connection::Connect(
            server_.uri(), {.shard = 0,
                            .format_version = verify::kFormatVersion,
                            .client_id = fabric::RandomId(),
                            .deadline = fabric::Clock::now() + std::chrono::seconds(10)})) {}

  // What anybody who may connect can READ: where a key's record is.
  std::optional<verify::Reference> Find(std::string_view key) {
    const std::byte* region = (*connection_)->region().data();
    verify::Superblock superblock;
    verify::CopyFromShared(&superblock, region, sizeof(superblock));
    incarnation_ = superblock.incarnation;
    const auto table = cuckoo::ShardView::Of(superblock).tables[0];
    const uint64_t hash = cuckoo::HashKey(key, superblock.hash_seed);
    for (const uint64_t way : cuckoo::WaysOf(hash, table.bucket_count)) {
      verify::Bucket bucket;
      verify::CopyFromShared(bucket.words(), region + table.BucketOffset(way), table.bucket_bytes);
      if (bucket.kind() != verify::BucketKind::kReference) continue;
      if (bucket.reference().hash == hash) return bucket.reference();
    }
    return std::nullopt;
  }

  Words RecordLike(const verify::Reference& of) const {
    const std::string value(of.record_bytes - verify::kRecordHeaderBytes - kVictim.size(), 'F');
    Words words(verify::RoundUpToWord(of.record_bytes) / verify::kWordBytes);
    verify::WriteRecordHead(words.data(), {kVictim, value, of.version, 0, 0}, value.size());
    verify::WriteRecordValue(words.data(), kVictim.size(), value, {});
    verify::SealRecord(words.data(), of.record_bytes, verify::RecordSeed(incarnation_));
    return words;
  }

  // A record again and again, from its `first` word on.
  static std::string ValueFullOf(const Words& record, size_t first, size_t bytes) {
    Words words(bytes / verify::kWordBytes);
    for (size_t i = 0; i < words.size(); ++i) words[i] = record[(first + i) % record.size()];
    return {reinterpret_cast<const char*>(words.data()), words.size() * verify::kWordBytes};
  }

  // Whether the record begins at its own place, in what was stored from its `first` word on.
  static bool Strikes(const verify::Reference& stored, const verify::Reference& victim,
                      const Words& record, size_t first) {
    const uint64_t begin = stored.offset + verify::kRecordHeaderBytes + kKeyBytes;
    if (victim.offset < begin ||
        victim.offset + victim.record_bytes > stored.offset + stored.record_bytes) {
      return false;
    }
    const size_t word = (victim.offset - begin) / verify::kWordBytes;
    return (first + word) % record.size() == 0;
  }

  static constexpr size_t kKeyBytes = 8;
  static constexpr size_t kKeys = 16;

  const Plovd server_{{"--memory", "16M"}};
  std::expected<std::unique_ptr<fabric::Connection>, Error> connection_;
  uint64_t incarnation_ = 0;
};

TEST_P(Forgery, DeceivesNobody) {
  ASSERT_TRUE(connection_);
  Client forger = server_.Connect(), owner = server_.Connect();
  size_t strikes = 0;
  for (size_t first = 0; strikes < 3 && first < 200; ++first) {
    ASSERT_TRUE(owner.Put("before it", std::string(1000, 'v')));
    ASSERT_TRUE(owner.Put(kVictim, std::string(200, 'v')));
    Client reader = server_.Connect();
    ASSERT_EQ((*reader.Get(kVictim))->value, std::string(200, 'v'));
    const auto victim = Find(kVictim);
    ASSERT_TRUE(victim);
    const Words record = RecordLike(*victim);
    ASSERT_TRUE(owner.Delete(kVictim));
    ASSERT_TRUE(owner.Delete("before it"));
    for (size_t i = 0; i < kKeys; ++i) {
      const std::string key = "forger" + std::to_string(10 + i);
      ASSERT_TRUE(forger.Put(key, ValueFullOf(record, first + i, GetParam())));
      const auto stored = Find(key);
      ASSERT_TRUE(stored);
      if (!Strikes(*stored, *victim, record, first + i)) continue;
      ++strikes;
      EXPECT_EQ(reader.stats().known_reads, 0u) << "the place is still remembered";
      const auto got = reader.Get(kVictim);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_FALSE(*got) << "forged: " << (*got)->value;
      EXPECT_EQ(reader.stats().known_misses, 1u);
      break;
    }
    for (size_t i = 0; i < kKeys; ++i) (void)forger.Delete("forger" + std::to_string(10 + i));
  }
  EXPECT_EQ(strikes, 3u) << "the attack did not come to its place";
}

INSTANTIATE_TEST_SUITE_P(Values, Forgery, ::testing::Values(4 << 10, 24 << 10, 300 << 10),
                         [](const auto& bytes) { return std::to_string(bytes.param) + "bytes"; });

}  // namespace
}  // namespace plov
