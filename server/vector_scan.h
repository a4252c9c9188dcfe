// VectorScan: a REDUCE or a FILTER of a vector that is stored here. A long one is verified and looked at in slices, in a
// record that is held meanwhile.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/sessions.h"
#include "server/store.h"
#include "verify/mask.h"
#include "verify/message.h"
#include "verify/vector.h"

namespace plov::server {

class VectorScan {
 public:
  VectorScan() = default;
  VectorScan(const VectorScan&) = delete;
  VectorScan& operator=(const VectorScan&) = delete;
  ~VectorScan() { Reset(); }

  // std::nullopt: the item is no vector. Whether it is whole is not looked at.
  static std::optional<verify::ElementType> TypeOf(const verify::MaskedItem& item);

  // Of what a GET finds now. nullopt: it is open, until Reset; else the reply. room: of the reply. request: its strings stay
  // until Reset; store: outlives it.
  std::optional<WriteReply> Open(const verify::Request& request, size_t room, Store* store,
                                 uint64_t now_us);
  bool is_open() const { return store_ != nullptr; }
  // A slice. nullopt: there are more; kCorrupt: the vector is damaged. A vector that is short is done in the first.
  std::optional<Code> Go(size_t bytes);
  // Of the reply, once Go told kOk.
  std::string_view value() const { return value_; }
  uint64_t version() const { return hit_.item.version(); }

  // It is over, or begins anew.
  void Reset();

 private:
  std::optional<WriteReply> OpenIn(const verify::Request& request, size_t room);
  bool Verify(size_t bytes);
  // Whether all of the part was looked at, which begins with this element.
  bool Take(uint64_t element, std::string_view part);
  void Finish();

  Store* store_ = nullptr;
  Store::Hit hit_{};
  bool is_held_ = false;
  bool is_verified_ = false;
  std::optional<verify::ValueDigest> digest_;
  verify::ElementType type_{};
  uint64_t at_ = 0;  // the next element
  uint64_t first_ = 0;
  uint64_t end_ = 0;
  std::optional<verify::Reduction> reduction_;
  // Of a FILTER.
  verify::Comparison comparison_{};
  std::string_view operand_;
  size_t matches_bytes_max_ = 0;
  std::string value_;  // of the reply
};

}  // namespace plov::server
