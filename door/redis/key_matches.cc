#include "door/redis/key_matches.h"

#include <utility>

#include "door/redis/glob.h"
#include "door/redis/reply.h"

namespace plov::door::redis {

namespace {

constexpr size_t kNamesPerLook = 256;

size_t MarkBytes(const KeyIndex& index) { return index.entries().size() / 8 + 1; }

}  // namespace

std::expected<std::unique_ptr<KeyMatches>, Error> KeyMatches::Find(
    const KeyWalks::Index& index, std::string_view glob, Budget* budget,
    const std::function<bool()>& is_wanted) {
  if (!budget->Charge(MarkBytes(*index))) {
    return Fail(Code::kNoSpace, "no memory for the matches");
  }
  std::unique_ptr<KeyMatches> matches(new KeyMatches(index, budget));
  const auto entries = index->entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i % kNamesPerLook == 0 && !is_wanted()) {
      return Fail(Code::kUnavailable, "the client has gone");
    }
    if (!MatchesGlob(glob, entries[i].name())) continue;
    matches->is_match_[i] = true;
    ++matches->left_;
  }
  return matches;
}

KeyMatches::~KeyMatches() { budget_->Release(MarkBytes(*index_)); }

void KeyMatches::AddTo(std::string* reply, size_t bytes) {
  const size_t end_bytes = reply->size() + bytes;
  for (; left_ > 0 && reply->size() < end_bytes; ++next_) {
    if (!is_match_[next_]) continue;
    AddBulk(index_->entries()[next_].name(), reply);
    --left_;
  }
}

}  // namespace plov::door::redis
