// Recorded: histories as this tool's reports write them, of plov or of any other store.

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "torture/edn_reader.h"
#include "torture/recorded.h"

namespace plov::torture {

namespace {

using Type = EdnValue::Type;
using Needs = RegisterCall::Needs;

std::unexpected<Error> Wrong(size_t line, std::string_view what) {
  return Fail(Code::kInvalidArgument, std::to_string(line) + ": " + std::string(what));
}

std::optional<uint64_t> NumberIn(const EdnValue* value) {
  if (value == nullptr || value->type != Type::kAtom) return std::nullopt;
  uint64_t number = 0;
  const char* end = value->text.data() + value->text.size();
  const auto [rest, failure] = std::from_chars(value->text.data(), end, number);
  return failure == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// "p0#3" is the third store of process 0; nullopt for what others call their values.
std::optional<ValueId> StoreNamed(std::string_view text) {
  if (text == "foreign") return kForeign;
  const size_t hash = text.find('#');
  if (hash == std::string_view::npos) return std::nullopt;
  uint32_t process = kBefore;
  uint64_t sequence = 0;
  const auto is_number = [](std::string_view digits, auto* to) {
    const auto [rest, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), *to);
    return failure == std::errc() && rest == digits.data() + digits.size();
  };
  const std::string_view name = text.substr(0, hash);
  const bool is_process = name.starts_with('p') && is_number(name.substr(1), &process);
  if (!is_process && name != "before") return std::nullopt;
  if (!is_number(text.substr(hash + 1), &sequence)) return std::nullopt;
  return MakeValueId(process, sequence);
}

template <typename Enum, size_t kCount>
std::optional<Enum> Named(const EdnValue* value, std::string_view (*name)(Enum)) {
  for (size_t i = 0; value != nullptr && i < kCount; ++i) {
    if (name(static_cast<Enum>(i)) == value->text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// One operation with its fields checked.
struct Told {
  const EdnValue* map;
  Operation operation = {};  // but for `value` and `expected`, which may be anybody's
  std::string value = {};
  std::string expected = {};
  bool has_store_name = false;  // `value` is one of ours
};

class JsonHistory {
 public:
  std::expected<Recorded, Error> Parse(std::string_view text);

 private:
  std::expected<void, Error> ReadObject(const EdnValue& object);
  std::expected<void, Error> ReadKills(const EdnValue& object, RecordedKey* key) const;
  std::expected<Told, Error> ReadOperation(const EdnValue& map) const;
  std::expected<void, Error> ReadInterval(const EdnValue& map, Operation* operation) const;
  RegisterCall CallOf(const Told& told);
  void SetNeeds(const Told& told, RegisterCall* call);
  RegisterValue NumberOf(const std::string& text);

  std::map<std::string, RegisterValue> numbers_;
  Recorded recorded_;
};

// A store tells versions when it told one with each write that it acknowledged.
bool HasVersions(const std::vector<Told>& all) {
  return std::ranges::all_of(all, [](const Told& told) {
    const Operation& operation = told.operation;
    const bool is_hit = operation.kind == Kind::kGet && operation.outcome == Outcome::kOk;
    const bool is_stored = IsStore(operation.kind) && operation.outcome == Outcome::kOk;
    if ((is_hit || IsStore(operation.kind)) && !told.has_store_name) return false;
    return operation.version != 0 || !(is_hit || is_stored);
  });
}

std::expected<Recorded, Error> JsonHistory::Parse(std::string_view text) {
  EdnReader reader(text, EdnReader::Notation::kJson);
  auto whole = reader.Next();
  if (!whole) return std::unexpected(whole.error());
  if (!*whole) return Wrong(1, "the file is empty");
  if (auto more = reader.Next(); !more) return std::unexpected(more.error());
  // A verdict has several histories in it.
  const EdnValue* findings = (*whole)->Find("findings");
  const EdnValue& from = findings == nullptr ? **whole : *findings;
  if (from.type == Type::kMap) {
    if (auto read = ReadObject(from); !read) return std::unexpected(read.error());
    return std::move(recorded_);
  }
  for (const EdnValue& object : from.items) {
    if (auto read = ReadObject(object); !read) return std::unexpected(read.error());
  }
  return std::move(recorded_);
}

std::expected<void, Error> JsonHistory::ReadObject(const EdnValue& object) {
  const EdnValue* operations = object.Find("operations");
  if (operations == nullptr || operations->type != Type::kSequence) {
    return Wrong(object.line, "a history is an object with a list \"operations\"");
  }
  std::vector<Told> all;
  for (const EdnValue& map : operations->items) {
    auto told = ReadOperation(map);
    if (!told) return std::unexpected(told.error());
    all.push_back(std::move(*told));
  }
  RecordedKey key;
  if (const EdnValue* name = object.Find("key"); name != nullptr) key.name = name->text;
  const EdnValue* initial = object.Find("initial");
  const bool is_anything = initial != nullptr && initial->text == "anything";
  key.initial = is_anything ? Initial::kAnything : Initial::kAbsent;
  if (auto read = ReadKills(object, &key); !read) return read;
  if (HasVersions(all)) {
    for (const Told& told : all) key.operations.push_back(told.operation);
  } else if (is_anything) {
    return Wrong(initial->line, "\"initial\" is \"anything\" only where versions are told");
  } else {
    for (const Told& told : all) {
      // What was refused did nothing; what a GET without an answer read nobody knows.
      if (told.operation.outcome == Outcome::kRefused) continue;
      key.calls.push_back(CallOf(told));
    }
  }
  recorded_.keys.push_back(std::move(key));
  return {};
}

std::expected<void, Error> JsonHistory::ReadKills(const EdnValue& object, RecordedKey* key) const {
  if (const EdnValue* commit = object.Find("commit"); commit != nullptr) {
    key->commit = CommitNamed(commit->text);
    if (!key->commit) return Wrong(commit->line, "\"commit\" is strict, acked or async");
  }
  const EdnValue* kills = object.Find("kills");
  if (kills == nullptr) return {};
  if (kills->type != Type::kSequence) return Wrong(kills->line, "\"kills\" is a list");
  for (const EdnValue& kill : kills->items) {
    const auto at = NumberIn(kill.Find("restart"));
    if (!at) return Wrong(kill.line, "\"restart\" is a number of nanoseconds");
    key->restarts.push_back({static_cast<Instant>(*at), NumberIn(kill.Find("kept")).value_or(0)});
  }
  std::ranges::sort(key->restarts, {}, &Restart::at);
  return {};
}

std::expected<Told, Error> JsonHistory::ReadOperation(const EdnValue& map) const {
  if (map.type != Type::kMap) return Wrong(map.line, "an operation is an object");
  Told told{.map = &map};
  const auto kind = Named<Kind, 7>(map.Find("kind"), KindName);
  const auto outcome = Named<Outcome, 6>(map.Find("outcome"), OutcomeName);
  if (!kind)
    return Wrong(map.line, "\"kind\" is GET, PUT, ADD, REPLACE, PUT-IF, DELETE or DELETE-IF");
  if (!outcome) {
    return Wrong(map.line, "\"outcome\" is ok, absent, exists, mismatch, refused or unknown");
  }
  told.operation.kind = *kind;
  told.operation.outcome = *outcome;
  if (auto read = ReadInterval(map, &told.operation); !read) return std::unexpected(read.error());
  told.operation.version = NumberIn(map.Find("version")).value_or(0);
  told.operation.expected = NumberIn(map.Find("expected")).value_or(0);
  if (const EdnValue* process = map.Find("process"); process != nullptr) {
    const auto name = StoreNamed(process->text + "#0");
    told.operation.process = name ? static_cast<uint32_t>(*name >> kSequenceBits) : 0;
    if (process->text == "tool") told.operation.process = kTool;
  }
  const EdnValue* value = map.Find("value");
  const bool needs_value = IsStore(*kind) || (*kind == Kind::kGet && *outcome == Outcome::kOk);
  if (needs_value && value == nullptr) return Wrong(map.line, "the operation has no \"value\"");
  if (needs_value) told.value = value->Canonical();
  if (const auto id = needs_value ? StoreNamed(value->text) : std::nullopt) {
    told.operation.value = *id;
    told.has_store_name = true;
  }
  const EdnValue* expected = map.Find("expected");
  if (IsConditional(*kind) && expected == nullptr) {
    return Wrong(map.line, "the operation has no \"expected\"");
  }
  if (expected != nullptr) told.expected = expected->Canonical();
  return told;
}

std::expected<void, Error> JsonHistory::ReadInterval(const EdnValue& map,
                                                     Operation* operation) const {
  const auto start = NumberIn(map.Find("start"));
  const auto end = NumberIn(map.Find("end"));
  if (!start) return Wrong(map.line, "\"start\" is a number of nanoseconds");
  operation->start = static_cast<Instant>(*start);
  if (!end && !IsOpen(*operation)) return Wrong(map.line, "\"end\" is a number of nanoseconds");
  operation->end = static_cast<Instant>(end.value_or(*start));
  if (operation->end < operation->start) return Wrong(map.line, "it ends before it starts");
  return {};
}

RegisterValue JsonHistory::NumberOf(const std::string& text) {
  return numbers_.try_emplace(text, static_cast<RegisterValue>(numbers_.size() + 1)).first->second;
}

// What the outcome says of the register when it took effect (torture/history.h has the table).
void JsonHistory::SetNeeds(const Told& told, RegisterCall* call) {
  const Operation& operation = told.operation;
  switch (operation.outcome) {
    case Outcome::kAbsent:
      call->needs = Needs::kValue;
      return;
    case Outcome::kExists:
      call->needs = Needs::kPresent;
      return;
    case Outcome::kMismatch:
      call->needs = Needs::kOther;
      call->needed = NumberOf(told.expected);
      return;
    default:
      break;
  }
  if (IsConditional(operation.kind) || operation.kind == Kind::kGet) {
    call->needs = Needs::kValue;
    call->needed = NumberOf(operation.kind == Kind::kGet ? told.value : told.expected);
  } else if (operation.kind == Kind::kAdd) {
    call->needs = Needs::kValue;
  } else if (operation.kind != Kind::kPut) {
    call->needs = Needs::kPresent;
  }
}

RegisterCall JsonHistory::CallOf(const Told& told) {
  const Operation& operation = told.operation;
  RegisterCall call;
  call.is_open = IsOpen(operation);
  call.is_write = operation.kind != Kind::kGet;
  call.stores = operation.kind != Kind::kGet && (operation.outcome == Outcome::kOk || call.is_open);
  if (IsStore(operation.kind)) call.next = NumberOf(told.value);
  if (operation.kind != Kind::kGet || !call.is_open) SetNeeds(told, &call);
  call.start = operation.start;
  call.end = operation.end;
  call.source = recorded_.calls.size();
  const EdnValue* process = told.map->Find("process");
  std::string text(KindName(operation.kind));
  if (IsStore(operation.kind)) text += " " + told.value;
  if (IsConditional(operation.kind)) text += " over " + told.expected;
  const bool is_hit = operation.kind == Kind::kGet && operation.outcome == Outcome::kOk;
  recorded_.calls.push_back({process == nullptr ? "" : process->text, std::move(text),
                             is_hit ? told.value : std::string(OutcomeName(operation.outcome)),
                             told.map->line});
  return call;
}

}  // namespace

std::expected<Recorded, Error> ParseJsonHistory(std::string_view text) {
  return JsonHistory().Parse(text);
}

}  // namespace plov::torture
