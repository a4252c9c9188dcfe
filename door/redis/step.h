// Step: a request of Redis's clients that can be a part of a transaction. Alone it goes to the server by itself; in a
// transaction it is run on the items that the transaction has read.
//
// Threads: a worker's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "door/request.h"

namespace plov::door::redis {

class TransactionItems;

class Step : public Request {
 public:
  // Adds the keys that RunOn looks at; they stay as long as the step.
  virtual void AddKeys(std::vector<std::string_view>* keys) const {
    if (!key().empty()) keys->push_back(key());
  }
  // Changes the items, and adds the reply. Where others were faster it is run again, on what they left.
  virtual void RunOn(TransactionItems* items, std::string* to) = 0;
};

struct StepRecycler {
  void operator()(Step* step) const { step->Recycle(); }
};
using Steps = std::vector<std::unique_ptr<Step, StepRecycler>>;

}  // namespace plov::door::redis
