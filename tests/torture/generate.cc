#include "tests/torture/generate.h"

#include <algorithm>

#include "torture/report.h"

namespace plov::torture {

namespace {

struct Step {
  Operation operation;
  Instant point = 0;
  uint64_t tie = 0;
  bool is_applied = true;
};

// The register itself, on which steps take effect in the order of their points.
class Register {
 public:
  Register(const Shape& shape, Random* random) : shape_(shape), random_(random) {
    if (!shape.foreign) return;
    present_ = true;
    version_ = last_ = 3;
  }

  void Apply(Step* step) {
    Operation& operation = step->operation;
    const bool is_unknown = operation.outcome == Outcome::kUnknown;
    if (IsConditional(operation.kind)) PickExpected(&operation);
    if (operation.outcome == Outcome::kRefused || !step->is_applied) return;
    const Outcome outcome = Effect(&operation, is_unknown);
    if (!is_unknown) operation.outcome = outcome;
  }

 private:
  // A version that somebody was told, the present one if possible.
  void PickExpected(Operation* operation) {
    if (told_.empty()) {
      operation->kind = operation->kind == Kind::kPutIf ? Kind::kPut : Kind::kDelete;
      return;
    }
    operation->expected = told_[Below(random_, told_.size())];
    const bool is_told = std::ranges::find(told_, version_) != told_.end();
    if (is_told && Chance(random_, 60)) operation->expected = version_;
  }

  Outcome Effect(Operation* operation, bool is_unknown) {
    if (operation->kind == Kind::kAdd ? present_ : !present_ && operation->kind != Kind::kPut) {
      MayTell(operation, operation->kind == Kind::kAdd && !is_unknown);
      return operation->kind == Kind::kAdd ? Outcome::kExists : Outcome::kAbsent;
    }
    if (IsConditional(operation->kind) && operation->expected != version_) {
      MayTell(operation, !is_unknown);
      return Outcome::kMismatch;
    }
    if (operation->kind == Kind::kGet) {
      operation->version = version_;
      operation->value = value_;
      if (!is_unknown) told_.push_back(version_);
    } else if (IsDelete(operation->kind)) {
      MayTell(operation, !is_unknown);
      present_ = false;
    } else {
      present_ = true;
      version_ = last_ += 1 + Below(random_, 3);
      value_ = operation->value;
      if (!is_unknown) {
        operation->version = version_;
        told_.push_back(version_);
      }
    }
    return Outcome::kOk;
  }

  void MayTell(Operation* operation, bool may) {
    if (may && Chance(random_, shape_.told)) operation->version = version_;
  }

