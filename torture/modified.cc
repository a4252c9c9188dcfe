#include "torture/modified.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>

#include "torture/outcome.h"

namespace plov::torture {

namespace {

constexpr std::chrono::seconds kLong{100'000};

std::optional<uint64_t> NumberOf(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return number;
}

// Notes how a change ended that was not told; what no change of ours can end with is wrong.
std::optional<std::string> NoteFailure(const Error& error, ModifiedItem* item) {
  const Outcome outcome = OutcomeOf(error.code);
  if (outcome != Outcome::kUnknown) ++item->refused;
  if (error.code != Code::kNotANumber && error.code != Code::kOutOfRange) return std::nullopt;
  return "a change of a modified item ended with " + error.message;
}

}  // namespace

Modified::Modified(const Plan& plan, uint32_t process, ModifiedState* state)
    : run_(plan.run),
      process_(process),
      may_be_old_(plan.max_age_us > 0),
      tokens_max_(
          std::min<size_t>(plan.value_bytes_max / sizeof(uint64_t), ModifiedList::kTokensMax)),
      random_(plan.seed + 3 * ~uint64_t{process}),
      state_(state),
      vectors_(plan.value_bytes_max, may_be_old_, &random_, &state->vectors) {}

std::optional<std::string> Modified::Step(Client* client, uint32_t history) {
  history_ = history;
  const size_t counter = random_.Below(ModifiedState::kCounters);
  if (random_.Below(4) == 0) return StepVector(client);
  switch (random_.Below(6)) {
    case 0:
    case 1:
      return Increment(client, counter);
    case 2:
      return CompareAndPut(client, counter);
    case 3:
      return GetCounter(client, counter);
    case 4:
      return Append(client);
    default:
      return GetList(client);
  }
}

Modified::Wrong Modified::StepVector(Client* client) {
  const size_t index = random_.Below(ModifiedState::kVectors);
  const KeyName name = NameOf(ModifiedState::kCounters + ModifiedState::kLists + index);
  switch (random_.Below(6)) {
    case 0:
      return vectors_.Get(client, index, name.view());
    case 1:
      return vectors_.Reduce(client, index, name.view());
    case 2:
      return vectors_.Filter(client, index, name.view());
    default:
      return vectors_.Update(client, index, name.view());
  }
}

Modified::Wrong Modified::Told(ModifiedCounter* counter, uint64_t floor, uint64_t number) {
  ++judged_;
  const uint64_t begun = counter->begun;
  if (number <= floor || number > begun) {
    return fmt::format(
        "a change of a counter made {} of it: {} was told before it began, and {} "
        "had begun",
        number, floor, begun);
  }
  const uint64_t bit = uint64_t{1} << number % 64;
  if ((counter->numbers[number / 64].fetch_or(bit, std::memory_order_relaxed) & bit) != 0) {
    return fmt::format("two changes of a counter made {} of it", number);
  }
  uint64_t told = counter->told;
  while (told < number &&
         !counter->told.compare_exchange_weak(told, number, std::memory_order_seq_cst))
    continue;
  return std::nullopt;
}

Modified::Wrong Modified::Increment(Client* client, size_t index) {
  ModifiedCounter* counter = &state_->counters[index];
  const uint64_t floor = counter->told;
  if (++counter->begun >= ModifiedCounter::kNumbersMax) return std::nullopt;  // it is used up
  const auto number = client->Increment(NameOf(index).view(), 1, {.initial = 0});
  if (!number) return NoteFailure(number.error(), counter);
  return Told(counter, floor, static_cast<uint64_t>(number->value));
}

Modified::Wrong Modified::CompareAndPut(Client* client, size_t index) {
  ModifiedCounter* counter = &state_->counters[index];
  const uint64_t floor = counter->told;
  if (floor == 0 || ++counter->begun >= ModifiedCounter::kNumbersMax) return std::nullopt;
  const std::string before = std::to_string(floor);
  const auto put =
      client->Put(NameOf(index).view(), std::to_string(floor + 1), {.expected_value = before});
  if (!put) return NoteFailure(put.error(), counter);
  return Told(counter, floor, floor + 1);
}

Client::GetResult Modified::Get(Client* client, std::string_view key) {
  return random_.Below(4) == 0 && !may_be_old_ ? client->GetAndTouch(key, kLong) : client->Get(key);
}

Modified::Wrong Modified::GetCounter(Client* client, size_t index) {
  ModifiedCounter* counter = &state_->counters[index];
  const uint64_t floor = may_be_old_ ? 0 : counter->told.load(std::memory_order_seq_cst);
  const uint64_t refused = counter->refused;
  const auto got = Get(client, NameOf(index).view());
  if (!got) return std::nullopt;
  const uint64_t most = counter->begun - refused;
  const auto number = *got ? NumberOf((*got)->value) : 0;
  ++judged_;
  if (number && *number >= floor && *number <= most) return std::nullopt;
  return fmt::format("a counter was '{}': {} was told before, and {} can have been applied",
                     *got ? (*got)->value : "absent", floor, most);
}

Modified::Wrong Modified::Append(Client* client) {
  const uint64_t index = state_->list;
  if (index >= ModifiedState::kLists) return std::nullopt;
  ModifiedList* list = &state_->lists[index];
  if (list->begun >= tokens_max_) {
    uint64_t former = index;
    state_->list.compare_exchange_strong(former, index + 1, std::memory_order_relaxed);
    return std::nullopt;
  }
  // Others may have the last place meanwhile: what is too long is refused.
  if (++list->begun > tokens_max_) {
    ++list->refused;
    return std::nullopt;
  }
  const uint64_t token = MakeValueId(process_, ++sequence_);
  std::array<char, sizeof(token)> bytes;
  std::memcpy(bytes.data(), &token, bytes.size());
  const KeyName name = NameOf(ModifiedState::kCounters + index);
  const auto put =
      client->Put(name.view(), {bytes.data(), bytes.size()}, {.mode = PutMode::kAppendOrAdd});
  if (!put) return NoteFailure(put.error(), list);
  ++list->told;
  ++judged_;
  return std::nullopt;
}

Modified::Wrong Modified::CheckTokens(ModifiedList* list, std::string_view value) {
  std::map<uint64_t, uint64_t> last;  // sequence, by process
  for (size_t i = 0; i < value.size() / sizeof(uint64_t); ++i) {
    uint64_t token = 0;
    std::memcpy(&token, value.data() + i * sizeof(token), sizeof(token));
    uint64_t seen = 0;
    if (!list->tokens[i].compare_exchange_strong(seen, token, std::memory_order_relaxed) &&
        seen != token) {
      return fmt::format("place {} of a list had {:x} and then {:x}", i, seen, token);
    }
    uint64_t& before = last[token >> kSequenceBits];
    if (token <= before) return fmt::format("a list has {:x} behind {:x}", token, before);
    before = token;
  }
  return std::nullopt;
}

Modified::Wrong Modified::GetList(Client* client) {
  const uint64_t newest = std::min<uint64_t>(state_->list, ModifiedState::kLists - 1);
  const uint64_t index = newest - std::min<uint64_t>(newest, random_.Below(3));
  ModifiedList* list = &state_->lists[index];
  const uint64_t told = may_be_old_ ? 0 : list->told.load(std::memory_order_seq_cst);
  const uint64_t refused = list->refused;
  const auto got = Get(client, NameOf(ModifiedState::kCounters + index).view());
  if (!got) return std::nullopt;
  const std::string_view value = *got ? (*got)->value : std::string_view();
  const size_t tokens = value.size() / sizeof(uint64_t);
  const uint64_t most = list->begun - refused;
  ++judged_;
  if (value.size() % sizeof(uint64_t) != 0 || tokens < told || tokens > most) {
    return fmt::format(
        "a list had {} bytes: {} of its tokens were told before, and {} can have "
        "been applied",
        value.size(), told, most);
  }
  return CheckTokens(list, value);
}

}  // namespace plov::torture
