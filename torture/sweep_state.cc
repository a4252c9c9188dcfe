#include "torture/sweep_state.h"

#include <algorithm>
#include <utility>

namespace plov::torture {

namespace {

// Augmenting paths, one per use. Source: Kuhn, "The Hungarian method", 1955.
class Matching {
 public:
  Matching(std::span<const Use> uses, std::span<const UnknownStore> stores)
      : uses_(uses), stores_(stores), holder_(stores.size(), kNobody) {}

  bool Perfect() {
    for (size_t use = 0; use < uses_.size(); ++use) {
      tried_.assign(stores_.size(), false);
      if (!Place(use)) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kNobody = ~size_t{0};

  bool Place(size_t use) {
    for (size_t i = 0; i < stores_.size(); ++i) {
      if (tried_[i] || stores_[i].is_shown || !Fits(uses_[use], stores_[i])) continue;
      tried_[i] = true;
      if (holder_[i] == kNobody || Place(holder_[i])) {
        holder_[i] = use;
        return true;
      }
    }
    return false;
  }

  std::span<const Use> uses_;
  std::span<const UnknownStore> stores_;
  std::vector<size_t> holder_;
  std::vector<bool> tried_;
};

// Every use of `better` stands for a use of `worse` of its own that is at least as hard to serve.
bool UsesAreEasier(std::span<const Use> better, std::span<const Use> worse) {
  if (better.size() > worse.size()) return false;
  size_t at = 0;
  for (const Use& use : better) {
    const auto is_harder = [&use](const Use& other) {
      return other.from == use.from && other.version == use.version && other.time <= use.time;
    };
    while (at < worse.size() && !is_harder(worse[at])) ++at;
    if (at++ == worse.size()) return false;
  }
  return true;
}

// A later GET may show which store made the present value, so the uses that did are compared alone.
bool PresentUseIsEasier(const Config& better, const Config& worse) {
  if (!better.present || better.named || better.initial) return true;
  const Use& use = better.uses.back();
  return use.from == worse.uses.back().from && use.time >= worse.uses.back().time;
}

}  // namespace

bool Fits(const Use& use, const UnknownStore& store) {
  if (store.start > use.time) return false;
  switch (store.kind) {
    case Kind::kPut:
      return true;
    case Kind::kAdd:
      return use.from == kFromAbsent;
    case Kind::kReplace:
      return use.from != kFromAbsent;
    case Kind::kPutIf:
      return use.from == store.expected;
    default:
      return false;
  }
}

bool UsesFit(std::span<const Use> uses, std::span<const UnknownStore> stores) {
  return uses.empty() || Matching(uses, stores).Perfect();
}

void Simplify(Config* config, std::span<const UnknownStore> stores) {
  if (config->uses.empty()) return;
  for (Use& use : config->uses) {
    Instant start = kNever;
    bool is_expected = false;
    for (const UnknownStore& store : stores) {
      if (store.is_shown || store.start > use.time) continue;
      start = std::max(start, store.start);
      is_expected |= store.kind == Kind::kPutIf && store.expected == use.from;
    }
    use.time = start;
    if (use.from != kFromAbsent && !is_expected) use.from = kFromUnnamed;
  }
  // The one that made the present value is last, and may be shown yet under its version.
  const Use& last = config->uses.back();
  const bool is_present = config->present && !config->initial &&
                          (config->named ? last.version == config->version : last.version == 0);
  auto past = config->uses.end() - (is_present ? 1 : 0);
  std::for_each(config->uses.begin(), past, [](Use& use) { use.version = 0; });
  std::sort(config->uses.begin(), past, [](const Use& a, const Use& b) {
    return std::pair(a.time, a.from) < std::pair(b.time, b.from);
  });
}

bool Dominates(const Config& better, const Config& worse) {
  return better.version == worse.version && better.present == worse.present &&
         better.used == worse.used && better.named == worse.named &&
         better.initial == worse.initial && better.last_absent >= worse.last_absent &&
         better.last_present >= worse.last_present && better.other_present >= worse.other_present &&
         better.unknown_deletes <= worse.unknown_deletes &&
         UsesAreEasier(better.uses, worse.uses) && PresentUseIsEasier(better, worse) &&
         std::ranges::all_of(better.avoid, [&worse](uint64_t version) {
           return std::ranges::find(worse.avoid, version) != worse.avoid.end();
         });
}

void AddUndominated(Config&& config, std::vector<Config>* configs) {
  for (const Config& other : *configs) {
    if (Dominates(other, config)) return;
  }
  std::erase_if(*configs, [&config](const Config& other) { return Dominates(config, other); });
  configs->push_back(std::move(config));
}

}  // namespace plov::torture
