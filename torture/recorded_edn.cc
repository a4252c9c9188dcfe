// Recorded: histories as Jepsen writes them.
//
// Source: jepsen-io/jepsen, jepsen/src/jepsen/independent.clj (tuples) and store.clj (history.edn);
//         jepsen-io/knossos, src/knossos/op.clj and model.clj.

#include <algorithm>
#include <map>
#include <optional>

#include "torture/edn_reader.h"
#include "torture/recorded.h"

namespace plov::torture {

namespace {

using Type = EdnValue::Type;

std::unexpected<Error> Wrong(size_t line, std::string_view what) {
  return Fail(Code::kInvalidArgument, std::to_string(line) + ": " + std::string(what));
}

bool IsNumber(const EdnValue& value) {
  return value.type == Type::kAtom && !value.text.empty() &&
         std::ranges::all_of(value.text, [](char c) { return c >= '0' && c <= '9'; });
}

enum class Function : uint8_t { kRead, kWrite, kDelete, kCas, kKill };

std::optional<Function> FunctionOf(const EdnValue& f) {
  constexpr std::pair<std::string_view, Function> kFunctions[] = {
      {"read", Function::kRead},          {"get", Function::kRead},
      {"write", Function::kWrite},        {"put", Function::kWrite},
      {"delete", Function::kDelete},      {"cas", Function::kCas},
      {"compare-and-set", Function::kCas}};
  for (const auto& [name, function] : kFunctions) {
    if (f.IsKeyword(name)) return function;
  }
  return std::nullopt;
}

struct Event {
  const EdnValue* map;
  const EdnValue* value;  // may be nil
  std::string process;
  std::string type;
  Function function;
};

bool IsAbsent(const EdnValue& value) { return value.is_nil() || value.IsKeyword("absent"); }

bool IsPair(const EdnValue& value) {
  return value.type == Type::kSequence && value.items.size() == 2;
}

class EdnHistory {
 public:
  std::expected<Recorded, Error> Parse(std::string_view text);

 private:
  std::expected<void, Error> ReadMaps(std::string_view text);
  std::expected<void, Error> AddEvent(const EdnValue& map);
  bool IsKeyed() const;
  std::expected<void, Error> Take(const Event& event, Instant instant);
  std::expected<void, Error> Invoke(const Event& event, Instant instant);
  std::expected<void, Error> End(const Event& event, Instant instant);
  std::expected<RegisterCall, Error> CallOf(const Event& event, const EdnValue& value);
  RegisterValue NumberOf(const EdnValue& value);
  RecordedKey& KeyOf(const EdnValue& key);

  struct Open {
    Event event;
    size_t key = 0;
    size_t call = 0;  // of the key
  };

