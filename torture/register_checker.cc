#include "torture/register_checker.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace plov::torture {

namespace {

using Needs = RegisterCall::Needs;
using Indices = std::vector<uint32_t>;      // of calls, in order
using Values = std::vector<RegisterValue>;  // in order

bool Has(const Indices& indices, uint32_t index) {
  return std::ranges::binary_search(indices, index);
}

void Insert(Indices* indices, uint32_t index) {
  const auto at = std::ranges::lower_bound(*indices, index);
  if (at == indices->end() || *at != index) indices->insert(at, index);
}

// One way in which the operations so far may have taken effect.
struct Config {
  RegisterValue held = kAbsentValue;
  Values back;   // to which a kill would let it go back
  Indices done;  // that have not ended
  Indices used;  // open ones
};

// Configs of which none does for another: for what is held and done, and what may come back, the
// sets of open ones used.
class ConfigSet {
 public:
  // Whether it was new.
  bool Add(Config config) {
    std::vector<Indices>& all =
        used_[{config.held, std::move(config.back), std::move(config.done)}];
    for (const Indices& used : all) {
      if (std::ranges::includes(config.used, used)) return false;
    }
    count_ -= std::erase_if(
        all, [&](const Indices& used) { return std::ranges::includes(used, config.used); });
    all.push_back(std::move(config.used));
    ++count_;
    return true;
  }
  size_t count() const { return count_; }

  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [key, all] : used_) {
      const auto& [held, back, done] = key;
      for (const Indices& used : all) visit(Config{held, back, done, used});
    }
  }

 private:
  std::map<std::tuple<RegisterValue, Values, Indices>, std::vector<Indices>> used_;
  size_t count_ = 0;
};

struct Event {
  // At one instant in this order, so that operations that touch are concurrent.
  enum class Type : uint8_t { kStart, kKill, kEnd };
  Instant time;
  Type type;
  uint32_t index;
};

class RegisterRun {
 public:
  RegisterRun(std::span<const RegisterCall> history, const RegisterOptions& options)
      : history_(history), options_(options) {}
  RegisterResult Run();

 private:
  std::vector<Event> Events() const;
  void Start(uint32_t index);
  bool End(uint32_t index);
  void Kill();
  void Reach(const Config& config, uint32_t index, ConfigSet* done);
  std::optional<Config> After(const Config& config, uint32_t index) const;
  void Observe(Config* config) const;
  bool IsChange(const RegisterCall& call) const;
  void Remember(const RegisterCall& call, Config* config) const;
  bool IsFirstOfItsKind(const Config& config, uint32_t index) const;

  std::span<const RegisterCall> history_;
  RegisterOptions options_;
  ConfigSet configs_;
  Indices pending_stores_;
  Indices pending_reads_;
  bool is_too_much_ = false;
};

// Without open ones that nobody can tell from what never happened.
std::vector<Event> RegisterRun::Events() const {
  std::set<RegisterValue> needed;
  bool any = false;  // is needed
  for (const RegisterCall& call : history_) {
    if (call.needs == Needs::kValue) needed.insert(call.needed);
    any = any || call.needs == Needs::kPresent || call.needs == Needs::kOther;
  }
  std::vector<Event> events;
  for (uint32_t i = 0; i < history_.size(); ++i) {
    const RegisterCall& call = history_[i];
    const bool matters = call.stores && (any || needed.contains(call.next));
    if (call.is_open && !matters) continue;
    events.push_back({call.start, Event::Type::kStart, i});
    if (!call.is_open) events.push_back({call.end, Event::Type::kEnd, i});
  }
  if (options_.commit != Commit::kStrict) {
    for (const Instant kill : options_.kills) events.push_back({kill, Event::Type::kKill, 0});
  }
  std::ranges::sort(events, {}, [](const Event& event) {
    return std::tuple(event.time, event.type, event.index);
  });
  return events;
}

RegisterResult RegisterRun::Run() {
  configs_.Add({});
  for (const Event& event : Events()) {
    if (event.type == Event::Type::kStart) {
      Start(event.index);
    } else if (event.type == Event::Type::kKill) {
      Kill();
    } else if (!End(event.index)) {
      return {is_too_much_ ? SearchResult::kUndecided : SearchResult::kBad, event.index};
    }
  }
  return {};
}

