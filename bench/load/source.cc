#include "bench/load/source.h"

#include <algorithm>
#include <functional>

namespace plov::bench {

Source::Source(const Workload& workload, uint32_t index, uint32_t clients, uint64_t seed)
    : workload_(workload),
      items_(workload.shape),
      next_insert_(workload.items + index),
      clients_(clients),
      random_(program::Mix(seed) + index),
      choice_(workload.popularity, workload.exponent, std::max<uint64_t>(workload.items, 1),
              program::Mix(seed + 1) + index) {
  if (workload.replay) {
    for (size_t line = 0; line < workload.replay->size(); ++line) {
      const size_t hash = std::hash<std::string_view>()((*workload.replay)[line].key);
      if (hash % clients == index) lines_.push_back(line);
    }
    return;
  }
  double sum = 0;
  for (size_t i = 0; i < kKinds; ++i) {
    sum += workload.mix.part(static_cast<Kind>(i));
    limits_[i] = sum > 1 - 1e-9 ? UINT64_MAX : static_cast<uint64_t>(sum * 0x1p64);
  }
}

Kind Source::NextKind() {
  const uint64_t drawn = random_.Next();
  size_t kind = 0;
  while (drawn > limits_[kind]) ++kind;
  return static_cast<Kind>(kind);
}

bool Source::Next(Operation* operation) {
  if (workload_.replay) return NextOfReplay(operation);
  Generate(operation);
  return true;
}

void Source::Generate(Operation* operation) {
  operation->kind = NextKind();
  if (operation->kind == Kind::kInsert) {
    operation->number = next_insert_;
    next_insert_ += clients_;
  } else {
    operation->number = choice_.Next();
  }
  items_.FillKey(operation->number, &operation->key);
  if (Writes(operation->kind)) {
    items_.FillValue(operation->number, operation->key, &operation->value);
  }
}

bool Source::NextOfReplay(Operation* operation) {
  if (next_line_ == lines_.size()) {
    if (!workload_.repeats || lines_.empty()) return false;
    next_line_ = 0;
  }
  const Replay::Request request = (*workload_.replay)[lines_[next_line_++]];
  operation->kind = request.kind;
  operation->key = request.key;
  if (Writes(request.kind)) FillRepeated(request.key, request.value_bytes, &operation->value);
  return true;
}

bool Source::IsRight(const Operation& operation, std::string_view value) const {
  return workload_.replay ? IsRepeated(operation.key, value)
                          : items_.IsValue(operation.number, operation.key, value);
}

}  // namespace plov::bench
