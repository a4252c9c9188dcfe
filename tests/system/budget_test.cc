// One budget for table and records, and no other limit to know: what fits in it, of which kind, and
// what is said when it is full.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/plovd.h"
#include "tests/support/probe.h"

namespace plov {
namespace {

using std::chrono::seconds;
using test::Eventually;
using test::Plovd;
using test::StatOf;

constexpr uint64_t kBatch = 500;

std::string KeyOf(uint64_t item) { return "item" + std::to_string(item); }

std::string ValueOf(uint64_t item, size_t bytes) {
  std::string value = std::to_string(item) + ".";
  value.resize(bytes, static_cast<char>('a' + item % 26));
  return value;
}

class Budget : public ::testing::Test {
 protected:
  void Start(const std::string& memory, std::vector<std::string> options = {}) {
    options.insert(options.end(), {"--memory", memory});
    server_.emplace(std::move(options));
    client_.emplace(server_->Connect({.timeout = seconds(30)}));
  }
  uint64_t Stat(const char* name) { return StatOf(&*client_, name); }

  // Stores items from 0 on until half a batch is refused; which ones went in. Keeps a message.
  std::vector<bool> Fill(size_t value_bytes) {
    std::vector<bool> stored;
    for (uint64_t refused = 0; refused < kBatch / 2;) {
      const uint64_t first = stored.size();
      stored.resize(first + kBatch);
      std::vector<std::string> texts;
      texts.reserve(2 * kBatch);
      for (uint64_t item = first; item < stored.size(); ++item) {
        texts.push_back(KeyOf(item));
        texts.push_back(ValueOf(item, value_bytes));
      }
      std::vector<PutItem> items;
      for (size_t i = 0; i < texts.size(); i += 2) items.push_back({texts[i], texts[i + 1]});
      refused = 0;
      client_->PutMany(items, [&](size_t index, Client::PutResult result) {
        stored[first + index] = result.has_value();
        if (result) return;
        ++refused;
        EXPECT_EQ(result.error().code, Code::kNoSpace);
        message_ = result.error().message;
      });
    }
    return stored;
  }

  // Everything stored is right, everything refused is absent.
  void Check(const std::vector<bool>& stored, size_t value_bytes) {
    std::vector<std::string> names;
    for (uint64_t item = 0; item < stored.size(); ++item) names.push_back(KeyOf(item));
    const std::vector<std::string_view> keys(names.begin(), names.end());
    uint64_t right = 0;
    client_->GetMany(keys, [&](size_t index, Client::GetResult result) {
      right += result && result->has_value() == stored[index] &&
               (!stored[index] || (*result)->value == ValueOf(index, value_bytes));
    });
    EXPECT_EQ(right, stored.size());
  }

  void DeleteAll(const std::vector<bool>& stored) {
    uint64_t gone = 0;
    std::vector<std::string> names;
    for (uint64_t item = 0; item < stored.size(); ++item) names.push_back(KeyOf(item));
    for (const std::string& name : names) {
      client_->StartDelete(
          name, 0, [&gone](Client::DeleteResult result) { gone += result.value_or(false); });
    }
    while (client_->Poll() > 0) std::this_thread::yield();
    EXPECT_EQ(gone, std::ranges::count(stored, true));
    EXPECT_EQ(Stat("items"), 0);
    EXPECT_EQ(Stat("records_bytes"), 0);
  }

  // Percent of the memory that a fill of this kind put to use, tables included.
  uint64_t FillAndCheck(const char* kind, size_t value_bytes) {
    stored_ = Fill(value_bytes);
    Check(stored_, value_bytes);
    const uint64_t memory = Stat("memory_bytes");
    const uint64_t table = Stat("buckets") * Stat("bucket_bytes");
    const uint64_t used = table + Stat("records_bytes");
    std::printf(
        "%s: %lu items in %lu MiB; table %lu %% (filled to %lu %%), records %lu %%, payload %lu "
        "%%\n",
        kind, Stat("items"), memory >> 20, table * 100 / memory, Stat("table_percent"),
        Stat("records_bytes") * 100 / memory, Stat("payload_bytes") * 100 / memory);
    EXPECT_NE(message_.find("--memory"), std::string::npos) << message_;
    EXPECT_LE(Stat("memory_used_bytes"), memory);
    EXPECT_LE(Stat("memory_committed_bytes"), memory);
    return used * 100 / memory;
  }

  size_t LinesWith(const std::string& text) const {
    const std::string log = server_->Log();
    size_t count = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
    return count;
  }

  std::optional<Plovd> server_;
  std::optional<Client> client_;
  std::vector<bool> stored_;
  std::string message_;
};

constexpr size_t kInline = 16;
constexpr size_t kRecord = 2000;

TEST_F(Budget, AnEmptyServerTakesLittle) {
  server_.emplace(std::vector<std::string>{});
  client_.emplace(server_->Connect());
  ASSERT_TRUE(client_->Put("k", "v"));
  EXPECT_LT(Stat("memory_committed_bytes"), 2 << 20);
  EXPECT_EQ(Stat("memory_bytes"), uint64_t{1} << 30);
}

TEST_F(Budget, InlineItemsThenRecordsThenInlineItems) {
  Start("64M");
  EXPECT_GE(FillAndCheck("inline", kInline), 70);
  DeleteAll(stored_);
  ASSERT_TRUE(client_->Put("again", "v"));
  ASSERT_TRUE(client_->Delete("again"));
  FillAndCheck("then records", kRecord);
  DeleteAll(stored_);
  FillAndCheck("then inline", kInline);
}

TEST_F(Budget, RecordsThenInlineItems) {
  Start("64M");
  EXPECT_GE(FillAndCheck("records", kRecord), 85);
  DeleteAll(stored_);
  EXPECT_GE(FillAndCheck("then inline", kInline), 70);
}

// Wherever the doublings of the table happen to end in the memory.
TEST_F(Budget, InlineItemsInMemoriesOfAllSizes) {
  for (const uint64_t mib : std::initializer_list<uint64_t>{18, 23, 28, 36}) {
    Start(std::to_string(mib) + "M");
    EXPECT_GE(FillAndCheck("inline", kInline), 70);
    DeleteAll(stored_);
  }
}

TEST_F(Budget, SmallRecords) {
  for (const uint64_t mib : std::initializer_list<uint64_t>{20, 32, 48}) {
    Start(std::to_string(mib) + "M");
    EXPECT_GE(FillAndCheck("small records", 100), 85);
  }
}

TEST_F(Budget, FullnessIsSaidTwice) {
  Start("64M", {"--max-clients", "100"});  // who cannot run out of descriptors
  Fill(kRecord);
  EXPECT_EQ(LinesWith("% full"), 2) << server_->Log();
  EXPECT_EQ(LinesWith("[warning]"), 2) << server_->Log();
}

}  // namespace
}  // namespace plov
