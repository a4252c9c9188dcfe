#include <algorithm>
#include <memory>
#include <utility>

#include "door/redis/answer.h"
#include "door/redis/command.h"
#include "door/redis/expiry.h"
#include "door/worker.h"

namespace plov::door::redis {

namespace {

constexpr std::string_view kNoKey = "ERR plov: a key has 1 to 1024 bytes";

std::string LowerCaseOf(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace

int64_t Call::NowMs() const { return connection()->worker()->ServerUs(arguments_[1]) / kUsPerMs; }

void Call::Add(Step* step) const {
  if (place_.steps == nullptr) return connection()->Add(step);
  connection()->Attach(step);
  place_.steps->emplace_back(step);
}

void Call::Answer(std::string_view reply) const {
  connection()->worker()->counters().Add(Count::kOthers);
  Add(new redis::Answer(reply));
}

void Call::Refuse(std::string_view text) const {
  connection()->worker()->counters().Add(Count::kBadRequests);
  Add(redis::Answer::OfError(text));
}

std::string Call::ArityText(std::string_view subcommand) const {
  std::string text = "wrong number of arguments for '";
  text += name();
  if (!subcommand.empty()) text += '|' + LowerCaseOf(subcommand);
  return text + "' command";
}

void Call::RefuseArity(std::string_view subcommand) const {
  Refuse("ERR " + ArityText(subcommand));
}

void Call::RefuseSubcommand() const {
  std::string text = "ERR unknown subcommand '";
  constexpr size_t kShownMax = 128;
  text += arguments_[1].substr(0, kShownMax);
  Refuse(text + "'. Try " + UpperCaseOf(name()) + " HELP.");
}

void Call::RefuseExpiry() const {
  Refuse("ERR invalid expire time in '" + std::string(name()) + "' command");
}

bool Call::TakesKey(std::string_view key) const {
  if (!key.empty() && key.size() <= kKeyBytesMax) return true;
  Refuse(kNoKey);
  return false;
}

bool Call::TakesKeys(size_t step) const {
  for (size_t i = 1; i < count(); i += step) {
    if (!TakesKey(arguments_[i])) return false;
  }
  return true;
}

void Call::Read(KeyRead::Show show, int64_t first, int64_t last) const {
  if (!TakesKey(arguments_[1])) return;
  KeyRead* read = KeyRead::Make(arguments_[1], show, resp());
  read->first = first;
  read->last = last;
  if (place_.copies) read->Keep();
  Add(read);
}

void Call::Write(KeyWrite* write) const {
  std::unique_ptr<KeyWrite> owned(write);
  if (TakesKey(arguments_[1])) Add(owned.release());
}

void Call::Rewrite(redis::Rewrite::Planner plan) const {
  Write(new redis::Rewrite(arguments_[1], std::move(plan)));
}

}  // namespace plov::door::redis
