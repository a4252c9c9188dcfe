// Messages from a peer that knows the seals and lies about everything else.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/verify/guarded_buffer.h"
#include "tests/verify/tears.h"
#include "verify/message.h"
#include "verify/record.h"
#include "verify/seal.h"

namespace plov::verify {
namespace {

using Holds = MessageReader::Holds;
constexpr uint64_t kClient = 77;
constexpr size_t kBytesMax = 512;
constexpr int kIterations = 100'000;

// Offsets of the wire formats, from the pictures in verify/message.h.
constexpr size_t kMagicAt = 8, kCountAt = 12, kClientAt = 16, kMessageBytesAt = 32;
constexpr size_t kFlagsAt = 36, kClockAt = 40;

template <typename T>
void Poke(Image* image, size_t at, T value) {
  std::memcpy(image->data() + at, &value, sizeof(value));
}

// Makes any bytes of at least a header pass Open.
void Forge(Image* image, Holds holds) {
  Poke(image, kMagicAt, holds == Holds::kRequests ? uint32_t{0x71726c70} : uint32_t{0x70726c70});
  Poke(image, kClientAt, kClient);
  Poke(image, kMessageBytesAt, static_cast<uint32_t>(image->size()));
  Poke(image, kFlagsAt, uint32_t{0});
  if (holds == Holds::kRequests) Poke(image, kClockAt, uint64_t{0});
  Poke(image, 0, Checksum(image->data() + 8, image->size() - 8, MessageSeed(kClient)));
}

Image ValidRequests() {
  Image buffer(kBytesMax);
  MessageWriter writer(buffer, kClient);
  writer.Add(Request{.operation = Operation::kPut,
                     .value_bytes = 5,
                     .request_id = 1,
                     .key = "some key",
                     .value = "value"});
  writer.Add(Request{.operation = Operation::kAdd,
                     .rendezvous = true,
                     .value_bytes = 1 << 20,
                     .request_id = 2,
                     .key = "large",
                     .value = {}});
  writer.Add(Request{.operation = Operation::kGet, .request_id = 3, .key = "k", .value = {}});
  const auto message = writer.Finish({.answered = 9, .keeps_held = true});
  return Image(message.begin(), message.end());
}

Image ValidReplies() {
  Image buffer(kBytesMax);
  MessageWriter writer(buffer, kClient);
  writer.Add(Reply{.value_bytes = 5, .request_id = 1, .value = "value"});
  writer.Add(Reply{.held = true, .value_bytes = 1 << 20, .request_id = 2, .value = {}});
  writer.Add(Reply{.status = Code::kNotFound, .request_id = 3, .value = {}});
  const auto message = writer.Finish({.clock_us = 10});
  return Image(message.begin(), message.end());
}

// Changes up to four places of the body to random or extreme numbers, and now and then the length.
void Mutate(Image* image, std::mt19937_64* random) {
  if ((*random)() % 4 == 0) {
    image->resize(kMessageHeaderBytes + (*random)() % (kBytesMax - kMessageHeaderBytes));
  }
  for (uint64_t left = (*random)() % 5; left > 0; --left) {
    const size_t at = kCountAt + (*random)() % (image->size() - kCountAt);
    const uint64_t extremes[] = {0, 1, 8, 0x7f, 0xff, (*random)() & 0xff};
    (*image)[at] = std::byte(extremes[(*random)() % 6]);
  }
}

Image RandomBytes(std::mt19937_64* random) {
  Image image(kMessageHeaderBytes + (*random)() % (kBytesMax - kMessageHeaderBytes));
  for (std::byte& b : image) b = std::byte((*random)() & 0xff);
  return image;
}

// Random bodies whose every request is almost right, so that the walk goes far.
Image PlausibleRequests(std::mt19937_64* random) {
  Image image = RandomBytes(random);
  for (size_t at = kMessageHeaderBytes; at + kRequestHeadBytes <= image.size();) {
    const size_t key_bytes = (*random)() % 32, value_bytes = (*random)() % 64;
    const auto operation = static_cast<uint8_t>((*random)() % 17);
    const bool may_compare = operation == static_cast<uint8_t>(Operation::kPut);
    Poke(&image, at, operation);
    Poke(&image, at + 1, static_cast<uint8_t>((*random)() % 34 & (may_compare ? 0xff : 0xef)));
    Poke(&image, at + 2, static_cast<uint16_t>(key_bytes));
    Poke(&image, at + 4, static_cast<uint32_t>(value_bytes));
    if (may_compare) Poke(&image, at + 40, (*random)() % (value_bytes + 2));
    at += RoundUpToWord(kRequestHeadBytes + key_bytes + value_bytes);
  }
  return image;
}

struct Tally {
  int opened = 0;
  int decoded = 0;
  int refused = 0;  // lengths or numbers that do not add up
};

void WalkRequests(std::span<const std::byte> message, Tally* tally) {
  auto reader = MessageReader::Open(message, kClient, Holds::kRequests);
  if (!reader) return;
  ++tally->opened;
  size_t taken = kMessageHeaderBytes;
  for (uint32_t left = reader->remaining(); left > 0; --left) {
    const auto request = reader->NextRequest();
    if (!request) {
      ++tally->refused;
      ASSERT_EQ(reader->remaining(), left) << "a refusal looks like the end";
      return;
    }
    ++tally->decoded;
    ASSERT_EQ(reader->remaining(), left - 1);
    ASSERT_TRUE(LiesInside(request->key, message) && LiesInside(request->value, message) &&
                LiesInside(request->expected_value, message));
    ASSERT_LE(request->key.size(), kKeyBytesMax);
    ASSERT_TRUE(request->operation >= Operation::kGet);
    ASSERT_EQ(request->expected_value.size() + request->value.size(),
              request->rendezvous ? 0 : request->value_bytes);
    taken += EncodedBytes(*request);
    ASSERT_LE(taken, message.size()) << "requests overlap";
  }
  ASSERT_FALSE(reader->NextRequest().has_value());
}

void WalkReplies(std::span<const std::byte> message, Tally* tally) {
  auto reader = MessageReader::Open(message, kClient, Holds::kReplies);
  if (!reader) return;
  ++tally->opened;
  size_t taken = kMessageHeaderBytes;
  for (uint32_t left = reader->remaining(); left > 0; --left) {
    const auto reply = reader->NextReply();
    if (!reply) {
      ++tally->refused;
      ASSERT_EQ(reader->remaining(), left) << "a refusal looks like the end";
      return;
    }
    ++tally->decoded;
    ASSERT_EQ(reader->remaining(), left - 1);
    ASSERT_TRUE(LiesInside(reply->value, message));
    ASSERT_EQ(reply->value.size(), reply->held ? 0 : reply->value_bytes);
    taken += EncodedBytes(*reply);
    ASSERT_LE(taken, message.size()) << "replies overlap";
  }
  ASSERT_FALSE(reader->NextReply().has_value());
}

TEST(MessageFuzz, HostileRequestsNeverLeaveTheBuffer) {
  GuardedBuffer buffer(kBytesMax);
  std::mt19937_64 random(11);
  const Image valid = ValidRequests();
  Tally tally;
  for (int i = 0; i < kIterations && !::testing::Test::HasFailure(); ++i) {
    Image image = i % 3 == 0   ? valid
                  : i % 3 == 1 ? PlausibleRequests(&random)
                               : RandomBytes(&random);
    if (i % 3 == 0) Mutate(&image, &random);
    Forge(&image, Holds::kRequests);
    WalkRequests(buffer.Hold(image), &tally);
  }
  EXPECT_EQ(tally.opened, kIterations);
  EXPECT_GT(tally.decoded, kIterations / 2) << "the decoder was hardly reached";
  EXPECT_GT(tally.refused, kIterations / 4) << "hardly anything was hostile";
}

TEST(MessageFuzz, HostileRepliesNeverLeaveTheBuffer) {
  GuardedBuffer buffer(kBytesMax);
  std::mt19937_64 random(12);
  const Image valid = ValidReplies();
  Tally tally;
  for (int i = 0; i < kIterations && !::testing::Test::HasFailure(); ++i) {
    Image image = i % 3 == 0 ? RandomBytes(&random) : valid;
    if (i % 3 != 0) Mutate(&image, &random);
    Forge(&image, Holds::kReplies);
    WalkReplies(buffer.Hold(image), &tally);
  }
  EXPECT_EQ(tally.opened, kIterations);
  EXPECT_GT(tally.decoded, kIterations / 2) << "the decoder was hardly reached";
  EXPECT_GT(tally.refused, kIterations / 4) << "hardly anything was hostile";
}

TEST(MessageFuzz, ChangedBytesUnderAnOldSealAreRejected) {
  std::mt19937_64 random(13);
  const Image requests = ValidRequests(), replies = ValidReplies();
  for (int i = 0; i < kIterations; ++i) {
    const bool of_requests = i % 2 == 0;
    const Image& valid = of_requests ? requests : replies;
    Image image = valid;
    Mutate(&image, &random);
    if (image == valid) continue;
    const auto holds = of_requests ? Holds::kRequests : Holds::kReplies;
    ASSERT_FALSE(MessageReader::Open(image, kClient, holds).has_value());
  }
}

// What the first request of the valid message says once `value` is poked into its head.
template <typename T>
bool DecodesWith(size_t at, T value) {
  Image image = ValidRequests();
  Poke(&image, kMessageHeaderBytes + at, value);
  Forge(&image, Holds::kRequests);
  GuardedBuffer buffer(kBytesMax);
  auto reader = MessageReader::Open(buffer.Hold(image), kClient, Holds::kRequests);
  return reader.has_value() && reader->NextRequest().has_value();
}

TEST(MessageFuzz, NoOperationAndUnknownFlagsAreRefused) {
  for (unsigned number = 0; number < 256; ++number) {
    const auto byte = static_cast<uint8_t>(number);
    EXPECT_EQ(DecodesWith(0, byte), number >= 1) << "operation " << number;
    EXPECT_EQ(DecodesWith(1, byte), number < 32 && (number & 18) != 18) << "flags " << number;
  }
}

TEST(MessageFuzz, LengthsBeyondTheMessageAreRefused) {
  EXPECT_TRUE(DecodesWith(2, uint16_t{8}));
  EXPECT_FALSE(DecodesWith(2, uint16_t{1000}));
  EXPECT_FALSE(DecodesWith(2, uint16_t{0xffff}));
  EXPECT_TRUE(DecodesWith(4, uint32_t{5}));
  EXPECT_FALSE(DecodesWith(4, uint32_t{500}));
  EXPECT_FALSE(DecodesWith(4, uint32_t{0xffffffff}));
  EXPECT_FALSE(DecodesWith(4, uint32_t{0xfffffff8}));  // would wrap to 0 in 32 bits
}

TEST(MessageFuzz, KeysOverTheLimitAreRefusedThoughTheyAreThere) {
  for (const size_t key_bytes : {kKeyBytesMax, kKeyBytesMax + 1}) {
    Image image(kMessageHeaderBytes + RoundUpToWord(kRequestHeadBytes + key_bytes));
    Poke(&image, kCountAt, uint32_t{1});
    Poke(&image, kMessageHeaderBytes, uint8_t{1});
    Poke(&image, kMessageHeaderBytes + 2, static_cast<uint16_t>(key_bytes));
    Forge(&image, Holds::kRequests);
    auto reader = MessageReader::Open(image, kClient, Holds::kRequests);
    ASSERT_TRUE(reader.has_value());
    EXPECT_EQ(reader->NextRequest().has_value(), key_bytes == kKeyBytesMax);
  }
}

TEST(MessageFuzz, WhatIsNeitherKeyNorValueIsZero) {
  constexpr size_t kKeyBytes = 3;
  for (size_t at = kKeyBytes; at <= kWordBytes; ++at) {
    Image image(kMessageHeaderBytes + kRequestHeadBytes + kWordBytes);
    Poke(&image, kCountAt, uint32_t{1});
    Poke(&image, kMessageHeaderBytes, uint8_t{1});
    Poke(&image, kMessageHeaderBytes + 2, static_cast<uint16_t>(kKeyBytes));
    const bool is_padding = at < kWordBytes;  // the last round changes none
    if (is_padding) image[kMessageHeaderBytes + kRequestHeadBytes + at] = std::byte{1};
    Forge(&image, Holds::kRequests);
    auto reader = MessageReader::Open(image, kClient, Holds::kRequests);
    ASSERT_TRUE(reader.has_value());
    EXPECT_EQ(reader->NextRequest().has_value(), !is_padding) << at;
  }
  Image replies = ValidReplies();
  Poke(&replies, kMessageHeaderBytes + kReplyHeadBytes - 4, uint32_t{1});
  Forge(&replies, Holds::kReplies);
  EXPECT_FALSE(MessageReader::Open(replies, kClient, Holds::kReplies)->NextReply().has_value());
}

TEST(MessageFuzz, UnknownReplyFlagsAreRefused) {
  for (unsigned flags = 0; flags <= 0xffff; flags = flags * 2 + 1) {
    Image image = ValidReplies();
    Poke(&image, kMessageHeaderBytes + 10, static_cast<uint16_t>(flags));
    Forge(&image, Holds::kReplies);
    auto reader = MessageReader::Open(image, kClient, Holds::kReplies);
    ASSERT_TRUE(reader.has_value());
    EXPECT_EQ(reader->NextReply().has_value(), flags <= 1) << flags;
    if (flags == 0xffff) break;
  }
}

// remaining() tells a short message from its end.
TEST(MessageFuzz, ACountBeyondTheContentIsNoticed) {
  Image image = ValidRequests();
  Poke(&image, kCountAt, uint32_t{0xffffffff});
  Forge(&image, Holds::kRequests);
  auto reader = MessageReader::Open(image, kClient, Holds::kRequests);
  ASSERT_TRUE(reader.has_value());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(reader->NextRequest().has_value());
  EXPECT_FALSE(reader->NextRequest().has_value());
  EXPECT_EQ(reader->remaining(), 0xffffffffu - 3);
}

TEST(MessageFuzz, ALengthThatIsNotTheMessagesOwnIsRejected) {
  for (const int difference : {-8, -1, 1, 8}) {
    Image image = ValidRequests();
    Poke(&image, kMessageBytesAt,
         static_cast<uint32_t>(static_cast<int>(image.size()) + difference));
    Poke(&image, 0, Checksum(image.data() + 8, image.size() - 8, MessageSeed(kClient)));
    EXPECT_FALSE(MessageReader::Open(image, kClient, Holds::kRequests).has_value());
  }
}

TEST(MessageFuzz, AHeadingOfTheOtherDirectionIsRejected) {
  const auto opens = [](Image image, Holds holds, size_t at, auto value) {
    Poke(&image, at, value);
    Poke(&image, 0, Checksum(image.data() + 8, image.size() - 8, MessageSeed(kClient)));
    return MessageReader::Open(image, kClient, holds).has_value();
  };
  EXPECT_TRUE(opens(ValidRequests(), Holds::kRequests, kFlagsAt, uint32_t{1}));
  EXPECT_FALSE(opens(ValidRequests(), Holds::kRequests, kFlagsAt, uint32_t{2}));
  EXPECT_FALSE(opens(ValidRequests(), Holds::kRequests, kClockAt, uint64_t{1}));
  EXPECT_TRUE(opens(ValidReplies(), Holds::kReplies, kClockAt, uint64_t{1}));
  EXPECT_FALSE(opens(ValidReplies(), Holds::kReplies, kFlagsAt, uint32_t{1}));
}

}  // namespace
}  // namespace plov::verify
