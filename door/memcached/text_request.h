// TextRequest: a request of memcached's text protocol, classic or meta: what is said of it.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "door/memcached/command_request.h"

namespace plov::door::memcached {

class TextRequest final : public CommandRequest {
 public:
  static TextRequest* Make() { return SpareRequests<TextRequest>::Take(); }
  void Recycle() override;

  // Of a GET or a GAT: one of its keys.
  void SetKey(std::string_view key) { command.key_text = key; }
  std::string_view closing() const override;

 private:
  void AddItem(const Item& item, std::optional<uint32_t> touched_expiry,
               std::string* to) const override;
  void AddMiss(std::string* to) const override;
  void AddOutcome(Outcome outcome, Version version, std::string* to) const override;
  void AddNumber(uint64_t number, Version version, std::string* to) const override;
  void AddFailure(const Error& error, std::string* to) const override;
  void AddNoMemory(std::string* to) const override;

  void AddClassicItem(const Item& item, std::string* to) const;
  void AddSecondsLeft(uint32_t expiry, std::string* to) const;
  void AddMetaItem(const Item& item, std::optional<uint32_t> touched_expiry, std::string* to) const;
  void AddDebug(const Item& item, std::string* to) const;
  void AddMetaOutcome(std::string_view code, Version version, std::string* to) const;
  void AddReturned(Version version, std::string* to) const;
};

}  // namespace plov::door::memcached