  const EdnValue nil_;
  std::vector<EdnValue> maps_;
  std::vector<Event> events_;
  bool is_keyed_ = false;
  std::map<std::string, RegisterValue> numbers_;
  std::map<std::string, size_t> keys_;
  std::map<std::string, Open> open_;  // by process
  std::vector<Restart> kills_;
  Recorded recorded_;
};

std::expected<Recorded, Error> EdnHistory::Parse(std::string_view text) {
  if (auto read = ReadMaps(text); !read) return std::unexpected(read.error());
  for (const EdnValue& map : maps_) {
    if (auto added = AddEvent(map); !added) return std::unexpected(added.error());
  }
  is_keyed_ = IsKeyed();
  for (size_t i = 0; i < events_.size(); ++i) {
    if (auto taken = Take(events_[i], static_cast<Instant>(i)); !taken) {
      return std::unexpected(taken.error());
    }
  }
  // What failed has not happened: its place is marked by the end before the start.
  for (RecordedKey& key : recorded_.keys) {
    key.restarts = kills_;
    std::erase_if(key.calls,
                  [](const RegisterCall& call) { return !call.is_open && call.end < call.start; });
  }
  return std::move(recorded_);
}

// All maps, in the file or in vectors of it.
std::expected<void, Error> EdnHistory::ReadMaps(std::string_view text) {
  EdnReader reader(text);
  for (;;) {
    auto value = reader.Next();
    if (!value) return std::unexpected(value.error());
    if (!*value) return {};
    if ((*value)->type == Type::kSequence) {
      for (EdnValue& item : (*value)->items) maps_.push_back(std::move(item));
    } else {
      maps_.push_back(std::move(**value));
    }
  }
}

std::expected<void, Error> EdnHistory::AddEvent(const EdnValue& map) {
  if (map.type != Type::kMap) return Wrong(map.line, "an operation is a map");
  const EdnValue* type = map.Find("type");
  const EdnValue* process = map.Find("process");
  const EdnValue* f = map.Find("f");
  const EdnValue* value = map.Find("value");
  if (type == nullptr || process == nullptr || f == nullptr) {
    return Wrong(map.line, "an operation has :type, :process and :f");
  }
  if (!IsNumber(*process)) {
    if (f->IsKeyword("kill")) events_.push_back({&map, &nil_, "", "", Function::kKill});
    return {};
  }
  constexpr std::string_view kTypes[] = {"invoke", "ok", "fail", "info"};
  if (std::ranges::none_of(kTypes, [&](std::string_view name) { return type->IsKeyword(name); })) {
    return Wrong(map.line, ":type is :invoke, :ok, :fail or :info, not " + type->Canonical());
  }
  const auto function = FunctionOf(*f);
  if (!function) {
    return Wrong(map.line,
                 ":f is :read, :write, :cas, :get, :put or :delete, not " + f->Canonical());
  }
  events_.push_back({&map, value == nullptr ? &nil_ : value, process->text, type->text, *function});
  return {};
}

// Whether every value is a pair, and of compare-and-sets one whose second is a pair.
bool EdnHistory::IsKeyed() const {
  return std::ranges::all_of(events_, [](const Event& event) {
    if (event.function == Function::kKill) return true;
    if (event.map->Find("key") != nullptr) return false;
    // What failed or crashed may say why instead.
    if (event.type != "invoke" && event.type != "ok") return true;
    if (event.function == Function::kCas) {
      return IsPair(*event.value) && IsPair(event.value->items[1]);
    }
    return IsPair(*event.value);
  });
}

RegisterValue EdnHistory::NumberOf(const EdnValue& value) {
  if (IsAbsent(value)) return kAbsentValue;
  const auto next = static_cast<RegisterValue>(numbers_.size() + 1);
  return numbers_.try_emplace(value.Canonical(), next).first->second;
}

RecordedKey& EdnHistory::KeyOf(const EdnValue& key) {
  const auto [found, is_new] = keys_.try_emplace(key.Canonical(), recorded_.keys.size());
  if (is_new) recorded_.keys.push_back({.name = key.is_nil() ? "" : key.Canonical()});
  return recorded_.keys[found->second];
}

std::expected<void, Error> EdnHistory::Take(const Event& event, Instant instant) {
  if (event.function == Function::kKill) {
    kills_.push_back({.at = instant});
    return {};
  }
  return event.type == "invoke" ? Invoke(event, instant) : End(event, instant);
}

std::expected<RegisterCall, Error> EdnHistory::CallOf(const Event& event, const EdnValue& value) {
  RegisterCall call;
  call.is_open = true;
  call.stores = event.function != Function::kRead;
  if (event.function == Function::kWrite) call.next = NumberOf(value);
  if (event.function != Function::kCas) return call;
  if (!IsPair(value)) return Wrong(event.map->line, "a :cas has the :value [expected new]");
  call.needs = RegisterCall::Needs::kValue;
  call.needed = NumberOf(value.items[0]);
  call.next = NumberOf(value.items[1]);
  return call;
}

std::expected<void, Error> EdnHistory::Invoke(const Event& event, Instant instant) {
  const size_t line = event.map->line;
  if (const auto open = open_.find(event.process); open != open_.end()) {
    return Wrong(line, "process " + event.process + " begins an operation before that of line " +
                           std::to_string(open->second.event.map->line) + " has ended");
  }
  const EdnValue* named = event.map->Find("key");
  const EdnValue& key = is_keyed_ ? event.value->items[0] : named != nullptr ? *named : nil_;
  const EdnValue& value = is_keyed_ ? event.value->items[1] : *event.value;
  auto call = CallOf(event, value);
  if (!call) return std::unexpected(call.error());
  call->start = instant;
  call->source = recorded_.calls.size();
  std::string text = event.map->Find("f")->text;
  if (call->stores && !value.is_nil()) text += " " + value.Canonical();
  recorded_.calls.push_back({"p" + event.process, std::move(text), "unknown", line});
  RecordedKey& of = KeyOf(key);
  open_[event.process] = {event, static_cast<size_t>(&of - recorded_.keys.data()), of.calls.size()};
  of.calls.push_back(*call);
  return {};
}

std::expected<void, Error> EdnHistory::End(const Event& event, Instant instant) {
  const size_t line = event.map->line;
  const auto found = open_.find(event.process);
  if (found == open_.end()) {
    return Wrong(line, "process " + event.process + " ends what it has not begun");
  }
  const Open open = found->second;
  open_.erase(found);
  if (open.event.function != event.function) {
    return Wrong(line, "process " + event.process + " ends another :f than it began in line " +
                           std::to_string(open.event.map->line));
  }
  if (event.type == "info") return {};
  RegisterCall& call = recorded_.keys[open.key].calls[open.call];
  RecordedCall& text = recorded_.calls[call.source];
  call.is_open = false;
  call.end = event.type == "fail" ? call.start - 1 : instant;
  text.result = event.type;
  if (event.function != Function::kRead || event.type == "fail") return {};
  const EdnValue& value = is_keyed_ ? event.value->items[1] : *event.value;
  call.needs = RegisterCall::Needs::kValue;
  call.needed = NumberOf(value);
  text.result = IsAbsent(value) ? "absent" : value.Canonical();
  return {};
}

}  // namespace

std::expected<Recorded, Error> ParseEdnHistory(std::string_view text) {
  return EdnHistory().Parse(text);
}

}  // namespace plov::torture
