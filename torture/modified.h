// Modified items: what all client processes change together by what the server makes of them, and how that is judged.
//
// A counter is changed by INCREMENT, and by a PUT over the value before, always by 1. So each number is told once at most,
// is greater than all that were told before its INCREMENT began, and no greater than how many have begun. A list is changed
// by APPEND, each of a token of its own. So what a GET found at a place stays there, the tokens of one process are in
// their order, and a list is as long as APPENDs were told before the GET began, at least. TOUCH changes neither. Vectors are in
// torture/modified_vectors.h.
//
// Together: each change is applied once or not at all, in an order that agrees with time. Where GETs READ any replica, they may find
// less than what was told.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "program/random.h"
#include "torture/key_names.h"
#include "torture/modified_vectors.h"
#include "torture/run_memory.h"

namespace plov::torture {

class Modified {
 public:
  Modified(const Plan& plan, uint32_t process, ModifiedState* state);

  // One operation. Returns what was wrong, if anything.
  std::optional<std::string> Step(Client* client, uint32_t history);
  // Operations whose outcome was judged.
  uint64_t judged() const { return judged_ + vectors_.judged(); }

  // Whether it is the key of one, of this run.
  static bool Is(std::string_view key, uint32_t run) {
    return key.size() == KeyName::kBytes && key.starts_with(KeyName(run, 0, 0).prefix());
  }
  // The numbers of their keys: behind those of the run's keys and before those that expire.
  static constexpr uint64_t kKeys =
      ModifiedState::kCounters + ModifiedState::kLists + ModifiedState::kVectors;
  static constexpr uint64_t kFirstKey = 3 * (kKeysMax / 2) - kKeys;

 private:
  using Wrong = std::optional<std::string>;

  Wrong StepVector(Client* client);
  Wrong Increment(Client* client, size_t index);
  Wrong CompareAndPut(Client* client, size_t index);
  Wrong GetCounter(Client* client, size_t index);
  Wrong Append(Client* client);
  Wrong GetList(Client* client);
  // GET, or GET and TOUCH.
  Client::GetResult Get(Client* client, std::string_view key);
  Wrong Told(ModifiedCounter* counter, uint64_t floor, uint64_t number);
  Wrong CheckTokens(ModifiedList* list, std::string_view value);
  KeyName NameOf(size_t key) const { return {run_, history_, kFirstKey + key}; }

  uint32_t run_;
  uint32_t process_;
  bool may_be_old_;
  size_t tokens_max_;  // of a list
  uint32_t history_ = 0;
  program::Random random_;
  ModifiedState* state_;
  ModifiedVectors vectors_;
  uint64_t sequence_ = 0;
  uint64_t judged_ = 0;
};

}  // namespace plov::torture
