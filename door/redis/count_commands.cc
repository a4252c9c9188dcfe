// DBSIZE and RANDOMKEY: short looks at the whole server.

#include <charconv>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "door/blocking_calls.h"
#include "door/redis/command.h"
#include "door/redis/table_request.h"

namespace plov::door::redis {

namespace {

// Whose reply a function makes with a client.
class ClientRequest final : public TableRequest {
 public:
  using Reply = std::expected<std::string, Error> (*)(plov::Client& client, Resp resp);

  ClientRequest(Reply make, Resp resp, BlockingCalls* calls)
      : make_(make), resp_(resp), calls_(calls) {}

 private:
  void Begin() override;
  void Take(std::expected<std::string, Error> made);

  const Reply make_;
  const Resp resp_;
  BlockingCalls* const calls_;
};

void ClientRequest::Begin() {
  calls_->Add([this, make = make_, resp = resp_,
               mailbox = worker()->mailbox()](std::expected<plov::Client*, Error> client) {
    auto made = client ? make(**client, resp) : std::unexpected(client.error());
    mailbox->Post([this, made = std::move(made)]() mutable { Take(std::move(made)); });
  });
}

void ClientRequest::Take(std::expected<std::string, Error> made) {
  if (!made) return EndWithFailure(made.error());
  reply = std::move(*made);
  End();
}

// Of one shard, of lines "name value".
std::expected<int64_t, Error> ItemsOf(std::string_view stats) {
  constexpr std::string_view kName = "items ";
  size_t at = stats.starts_with(kName) ? 0 : stats.find("\nitems ");
  int64_t items = 0;
  if (at != stats.npos) {
    at = stats.find(kName, at) + kName.size();
    const char* const end = stats.data() + stats.size();
    if (std::from_chars(stats.data() + at, end, items).ec == std::errc()) return items;
  }
  return Fail(Code::kProtocol, "the server does not tell how many items it has");
}

std::expected<std::string, Error> CountItems(plov::Client& client, Resp) {
  const auto shards = client.ServerStats();
  if (!shards) return std::unexpected(shards.error());
  int64_t sum = 0;
  for (const std::string& stats : *shards) {
    const auto items = ItemsOf(stats);
    if (!items) return std::unexpected(items.error());
    sum += *items;
  }
  std::string reply;
  AddInteger(sum, &reply);
  return reply;
}

std::expected<std::string, Error> DrawKey(plov::Client& client, Resp resp) {
  std::string reply;
  const auto drawn = client.Sample([&reply](std::string_view key, const Item&) {
    AddBulk(key, &reply);
    return false;
  });
  if (!drawn) return std::unexpected(drawn.error());
  if (reply.empty()) AddNull(resp, &reply);
  return reply;
}

}  // namespace

namespace commands {

void DbSize(Call& call) {
  call.connection()->Add(new ClientRequest(CountItems, call.resp(), call.options().calls));
}

void RandomKey(Call& call) {
  call.connection()->Add(new ClientRequest(DrawKey, call.resp(), call.options().calls));
}

}  // namespace commands

}  // namespace plov::door::redis
