// Script: a random sequence of writes to a store, the same in the process that does it and in the
// one that checks what is left of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/server/store_world.h"

namespace plov::server {

struct Step {
  enum class Kind { kPut, kAdd, kReplace, kPutIf, kPutIfWrong, kRendezvous, kAbandon, kDelete };
  Kind kind;
  std::string key;
  std::string value;
  uint32_t flags = 0;
  uint32_t lifetime_s = 0;  // 0: for ever
};

struct ScriptOptions {
  uint64_t seed = 1;
  size_t steps = 100;
  size_t keys = 30;
  std::vector<size_t> value_bytes = {4, 20, 100, 700};
  uint32_t delete_percent = 20;
  bool expires = true;
};

inline std::vector<Step> ScriptOf(const ScriptOptions& options) {
  constexpr std::array<Step::Kind, 12> kKinds = {
      Step::Kind::kPut,   Step::Kind::kPut,        Step::Kind::kPut,     Step::Kind::kPut,
      Step::Kind::kPut,   Step::Kind::kPut,        Step::Kind::kAdd,     Step::Kind::kReplace,
      Step::Kind::kPutIf, Step::Kind::kPutIfWrong, Step::Kind::kAbandon, Step::Kind::kRendezvous};
  std::mt19937_64 random(options.seed);
  std::vector<Step> steps;
  while (steps.size() < options.steps) {
    const uint64_t number = random() % 1'000'000;
    Step step{.kind = random() % 100 < options.delete_percent ? Step::Kind::kDelete
                                                              : kKinds[random() % kKinds.size()],
              .key = "key" + std::to_string(random() % options.keys),
              .value = {}};
    step.value.assign(options.value_bytes[random() % options.value_bytes.size()],
                      static_cast<char>('a' + number % 26));
    const std::string tag = std::to_string(number);
    step.value.replace(0, std::min(tag.size(), step.value.size()), tag, 0, step.value.size());
    if (random() % 3 == 0) step.flags = static_cast<uint32_t>(number);
    if (options.expires && random() % 5 == 0)
      step.lifetime_s = 1 + static_cast<uint32_t>(number % 40);
    steps.push_back(step);
  }
  return steps;
}

// Every step is a second.
inline uint64_t TimeOf(uint64_t step) { return kStartUs + step * 1'000'000; }

// What a step stores if it is applied, but for the version.
inline Stored ItemOf(const Step& step, uint64_t at) {
  return {step.value, 0, step.flags,
          step.lifetime_s == 0 ? 0 : kStartSeconds + static_cast<uint32_t>(at) + step.lifetime_s};
}

inline verify::Request RequestOf(const Step& step, uint64_t at, const Model& model) {
  const Stored item = ItemOf(step, at);
  verify::Operation operation = verify::Operation::kPut;
  if (step.kind == Step::Kind::kAdd) operation = verify::Operation::kAdd;
  if (step.kind == Step::Kind::kReplace) operation = verify::Operation::kReplace;
  if (step.kind == Step::Kind::kDelete) operation = verify::Operation::kDelete;
  Extras extras{.flags = item.flags, .ttl_seconds = step.lifetime_s, .expected_version = {}};
  if (step.kind == Step::Kind::kPutIf || step.kind == Step::Kind::kPutIfWrong) {
    const auto found = model.find(step.key);
    extras.expected_version = found == model.end() ? 1 : found->second.version;
    if (step.kind == Step::Kind::kPutIfWrong) ++*extras.expected_version;
  }
  return RequestOf(operation, step.key, step.value, extras);
}

inline WriteReply DoRendezvous(Store* store, verify::Request request, uint64_t now_us,
                               bool abandon) {
  request.rendezvous = true;
  const auto prepared = PrepareAll(store, request, now_us);
  if (!prepared) return {prepared.error(), 0};
  verify::WriteRecordValue(prepared->place->shared, request.key.size(), request.value,
                           prepared->mask);
  if (!abandon) return CommitAll(store, *prepared, request, now_us);
  Abandon(store, *prepared);
  return {Code::kTimeout, 0};
}

inline WriteReply DoStep(Store* store, const Step& step, uint64_t at, const Model& model) {
  const verify::Request request = RequestOf(step, at, model);
  switch (step.kind) {
    case Step::Kind::kDelete:
      return store->Delete(request, TimeOf(at));
    case Step::Kind::kRendezvous:
    case Step::Kind::kAbandon:
      return DoRendezvous(store, request, TimeOf(at), step.kind == Step::Kind::kAbandon);
    default:
      return store->Write(request, TimeOf(at));
  }
}

// What an acknowledged step makes of the model.
inline void Apply(const Step& step, uint64_t at, const WriteReply& reply, Model* model) {
  if (reply.status != Code::kOk) return;
  if (step.kind == Step::Kind::kDelete) {
    model->erase(step.key);
  } else {
    Stored item = ItemOf(step, at);
    item.version = reply.version;
    (*model)[step.key] = item;
  }
}

}  // namespace plov::server
