#include "door/redis/rewrite.h"

#include <utility>

#include "door/connection.h"

namespace plov::door::redis {

namespace {

// What a plan copies at most, of the value that is there, beside what it was told.
constexpr size_t kCopiedTwice = 2;
constexpr size_t kReservedRewriteFrom = 4096;

bool IsLost(const Error& error) {
  return error.code == Code::kVersionMismatch || error.code == Code::kNotFound ||
         error.code == Code::kExists;
}

}  // namespace

void Rewrite::LookUp() {
  client().StartGet(key(), [this](const Client::GetResult& result) { TakeFound(result); });
}

void Rewrite::TakeFound(const Client::GetResult& result) {
  if (!result) return EndWithFailure(result.error());
  const Item* item = *result ? &**result : nullptr;
  const size_t bytes = item == nullptr ? 0 : item->value.size() * kCopiedTwice;
  if (bytes >= kReservedRewriteFrom && !connection()->Reserve(bytes)) {
    Count(door::Count::kOutOfMemory);
    return EndWithError(kOutOfMemory);
  }
  change_ = Plan(item);
  Apply(item);
}

void Rewrite::Apply(const Item* item) {
  const Version version = item == nullptr ? 0 : item->version;
  switch (change_.action) {
    case Change::Action::kNothing:
      return End();
    case Change::Action::kPut:
      return Put({.mode = item == nullptr ? PutMode::kAdd : PutMode::kSet,
                  .expected_version = version,
                  .flags = change_.flags,
                  .ttl = change_.ttl});
    case Change::Action::kAppend:
      return Put({.mode = PutMode::kAppend, .expected_version = version});
    case Change::Action::kTouch:
      return client().StartTouch(key(), change_.ttl, version,
                                 [this](const Client::PutResult& result) {
                                   if (!result) return EndLost(result.error());
                                   End();
                                 });
    case Change::Action::kDelete:
      return client().StartDelete(key(), version, [this](const Client::DeleteResult& result) {
        if (!result) return EndLost(result.error());
        if (!*result) return EndLost({Code::kNotFound, ""});
        End();
      });
  }
}

void Rewrite::Put(const PutOptions& options) {
  client().StartPut(key(), change_.value, options, [this](const Client::PutResult& result) {
    if (!result) return EndLost(result.error());
    End();
  });
}

void Rewrite::EndLost(const Error& error) {
  if (!IsLost(error)) return EndWithFailure(error);
  if (++tries_ <= kTriesMax) return LookUp();
  EndWithFailure({Code::kVersionMismatch, "the item was written by others all the time"});
}

void Rewrite::End() {
  has_failed = change_.is_error;
  reply = std::move(change_.reply);
  connection()->End(this);
}

}  // namespace plov::door::redis
