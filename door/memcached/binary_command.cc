#include "door/memcached/binary_command.h"

#include <array>
#include <cstdint>

namespace plov::door::memcached {

namespace {

enum class Part : uint8_t { kNone, kNeeded, kAllowed };

// What a request of an opcode is and has. kError: there is no such one.
struct Form {
  Verb verb = Verb::kError;
  uint8_t extras_bytes = 0;
  Part key = Part::kNone;
  Part value = Part::kNone;
  bool is_quiet = false;

  constexpr Form Quiet() const {
    Form quiet = *this;
    quiet.is_quiet = true;
    return quiet;
  }
};

constexpr size_t kOpcodes = static_cast<size_t>(Opcode::kGatKQ) + 1;
constexpr uint8_t kStoreExtras = 8;        // flags, exptime
constexpr uint8_t kArithmeticExtras = 20;  // delta, initial, exptime
constexpr uint8_t kExptimeExtras = 4;
// An increment of an absent item with this exptime makes none.
constexpr uint32_t kMakesNone = 0xffffffff;

constexpr std::array<Form, kOpcodes> MakeForms() {
  constexpr Form kGet{.verb = Verb::kGet, .key = Part::kNeeded};
  constexpr Form kGat{.verb = Verb::kGat, .extras_bytes = kExptimeExtras, .key = Part::kNeeded};
  constexpr Form kTouch{.verb = Verb::kTouch, .extras_bytes = kExptimeExtras, .key = Part::kNeeded};
  constexpr Form kStore{.verb = Verb::kStore,
                        .extras_bytes = kStoreExtras,
                        .key = Part::kNeeded,
                        .value = Part::kAllowed};
  constexpr Form kJoin{.verb = Verb::kStore, .key = Part::kNeeded, .value = Part::kAllowed};
  constexpr Form kDelete{.verb = Verb::kDelete, .key = Part::kNeeded};
  constexpr Form kArithmetic{
      .verb = Verb::kArithmetic, .extras_bytes = kArithmeticExtras, .key = Part::kNeeded};
  constexpr Form kFlush{.verb = Verb::kFlushAll, .extras_bytes = kExptimeExtras};
  constexpr Form kSasl{.verb = Verb::kSaslAuth, .key = Part::kNeeded, .value = Part::kAllowed};
  constexpr Form kQuit{.verb = Verb::kQuit};

  std::array<Form, kOpcodes> forms{};
  const auto set = [&](Opcode opcode, const Form& form) {
    forms[static_cast<size_t>(opcode)] = form;
  };
  set(Opcode::kGet, kGet);
  set(Opcode::kGetQ, kGet.Quiet());
  set(Opcode::kGetK, kGet);
  set(Opcode::kGetKQ, kGet.Quiet());
  for (const Opcode opcode : {Opcode::kSet, Opcode::kAdd, Opcode::kReplace}) set(opcode, kStore);
  for (const Opcode opcode : {Opcode::kSetQ, Opcode::kAddQ, Opcode::kReplaceQ}) {
    set(opcode, kStore.Quiet());
  }
  for (const Opcode opcode : {Opcode::kAppend, Opcode::kPrepend}) set(opcode, kJoin);
  for (const Opcode opcode : {Opcode::kAppendQ, Opcode::kPrependQ}) set(opcode, kJoin.Quiet());
  set(Opcode::kDelete, kDelete);
  set(Opcode::kDeleteQ, kDelete.Quiet());
  for (const Opcode opcode : {Opcode::kIncrement, Opcode::kDecrement}) set(opcode, kArithmetic);
  for (const Opcode opcode : {Opcode::kIncrementQ, Opcode::kDecrementQ}) {
    set(opcode, kArithmetic.Quiet());
  }
  set(Opcode::kTouch, kTouch);
  set(Opcode::kGat, kGat);
  set(Opcode::kGatQ, kGat.Quiet());
  set(Opcode::kGatK, kGat);
  set(Opcode::kGatKQ, kGat.Quiet());
  set(Opcode::kFlush, kFlush);
  set(Opcode::kFlushQ, kFlush.Quiet());
  set(Opcode::kNoop, {.verb = Verb::kNoop});
  set(Opcode::kVersion, {.verb = Verb::kVersion});
  set(Opcode::kStat, {.verb = Verb::kStats, .key = Part::kAllowed});
  set(Opcode::kQuit, kQuit);
  set(Opcode::kQuitQ, kQuit.Quiet());
  set(Opcode::kSaslList, {.verb = Verb::kSaslList});
  set(Opcode::kSaslAuth, kSasl);
  set(Opcode::kSaslStep, {.verb = Verb::kSaslStep, .key = Part::kNeeded, .value = Part::kAllowed});
  return forms;
}

constexpr std::array<Form, kOpcodes> kForms = MakeForms();

Form FormOf(Opcode opcode) {
  const size_t number = static_cast<size_t>(opcode);
  return number < kForms.size() ? kForms[number] : Form{};
}

bool Suits(Part part, size_t bytes) {
  return part == Part::kAllowed || (part == Part::kNeeded) == (bytes > 0);
}

bool SuitsExtras(const Form& form, size_t bytes) {
  const bool is_optional = form.verb == Verb::kFlushAll;
  return bytes == form.extras_bytes || (is_optional && bytes == 0);
}

StoreMode ModeOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kAddQ:
      return StoreMode::kAdd;
    case Opcode::kReplace:
    case Opcode::kReplaceQ:
      return StoreMode::kReplace;
    case Opcode::kAppend:
    case Opcode::kAppendQ:
      return StoreMode::kAppend;
    case Opcode::kPrepend:
    case Opcode::kPrependQ:
      return StoreMode::kPrepend;
    default:
      return StoreMode::kSet;
  }
}

