// SCAN: the names from a cursor on, which is a position of KeyIndex.

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "door/redis/command.h"
#include "door/redis/glob.h"
#include "door/redis/key_walks.h"
#include "door/redis/numbers.h"
#include "door/redis/table_request.h"

namespace plov::door::redis {

namespace {

// A step ends before it has looked at COUNT names when it was so much work: names' bytes times the pattern's, or
// bytes of its reply. An iteration takes more steps then.
constexpr size_t kWorkPerStep = size_t{1} << 20;
constexpr size_t kReplyPerStep = size_t{64} << 10;
constexpr size_t kDefaultCount = 10;

struct ScanOptions {
  uint64_t cursor = 0;
  size_t count = kDefaultCount;
  std::optional<std::string> glob;
  bool has_type = true;  // that items have, which are all strings
};

// One step in an index that has its cursor.
class ScanStep {
 public:
  ScanStep(const ScanOptions& options, const KeyIndex& index) : options_(options), index_(index) {}

  void AddReply(std::string* reply) {
    const uint64_t next = Visit();
    std::string cursor;
    AppendInteger(static_cast<int64_t>(next), &cursor);
    AddArray(2, reply);
    AddBulk(cursor, reply);
    AddArray(found_count_, reply);
    *reply += found_;
  }

 private:
  // Names of one position are visited together. Returns the next cursor.
  uint64_t Visit() {
    const auto entries = index_.entries();
    uint64_t position = options_.cursor;
    size_t i = index_.Find(position);
    for (; i < entries.size(); ++i) {
      const bool is_next = entries[i].position() != position;
      if (is_next && is_enough()) return entries[i].position();
      position = entries[i].position();
      VisitOne(entries[i].name());
    }
    return index_.to() == KeyIndex::kEnd ? 0 : index_.to();
  }

  bool is_enough() const {
    return visited_ >= options_.count || work_ > kWorkPerStep || found_.size() > kReplyPerStep;
  }

  void VisitOne(std::string_view name) {
    ++visited_;
    work_ += name.size() * (1 + (options_.glob ? options_.glob->size() : 0));
    if (!options_.has_type || (options_.glob && !MatchesGlob(*options_.glob, name))) return;
    AddBulk(name, &found_);
    ++found_count_;
  }

  const ScanOptions& options_;
  const KeyIndex& index_;
  size_t visited_ = 0;
  size_t work_ = 0;
  std::string found_;
  size_t found_count_ = 0;
};

class ScanRequest final : public TableRequest {
 public:
  ScanRequest(ScanOptions options, KeyWalks* walks) : options_(std::move(options)), walks_(walks) {}

  size_t bytes() const override {
    return TableRequest::bytes() + (options_.glob ? options_.glob->capacity() : 0);
  }

 private:
  void Begin() override;
  void Take(const std::expected<KeyWalks::Index, Error>& index);

  const ScanOptions options_;
  KeyWalks* const walks_;
};

// An iteration begins with a walk of its own time.
void ScanRequest::Begin() {
  if (options_.cursor >= KeyIndex::kEnd) {  // no name is behind it
    reply = "*2\r\n$1\r\n0\r\n*0\r\n";
    return End();
  }
  if (options_.cursor != 0) {
    if (const auto index = walks_->Last(options_.cursor)) return Take(index);
  }
  walks_->Ask({.position = options_.cursor,
               .abandoned = abandoned(),
               .done = [this, mailbox = worker()->mailbox()](const auto& index) {
                 mailbox->Post([this, index] { Take(index); });
               }});
}

void ScanRequest::Take(const std::expected<KeyWalks::Index, Error>& index) {
  if (!index) return EndWithFailure(index.error());
  ScanStep(options_, **index).AddReply(&reply);
  End();
}

// As Redis reads it, but for what strtoul takes beside digits.
std::optional<uint64_t> CursorOf(std::string_view text) {
  uint64_t cursor = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, cursor);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return cursor;
}

// Empty: the options are right.
std::string_view ReadOption(std::string_view name, std::string_view value, ScanOptions* options) {
  if (IsWord(name, "count")) {
    const auto count = IntegerOf(value);
    if (!count) return kNotAnInteger;
    if (*count < 1) return kSyntaxError;
    options->count = static_cast<size_t>(*count);
  } else if (IsWord(name, "match")) {
    if (value.size() > kGlobBytesMax) return kLongGlob;
    options->glob = value;
  } else if (IsWord(name, "type")) {
    options->has_type = IsWord(value, "string");
  } else {
    return kSyntaxError;
  }
  return {};
}

}  // namespace

void commands::Scan(Call& call) {
  const auto cursor = CursorOf(call[1]);
  if (!cursor) return call.Refuse("ERR invalid cursor");
  ScanOptions options;
  options.cursor = *cursor;
  for (size_t i = 2; i < call.count(); i += 2) {
    if (i + 1 == call.count()) return call.Refuse(kSyntaxError);
    const std::string_view refusal = ReadOption(call[i], call[i + 1], &options);
    if (!refusal.empty()) return call.Refuse(refusal);
  }
  call.connection()->Add(new ScanRequest(std::move(options), call.options().walks));
}

}  // namespace plov::door::redis
