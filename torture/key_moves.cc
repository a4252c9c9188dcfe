// Key sweep: the moves of one config at one instant.
#include <algorithm>

#include "torture/key_sweep.h"

namespace plov::torture {

KeySweep::Met KeySweep::MeetsFloat(const Config& config, const Float& need) const {
  const auto yes_if = [](bool meets) { return meets ? Met::kYes : Met::kNo; };
  switch (need.need) {
    case Need::kAbsent:
      return yes_if(!config.present || config.last_absent >= need.start);
    case Need::kPresent:
      return yes_if(config.present || config.last_present >= need.start);
    case Need::kOther:
      break;
  }
  if (config.other_present >= need.start) return Met::kYes;
  if (config.named && config.version == need.expected) return Met::kNo;
  if (!config.present) return yes_if(config.last_present >= need.start);
  if (config.named || std::ranges::find(config.avoid, need.expected) != config.avoid.end()) {
    return Met::kYes;
  }
  return Met::kIfAvoided;  // an unnamed value met it, if its version is not the one expected
}

KeySweep::Met KeySweep::Meets(const Config& config, const Target& target) const {
  switch (target.type) {
    case Target::Type::kFloat:
      return MeetsFloat(config, floats_[target.index]);
    case Target::Type::kEra:
      return config.version >= target.version ? Met::kYes : Met::kNo;
    case Target::Type::kGone:
      if (config.version != target.version) {
        return config.version > target.version ? Met::kYes : Met::kNo;
      }
      return config.present && config.named ? Met::kNo : Met::kYes;
    case Target::Type::kDelete:
      break;
  }
  return (config.used >> deletes_[target.index].slot & 1) != 0 ? Met::kYes : Met::kNo;
}

// Explores all orders of moves from `from`, each only until `target` is met.
void KeySweep::Flush(const Config& from, const Target& target, std::vector<Config>* met) {
  reached_.clear();
  frontier_.clear();
  Reach(Config(from));
  while (!frontier_.empty()) {
    if (reached_.size() > kConfigsMax) return Blame(Reason::kTooAmbiguous, now_);
    Config config = reached_[frontier_.back()];
    frontier_.pop_back();
    const Met how = Meets(config, target);
    if (how != Met::kYes) Expand(config);
    if (how == Met::kNo) continue;
    if (how == Met::kIfAvoided) config.avoid.push_back(floats_[target.index].expected);
    AddUndominated(std::move(config), met);
  }
}

void KeySweep::Reach(Config&& next) {
  for (const Config& other : reached_) {
    if (Dominates(other, next)) return;
  }
  frontier_.push_back(reached_.size());
  reached_.push_back(std::move(next));
}

void KeySweep::Expand(const Config& config) {
  TryEnter(config);
  if (!config.present) {
    TryHidden(config);
  } else if (CanLeave(config)) {
    TryDelete(config);
    if (NeedsOther(config)) TryHidden(config);
  }
}

// Whether all operations that met the present version have started.
bool KeySweep::CanLeave(const Config& config) const {
  if (!config.present || !config.named) return true;
  const Era* era = FindEra(config.version);
  return era == nullptr || era->last_start <= now_;
}

// The next named version is stored.
void KeySweep::TryEnter(const Config& config) {
  const Era* era = NextEra(config.version);
  if (era == nullptr || !CanLeave(config)) return;
  if (config.present && config.named) {
    const Era* left = FindEra(config.version);
    if (left != nullptr && left->has_delete) return;  // the DELETE must find it
  }
  if (era->start == kForever) {
    Config next = config;
    if (!era->has_value && AddUse(&next, era->version)) Put(std::move(next), era->version);
    return;
  }
  const bool is_expected = config.present && config.named && config.version == era->expected;
  if (era->start > now_) return;
  if (era->kind == Kind::kAdd && config.present) return;
  if (era->kind == Kind::kReplace && !config.present) return;
  if (era->kind == Kind::kPutIf && !is_expected) return;
  Put(config, era->version);
}

// version: 0 when nobody names it.
void KeySweep::Put(Config next, uint64_t version) {
  if (next.present) {
    next.other_present = now_;
  } else {
    next.last_absent = now_;
    next.other_present = next.last_present;
  }
  next.present = true;
  next.named = version != 0;
  next.initial = false;
  next.avoid.clear();
  if (version != 0) next.version = version;
  Reach(std::move(next));
}

void KeySweep::Remove(Config next) {
  next.last_present = now_;
  next.present = false;
  next.initial = false;
  next.avoid.clear();
  Reach(std::move(next));
}

// Needs a present config that CanLeave.
void KeySweep::TryDelete(const Config& config) {
  if (config.named) {
    const Era* era = FindEra(config.version);
    if (era != nullptr && era->has_delete) return Remove(config);
  }
  const OpenDelete* first = nullptr;
  for (const uint32_t index : open_deletes_) {
    const OpenDelete& open = deletes_[index];
    const bool is_used = (config.used >> open.slot & 1) != 0;
    if (!is_used && (first == nullptr || open.end < first->end)) first = &open;
  }
  if (first != nullptr) {
    Config next = config;
    next.used |= uint64_t{1} << first->slot;
    Remove(std::move(next));
  }
  const bool has_unknown = !unknown_deletes_.empty() || started_deletes_ > 0;
  if (has_unknown && NeedsAbsence(config)) {
    TryUnknownDelete(config, first != nullptr);
  }
}

void KeySweep::TryUnknownDelete(const Config& config, bool has_known) {
  size_t started = started_deletes_;
  for (const UnknownDelete& unknown : unknown_deletes_) {
    if (unknown.start > now_) continue;
    if (unknown.expected == 0) {
      ++started;
    } else if (config.named && unknown.expected == config.version) {
      return Remove(config);  // never of use again, so its being used need not be remembered
    }
  }
  if (has_known || started <= config.unknown_deletes) return;
  Config next = config;
  ++next.unknown_deletes;
  Remove(std::move(next));
}

// A store that nobody has seen. From absent it is of use when something needs a present value, from
// present only when something needs another version.
void KeySweep::TryHidden(const Config& config) {
  if (unknown_stores_.empty() || (!config.present && !NeedsPresence(config))) return;
  if (config.present && config.named) {
    const Era* left = FindEra(config.version);
    if (left != nullptr && left->has_delete) return;
  }
  Config next = config;
  if (AddUse(&next, 0)) Put(std::move(next), 0);
}

bool KeySweep::AddUse(Config* config, uint64_t version) const {
  if (unknown_stores_.empty()) return false;
  uint64_t from = kFromAbsent;
  if (config->present) from = config->named ? config->version : kFromUnnamed;
  config->uses.push_back({now_, from, version});
  return UsesFit(config->uses, unknown_stores_);
}

bool KeySweep::NeedsOther(const Config& config) const {
  return std::ranges::any_of(open_floats_, [this, &config](uint32_t index) {
    const Float& need = floats_[index];
    return need.need == Need::kOther && MeetsFloat(config, need) != Met::kYes;
  });
}

// Whether an absence at now_ could be of use to something that has started.
bool KeySweep::NeedsAbsence(const Config& config) const {
  const Era* next = NextEra(config.version);
  const bool may_be_hidden = !unknown_stores_.empty();
  if (next != nullptr && next->kind == Kind::kAdd && next->start <= now_) return true;
  if (next != nullptr && next->start == kForever && may_be_hidden) return true;
  return std::ranges::any_of(open_floats_, [this, &config, may_be_hidden](uint32_t index) {
    const Float& need = floats_[index];
    const bool is_met = MeetsFloat(config, need) == Met::kYes;
    return !is_met && (need.need == Need::kAbsent || may_be_hidden);
  });
}

// Whether a presence at now_ could be.
bool KeySweep::NeedsPresence(const Config& config) const {
  const Era* next = NextEra(config.version);
  // An era without a known store may turn out to be a REPLACE's.
  if (next != nullptr && next->start == kForever) return true;
  if (next != nullptr && next->kind == Kind::kReplace && next->start <= now_) return true;
  const bool has_delete = std::ranges::any_of(open_deletes_, [this, &config](uint32_t index) {
    return (config.used >> deletes_[index].slot & 1) == 0;
  });
  if (has_delete) return true;
  return std::ranges::any_of(open_floats_, [this, &config](uint32_t index) {
    const Float& need = floats_[index];
    return need.need != Need::kAbsent && MeetsFloat(config, need) != Met::kYes;
  });
}

}  // namespace plov::torture
