#include "torture/key_sweep.h"

#include <algorithm>
#include <bit>

namespace plov::torture {

void KeySweep::Reset(const Settled& settled) {
  problem_.reset();
  fresh_.clear();
  eras_.clear();
  configs_.clear();
  floats_.clear();
  deletes_.clear();
  unknown_stores_.clear();
  unknown_deletes_.clear();
  open_floats_.clear();
  open_deletes_.clear();
  started_deletes_ = 0;
  slots_ = 0;
  now_ = kNever;
  configs_.emplace_back().version = settled.version;
  if (settled.form == Settled::Form::kPresent) {
    configs_.front().present = true;
    Era& era = eras_.emplace_back();
    era.version = settled.version;
    era.value = settled.value;
    era.has_value = true;
    era.start = era.first_end = kNever;
  } else if (settled.form == Settled::Form::kAnything) {
    Config present;
    present.present = present.initial = true;
    present.named = false;
    configs_.push_back(std::move(present));
  }
}

std::optional<Settled> KeySweep::settled() const {
  const bool is_open = !fresh_.empty() || !floats_.empty() || !deletes_.empty() ||
                       !unknown_stores_.empty() || !unknown_deletes_.empty() ||
                       started_deletes_ > 0;
  if (is_open || configs_.size() != 1 || eras_.size() > 1) return std::nullopt;
  const Config& config = configs_.front();
  if (!eras_.empty() && eras_.front().version > config.version) return std::nullopt;
  if (!config.present) return Settled{config.version, kForeign, Settled::Form::kAbsent};
  if (!config.named || eras_.empty() || !eras_.front().has_value) return std::nullopt;
  if (eras_.front().has_delete) return std::nullopt;
  return Settled{config.version, eras_.front().value, Settled::Form::kPresent};
}

bool KeySweep::is_quiet() const {
  const uint64_t entered = std::ranges::min(configs_, {}, &Config::version).version;
  return fresh_.empty() && floats_.empty() && deletes_.empty() && NextEra(entered) == nullptr &&
         std::ranges::none_of(eras_, &Era::has_delete);
}

size_t KeySweep::size() const {
  return fresh_.size() + eras_.size() + configs_.size() + floats_.size() + deletes_.size() +
         unknown_stores_.size() + unknown_deletes_.size();
}

void KeySweep::Blame(Reason reason, Instant instant) {
  if (!problem_) problem_ = {reason, instant};
}

void KeySweep::Sweep(Instant horizon) {
  Absorb();
  if (problem_) return;
  Resolve();
  if (problem_) return;
  const Config& first = configs_.front();
  if (configs_.size() > 1 || first.initial || !unknown_stores_.empty()) {
    Claim();  // first: a claim can save a config whose use is gone
    RecheckUses();
  }
  if (problem_) return;
  if (IsPlain()) {
    SweepPlain(horizon);
  } else {
    SweepEvents(horizon);
  }
  if (!problem_) Compact(horizon);
}

// One config, and nothing but eras: the only question is whether every era can be entered in time.
bool KeySweep::IsPlain() const {
  const bool is_simple = configs_.size() == 1 && floats_.empty() && deletes_.empty() &&
                         unknown_stores_.empty() && unknown_deletes_.empty() &&
                         started_deletes_ == 0;
  if (!is_simple || (configs_.front().present && !configs_.front().named)) return false;
  return std::ranges::none_of(eras_, &Era::has_delete);
}

// Eras up to the last one that some operation has met by now must be entered, each by the earliest
// end among itself and those that follow.
void KeySweep::SweepPlain(Instant horizon) {
  Config& config = configs_.front();
  const size_t begin = EraAfter(config.version);
  size_t end = begin;
  for (size_t i = begin; i < eras_.size(); ++i) {
    if (eras_[i].first_end < horizon) end = i + 1;
  }
  deadlines_.resize(end);
  Instant deadline = kForever;
  for (size_t i = end; i > begin; --i) {
    deadline = std::min(deadline, eras_[i - 1].first_end);
    deadlines_[i - 1] = deadline;
  }
  for (size_t i = begin; i < end; ++i) {
    const Era& era = eras_[i];
    const bool is_left = !config.present || i == 0 || eras_[i - 1].last_start <= deadlines_[i];
    const bool is_wanted = era.kind == Kind::kPut || (era.kind == Kind::kAdd && !config.present) ||
                           (era.kind == Kind::kReplace && config.present) ||
                           (config.present && config.version == era.expected);
    if (era.start > deadlines_[i] || !is_left || !is_wanted) {
      return Blame(Reason::kNoOrder, deadlines_[i]);
    }
    config.version = era.version;
    config.present = true;
    config.named = true;
    config.initial = false;
  }
}

void KeySweep::CollectEvents(Instant horizon) {
  events_.clear();
  const auto add = [this, horizon](Instant time, bool is_end, Target target) {
    if (time < horizon) events_.push_back({time, is_end, target});
  };
  for (size_t i = 0; i < floats_.size(); ++i) {
    const Target target = {Target::Type::kFloat, i, 0};
    if (!floats_[i].is_open) add(floats_[i].start, false, target);
    add(floats_[i].end, true, target);
  }
  for (size_t i = 0; i < deletes_.size(); ++i) {
    const Target target = {Target::Type::kDelete, i, 0};
    if (!deletes_[i].is_open) add(deletes_[i].start, false, target);
    add(deletes_[i].end, true, target);
  }
  const uint64_t entered = std::ranges::min(configs_, {}, &Config::version).version;
  for (const Era& era : eras_) {
    if (era.version > entered) add(era.first_end, true, {Target::Type::kEra, 0, era.version});
    if (era.has_delete) add(era.delete_end, true, {Target::Type::kGone, 0, era.version});
  }
  std::ranges::sort(events_, [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.is_end < b.is_end;
  });
}

void KeySweep::SweepEvents(Instant horizon) {
  CollectEvents(horizon);
  for (const Event& event : events_) {
    now_ = event.time;
    if (event.is_end) {
      Close(event);
    } else {
      Open(event);
    }
    if (problem_) return;
  }
}

void KeySweep::Open(const Event& event) {
  const auto index = static_cast<uint32_t>(event.target.index);
  if (event.target.type == Target::Type::kFloat) {
    floats_[index].is_open = true;
    open_floats_.push_back(index);
    return;
  }
  if (slots_ == ~uint64_t{0}) return Blame(Reason::kTooAmbiguous, now_);
  OpenDelete& open = deletes_[index];
  open.is_open = true;
  open.slot = static_cast<uint32_t>(std::countr_one(slots_));
  slots_ |= uint64_t{1} << open.slot;
  open_deletes_.push_back(index);
}

// Every config meets what has ended, at once or by a detour; the others die.
void KeySweep::Close(const Event& event) {
  const bool all_meet = std::ranges::all_of(configs_, [this, &event](const Config& config) {
    return Meets(config, event.target) == Met::kYes;
  });
  if (!all_meet) {
    std::vector<Config> met;
    for (const Config& config : configs_) Flush(config, event.target, &met);
    configs_ = std::move(met);
    if (configs_.empty()) return Blame(Reason::kNoOrder, now_);
    if (configs_.size() > kConfigsMax) return Blame(Reason::kTooAmbiguous, now_);
  }
  Forget(event.target);
}

// What an ended operation would have told configs apart by does so no longer.
void KeySweep::Forget(const Target& target) {
  if (target.type == Target::Type::kFloat) {
    std::erase(open_floats_, static_cast<uint32_t>(target.index));
    floats_[target.index].end = kNever;
  } else if (target.type == Target::Type::kDelete) {
    OpenDelete& open = deletes_[target.index];
    std::erase(open_deletes_, static_cast<uint32_t>(target.index));
    slots_ &= ~(uint64_t{1} << open.slot);
    for (Config& config : configs_) config.used &= slots_;
    open.end = kNever;
  }
  bool wants_absence = false, wants_presence = false;
  for (const uint32_t index : open_floats_) {
    (floats_[index].need == Need::kAbsent ? wants_absence : wants_presence) = true;
  }
  for (Config& config : configs_) {
    if (!wants_absence) config.last_absent = kNever;
    if (!wants_presence) config.last_present = config.other_present = kNever;
  }
  Prune();
}

void KeySweep::Prune() {
  if (configs_.size() == 1) return;
  std::vector<Config> kept;
  for (Config& config : configs_) AddUndominated(std::move(config), &kept);
  configs_ = std::move(kept);
}

// Drops what has ended, and the eras that every config has left behind.
void KeySweep::Compact(Instant horizon) {
  const auto has_ended = [](const auto& operation) { return operation.end == kNever; };
  std::erase_if(floats_, has_ended);
  std::erase_if(deletes_, has_ended);
  open_floats_.clear();
  open_deletes_.clear();
  for (uint32_t i = 0; i < floats_.size(); ++i) {
    if (floats_[i].is_open) open_floats_.push_back(i);
  }
  for (uint32_t i = 0; i < deletes_.size(); ++i) {
    if (deletes_[i].is_open) open_deletes_.push_back(i);
  }
  for (Config& config : configs_) Simplify(&config, unknown_stores_);
  Prune();
  const uint64_t entered = std::ranges::min(configs_, {}, &Config::version).version;
  const auto first = std::ranges::lower_bound(eras_, entered, {}, &Era::version);
  eras_.erase(eras_.begin(), first);
  DropUseless(entered, horizon);
  // A DELETE that every config has seen take effect says no more.
  const bool all_gone = std::ranges::none_of(configs_, [entered](const Config& config) {
    return config.version == entered && config.present && config.named;
  });
  if (!eras_.empty() && eras_.front().version == entered && all_gone &&
      eras_.front().delete_end < horizon) {
    eras_.front().has_delete = false;
  }
}

// Of the unknown operations those that can do nothing any more: what expects a version before the
// last one, `entered`, which every config has left, and stores that GETs have shown. DELETEs that
// have started are as good as each other, and only counted.
void KeySweep::DropUseless(uint64_t entered, Instant horizon) {
  std::erase_if(unknown_deletes_, [this, entered, horizon](const UnknownDelete& unknown) {
    if (unknown.expected != 0) return unknown.expected < entered;
    if (unknown.start >= horizon) return false;
    ++started_deletes_;
    return true;
  });
  std::erase_if(unknown_stores_, [this, entered](const UnknownStore& store) {
    if (store.is_shown) return true;
    if (store.kind != Kind::kPutIf || store.expected >= entered) return false;
    return std::ranges::none_of(configs_, [&store](const Config& config) {
      return std::ranges::find(config.uses, store.expected, &Use::from) != config.uses.end();
    });
  });
}

}  // namespace plov::torture
