#include "torture/survey.h"

#include <algorithm>
#include <vector>

#include "torture/key_names.h"
#include "torture/outcome.h"
#include "torture/run_memory.h"
#include "torture/value.h"

namespace plov::torture {

namespace {

constexpr uint64_t kAtOnce = 64;
// Of each batch; the client waits for its server within each.
constexpr int kTriesMax = 10;

}  // namespace

std::expected<void, Error> Survey::GetAll(uint64_t keys, const Take& take) {
  std::vector<Operation> operations;
  for (uint64_t first = 0; first < keys; first += kAtOnce) {
    operations.resize(std::min(kAtOnce, keys - first));
    for (size_t i = 0; i < operations.size(); ++i) {
      operations[i] = {.key = first + i, .process = kTool, .outcome = Outcome::kUnknown};
    }
    if (auto got = Get(operations); !got) return got;
    take(operations);
  }
  return {};
}

std::expected<void, Error> Survey::Get(std::span<Operation> operations) {
  Error last;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    std::vector<Operation*> open;
    std::vector<KeyName> names;
    for (Operation& operation : operations) {
      if (!IsOpen(operation)) continue;
      open.push_back(&operation);
      names.emplace_back(run_, history_, operation.key);
      operation.start = Now();
    }
    if (open.empty()) return {};
    std::vector<std::string_view> keys;
    for (const KeyName& name : names) keys.push_back(name.view());
    client_->GetMany(keys, [&](size_t i, const Client::GetResult& result) {
      if (!result) last = result.error();
      Note(result, open[i]);
    });
    if (lie_) return {};
  }
  return Fail(last.code, "the server does not answer the tool's own GETs: " + last.message);
}

void Survey::Note(const Client::GetResult& result, Operation* operation) {
  operation->end = Now();
  if (!result) return;
  operation->outcome = Outcome::kAbsent;
  if (!*result) return;
  const auto value = ReadValue((*result)->value, SealedKey(history_, operation->key));
  if (!value) {
    operation->outcome = Outcome::kUnknown;
    lie_ = "the tool's own GET of key " + std::to_string(operation->key) +
           " returned bytes that no PUT wrote: " + "version " + std::to_string((*result)->version) +
           ": " + value.error();
    return;
  }
  operation->outcome = Outcome::kOk;
  operation->value = *value;
  operation->version = (*result)->version;
}

}  // namespace plov::torture
