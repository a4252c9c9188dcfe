// BinaryRequest: a request of memcached's binary protocol: what is said of it.
//
// A quiet one is told only of what a client cannot expect: of a get, an item that is there; of everything else, what
// has failed.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <optional>
#include <string>

#include "door/memcached/binary_header.h"
#include "door/memcached/command_request.h"

namespace plov::door::memcached {

class BinaryRequest final : public CommandRequest {
 public:
  static BinaryRequest* Make() { return SpareRequests<BinaryRequest>::Take(); }
  void Recycle() override;

  BinaryHeader header;

 private:
  void AddItem(const Item& item, std::optional<uint32_t> touched_expiry,
               std::string* to) const override;
  void AddMiss(std::string* to) const override;
  void AddOutcome(Outcome outcome, Version version, std::string* to) const override;
  void AddNumber(uint64_t number, Version version, std::string* to) const override;
  void AddFailure(const Error& error, std::string* to) const override;
  void AddNoMemory(std::string* to) const override;

  Status StatusOf(Outcome outcome) const;
};

}  // namespace plov::door::memcached