void RegisterRun::Start(uint32_t index) {
  const RegisterCall& call = history_[index];
  Insert(IsChange(call) ? &pending_stores_ : &pending_reads_, index);
  if (IsChange(call)) return;
  ConfigSet after;
  configs_.ForEach([&](Config config) {
    Observe(&config);
    after.Add(std::move(config));
  });
  configs_ = std::move(after);
}

// Reads change nothing, so they have happened as soon as they could have.
void RegisterRun::Observe(Config* config) const {
  for (const uint32_t read : pending_reads_) {
    if (Allows(history_[read], config->held)) Insert(&config->done, read);
  }
}

// Whether it matters when it takes effect: it stores something, or promises that nothing is lost.
bool RegisterRun::IsChange(const RegisterCall& call) const {
  const bool can_promise = options_.commit == Commit::kAcked && !options_.kills.empty();
  return call.stores || (can_promise && call.is_write && !call.is_open);
}

// What the register holds before the store may come back at a kill, unless the store's answer says
// that nothing is lost.
void RegisterRun::Remember(const RegisterCall& call, Config* config) const {
  if (options_.kills.empty() || options_.commit == Commit::kStrict) return;
  if (options_.commit == Commit::kAcked && !call.is_open) return config->back.clear();
  Insert(&config->back, config->held);
}

// Whether there is a config after it.
bool RegisterRun::End(uint32_t index) {
  ConfigSet ended;
  configs_.ForEach([&](const Config& config) {
    if (!is_too_much_) Reach(config, index, &ended);
  });
  ConfigSet rest;
  ended.ForEach([&](Config config) {
    std::erase(config.done, index);
    rest.Add(std::move(config));
  });
  std::erase(IsChange(history_[index]) ? pending_stores_ : pending_reads_, index);
  configs_ = std::move(rest);
  return !is_too_much_ && configs_.count() > 0;
}

// What will be answered may have taken effect before the kill and be lost by it. Open stores that
// nobody needs before may as well take effect after it.
void RegisterRun::Kill() {
  Indices pending = pending_stores_;
  pending.insert(pending.end(), pending_reads_.begin(), pending_reads_.end());
  for (const uint32_t index : pending) {
    if (history_[index].is_open) continue;
    ConfigSet before;
    configs_.ForEach([&](const Config& config) {
      before.Add(config);
      if (!is_too_much_) Reach(config, index, &before);
    });
    configs_ = std::move(before);
  }
  ConfigSet after;
  configs_.ForEach([&](Config config) {
    const Values back = std::exchange(config.back, {});
    after.Add(config);
    for (const RegisterValue value : back) {
      Config gone = config;
      gone.held = value;
      Observe(&gone);
      after.Add(std::move(gone));
    }
  });
  configs_ = std::move(after);
}

// All configs in which the call has taken effect, just now or before.
void RegisterRun::Reach(const Config& config, uint32_t index, ConfigSet* done) {
  ConfigSet seen;
  std::vector<Config> todo = {config};
  while (!todo.empty() && !is_too_much_) {
    Config now = std::move(todo.back());
    todo.pop_back();
    if (Has(now.done, index)) {
      done->Add(std::move(now));
      continue;
    }
    for (const uint32_t store : pending_stores_) {
      auto after = After(now, store);
      if (after && seen.Add(*after)) todo.push_back(std::move(*after));
    }
    is_too_much_ = seen.count() + done->count() > options_.configs_max;
  }
}

// What comes of the config when a store that is pending takes effect, if it can.
std::optional<Config> RegisterRun::After(const Config& config, uint32_t index) const {
  const RegisterCall& call = history_[index];
  if (Has(call.is_open ? config.used : config.done, index)) return std::nullopt;
  if (!Allows(call, config.held)) return std::nullopt;
  if (call.is_open && !IsFirstOfItsKind(config, index)) return std::nullopt;
  Config after = config;
  Remember(call, &after);
  if (call.stores) after.held = call.next;
  Insert(call.is_open ? &after.used : &after.done, index);
  Observe(&after);
  return after;
}

bool RegisterRun::IsFirstOfItsKind(const Config& config, uint32_t index) const {
  const RegisterCall& call = history_[index];
  return std::ranges::none_of(pending_stores_, [&](uint32_t other) {
    const RegisterCall& former = history_[other];
    return other < index && former.is_open && former.needs == call.needs &&
           former.needed == call.needed && former.next == call.next && !Has(config.used, other);
  });
}

}  // namespace

RegisterResult CheckRegister(std::span<const RegisterCall> history,
                             const RegisterOptions& options) {
  return RegisterRun(history, options).Run();
}

}  // namespace plov::torture
