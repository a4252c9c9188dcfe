// Parts: cut apart and put together; what is not the next part is garbage.
#include "cluster/stream_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace plov::test {
namespace {

using cluster::kPartHeadBytes;
using cluster::PartReader;
using cluster::PartWriter;
using Result = PartReader::Result;
using Bytes = std::vector<std::byte>;

Bytes MessageOf(size_t bytes) {
  Bytes message(bytes);
  for (size_t i = 0; i < bytes; ++i) message[i] = static_cast<std::byte>(i * 7);
  return message;
}

std::vector<Bytes> PartsOf(const Bytes& message, size_t bytes_max) {
  std::vector<Bytes> parts;
  for (PartWriter writer(message); !writer.done(); writer.Taken()) {
    const auto part = writer.Next(bytes_max);
    EXPECT_LE(part.size(), bytes_max);
    EXPECT_TRUE(std::ranges::equal(part, writer.Next(bytes_max))) << "until it is taken";
    parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

TEST(StreamParts, GiveTheMessage) {
  PartReader reader(1000);
  for (const size_t bytes : {1u, 76u, 77u, 999u, 1000u, 3u}) {
    const Bytes message = MessageOf(bytes);
    const auto parts = PartsOf(message, 100);
    EXPECT_EQ(parts.size(), (bytes + 75) / 76);
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSERT_EQ(reader.Take(parts[i]), i + 1 < parts.size() ? Result::kMore : Result::kWhole);
    }
    EXPECT_TRUE(std::ranges::equal(reader.message(), message));
  }
}

TEST(StreamParts, WhatIsNotTheNextIsGarbage) {
  const auto parts = PartsOf(MessageOf(300), 100);
  const auto others = PartsOf(MessageOf(301), 100);
  const auto after_first = [&](const Bytes& part) {
    PartReader reader(1000);
    EXPECT_EQ(reader.Take(parts[0]), Result::kMore);
    return reader.Take(part);
  };
  EXPECT_EQ(after_first(parts[1]), Result::kMore);
  EXPECT_EQ(after_first(parts[0]), Result::kGarbage) << "twice";
  EXPECT_EQ(after_first(parts[2]), Result::kGarbage) << "one is missing";
  EXPECT_EQ(after_first(others[1]), Result::kGarbage) << "of a message of another length";
  EXPECT_EQ(PartReader(1000).Take(parts[1]), Result::kGarbage) << "its begin is missing";
  EXPECT_EQ(PartReader(299).Take(parts[0]), Result::kGarbage) << "too long";
  EXPECT_EQ(PartReader(1000).Take(Bytes(kPartHeadBytes + 1)), Result::kGarbage);
  for (const size_t bytes : {size_t{0}, size_t{7}, kPartHeadBytes}) {
    EXPECT_EQ(PartReader(1000).Take(std::span(parts[0]).first(bytes)), Result::kGarbage) << bytes;
  }
  Bytes longer = parts.back();
  longer.resize(longer.size() + 1);
  PartReader reader(1000);
  for (size_t i = 0; i + 1 < parts.size(); ++i) EXPECT_EQ(reader.Take(parts[i]), Result::kMore);
  EXPECT_EQ(reader.Take(longer), Result::kGarbage) << "more than the message";
}

}  // namespace
}  // namespace plov::test
