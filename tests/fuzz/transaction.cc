// What a COMMIT carries, and a store that is sent it.
//
// Property: what was read of it is the same when it is written and read anew; and the store applies it whole, or says why
// not.
#include "verify/transaction.h"

#include <memory>
#include <string>

#include "server/store.h"
#include "server/transaction.h"
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

void TestStore(std::string_view bytes) {
  static const std::unique_ptr<server::Store> store =
      *server::Store::Create({.memory_bytes = size_t{8} << 20, .bucket_count = 64});
  const Request request{
      .operation = Operation::kCommit, .sequence = 1, .key = "key", .value = bytes};
  server::Transaction transaction;
  if (!transaction.Open(request, 1, store.get())) return;
  const auto writes = transaction.all().writes;
  std::optional<server::WriteReply> reply;
  while (!reply) reply = transaction.Go(1, false);
  store->growth().OnConfirmed(UINT64_MAX);
  if (reply->status != Code::kOk || writes.empty()) return;
  Check(reply->version >= writes.size(), "each write has a version");
  const Request& last = writes.back();
  const auto hit = store->Get(last.key, 1);
  const bool is_there = last.operation == Operation::kPut && last.expiry == 0;
  Check(is_there ? hit && hit->item.version() == reply->version : !hit || last.expiry != 0,
        "the last write is what is there");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  plov::fuzz::TestBytes(bytes);
  plov::fuzz::TestStore(bytes);
  return 0;
}
