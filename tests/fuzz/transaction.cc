// What a COMMIT carries, and the stores of two shards that are sent it.
//
// Property: what was read of it is the same when it is written and read anew; and the stores apply it whole, or say why
// not.
#include "verify/transaction.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/siblings.h"
#include "server/store.h"
#include "server/transaction.h"
#include "server/turn_lock.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using verify::Operation;
using verify::Request;

bool IsSame(const Request& one, const Request& other) {
  return one.operation == other.operation && one.flags == other.flags &&
         one.ttl_seconds == other.ttl_seconds && one.expiry == other.expiry &&
         one.key == other.key && one.value == other.value;
}

void TestBytes(std::string_view bytes) {
  const auto read = verify::DecodeTransaction(bytes);
  if (!read) return;
  const std::string written = verify::EncodeTransaction(*read);
  Check(written.size() == bytes.size(), "written anew it is as long");
  const auto again = verify::DecodeTransaction(written);
  Check(again && again->reads == read->reads && again->writes.size() == read->writes.size(),
        "read anew it is the same");
  for (size_t i = 0; i < read->writes.size(); ++i) {
    Check(IsSame(read->writes[i], again->writes[i]), "its writes are the same");
  }
}

// The stores of a server's two shards.
struct Shards {
  std::array<server::TurnLock, 2> turns;
  std::array<std::unique_ptr<server::Store>, 2> stores;
  std::optional<server::Siblings> siblings;

  Shards() {
    std::vector<server::Siblings::Sibling> all;
    for (uint32_t i = 0; i < stores.size(); ++i) {
      stores[i] = *server::Store::Create({.memory_bytes = size_t{8} << 20,
                                          .shard = i,
                                          .shard_count = static_cast<uint32_t>(stores.size()),
                                          .bucket_count = 64});
      all.push_back({stores[i].get(), &turns[i], [] {}});
    }
    siblings.emplace(std::move(all));
  }
};

void TestStores(std::string_view bytes) {
  static Shards shards;
  const auto all = verify::DecodeTransaction(bytes);
  if (!all || (all->reads.empty() && all->writes.empty())) return;
  const std::string_view key =
      all->reads.empty() ? all->writes.front().key : all->reads.front().key;
  const Request request{.operation = Operation::kCommit, .sequence = 1, .key = key, .value = bytes};
  server::Transaction transaction;
  const bool is_open = transaction.Open(
      request, 1, shards.siblings->StoreOf(shards.siblings->Of(key)), &*shards.siblings);
  Check(is_open, "a store takes what it is sent");
  std::optional<server::WriteReply> reply;
  while (!reply && transaction.is_of_several()) {
    transaction.GoInTurns(1, false);
    reply = transaction.answer();
  }
  while (!reply) reply = transaction.Go(1, false);
  for (const auto& store : shards.stores) store->growth().OnConfirmed(UINT64_MAX);
  if (reply->status != Code::kOk || all->writes.empty()) return;
  Check(reply->version >= all->writes.size(), "each write has a version");
  const Request& last = all->writes.back();
  const auto hit = shards.siblings->StoreOf(shards.siblings->Of(last.key))->Get(last.key, 1);
  const bool is_there = last.operation == Operation::kPut && last.expiry == 0;
  Check(is_there ? hit && hit->item.version() == reply->version : !hit || last.expiry != 0,
        "the last write is what is there");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  plov::fuzz::TestBytes(bytes);
  plov::fuzz::TestStores(bytes);
  return 0;
}
