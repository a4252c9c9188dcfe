// Key sweep: taking in new operations.
#include <algorithm>

#include "torture/key_sweep.h"

namespace plov::torture {

size_t KeySweep::EraAfter(uint64_t version) const {
  const auto at = std::ranges::upper_bound(eras_, version, {}, &Era::version);
  return static_cast<size_t>(at - eras_.begin());
}

const Era* KeySweep::NextEra(uint64_t version) const {
  const size_t at = EraAfter(version);
  return at < eras_.size() ? &eras_[at] : nullptr;
}

const Era* KeySweep::FindEra(uint64_t version) const {
  const size_t at = EraAfter(version);
  return at > 0 && eras_[at - 1].version == version ? &eras_[at - 1] : nullptr;
}

Era* KeySweep::FindEra(uint64_t version) {
  return const_cast<Era*>(std::as_const(*this).FindEra(version));
}

void KeySweep::Absorb() {
  mentions_.clear();
  for (uint32_t i = 0; i < fresh_.size(); ++i) {
    const Operation& operation = fresh_[i];
    if (!IsWellFormed(operation)) return Blame(Reason::kMalformed, operation.start);
    if (operation.outcome == Outcome::kUnknown) {
      AbsorbUnknown(operation);
      continue;
    }
    const uint64_t held = HeldVersion(operation);
    if (held != 0) mentions_.push_back({held, i, false});
    const bool is_store = IsStore(operation.kind) && operation.outcome == Outcome::kOk;
    if (is_store) mentions_.push_back({operation.version, i, true});
    if (held == 0 && !is_store) AbsorbFloat(operation);
  }
  AbsorbMentions();
  fresh_.clear();
}

void KeySweep::AbsorbUnknown(const Operation& operation) {
  if (IsStore(operation.kind)) {
    unknown_stores_.push_back(
        {operation.start, operation.value, operation.expected, operation.kind, false});
  } else if (IsDelete(operation.kind)) {
    const uint64_t expected = operation.kind == Kind::kDeleteIf ? operation.expected : 0;
    unknown_deletes_.push_back({operation.start, expected});
  }
}

void KeySweep::AbsorbFloat(const Operation& operation) {
  Float need = {operation.start, operation.end, operation.expected, Need::kAbsent, false};
  switch (operation.outcome) {
    case Outcome::kOk:
      deletes_.push_back({operation.start, operation.end, 0, false});
      return;
    case Outcome::kExists:
      need.need = Need::kPresent;
      break;
    case Outcome::kMismatch:
      need.need = Need::kOther;
      break;
    default:
      break;
  }
  floats_.push_back(need);
}

// The new operations start after all that the configs did. So none of them can have met what a
// config has left, nor stored what it has entered.
void KeySweep::KillPassed(const Mention& mention) {
  std::erase_if(configs_, [&mention](const Config& config) {
    if (config.version != mention.version) return config.version > mention.version;
    return mention.is_store || !config.present || !config.named;
  });
  if (configs_.empty()) Blame(Reason::kStale, fresh_[mention.index].end);
}

void KeySweep::AbsorbMentions() {
  if (mentions_.empty()) return;
  if (!std::ranges::is_sorted(mentions_, {}, &Mention::version)) {
    std::ranges::sort(mentions_, {}, &Mention::version);
  }
  const uint64_t lowest = mentions_.front().version;
  for (const Mention& mention : mentions_) {
    if (mention.version != lowest || problem_) break;  // higher ones: no config is beyond them
    KillPassed(mention);
  }
  const size_t old_count = eras_.size();
  size_t at = EraAfter(lowest - 1);
  for (const Mention& mention : mentions_) {
    if (problem_) return;
    while (at < old_count && eras_[at].version < mention.version) ++at;
    if (at < old_count && eras_[at].version == mention.version) {
      AddMention(mention, &eras_[at]);
      continue;
    }
    if (eras_.size() == old_count || eras_.back().version != mention.version) {
      eras_.emplace_back().version = mention.version;
    }
    AddMention(mention, &eras_.back());
  }
  if (!std::ranges::is_sorted(eras_, {}, &Era::version)) {
    std::ranges::sort(eras_, {}, &Era::version);
  }
}

void KeySweep::AddMention(const Mention& mention, Era* era) {
  const Operation& operation = fresh_[mention.index];
  era->first_end = std::min(era->first_end, operation.end);
  if (mention.is_store) return AddStore(operation, era);
  era->last_start = std::max(era->last_start, operation.start);
  if (operation.kind == Kind::kGet) {
    if (era->has_value && era->value != operation.value) {
      return Blame(Reason::kTwoValues, operation.start);
    }
    era->has_value = true;
    era->value = operation.value;
  } else if (IsDelete(operation.kind) && operation.outcome == Outcome::kOk) {
    if (era->has_delete) return Blame(Reason::kTwoStores, operation.start);
    era->has_delete = true;
    era->delete_end = operation.end;
  }
}

void KeySweep::AddStore(const Operation& operation, Era* era) {
  if (era->start != kForever) return Blame(Reason::kTwoStores, operation.start);
  if (era->has_value && era->value != operation.value) {
    return Blame(Reason::kTwoValues, operation.start);
  }
  era->has_value = true;
  era->value = operation.value;
  era->start = operation.start;
  era->kind = operation.kind;
  era->expected = operation.expected;
}

// Finds the unknown stores that GETs have shown.
void KeySweep::Resolve() {
  if (unknown_stores_.empty()) return;
  for (size_t i = 0; i < eras_.size() && !problem_; ++i) {
    if (!eras_[i].has_value || eras_[i].start != kForever) continue;
    const ValueId value = eras_[i].value;
    const auto store = std::ranges::find(unknown_stores_, value, &UnknownStore::value);
    if (store == unknown_stores_.end() || store->is_shown) continue;
    Show(&*store, &eras_[i]);
  }
}

// A PUT-IF's condition needs no care here: who expects a version was told it by an operation, which
// makes its era.
void KeySweep::Show(UnknownStore* store, Era* era) {
  store->is_shown = true;
  era->start = store->start;
  era->kind = store->kind;
  era->expected = store->expected;
  era->is_unknown = true;
}

// A config that entered `era` when its store was not known: whether the store known now can be it.
bool KeySweep::UseAgrees(Config* config, const Era& era) const {
  if (!era.has_value) return true;
  if (config->initial) return era.value == kForeign;
  if (config->uses.empty() || config->uses.back().version != era.version) return true;
  if (!era.is_unknown) return false;
  const UnknownStore store = {era.start, era.value, era.expected, era.kind, true};
  if (!Fits(config->uses.back(), store)) return false;
  config->uses.pop_back();
  return true;
}

void KeySweep::RecheckUses() {
  std::erase_if(configs_, [this](Config& config) {
    const Era* era = FindEra(config.version);
    if (era != nullptr && config.present && config.named && !UseAgrees(&config, *era)) return true;
    return !UsesFit(config.uses, unknown_stores_);
  });
  if (configs_.empty()) Blame(Reason::kNoOrder, now_);
}

// `config`, whose present value has no name, when that value is the next era's.
std::optional<Config> KeySweep::Claimed(const Config& config) const {
  const Era* era = NextEra(config.version);
  if (!config.present || config.named || era == nullptr) return std::nullopt;
  if (std::ranges::find(config.avoid, era->version) != config.avoid.end()) return std::nullopt;
  Config claimed = config;
  claimed.version = era->version;
  claimed.named = true;
  claimed.avoid.clear();
  if (!claimed.initial) claimed.uses.back().version = era->version;
  if (!UseAgrees(&claimed, *era) || !UsesFit(claimed.uses, unknown_stores_)) return std::nullopt;
  return claimed;
}

void KeySweep::Claim() {
  for (size_t i = 0, count = configs_.size(); i < count; ++i) {
    if (auto claimed = Claimed(configs_[i])) configs_.push_back(std::move(*claimed));
  }
}

}  // namespace plov::torture
