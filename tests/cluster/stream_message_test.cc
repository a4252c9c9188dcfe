// Messages of the stream as bytes: what was sent arrives, and nothing else does.
#include "cluster/stream_message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cluster/values.h"

namespace plov::test {
namespace {

using cluster::Ack;
using cluster::Append;
using cluster::Decode;
using cluster::Encode;
using cluster::Entry;
using cluster::HandOver;
using cluster::Held;
using cluster::Join;
using cluster::Position;
using cluster::Shard;
using cluster::StreamId;
using cluster::StreamMessage;

const StreamId kStream{kClusterId, 3};

Append AppendOf(int entries) {
  Append append{.epoch = 7,
                .from = "a1",
                .to = 0xb,
                .is_first = true,
                .before = {40, 0x1234},
                .entries = {},
                .published = 39,
                .sent_us = 1'000'000,
                .safe_us = 2'000'000,
                .held = {}};
  Position at = append.before;
  for (int i = 0; i < entries; ++i) {
    append.entries.push_back(MakeEntry(at, 6, std::string(static_cast<size_t>(i) * 5, 'x')));
    at = append.entries.back().at;
  }
  return append;
}

Append AppendWithConfiguration() {
  Append append = AppendOf(2);
  const Shard shard = ShardOf("a1", {{"a1", 0xa}, {"b1", 0xb}});
  append.held = Held{shard, 12, cluster::Encode(shard)};
  return append;
}

std::vector<StreamMessage> Messages() {
  return {AppendOf(0),
          AppendOf(4),
          AppendWithConfiguration(),
          Ack{.epoch = 7, .from = 0xb, .follows = true, .end = 44, .sent_us = 1'000'000},
          Ack{.epoch = 7, .from = 0xb, .follows = true, .clock_us = 2'000'000},
          Ack{.epoch = 7, .from = 0xb, .has_gap = true, .has_caught_up = true},
          Ack{.epoch = 7, .from = 0xb, .follows = true, .leaves = true},
          Ack{.epoch = 7, .from = 0xb, .follows = true, .full = cluster::Full::kMemory},
          Ack{.epoch = 7, .from = 0xb, .full = cluster::Full::kLog},
          Join{7, {"c1", 0xc}},
          Join{7, {"c1", 0xc}, {44, 0xcc}},
          HandOver{7, 0xb}};
}

TEST(StreamMessage, ArrivesAsItWasSent) {
  for (const StreamMessage& message : Messages()) {
    const auto bytes = Encode(kStream, message);
    const auto decoded = Decode(kStream, bytes);
    ASSERT_TRUE(decoded) << message.index();
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(Encode(kStream, *decoded), bytes);
  }
  const auto decoded = Decode(kStream, Encode(kStream, AppendWithConfiguration()));
  const Append sent = AppendWithConfiguration();
  const auto& append = std::get<Append>(*decoded);
  EXPECT_EQ(append.from, "a1");
  EXPECT_EQ(append.to, 0xbu);
  EXPECT_TRUE(append.is_first);
  EXPECT_EQ(append.before, sent.before);
  ASSERT_EQ(append.entries.size(), 2u);
  EXPECT_EQ(append.entries[1].at, sent.entries[1].at) << "number and chain follow from the bytes";
  EXPECT_EQ(*append.entries[1].data, "xxxxx");
  EXPECT_EQ(append.held->shard, sent.held->shard);
  EXPECT_EQ(append.held->revision, 12);
}

TEST(StreamMessage, OfAnotherStreamIsNone) {
  for (const StreamMessage& message : Messages()) {
    const auto bytes = Encode(kStream, message);
    EXPECT_FALSE(Decode({kClusterId, 4}, bytes));
    EXPECT_FALSE(Decode({kClusterId + 1, 3}, bytes));
  }
  auto with_shard = AppendWithConfiguration();
  with_shard.held->data = cluster::Encode(Shard{.cluster_id = 1,
                                                .epoch = 1,
                                                .slot_last = 1,
                                                .primary = "a1",
                                                .in_sync = {{"a1", 0xa}},
                                                .joining = {},
                                                .proposal = 1});
  EXPECT_FALSE(Decode(kStream, Encode(kStream, with_shard))) << "another cluster's configuration";
}

TEST(StreamMessage, CutShortOrDamagedIsNone) {
  for (const StreamMessage& message : Messages()) {
    auto bytes = Encode(kStream, message);
    for (size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(Decode(kStream, std::span(bytes).first(size))) << size;
    }
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const auto mask = static_cast<std::byte>(1u << bit % 8);
      bytes[bit / 8] ^= mask;
      ASSERT_FALSE(Decode(kStream, bytes)) << bit;
      bytes[bit / 8] ^= mask;
    }
  }
}

}  // namespace
}  // namespace plov::test
