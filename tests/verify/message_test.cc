#include "verify/message.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/verify/tears.h"
#include "verify/record.h"
#include "verify/seal.h"

namespace plov::verify {
namespace {

using Holds = MessageReader::Holds;
constexpr uint64_t kClient = 77;

// Every field of `number`, so that two numbers differ wherever they may.
Request Put(uint64_t number, std::string_view key, std::string_view value) {
  return Request{.operation = Operation::kPut,
                 .conditional = true,
                 .value_bytes = static_cast<uint32_t>(value.size()),
                 .flags = static_cast<uint32_t>(number + 1),
                 .ttl_seconds = static_cast<uint32_t>(number + 2),
                 .request_id = number + 3,
                 .sequence = number + 4,
                 .expected_version = number + 5,
                 .key = key,
                 .value = value};
}

Request RendezvousPut() {
  Request request = Put(0x500, "large", "");
  request.rendezvous = true;
  request.value_bytes = 0xfffffff0;
  request.staging_offset = 0x123456789;
  return request;
}

Reply Answer(uint64_t number, std::string_view value) {
  return Reply{.status = Code::kExists,
               .value_bytes = static_cast<uint32_t>(value.size()),
               .flags = static_cast<uint32_t>(number + 1),
               .expiry = static_cast<uint32_t>(number + 2),
               .request_id = number + 3,
               .version = number + 4,
               .record_bytes = static_cast<uint32_t>(number + 6),
               .number = number + 5,
               .value = value};
}

Reply HeldAnswer() {
  Reply reply = Answer(0x600, "");
  reply.held = true;
  reply.record_offset = std::exchange(reply.number, 0);
  reply.value_bytes = 0xfffffff0;
  return reply;
}

void Seal(Image* image) {
  const uint64_t checksum =
      Checksum(image->data() + kWordBytes, image->size() - kWordBytes, MessageSeed(kClient));
  std::memcpy(image->data(), &checksum, sizeof(checksum));
}

constexpr Heading kOfRequests{.answered = 0x99, .keeps_held = true};
constexpr Heading kOfReplies{.answered = 0x98, .clock_us = 0x97};

auto Fields(const Heading& h) { return std::tuple(h.answered, h.keeps_held, h.clock_us); }

auto Fields(const Request& r) {
  return std::tuple(r.operation, r.retry, r.rendezvous, r.conditional, r.suspect, r.compares,
                    r.creates, r.value_bytes, r.flags, r.ttl_seconds, r.expiry, r.request_id,
                    r.sequence, r.expected_version, r.staging_offset, r.key, r.value,
                    r.expected_value);
}

auto Fields(const Reply& r) {
  return std::tuple(r.status, r.held, r.value_bytes, r.flags, r.expiry, r.request_id, r.version,
                    r.record_offset, r.record_bytes, r.number, r.value);
}

template <typename Message>
Image Encoded(const std::vector<Message>& messages, const Heading& heading = {}) {
  Image buffer(4096, std::byte{0xee});
  MessageWriter writer(buffer, kClient);
  for (const Message& message : messages) EXPECT_TRUE(writer.Add(message));
  const auto bytes = writer.Finish(heading);
  return Image(bytes.begin(), bytes.end());
}

Accepts Opens(Holds holds, uint64_t client_id = kClient) {
  return [=](std::span<const std::byte> image) {
    return MessageReader::Open(image, client_id, holds).has_value();
  };
}

const std::vector<Request> kRequests = {Put(0x100, "pilaf-key", "rice"), RendezvousPut()};
const std::vector<Reply> kReplies = {Answer(0x200, "carrots"), HeldAnswer()};

TEST(Message, GoldenRequests) {
  EXPECT_EQ(ToHex(Encoded(kRequests, kOfRequests)),
            "a40d19d381bf4b7a 706c727102000000 4d00000000000000 9900000000000000 "
            "a800000001000000 0000000000000000 0204090004000000 0301000000000000 "
            "0401000000000000 0501000000000000 0101000002010000 0000000000000000 "
            "70696c61662d6b65 7972696365000000 02060500f0ffffff 0305000000000000 "
            "0405000000000000 0505000000000000 0105000002050000 8967452301000000 "
            "6c61726765000000");
}

TEST(Message, GoldenReplies) {
  EXPECT_EQ(ToHex(Encoded(kReplies, kOfReplies)),
            "28da4d9249fff679 706c727002000000 4d00000000000000 9800000000000000 "
            "9800000000000000 9700000000000000 0302000000000000 0200000007000000 "
            "0402000000000000 0102000002020000 0502000000000000 0602000000000000 "
            "636172726f747300 0306000000000000 02000100f0ffffff 0406000000000000 "
            "0106000002060000 0506000000000000 0606000000000000");
}

TEST(Message, RequestsComeBackInOrder) {
  const Image image = Encoded(kRequests, kOfRequests);
  auto reader = MessageReader::Open(image, kClient, Holds::kRequests);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(Fields(reader->heading()), Fields(kOfRequests));
  EXPECT_EQ(reader->remaining(), kRequests.size());
  for (const Request& request : kRequests) {
    const auto back = reader->NextRequest();
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(Fields(*back), Fields(request));
  }
  EXPECT_EQ(reader->remaining(), 0u);
  EXPECT_FALSE(reader->NextRequest().has_value());
}

TEST(Message, RepliesComeBackInOrder) {
  const Image image = Encoded(kReplies, kOfReplies);
  auto reader = MessageReader::Open(image, kClient, Holds::kReplies);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(Fields(reader->heading()), Fields(kOfReplies));
  for (const Reply& reply : kReplies) {
    const auto back = reader->NextReply();
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(Fields(*back), Fields(reply));
  }
  EXPECT_EQ(reader->remaining(), 0u);
  EXPECT_FALSE(reader->NextReply().has_value());
}

TEST(Message, EveryOperationAndFlagComesBack) {
  for (int operation = 1; operation <= 16; ++operation) {
    const bool may_create = operation >= 12 && operation <= 14;
    const bool may_end = (operation >= 2 && operation <= 4) || (operation >= 12 && operation <= 15);
    for (unsigned flags = 0; flags < 64; ++flags) {
      if (((flags & 16) != 0 && !may_create) || ((flags & 32) != 0 && !may_end)) continue;
      const Request request{.operation = static_cast<Operation>(operation),
                            .retry = (flags & 1) != 0,
                            .rendezvous = (flags & 2) != 0,
                            .conditional = (flags & 4) != 0,
                            .suspect = (flags & 8) != 0,
                            .creates = (flags & 16) != 0,
                            .ttl_seconds = (flags & 32) != 0 ? 0u : 77u,
                            .expiry = (flags & 32) != 0 ? 88u : 0u,
                            .key = "key",
                            .value = {}};
      const Image image = Encoded<Request>({request});
      auto reader = MessageReader::Open(image, kClient, Holds::kRequests);
      ASSERT_TRUE(reader.has_value());
      const auto back = reader->NextRequest();
      ASSERT_TRUE(back.has_value());
      EXPECT_EQ(Fields(*back), Fields(request));
    }
  }
}

TEST(Message, AnExpectedValueComesBeforeTheNewOne) {
  for (const std::string_view expected : {"", "one", "seven b"}) {
    for (const std::string_view value : {"", "two"}) {
      Request request = Put(1, "key", value);
      request.compares = true;
      request.expected_value = expected;
      request.value_bytes += static_cast<uint32_t>(expected.size());
      const Image image = Encoded<Request>({request, request});
      EXPECT_EQ(image.size(), kMessageHeaderBytes + 2 * EncodedBytes(request));
      auto reader = MessageReader::Open(image, kClient, Holds::kRequests);
      ASSERT_TRUE(reader.has_value());
      for (int i = 0; i < 2; ++i) EXPECT_EQ(Fields(reader->NextRequest().value()), Fields(request));
    }
  }
}

TEST(Message, OnlyAnEagerPutComparesAndWithNoMoreThanItHas) {
  constexpr size_t kOperationAt = kMessageHeaderBytes, kFlagsAt = kOperationAt + 1;
  constexpr size_t kExpectedBytesAt = kMessageHeaderBytes + 40;
  Request request = Put(1, "key", "new");
  request.compares = true;
  request.expected_value = "old";
  request.value_bytes = 6;
  const auto is_taken = [&](size_t at, unsigned value) {
    Image image = Encoded<Request>({request});
    image[at] = static_cast<std::byte>(value);
    Seal(&image);
    return MessageReader::Open(image, kClient, Holds::kRequests)->NextRequest().has_value();
  };
  EXPECT_TRUE(is_taken(kExpectedBytesAt, 6));
  EXPECT_FALSE(is_taken(kExpectedBytesAt, 7));
  EXPECT_FALSE(is_taken(kExpectedBytesAt + 7, 1));
  EXPECT_FALSE(is_taken(kOperationAt, static_cast<unsigned>(Operation::kAdd)));
  EXPECT_FALSE(is_taken(kOperationAt, static_cast<unsigned>(Operation::kAppend)));
  EXPECT_FALSE(is_taken(kOperationAt, static_cast<unsigned>(Operation::kFlush)));
  EXPECT_FALSE(is_taken(kFlagsAt, 2 | 4 | 16)) << "rendezvous";
  EXPECT_FALSE(is_taken(kFlagsAt, 4 | 32)) << "a PUT creates without it";
  EXPECT_FALSE(is_taken(kFlagsAt, 128)) << "no such flag";
}

TEST(Message, OnlyWhatStoresEndsAtAMomentWhichIsNotNone) {
  constexpr size_t kOperationAt = kMessageHeaderBytes, kTimeAt = kOperationAt + 36;
  const auto is_taken = [&](Operation operation, unsigned time) {
    Image image =
        Encoded<Request>({Request{.operation = Operation::kPut, .expiry = 5, .key = "key"}});
    image[kOperationAt] = static_cast<std::byte>(operation);
    image[kTimeAt] = static_cast<std::byte>(time);
    Seal(&image);
    return MessageReader::Open(image, kClient, Holds::kRequests)->NextRequest().has_value();
  };
  EXPECT_TRUE(is_taken(Operation::kPut, 5));
  EXPECT_TRUE(is_taken(Operation::kTouch, 5));
  EXPECT_FALSE(is_taken(Operation::kPut, 0));
  for (const auto other :
       {Operation::kGet, Operation::kDelete, Operation::kPing, Operation::kFlush}) {
    EXPECT_FALSE(is_taken(other, 5));
  }
}

TEST(Message, EveryLengthComesBack) {
  const std::string text(kKeyBytesMax, 't');
  for (const size_t key_bytes : {size_t{1}, size_t{8}, size_t{9}, kKeyBytesMax}) {
    for (size_t value_bytes = 0; value_bytes <= 20; ++value_bytes) {
      const auto key = std::string_view(text).substr(0, key_bytes);
      const auto value = std::string_view(text).substr(0, value_bytes);
      const Image requests = Encoded<Request>({Put(1, key, value), Put(2, "k", "v")});
      auto reader = MessageReader::Open(requests, kClient, Holds::kRequests);
      ASSERT_TRUE(reader.has_value());
      EXPECT_EQ(Fields(reader->NextRequest().value()), Fields(Put(1, key, value)));
      EXPECT_EQ(Fields(reader->NextRequest().value()), Fields(Put(2, "k", "v")));
    }
  }
}

TEST(Message, OnlyWritesAreWrites) {
  for (const auto write :
       {Operation::kPut, Operation::kAdd, Operation::kReplace, Operation::kDelete,
        Operation::kAppend, Operation::kPrepend, Operation::kIncrement, Operation::kTouch}) {
    EXPECT_TRUE(IsWrite(write));
    EXPECT_TRUE(IsForWriters(write));
  }
  for (const auto read :
       {Operation::kGet, Operation::kPing, Operation::kStats, Operation::kConfirm}) {
    EXPECT_FALSE(IsWrite(read));
    EXPECT_FALSE(IsForWriters(read));
  }
  for (const auto disk :
       {Operation::kSync, Operation::kSnapshot, Operation::kAdminister, Operation::kFlush}) {
    EXPECT_FALSE(IsWrite(disk));
    EXPECT_TRUE(IsForWriters(disk));
  }
}

TEST(Message, GoldenConfirm) {
  EXPECT_EQ(ToHex(Encoded<Request>({Request{.operation = Operation::kConfirm,
                                            .request_id = 0x102,
                                            .expected_version = 0x304,
                                            .key = {},
                                            .value = {}}})),
            "2851b5b75f7680f4 706c727101000000 4d00000000000000 0000000000000000 "
            "6000000000000000 0000000000000000 0800000000000000 0201000000000000 0000000000000000 "
            "0403000000000000 0000000000000000 0000000000000000");
}

TEST(Message, EncodedBytesIsWhatAddTakes) {
  Image buffer(4096);
  const std::string text(30, 't');
  for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
    MessageWriter requests(buffer, kClient), replies(buffer, kClient);
    const Request request = Put(1, "key", std::string_view(text).substr(0, bytes));
    const Reply reply = Answer(1, std::string_view(text).substr(0, bytes));
    size_t before = requests.room();
    EXPECT_TRUE(requests.Add(request));
    EXPECT_EQ(before - requests.room(), EncodedBytes(request));
    before = replies.room();
    EXPECT_TRUE(replies.Add(reply));
    EXPECT_EQ(before - replies.room(), EncodedBytes(reply));
  }
  EXPECT_EQ(EncodedBytes(RendezvousPut()), RoundUpToWord(kRequestHeadBytes + 5));
  EXPECT_EQ(EncodedBytes(HeldAnswer()), kReplyHeadBytes);
}

TEST(Message, AFullMessageTakesNoMoreAndStaysAsItWas) {
  const Request request = Put(1, "ke", "value");  // 55 bytes and one of padding, which counts
  const size_t exact = kMessageHeaderBytes + 2 * EncodedBytes(request);
  for (size_t bytes = exact; bytes < exact + EncodedBytes(request); ++bytes) {
    Image buffer(bytes);
    MessageWriter writer(buffer, kClient);
    EXPECT_TRUE(writer.Add(request));
    EXPECT_TRUE(writer.Add(request));
    EXPECT_FALSE(writer.Add(request));
    EXPECT_EQ(writer.count(), 2u);
    const auto message = writer.Finish();
    EXPECT_EQ(message.size(), exact);
    EXPECT_EQ(Image(message.begin(), message.end()), Encoded<Request>({request, request}));
  }
}

TEST(Message, AnEmptyBatchOpens) {
  auto reader = MessageReader::Open(Encoded<Request>({}), kClient, Holds::kRequests);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->remaining(), 0u);
  EXPECT_FALSE(reader->NextRequest().has_value());
}

