// Survey: the tool's own GETs of every key after the server was started again.
//
// Clients read few keys often and most keys hardly ever; what is lost of the others would be
// overwritten before anybody had looked.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "torture/history.h"

namespace plov::torture {

class Survey {
 public:
  Survey(Client* client, uint32_t run, uint32_t history)
      : client_(client), run_(run), history_(history) {}

  // Gets the keys from 0 on, each until there is an answer, and gives them to `take`, some at a
  // time. Errors: the server does not answer.
  using Take = std::function<void(std::span<const Operation>)>;
  std::expected<void, Error> GetAll(uint64_t keys, const Take& take);

  // The first value that did not prove itself, if any.
  const std::optional<std::string>& lie() const { return lie_; }

 private:
  std::expected<void, Error> Get(std::span<Operation> operations);
  void Note(const Client::GetResult& result, Operation* operation);

  Client* client_;
  uint32_t run_;
  uint32_t history_;
  std::optional<std::string> lie_;
};

}  // namespace plov::torture
