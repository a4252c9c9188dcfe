// Modification: a write that makes its value of the one that is there - APPEND, PREPEND, INCREMENT, TOUCH, UPDATE, and a PUT
// that compares. It ends in a PUT over the version that it was made of, so it is atomic, and log and replicas see a PUT.
//
// A long value is made in slices, of a record that is held meanwhile.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/sessions.h"
#include "server/store.h"
#include "verify/message.h"
#include "verify/vector.h"

namespace plov::server {

class Modification {
 public:
  Modification() = default;
  Modification(const Modification&) = delete;
  Modification& operator=(const Modification&) = delete;
  ~Modification() { Reset(); }

  static bool Is(const verify::Request& request) {
    return verify::IsModification(request.operation) || request.compares;
  }

  // Of what the store has now; nullopt: put() is what is to be stored. Else the reply: nothing is. request: its strings
  // stay until Reset; store: outlives it.
  std::optional<WriteReply> Make(const verify::Request& request, Store* store, uint64_t now_us);
  bool is_made() const { return store_ != nullptr; }
  const verify::Request& put() const { return put_; }
  // The value is not in put(): Fill brings it to its place.
  bool is_long() const { return put_.rendezvous; }
  // A slice. nullopt: there are more; kCorrupt: what it is made of is damaged.
  std::optional<Code> Fill(Store::Writing* writing, size_t bytes);
  // Whether put() came to nothing because of another write.
  bool IsOvertaken(const WriteReply& reply) const;
  // What an INCREMENT made.
  std::optional<int64_t> number() const { return number_; }

  // It is over, or begins anew.
  void Reset();

 private:
  // Of the value's bytes from `from` up to `end`.
  struct ElementUpdate {
    verify::VectorFunction function;
    verify::ElementType type;
    size_t from;
    size_t end;
    std::string_view operand;  // one element, or all of them
  };

  std::optional<WriteReply> MakeOf(const verify::Request& request, const Store::Hit* hit);
  std::optional<WriteReply> Compare(const verify::Request& request, const Store::Hit& hit);
  std::optional<WriteReply> Increment(const verify::Request& request, const Store::Hit* hit);
  std::optional<WriteReply> Join(std::string_view before, const Store::Hit* hit,
                                 std::string_view after);
  std::optional<WriteReply> Update(const verify::Request& request, const Store::Hit& hit);
  // Changes those elements that lie in a part of the value, `from` bytes from its begin.
  void UpdatePart(size_t from, std::span<char> part) const;
  std::optional<Code> Verify(size_t bytes);

  Store* store_ = nullptr;
  verify::Request put_;
  std::string value_;  // of put_, where it is not the message's
  std::optional<int64_t> number_;
  // Of a long value: what comes before and after that of the record, which is held.
  std::string_view before_, after_;
  std::optional<Store::Hit> base_;
  std::optional<ElementUpdate> update_;  // of an UPDATE
  std::optional<verify::ValueDigest> digest_;
  bool is_verified_ = false;
};

}  // namespace plov::server
