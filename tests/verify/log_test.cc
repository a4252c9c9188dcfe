#include "verify/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/verify/tears.h"
#include "verify/seal.h"

namespace plov::verify {
namespace {

using Bytes = std::span<const std::byte>;

constexpr LogId kLog = {0x1122334455667788, 0x99aabbccddeeff00};
constexpr uint64_t kHeadSeed =
    0x706c6f766c6f6773;  // the format's; verify/log.cc keeps it to itself
constexpr uint64_t kSeedHere = 0x68657265;

LogHead HeadOfLog(uint64_t number = 7) {
  return {.shard = 1,
          .shard_count = 4,
          .id = kLog,
          .number = number,
          .first_batch = 100 * number,
          .chain = ~number,
          .floor = number << 32,
          .hash_seed = 0x5eed5eed5eed5eed,
          .file_bytes = 64 << 20,
          .life = 0x11fe11fe11fe11fe};
}

// The verdict on a head with other bytes at `at`, under a good checksum.
template <typename Number>
Code SealedHeadWith(size_t at, Number number) {
  LogBlock block = SealLogHead(LogFile::kSegment, HeadOfLog());
  std::memcpy(block.data() + at, &number, sizeof(number));
  const uint64_t checksum = Checksum(block.data() + 8, block.size() - 8, kHeadSeed);
  std::memcpy(block.data(), &checksum, sizeof(checksum));
  const auto head = CheckLogHead(LogFile::kSegment, block);
  return head ? Code::kOk : head.error();
}

bool IsLogHead(Bytes image) { return CheckLogHead(LogFile::kSegment, image).has_value(); }

Image HeadImage(const LogHead& head) {
  const LogBlock block = SealLogHead(LogFile::kSegment, head);
  return {block.begin(), block.end()};
}

// Operations one after the other, behind room for a head of `head_bytes`.
Image OperationsOf(const std::vector<Logged>& operations, size_t head_bytes) {
  Image image(head_bytes);
  for (const Logged& operation : operations) {
    const size_t at = image.size();
    image.resize(at + LoggedBytes(operation.key.size(), operation.value.size()));
    const size_t used = EncodeLoggedHead(operation, operation.value.size(), &image[at]);
    std::ranges::copy(std::as_bytes(std::span(operation.value)), &image[at] + used);
  }
  return image;
}

Logged PutOf(uint64_t version, std::string_view key = "key", std::string_view value = "value") {
  return {.kind = Logged::Kind::kPut,
          .version = version,
          .client_id = 0xc11e,
          .sequence = 5,
          .flags = 0xf1a9,
          .expiry = 1'800'000'000,
          .key = key,
          .value = value};
}
Logged DeleteOf(uint64_t version) {
  return {.kind = Logged::Kind::kDelete, .version = version, .key = "gone"};
}

Logged SupersededOf(uint64_t version) {
  return {
      .kind = Logged::Kind::kSuperseded, .version = version, .client_id = 0xc11e, .sequence = 5};
}

Image BatchOf(const std::vector<Logged>& operations, BatchHead head) {
  Image image = OperationsOf(operations, kBatchHeadBytes);
  head.bytes = static_cast<uint32_t>(image.size());
  EncodeBatchHead(head, std::span(image).first<kBatchHeadBytes>());
  const std::span<std::byte> piece = image;
  SealBatch({&piece, 1}, kSeedHere);
  return image;
}

BatchHead BatchHeadOf(uint64_t number) {
  return {.number = number,
          .chain = ~number,
          .attest = number - 2,
          .first_version = 10 * number,
          .last_version = 10 * number + 3,
          .operations = 2,
          .time_us = 0x0006'4700'0000'0000};
}

// A put and a delete; batch 17 holds versions 170 and 173.
Image BatchImage(const BatchHead& head = BatchHeadOf(17)) {
  return BatchOf({PutOf(10 * head.number), DeleteOf(10 * head.number + 3)}, head);
}

bool IsBatch(Bytes image, uint64_t seed = kSeedHere) {
  const auto head = GuessBatchHead(image, image.size());
  return head && CheckBatch(image, *head, seed);
}

Image SnapshotBlockOf(const std::vector<Logged>& operations, uint64_t number = 3) {
  Image image = OperationsOf(operations, kSnapshotBlockHeadBytes);
  const auto count = static_cast<uint32_t>(operations.size());
  SealSnapshotBlock(image, {.number = number, .operations = count}, kSeedHere);
  return image;
}

Image SessionsBlockOf(const std::vector<LoggedSession>& sessions, SnapshotBlockHead head) {
  Image image(kSnapshotBlockHeadBytes + sessions.size() * kLoggedSessionBytes);
  std::byte* at = image.data() + kSnapshotBlockHeadBytes;
  for (const LoggedSession& session : sessions) {
    EncodeLoggedSession(session, at);
    at += kLoggedSessionBytes;
  }
  head.kind = SnapshotBlockHead::Kind::kSessions;
  SealSnapshotBlock(image, head, kSeedHere);
  return image;
}
Image SessionsBlockOf(const std::vector<LoggedSession>& sessions) {
  return SessionsBlockOf(sessions,
                         {.number = 3, .operations = static_cast<uint32_t>(sessions.size())});
}

bool IsSnapshotBlock(Bytes image, uint64_t seed = kSeedHere) {
  const auto head = GuessSnapshotBlock(image, image.size());
  return head && CheckSnapshotBlock(image, *head, seed);
}

constexpr SnapshotFooter kFooter = {
    0xd19e57d19e57d19e,    1000, 123456, 17, 29, 0x0123456789abcdef, 128,
    0x0006'4700'0000'0000, 11,   true};

Image FooterImage(const SnapshotFooter& footer) {
  const auto bytes = SealSnapshotFooter(footer, 3, kSeedHere);
  return {bytes.begin(), bytes.end()};
}

bool IsFooter(Bytes image) { return CheckSnapshotFooter(image, 3, kSeedHere).has_value(); }

// A format, how an image of it begins (operations are drawn by Logged.Golden), and another of the same size.
struct LogFormat {
  const char* name;
  const char* golden;
  Image before;
  Image after;
  Accepts accepts;
};

void PrintTo(const LogFormat& format, std::ostream* to) { *to << format.name; }

std::vector<LogFormat> LogFormats() {
  return {{"Head",
           "c0c816a3678fa7c3 706c6f766c6f6701 0400000001000000 0400000000100000 "
           "8877665544332211 00ffeeddccbbaa99 0700000000000000 bc02000000000000 "
           "f8ffffffffffffff 0000000007000000 ed5eed5eed5eed5e 0000000400000000 "
           "fe11fe11fe11fe11",
           HeadImage(HeadOfLog()), HeadImage(HeadOfLog(8)), IsLogHead},
          {"Batch",
           "1f7bafab69bc3e77 706c6762a8000000 1100000000000000 eeffffffffffffff "
           "0f00000000000000 aa00000000000000 ad00000000000000 0200000000000000 "
           "0000000000470600",
           BatchImage(), BatchImage(BatchHeadOf(19)), [](Bytes image) { return IsBatch(image); }},
          {"SnapshotBlock", "31ae1848fb4aacf5 706c736280000000 0300000000000000 0200000000000000",
           SnapshotBlockOf({PutOf(100), PutOf(7)}), SnapshotBlockOf({PutOf(101), PutOf(8)}, 4),
           [](Bytes image) { return IsSnapshotBlock(image); }},
          {"SnapshotSessions",
           "61b698bdbf3f9130 706c736350000000 0300000000000000 0200000000000000 "
           "1ec1000000000000 0500000000000000 6400000000000000 "
           "0df0000000000000 0000000000000000 0000000000000000",
           SessionsBlockOf({{0xc11e, 5, 100}, {0xf00d, 0, 0}}),
           SessionsBlockOf({{0xc11f, 6, 101}, {0xf00e, 1, 1}}),
           [](Bytes image) { return IsSnapshotBlock(image); }},
          {"SnapshotFooter",
           "36f3f63e0061a868 706c736670000000 0300000000000000 0000000000000000 "
           "9ed1579ed1579ed1 e803000000000000 40e2010000000000 1100000000000000 "
           "1d00000000000000 efcdab8967452301 8000000000000000 "
           "0000000000470600 0b00000000000000 0100000000000000",
           FooterImage(kFooter), FooterImage({1, 2, 3, 4, 5, 6, 7, 8, 9, false}), IsFooter}};
}

class EachLogFormat : public ::testing::TestWithParam<LogFormat> {};

TEST_P(EachLogFormat, Golden) {
  EXPECT_EQ(ToHex(GetParam().before).substr(0, std::strlen(GetParam().golden)), GetParam().golden);
}

TEST_P(EachLogFormat, ZeroMemoryIsRejected) {
  EXPECT_FALSE(GetParam().accepts(Image(GetParam().before.size())));
}

TEST_P(EachLogFormat, EveryByteChangeIsRejected) {
  const bool is_small = GetParam().before.size() < kLogBlockBytes;
  EXPECT_TRUE(
      RejectsEveryByteChange(GetParam().before, GetParam().accepts, {.every_value = is_small}));
}

TEST_P(EachLogFormat, EverySpliceIsRejected) {
  EXPECT_TRUE(RejectsEverySplice(GetParam().before, GetParam().after, GetParam().accepts));
}

TEST_P(EachLogFormat, EveryTruncationIsRejected) {
  EXPECT_TRUE(RejectsEveryOtherLength(GetParam().before, GetParam().accepts, 0));
}

INSTANTIATE_TEST_SUITE_P(Log, EachLogFormat, ::testing::ValuesIn(LogFormats()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(LogHead, RoundTripAndAnotherKindIsToldFromDamage) {
  constexpr auto kSegment = LogFile::kSegment, kSnapshot = LogFile::kSnapshot;
  for (const auto& [kind, other] : {std::pair(kSegment, kSnapshot), {kSnapshot, kSegment}}) {
    const LogBlock block = SealLogHead(kind, HeadOfLog());
    EXPECT_EQ(CheckLogHead(kind, block), HeadOfLog());
    EXPECT_EQ(CheckLogHead(other, block).error(), Code::kInvalidArgument);
  }
}

TEST(LogHead, OfAClusterNamesIt) {
  LogHead head = HeadOfLog();
  head.cluster_id = 0x0123456789abcdef;
  for (const LogFile kind : {LogFile::kSegment, LogFile::kSnapshot}) {
    const LogBlock block = SealLogHead(kind, head);
    EXPECT_EQ(ToHex(Image(block.begin() + 104, block.begin() + 120)),
              "efcdab8967452301 0000000000000000");
    EXPECT_EQ(CheckLogHead(kind, block), head);
  }
}

TEST(LogHead, OfAReplicaHasAFormatOfItsOwn) {
  LogHead head = HeadOfLog();
  head.is_replica = true;
  for (const LogFile kind : {LogFile::kSegment, LogFile::kSnapshot}) {
    const LogBlock block = SealLogHead(kind, head);
    EXPECT_EQ(block[16], std::byte{kReplicaLogFormat});
    EXPECT_EQ(CheckLogHead(kind, block), head);
  }
}

TEST(LogHead, AnotherFormatOrWhatMakesNoSenseIsRejected) {
  EXPECT_EQ(SealedHeadWith(16, kReplicaLogFormat + 1), Code::kProtocol);
  EXPECT_EQ(SealedHeadWith(20, uint32_t{3}), Code::kOk);
  EXPECT_EQ(SealedHeadWith(20, uint32_t{4}), Code::kCorrupt);  // of 4 shards
  EXPECT_EQ(SealedHeadWith(24, uint32_t{0}), Code::kCorrupt);
  EXPECT_EQ(SealedHeadWith(28, uint32_t{512}), Code::kCorrupt);
  EXPECT_EQ(SealedHeadWith(48, uint64_t{0}), Code::kCorrupt);
  EXPECT_EQ(SealedHeadWith(56, uint64_t{0}), Code::kCorrupt);
  for (const size_t at : {112u, 4095u}) EXPECT_EQ(SealedHeadWith(at, uint8_t{1}), Code::kCorrupt);
}

TEST(Logged, Golden) {
  EXPECT_EQ(ToHex(OperationsOf({PutOf(100)}, 0)),
            "0100030005000000 6400000000000000 1ec1000000000000 0500000000000000 "
            "a9f1000000d2496b 6b657976616c7565");
  EXPECT_EQ(ToHex(OperationsOf({DeleteOf(103)}, 0)),
            "0200040000000000 6700000000000000 0000000000000000 0000000000000000 "
            "0000000000000000 676f6e6500000000");
  EXPECT_EQ(ToHex(OperationsOf({SupersededOf(104)}, 0)),
            "0300000000000000 6800000000000000 1ec1000000000000 0500000000000000 0000000000000000");
}

TEST(Logged, HeldHasAValueAndNoKey) {
  const Logged held{.kind = Logged::Kind::kHeld, .version = 7, .value = "message."};
  const auto taken_of = [](Logged operation) {
    const Image bytes = OperationsOf({operation}, 0);
    std::span<const std::byte> rest = bytes;
    return TakeLogged(&rest).has_value();
  };
  EXPECT_TRUE(taken_of(held));
  Logged with_key = held;
  with_key.key = "key";
  EXPECT_FALSE(taken_of(with_key));
  Logged empty = held;
  empty.value = {};
  EXPECT_FALSE(taken_of(empty));
}

TEST(Logged, SupersededHasNeitherKeyNorValue) {
  Logged operation = SupersededOf(104);
  const auto is_taken = [&operation] {
    const Image image = OperationsOf({operation}, 0);
    Bytes rest = image;
    return TakeLogged(&rest).has_value();
  };
  EXPECT_TRUE(is_taken());
  operation.key = "key";
  EXPECT_FALSE(is_taken());
  operation.key = "";
  operation.value = "value";
  EXPECT_FALSE(is_taken());
  operation = SupersededOf(0);
  EXPECT_FALSE(is_taken());
}

TEST(Logged, RoundTrip) {
  const std::string key(1024, 'k'), value(100'000, 'v');
  for (const Logged& put : {PutOf(9), PutOf(9, key, value), PutOf(9, "k", "")}) {
    const Image image = OperationsOf({put, DeleteOf(10)}, 0);
    Bytes rest = image;
    const auto taken = TakeLogged(&rest), gone = TakeLogged(&rest);
    ASSERT_TRUE(taken && gone && rest.empty());
    EXPECT_EQ(std::tuple(taken->kind, taken->version, taken->key, taken->value),
              std::tuple(put.kind, 9u, put.key, put.value));
    EXPECT_EQ(std::tuple(taken->client_id, taken->sequence, taken->flags, taken->expiry),
              std::tuple(0xc11eu, 5u, 0xf1a9u, 1'800'000'000u));
    EXPECT_EQ(std::tuple(gone->kind, gone->version, gone->key, gone->value),
              std::tuple(Logged::Kind::kDelete, 10u, "gone", ""));
  }
}

// Whether an operation with other bytes at `at` is taken; a refused one leaves `rest` as it was.
template <typename Number>
bool TakesWith(const Logged& operation, size_t at, Number number) {
  Image image = OperationsOf({operation}, 0);
  std::memcpy(image.data() + at, &number, sizeof(number));
  Bytes rest = image;
  const bool takes = TakeLogged(&rest).has_value();
  EXPECT_EQ(rest.size(), takes ? 0 : image.size());
  return takes;
}

TEST(Logged, HostileLengthsAreRejected) {
  const Logged put = PutOf(100);  // 3 and 5 bytes, without padding
  EXPECT_TRUE(TakesWith(put, 2, uint16_t{3}));
  EXPECT_FALSE(TakesWith(put, 2, uint16_t{0}));
  EXPECT_FALSE(TakesWith(put, 2, uint16_t{4}));
  EXPECT_FALSE(TakesWith(put, 2, uint16_t{0xffff}));
  EXPECT_FALSE(TakesWith(put, 4, uint32_t{6}));
  EXPECT_FALSE(TakesWith(put, 4, uint32_t{0x7fffffff}));
  for (uint32_t less = 0; less < 64; ++less) EXPECT_FALSE(TakesWith(put, 4, ~less));
  const auto takes = [](Bytes bytes) { return TakeLogged(&bytes).has_value(); };
  EXPECT_TRUE(RejectsEveryOtherLength(OperationsOf({put}, 0), takes, 0));
}

TEST(Logged, WhatMakesNoSenseIsRejected) {
  const Logged put = PutOf(100, "key", "v");  // 4 bytes of padding
  EXPECT_TRUE(TakesWith(put, 0, uint8_t{1}));
  for (const uint8_t kind : std::initializer_list<uint8_t>{0, 2, 3, 255}) {
    EXPECT_FALSE(TakesWith(put, 0, kind));
  }
  EXPECT_FALSE(TakesWith(put, 1, uint8_t{1}));
  EXPECT_FALSE(TakesWith(put, 8, uint64_t{0}));
  for (size_t at = 44; at < 48; ++at) EXPECT_FALSE(TakesWith(put, at, uint8_t{1}));
  EXPECT_TRUE(TakesWith(DeleteOf(5), 0, uint8_t{1}));
}

TEST(Log, GoldenSeedsAndDigest) {
  EXPECT_EQ(BatchSeed(kLog, 7, 4096), 0xe05af16198148cd9);
  EXPECT_EQ(SnapshotSeed(kLog, 4096), 0xd21705ad4d843bee);
  EXPECT_EQ(SnapshotDigest(SnapshotDigest(0, 1), 2), 0x6e831e5c32b4a208);
}

TEST(Batch, RoundTrip) {
  const Image image = BatchImage();
  const auto head = GuessBatchHead(image, image.size());
  ASSERT_TRUE(head.has_value() && CheckBatch(image, *head, kSeedHere));
  EXPECT_EQ(std::tuple(head->number, head->chain, head->attest, head->operations),
            std::tuple(17u, ~uint64_t{17}, 15u, 2u));
  EXPECT_EQ(std::tuple(head->first_version, head->last_version, head->bytes, head->kind),
            std::tuple(170u, 173u, image.size(), BatchHead::Kind::kOperations));
}

TEST(Batch, PiecesAreSealedAsOne) {
  const Image whole = BatchImage();
  for (size_t at = kWordBytes; at < whole.size(); at += kWordBytes) {
    Image image = whole;
    const auto bytes = std::span(image);
    const std::array pieces = {bytes.first(at), bytes.subspan(at)};
    const uint64_t checksum = SealBatch(pieces, kSeedHere);
    EXPECT_EQ(image, whole);
    EXPECT_EQ(checksum, GuessBatchHead(whole, whole.size())->checksum);
  }
}

TEST(Batch, ElsewhereItIsForeign) {
  const uint64_t here = BatchSeed(kLog, 7, 4096);
  Image image = BatchImage();
  const std::span<std::byte> piece = image;
  SealBatch({&piece, 1}, here);
  EXPECT_TRUE(IsBatch(image, here));
  for (const LogId other :
       {LogId{kLog.low + 1, kLog.high}, {kLog.low, kLog.high + 1}, {kLog.high, kLog.low}}) {
    EXPECT_FALSE(IsBatch(image, BatchSeed(other, 7, 4096)));
  }
  EXPECT_FALSE(IsBatch(image, BatchSeed(kLog, 7, 8192)));
  EXPECT_FALSE(IsBatch(image, BatchSeed(kLog, 8, 4096)));
  EXPECT_FALSE(IsBatch(image, BatchSeed(kLog, 4096, 7)));
  EXPECT_FALSE(IsBatch(image, SnapshotSeed(kLog, 4096)));
}

// A batch of PutOf(one), PutOf(two) under a head that says otherwise, well sealed.
bool IsBatchOf(uint64_t one, uint64_t two, uint64_t first, uint64_t last) {
  const BatchHead head = {.first_version = first, .last_version = last, .operations = 2};
  return IsBatch(BatchOf({PutOf(one), PutOf(two)}, head));
}

TEST(Batch, VersionsThatDoNotGrowAreRejected) {
  EXPECT_TRUE(IsBatchOf(5, 6, 5, 6));
  EXPECT_FALSE(IsBatchOf(5, 5, 5, 5));
  EXPECT_FALSE(IsBatchOf(6, 5, 6, 5));
  EXPECT_FALSE(IsBatchOf(5, 6, 4, 6));
  EXPECT_FALSE(IsBatchOf(5, 6, 5, 7));
  EXPECT_FALSE(IsBatchOf(0, 6, 0, 6));
}

TEST(Batch, AWrongCountIsRejected) {
  for (const uint32_t count : {0u, 1u, 3u, 0xffffffffu}) {
    BatchHead head = BatchHeadOf(17);
    head.operations = count;
    EXPECT_FALSE(IsBatch(BatchImage(head))) << count;
  }
}

TEST(Batch, OneOfAnotherKindHasNoOperations) {
  for (const auto kind : {BatchHead::Kind::kAttest, BatchHead::Kind::kClosed}) {
    EXPECT_TRUE(IsBatch(BatchOf({}, {.number = 5, .attest = 4, .kind = kind})));
    EXPECT_FALSE(IsBatch(BatchOf({}, {.number = 5, .first_version = 1, .kind = kind})));
    EXPECT_FALSE(IsBatch(BatchOf({}, {.number = 5, .operations = 1, .kind = kind})));
    EXPECT_FALSE(IsBatch(BatchOf(
        {PutOf(1)}, {.first_version = 1, .last_version = 1, .operations = 1, .kind = kind})));
  }
  EXPECT_FALSE(IsBatch(BatchOf({}, {.number = 5})));
  EXPECT_FALSE(IsBatch(BatchOf({}, {.number = 5, .kind = BatchHead::Kind{3}})));
}

// What GuessBatchHead makes of a head that says `bytes`, where there is `room`.
bool Guesses(uint32_t bytes, size_t room) {
  BatchHead head = BatchHeadOf(17);
  head.bytes = bytes;
  std::array<std::byte, kBatchHeadBytes> image;
  EncodeBatchHead(head, image);
  return GuessBatchHead(image, room).has_value();
}

TEST(Batch, AHeadSaysNoMoreThanThereIsRoomFor) {
  EXPECT_TRUE(Guesses(72, 72));
  EXPECT_FALSE(Guesses(72, 71));
  for (const uint32_t bytes : {0u, 56u, 76u}) EXPECT_FALSE(Guesses(bytes, 4096)) << bytes;
  EXPECT_TRUE(Guesses(uint32_t{kBatchBytesMax}, SIZE_MAX));
  EXPECT_FALSE(Guesses(uint32_t{kBatchBytesMax} + 8, SIZE_MAX));
}

TEST(SnapshotBlock, RoundTrip) {
  const Image image = SnapshotBlockOf({PutOf(100), PutOf(7, "k", "")});  // in no order
  const auto head = GuessSnapshotBlock(image, image.size());
  ASSERT_TRUE(head.has_value() && CheckSnapshotBlock(image, *head, kSeedHere));
  EXPECT_EQ(std::tuple(head->bytes, head->number, head->operations),
            std::tuple(image.size(), 3u, 2u));
}

TEST(SnapshotBlock, ElsewhereItIsForeign) {
  Image image = SnapshotBlockOf({PutOf(100)});
  SealSnapshotBlock(image, {.number = 3, .operations = 1}, SnapshotSeed(kLog, 4096));
  EXPECT_TRUE(IsSnapshotBlock(image, SnapshotSeed(kLog, 4096)));
  EXPECT_FALSE(IsSnapshotBlock(image, SnapshotSeed(kLog, 4104)));
  EXPECT_FALSE(IsSnapshotBlock(image, SnapshotSeed({kLog.high, kLog.low}, 4096)));
}

TEST(SnapshotBlock, HoldsPutsAloneAndAsManyAsItSays) {
  EXPECT_FALSE(IsSnapshotBlock(SnapshotBlockOf({PutOf(100), DeleteOf(103)})));
  EXPECT_FALSE(IsSnapshotBlock(SnapshotBlockOf({})));
  for (const uint32_t count : {0u, 1u, 3u, 0xffffffffu}) {
    Image image = SnapshotBlockOf({PutOf(100), PutOf(7)});
    SealSnapshotBlock(image, {.number = 3, .operations = count}, kSeedHere);
    EXPECT_FALSE(IsSnapshotBlock(image)) << count;
  }
}

TEST(SnapshotSessions, RoundTrip) {
  const std::vector<LoggedSession> sessions = {{7, 0, 0}, {8, 9, 0}, {~uint64_t{0}, 9, 10}};
  const Image image = SessionsBlockOf(sessions);
  const auto head = GuessSnapshotBlock(image, image.size());
  ASSERT_TRUE(head.has_value() && CheckSnapshotBlock(image, *head, kSeedHere));
  EXPECT_EQ(std::tuple(head->kind, head->bytes, head->number, head->operations),
            std::tuple(SnapshotBlockHead::Kind::kSessions, image.size(), 3u, 3u));
  Bytes rest = Bytes(image).subspan(kSnapshotBlockHeadBytes);
  for (const LoggedSession& session : sessions) EXPECT_EQ(TakeLoggedSession(&rest), session);
  EXPECT_FALSE(TakeLoggedSession(&rest).has_value());
}

TEST(SnapshotSessions, AreAsManyAsItSays) {
  EXPECT_FALSE(IsSnapshotBlock(SessionsBlockOf({})));
  for (const uint32_t count : {0u, 1u, 3u, 0xffffffffu}) {
    EXPECT_FALSE(IsSnapshotBlock(
        SessionsBlockOf({{7, 5, 100}, {8, 5, 101}}, {.number = 3, .operations = count})))
        << count;
  }
  // A word more than two, which are one less.
  Image image = SessionsBlockOf({{7, 5, 100}, {8, 5, 101}});
  image.resize(image.size() + kWordBytes);
  SealSnapshotBlock(image, {.operations = 2, .kind = SnapshotBlockHead::Kind::kSessions},
                    kSeedHere);
  EXPECT_FALSE(IsSnapshotBlock(image));
}

TEST(SnapshotSessions, WhatMakesNoSenseIsRejected) {
  EXPECT_TRUE(IsSnapshotBlock(SessionsBlockOf({{7, 1, 1}})));
  EXPECT_FALSE(IsSnapshotBlock(SessionsBlockOf({{0, 1, 1}}))) << "nobody's";
  EXPECT_FALSE(IsSnapshotBlock(SessionsBlockOf({{7, 0, 1}}))) << "a version of no write";
}

TEST(SnapshotSessions, AreNoItems) {
  Image image = SnapshotBlockOf({PutOf(100)});
  SealSnapshotBlock(image, {.operations = 1, .kind = SnapshotBlockHead::Kind::kSessions},
                    kSeedHere);
  EXPECT_FALSE(IsSnapshotBlock(image));
  image = SessionsBlockOf({{1, 1, 1}, {1, 2, 2}});
  SealSnapshotBlock(image, {.operations = 1}, kSeedHere);
  EXPECT_FALSE(IsSnapshotBlock(image));
}

TEST(SnapshotFooter, RoundTripAndForeignElsewhere) {
  const Image image = FooterImage(kFooter);
  EXPECT_EQ(CheckSnapshotFooter(image, 3, kSeedHere), kFooter);
  EXPECT_FALSE(CheckSnapshotFooter(image, 2, kSeedHere).has_value());
  EXPECT_FALSE(CheckSnapshotFooter(image, 3, kSeedHere + 1).has_value());
  EXPECT_FALSE(IsSnapshotBlock(image));
}

TEST(SnapshotFooter, SessionsAreAllOrTheyAreNot) {
  for (uint64_t all = 0; all <= 2; ++all) {
    Image image = FooterImage(kFooter);
    std::memcpy(&image[104], &all, sizeof(all));
    const uint64_t checksum = Checksum(image.data() + 8, image.size() - 8, kSeedHere);
    std::memcpy(image.data(), &checksum, sizeof(checksum));
    const auto footer = CheckSnapshotFooter(image, 3, kSeedHere);
    ASSERT_EQ(footer.has_value(), all < 2);
    EXPECT_TRUE(!footer || footer->sessions_are_all == (all == 1));
  }
}

}  // namespace
}  // namespace plov::verify
