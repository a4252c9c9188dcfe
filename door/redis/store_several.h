// StoreSeveral: MSET, whose items are stored at once where the server can do that. StoreNew: MSETNX's part of a
// transaction.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "door/redis/lone_request.h"
#include "door/redis/step.h"

namespace plov::door::redis {

struct KeyValue {
  std::string key;
  std::string value;
};
using KeyValues = std::vector<KeyValue>;

// Where the server does not take them together, or they are too many bytes, they are stored one by one.
class StoreSeveral final : public LoneRequest {
 public:
  // kCommitItemsMax at most.
  explicit StoreSeveral(KeyValues items) : items_(std::move(items)) {}

  void Start(Worker* worker) override;
  size_t bytes() const override;

 private:
  void StoreEach();
  void End(const std::optional<Error>& error);

  const KeyValues items_;
  Worker* worker_ = nullptr;
  size_t left_ = 0;  // that are stored one by one
  std::optional<Error> error_;
};

// All of them, where all are absent.
class StoreNew final : public Step {
 public:
  explicit StoreNew(KeyValues items) : items_(std::move(items)) {}

  void AddKeys(std::vector<std::string_view>* keys) const override;
  void RunOn(TransactionItems* items, std::string* to) override;

  std::string_view key() const override { return {}; }
  bool TakeItem(const Client::GetResult&, std::string*) override { return true; }
  // It is never alone: MSETNX by itself is a transaction of one step.
  void Start(Worker*) override {}
  void Keep() override {}
  void Recycle() override { delete this; }
  size_t bytes() const override;

 private:
  const KeyValues items_;
};

}  // namespace plov::door::redis
