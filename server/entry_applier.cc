#include "server/entry_applier.h"

#include <optional>

#include "server/replicated_log.h"

namespace plov::server {

using verify::Logged;

namespace {

struct Content {
  EntryHolds holds{};
  std::span<const std::byte> bytes = {};
};

std::optional<Content> ContentOf(const cluster::Entry& entry) {
  const auto bytes = std::as_bytes(std::span(*entry.data));
  if (bytes.size() < verify::kWordBytes) return std::nullopt;
  return Content{EntryHolds{std::to_integer<uint8_t>(bytes.front())},
                 bytes.subspan(verify::kWordBytes)};
}

}  // namespace

bool EntryApplier::Apply(const cluster::Entry& entry, uint64_t now_us) {
  now_us_ = now_us;
  const auto content = ContentOf(entry);
  if (!content) return false;
  if (content->holds == EntryHolds::kOperations) return ApplyOperations(content->bytes);
  if (!catches_up_) return true;  // it is for another one
  if (content->holds == EntryHolds::kItems) return ApplyItems(content->bytes);
  return ApplySessions(content->bytes, content->holds == EntryHolds::kAllSessions);
}

void EntryApplier::Forget(const cluster::Entry& entry) {
  const auto content = ContentOf(entry);
  if (!content || content->holds != EntryHolds::kOperations) return;
  auto operations = content->bytes;
  while (const auto operation = verify::TakeLogged(&operations)) sessions_->Forget(*operation);
}

bool EntryApplier::ApplyOne(const Logged& operation) {
  const Code status = store_->Apply(operation, now_us_);
  is_too_small_ |= status == Code::kNoSpace;
  return status == Code::kOk;
}

bool EntryApplier::ApplyOperations(std::span<const std::byte> operations) {
  while (!operations.empty()) {
    const auto operation = verify::TakeLogged(&operations);
    if (!operation || operation->key.empty()) return false;
    if (!ApplyOne(*operation)) return false;
    sessions_->Restore(*operation);
    const bool may_go = operation->kind == Logged::Kind::kDelete || operation->expiry != 0;
    if (catches_up_ && may_go) gone_[std::string(operation->key)] = operation->version;
  }
  return true;
}

bool EntryApplier::ApplyItems(std::span<const std::byte> items) {
  while (!items.empty()) {
    const auto item = verify::TakeLogged(&items);
    if (!item || item->kind != Logged::Kind::kPut) return false;
    if (!IsOlder(*item) && !ApplyOne(*item)) return false;
  }
  return true;
}

bool EntryApplier::IsOlder(const Logged& item) const {
  const auto gone = gone_.find(std::string(item.key));
  return (gone != gone_.end() && gone->second > item.version) || store_->HasNewer(item);
}

// They come last.
bool EntryApplier::ApplySessions(std::span<const std::byte> sessions, bool are_all) {
  knows_all_sessions_ = are_all;
  while (!sessions.empty()) {
    const auto session = verify::TakeLoggedSession(&sessions);
    if (!session) return false;
    sessions_->Restore(*session);
  }
  catches_up_ = false;
  gone_.clear();
  return true;
}

}  // namespace plov::server
