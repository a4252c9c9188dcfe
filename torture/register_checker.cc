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
using Indices = std::vector<uint32_t>;  // of calls, in order

bool Has(const Indices& indices, uint32_t index) {
  return std::ranges::binary_search(indices, index);
}

void Insert(Indices* indices, uint32_t index) {
  indices->insert(std::ranges::lower_bound(*indices, index), index);
}

// One way in which the operations so far may have taken effect.
struct Config {
  RegisterValue held = kAbsentValue;
  Indices done;  // that have not ended
  Indices used;  // open ones
};

// Configs of which none does for another: for what is held and done, the sets of open ones used.
class ConfigSet {
 public:
  // Whether it was new.
  bool Add(Config config) {
    std::vector<Indices>& all = used_[{config.held, std::move(config.done)}];
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
      for (const Indices& used : all) visit(Config{key.first, key.second, used});
    }
  }

 private:
  std::map<std::pair<RegisterValue, Indices>, std::vector<Indices>> used_;
  size_t count_ = 0;
};

struct Event {
  Instant time;
  bool is_end;  // after the starts of the same instant, which are concurrent
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
  void Reach(const Config& config, uint32_t index, ConfigSet* ended);
  std::optional<Config> After(const Config& config, uint32_t index) const;
  void Observe(Config* config) const;
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
    events.push_back({call.start, false, i});
    if (!call.is_open) events.push_back({call.end, true, i});
  }
  std::ranges::sort(events, {}, [](const Event& event) {
    return std::tuple(event.time, event.is_end, event.index);
  });
  return events;
}

RegisterResult RegisterRun::Run() {
  configs_.Add({});
  for (const Event& event : Events()) {
    if (!event.is_end) {
      Start(event.index);
    } else if (!End(event.index)) {
      return {is_too_much_ ? SearchResult::kUndecided : SearchResult::kBad, event.index};
    }
  }
  return {};
}

void RegisterRun::Start(uint32_t index) {
  const RegisterCall& call = history_[index];
  Insert(call.stores ? &pending_stores_ : &pending_reads_, index);
  if (call.stores) return;
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
    if (Allows(history_[read], config->held) && !Has(config->done, read)) {
      Insert(&config->done, read);
    }
  }
}

// Whether there is a config after it.
bool RegisterRun::End(uint32_t index) {
  ConfigSet ended;
  configs_.ForEach([&](const Config& config) {
    if (!is_too_much_) Reach(config, index, &ended);
  });
  std::erase(history_[index].stores ? pending_stores_ : pending_reads_, index);
  configs_ = std::move(ended);
  return !is_too_much_ && configs_.count() > 0;
}

// All configs in which the call has taken effect, just now or before.
void RegisterRun::Reach(const Config& config, uint32_t index, ConfigSet* ended) {
  ConfigSet seen;
  std::vector<Config> todo = {config};
  while (!todo.empty() && !is_too_much_) {
    Config now = std::move(todo.back());
    todo.pop_back();
    if (Has(now.done, index)) {
      std::erase(now.done, index);
      ended->Add(std::move(now));
      continue;
    }
    for (const uint32_t store : pending_stores_) {
      auto after = After(now, store);
      if (after && seen.Add(*after)) todo.push_back(std::move(*after));
    }
    is_too_much_ = seen.count() + ended->count() > options_.configs_max;
  }
}

// What comes of the config when a store that is pending takes effect, if it can.
std::optional<Config> RegisterRun::After(const Config& config, uint32_t index) const {
  const RegisterCall& call = history_[index];
  if (Has(call.is_open ? config.used : config.done, index)) return std::nullopt;
  if (!Allows(call, config.held)) return std::nullopt;
  if (call.is_open && !IsFirstOfItsKind(config, index)) return std::nullopt;
  Config after = config;
  after.held = call.next;
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