TEST(Message, ZeroMemoryIsRejected) {
  for (size_t bytes = 0; bytes <= 300; ++bytes) {
    for (const uint64_t client_id : {uint64_t{0}, kClient}) {
      EXPECT_FALSE(Opens(Holds::kRequests, client_id)(Image(bytes)));
      EXPECT_FALSE(Opens(Holds::kReplies, client_id)(Image(bytes)));
    }
  }
}

TEST(Message, EveryByteChangeIsRejected) {
  EXPECT_TRUE(RejectsEveryByteChange(Encoded(kRequests), Opens(Holds::kRequests)));
  EXPECT_TRUE(RejectsEveryByteChange(Encoded(kReplies, kOfReplies), Opens(Holds::kReplies)));
}

// A receive buffer is used again, so what a message is torn with is an older one.
TEST(Message, EverySpliceIsRejected) {
  EXPECT_TRUE(RejectsEverySplice(Encoded<Request>({Put(0x100, "old-key", "old value")}),
                                 Encoded<Request>({Put(0x900, "NEW-KEY", "NEW VALUE")}),
                                 Opens(Holds::kRequests)));
  EXPECT_TRUE(RejectsEverySplice(Encoded<Reply>({Answer(0x100, "old value")}),
                                 Encoded<Reply>({Answer(0x900, "NEW VALUE")}),
                                 Opens(Holds::kReplies)));
}

TEST(Message, EveryOtherLengthIsRejected) {
  EXPECT_TRUE(RejectsEveryOtherLength(Encoded(kRequests), Opens(Holds::kRequests)));
  EXPECT_TRUE(RejectsEveryOtherLength(Encoded(kReplies, kOfReplies), Opens(Holds::kReplies)));
}

TEST(Message, MessagesOfAnotherClientAreRejected) {
  for (uint64_t other = 0; other < 1000; ++other) {
    EXPECT_EQ(Opens(Holds::kRequests, other)(Encoded(kRequests)), other == kClient);
    EXPECT_EQ(Opens(Holds::kReplies, other)(Encoded(kReplies, kOfReplies)), other == kClient);
  }
}

TEST(Message, ARequestIsNotTakenForAReply) {
  EXPECT_FALSE(Opens(Holds::kReplies)(Encoded(kRequests)));
  EXPECT_FALSE(Opens(Holds::kRequests)(Encoded(kReplies, kOfReplies)));
}

}  // namespace
}  // namespace plov::verify