  const Shape& shape_;
  Random* random_;
  bool present_ = false;
  uint64_t version_ = 0;
  uint64_t last_ = 0;
  ValueId value_ = kForeign;
  std::vector<uint64_t> told_;
};

Kind RandomKind(const Shape& shape, Random* random) {
  if (Chance(random, shape.gets)) return Kind::kGet;
  const bool is_conditional = Chance(random, shape.conditions);
  if (Chance(random, shape.deletes)) return is_conditional ? Kind::kDeleteIf : Kind::kDelete;
  if (!is_conditional) return Kind::kPut;
  constexpr Kind kKinds[] = {Kind::kAdd, Kind::kReplace, Kind::kPutIf};
  return kKinds[Below(random, 3)];
}

// One process, one operation after the other.
void AddProcess(const Shape& shape, uint32_t process, Random* random, std::vector<Step>* steps) {
  Instant now = static_cast<Instant>(Below(random, 6));
  const uint32_t count = shape.operations / shape.processes;
  for (uint32_t i = 0; i < count; ++i) {
    Step step;
    Operation& operation = step.operation;
    operation.process = process;
    operation.kind = RandomKind(shape, random);
    operation.start =
        now + static_cast<Instant>(Below(random, static_cast<uint64_t>(shape.pause) + 1));
    const uint64_t length = Below(random, static_cast<uint64_t>(shape.length) + 1);
    operation.end = operation.start + static_cast<Instant>(length);
    if (IsStore(operation.kind)) operation.value = MakeValueId(process, i + 1);
    step.point = operation.start + static_cast<Instant>(Below(random, length + 1));
    step.tie = (*random)();
    const bool is_killed = Chance(random, shape.kills);
    if (is_killed || (operation.kind != Kind::kGet && Chance(random, shape.unknown))) {
      operation.outcome = Outcome::kUnknown;
      step.is_applied = Chance(random, 70);
      if (Chance(random, 50)) step.point += static_cast<Instant>(Below(random, 40));
    } else if (operation.kind != Kind::kGet && Chance(random, shape.refused)) {
      operation.outcome = Outcome::kRefused;
    }
    now = operation.end + (Chance(random, 50) ? 1 : 0);
    steps->push_back(step);
    if (is_killed) return;
  }
}

}  // namespace

Shape RandomShape(Random* random) {
  Shape shape;
  shape.processes = 1 + static_cast<uint32_t>(Below(random, 6));
  shape.operations = 4 + static_cast<uint32_t>(Below(random, 16));
  shape.length = static_cast<Instant>(Below(random, 20));
  shape.pause = static_cast<Instant>(Below(random, 8));
  shape.gets = 10 + Below(random, 60);
  shape.deletes = Below(random, 60);
  shape.conditions = Below(random, 70);
  shape.unknown = Chance(random, 50) ? Below(random, 40) : 0;
  shape.kills = Chance(random, 30) ? 5 : 0;
  shape.told = Chance(random, 50) ? 0 : Below(random, 101);
  shape.foreign = Chance(random, 25);
  if (Chance(random, 20)) {  // few operations and hardly any answer: much is possible
    shape.operations = 4 + static_cast<uint32_t>(Below(random, 8));
    shape.unknown = 50 + Below(random, 40);
    shape.told = 70;
  }
  return shape;
}

std::vector<Operation> GoodHistory(const Shape& shape, Random* random) {
  std::vector<Step> steps;
  for (uint32_t process = 0; process < shape.processes; ++process) {
    AddProcess(shape, process, random, &steps);
  }
  std::ranges::sort(steps, {}, [](const Step& step) { return std::pair(step.point, step.tie); });
  Register key(shape, random);
  std::vector<Operation> history;
  for (Step& step : steps) {
    key.Apply(&step);
    Operation& operation = step.operation;
    if (operation.outcome == Outcome::kUnknown && operation.kind == Kind::kGet) {
      operation.version = 0;
      operation.value = kForeign;
    }
    history.push_back(operation);
  }
  return history;
}

std::vector<Operation> AnyHistory(Random* random) {
  const uint64_t count = 2 + Below(random, 8);
  const uint64_t instants = 3 + Below(random, 12);
  const uint64_t versions = 2 + Below(random, 4);
  const uint64_t unknown = Below(random, 50);
  std::vector<Operation> history;
  for (uint32_t i = 0; i < count; ++i) {
    Operation operation;
    operation.process = i;
    do {
      operation.kind = static_cast<Kind>(Below(random, 7));
      operation.outcome = static_cast<Outcome>(Chance(random, 60) ? 0 : Below(random, 4));
      if (Chance(random, unknown)) operation.outcome = Outcome::kUnknown;
      operation.start = static_cast<Instant>(Below(random, instants));
      const uint64_t length = Chance(random, 50) ? 3 : instants;
      operation.end = operation.start + static_cast<Instant>(Below(random, length));
      const bool may_be_silent = IsDelete(operation.kind) || operation.outcome != Outcome::kOk;
      operation.version = may_be_silent && Chance(random, 70) ? 0 : 1 + Below(random, versions);
      if (operation.outcome == Outcome::kUnknown) operation.version = 0;
      operation.expected = IsConditional(operation.kind) ? 1 + Below(random, versions) : 0;
      operation.value = IsStore(operation.kind) ? i + 1 : 0;
    } while (!IsWellFormed(operation));
    history.push_back(operation);
  }
  for (Operation& operation : history) {  // what was read: mostly the value of that version
    if (operation.kind != Kind::kGet || operation.outcome != Outcome::kOk) continue;
    const Operation& other = history[Below(random, history.size())];
    if (Chance(random, 95)) operation.value = IsStore(other.kind) ? other.value : kForeign;
    for (const Operation& store : history) {
      const bool is_its_store = IsStore(store.kind) && store.outcome == Outcome::kOk;
      if (is_its_store && store.version == operation.version && Chance(random, 90)) {
        operation.value = store.value;
      }
    }
  }
  return history;
}

bool ExpectsWhatIsTold(const std::vector<Operation>& history) {
  return std::ranges::all_of(history, [&history](const Operation& operation) {
    if (!IsConditional(operation.kind) || operation.outcome != Outcome::kUnknown) return true;
    return std::ranges::any_of(history, [&operation](const Operation& other) {
      const bool stores = IsStore(other.kind) && other.outcome == Outcome::kOk;
      return HeldVersion(other) == operation.expected ||
             (stores && other.version == operation.expected);
    });
  });
}

std::string Show(const std::vector<Operation>& history) {
  return Timeline({.reason = "as generated", .history = history});
}

}  // namespace plov::torture