// A set, add or replace with a cas is a cas.
void FillStore(const BinaryHeader& header, std::string_view extras, Command* command) {
  command->mode = ModeOf(header.opcode);
  command->value_bytes = static_cast<uint32_t>(header.value_bytes());
  if (extras.empty()) return;
  command->flags = NumberAt<uint32_t>(extras, 0);
  command->exptime = NumberAt<uint32_t>(extras, 4);
  if (header.cas != 0) command->mode = StoreMode::kCas;
}

void FillArithmetic(const BinaryHeader& header, std::string_view extras, Command* command) {
  command->adds = header.opcode == Opcode::kIncrement || header.opcode == Opcode::kIncrementQ;
  command->delta = NumberAt<uint64_t>(extras, 0);
  command->initial = NumberAt<uint64_t>(extras, 8);
  const auto exptime = NumberAt<uint32_t>(extras, 16);
  if (exptime != kMakesNone) command->vivify = exptime;
}

}  // namespace

std::optional<Status> RefusalOf(const BinaryHeader& header) {
  const Form form = FormOf(header.opcode);
  if (header.key_bytes > kKeyBytesMax) return Status::kInvalid;
  if (form.verb == Verb::kError) return Status::kUnknownCommand;
  const bool suits = SuitsExtras(form, header.extras_bytes) && Suits(form.key, header.key_bytes) &&
                     Suits(form.value, header.value_bytes());
  return suits ? std::optional<Status>() : Status::kInvalid;
}

Command ParseBinary(const BinaryHeader& header, std::string_view extras_and_key) {
  const Form form = FormOf(header.opcode);
  const std::string_view extras = extras_and_key.substr(0, header.extras_bytes);
  Command command;
  command.verb = form.verb;
  command.noreply = form.is_quiet;
  command.key_text = extras_and_key.substr(header.extras_bytes, header.key_bytes);
  command.cas = header.cas;
  switch (form.verb) {
    case Verb::kStore:
      FillStore(header, extras, &command);
      break;
    case Verb::kArithmetic:
      FillArithmetic(header, extras, &command);
      break;
    case Verb::kTouch:
    case Verb::kGat:
    case Verb::kFlushAll:
      if (!extras.empty()) command.exptime = NumberAt<uint32_t>(extras, 0);
      command.tells_item = form.verb == Verb::kTouch;
      break;
    case Verb::kStats:
      command.argument = command.key_text;
      break;
    default:
      break;
  }
  return command;
}

bool TellsKey(Opcode opcode) {
  return opcode == Opcode::kGetK || opcode == Opcode::kGetKQ || opcode == Opcode::kGatK ||
         opcode == Opcode::kGatKQ;
}

}  // namespace plov::door::memcached
