#include <plov/client.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "ledger.h"

namespace plov::power {

namespace {

constexpr Version kEndless = std::numeric_limits<Version>::max();

struct Found {
  std::string value;
  Version version = 0;
};
using State = std::array<std::optional<Found>, kKeys>;  // of one writer

int Complain(const std::string& what) {
  std::fprintf(stderr, "ledger: %s\n", what.c_str());
  return 1;
}

// What the server has, by writer.
std::expected<std::array<State, kWriters>, Error> Holdings(Client* client) {
  std::array<State, kWriters> states;
  std::string strange;
  const auto scanned = client->Scan([&](std::string_view key, const Item& item) {
    uint32_t writer = 0;
    uint32_t number = 0;
    const std::string name(key);
    if (std::sscanf(name.c_str(), "%u.%u.", &writer, &number) != 2 || writer >= kWriters ||
        number >= kKeys) {
      strange = name;
      return false;
    }
    states[writer][number] = Found{std::string(item.value), item.version};
    return true;
  });
  if (!scanned) return std::unexpected(scanned.error());
  if (!strange.empty()) return Fail(Code::kCorrupt, "wrong: nobody wrote the key " + strange);
  if (!scanned->settled || scanned->unreadable > 0) {
    return Fail(Code::kCorrupt, "wrong: not all items can be read");
  }
  return states;
}

// Whether a key is as the operation `record` left it; null: no operation had been.
bool IsAfter(const std::optional<Found>& found, uint32_t writer, const Record* record) {
  if (record == nullptr || record->kind == Kind::kDelete) return !found;
  return found && found->value == ValueOf(writer, *record) &&
         (record->told != Told::kYes || found->version == record->version);
}

// How many of its first operations a writer's state is made of; there is at most one such number.
std::optional<uint64_t> Held(const State& state, uint32_t writer,
                             const std::vector<Record>& records) {
  std::array<const Record*, kKeys> last = {};
  size_t right = 0;
  for (const auto& found : state) right += IsAfter(found, writer, nullptr) ? 1 : 0;
  std::optional<uint64_t> held;
  if (right == kKeys) held = 0;
  for (const Record& record : records) {
    if (record.kind == Kind::kSync) {
      // Changes nothing.
    } else {
      right -= IsAfter(state[record.key], writer, last[record.key]) ? 1 : 0;
      last[record.key] = &record;
      right += IsAfter(state[record.key], writer, last[record.key]) ? 1 : 0;
    }
    if (right == kKeys) held = record.number;
  }
  return held;
}

// Up to which of its operations a writer has been promised that they last; 0: none.
uint64_t Promised(const std::vector<Record>& records, Promise promise) {
  uint64_t promised = 0;
  for (const Record& record : records) {
    if (record.told == Told::kNothing) break;
    if (promise != Promise::kSynced || record.kind == Kind::kSync) promised = record.number;
  }
  return promised;
}

// The last write of a shard that is there lies at or after `from`, and before `until`.
struct End {
  Version from = 0;
  Version until = kEndless;
};

// What one writer's operations say of it, of which the first `held` are there.
End EndOf(const std::vector<Record>& records, uint64_t held) {
  End end;
  for (const Record& record : records) {
    if (record.version == 0) continue;
    if (record.number > held) {
      end.until = record.version;
      break;
    }
    if (record.told == Told::kYes) end.from = record.version;
  }
  return end;
}

std::string WhatWriterHas(uint32_t writer, const State& state) {
  std::string text;
  for (uint32_t key = 0; key < kKeys; ++key) {
    const auto& found = state[key];
    text += " " + KeyPrefix(writer, key) + "=" +
            (found ? found->value.substr(0, found->value.find(' ')) + "@" +
                         std::to_string(found->version)
                   : "absent");
  }
  return text;
}

}  // namespace

int Check(const Run& run, const std::string& all_device, Promise promise) {
  const auto all = ReadLedger(all_device, run.offset);
  if (!all) return Complain(all.error().message);
  const auto then = ReadLedger(run.device, run.offset);
  if (!then) return Complain(then.error().message);
  auto client = Client::Connect(run.uri, {.timeout = std::chrono::seconds(30)});
  if (!client) return Complain(client.error().message);
  const auto states = Holdings(&*client);
  if (!states) return Complain(states.error().message);

  uint64_t promised_sum = 0;
  uint64_t held_sum = 0;
  std::vector<End> ends(client->shard_count());
  for (uint32_t writer = 0; writer < kWriters; ++writer) {
    const std::string who = "writer " + std::to_string(writer);
    const auto& records = (*all)[writer];
    const uint64_t promised = Promised((*then)[writer], promise);
    const auto held = Held((*states)[writer], writer, records);
    if (!held) {
      return Complain("wrong: " + who + " was promised " + std::to_string(promised) +
                      " operations, and what is there is no prefix of them:" +
                      WhatWriterHas(writer, (*states)[writer]));
    }
    if (*held < promised) {
      return Complain("lost: " + who + " was promised " + std::to_string(promised) +
                      " operations, " + std::to_string(*held) + " are there");
    }
    promised_sum += promised;
    held_sum += *held;
    End& end = ends[writer % ends.size()];
    const End mine = EndOf(records, *held);
    end.from = std::max(end.from, mine.from);
    end.until = std::min(end.until, mine.until);
  }
  for (const End& end : ends) {
    if (end.from < end.until) continue;
    return Complain("wrong: no prefix of a shard's writes: version " + std::to_string(end.from) +
                    " is there, version " + std::to_string(end.until) + " is not");
  }
  uint64_t shown = 0;
  if (promise == Promise::kRead) {
    for (const Record& read : (*then)[kReader]) {
      ++shown;
      if (read.version < ends[read.key / kKeys % ends.size()].until) continue;
      return Complain("lost: version " + std::to_string(read.version) + " was read");
    }
  }
  std::printf("promised %llu held %llu shown %llu\n", static_cast<unsigned long long>(promised_sum),
              static_cast<unsigned long long>(held_sum), static_cast<unsigned long long>(shown));
  return 0;
}

}  // namespace plov::power
