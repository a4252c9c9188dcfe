#include "torture/standing.h"

#include "torture/value.h"

namespace plov::torture {

namespace {

// No history has this number.
constexpr uint32_t kHistory = (1U << 15) - 1;

}  // namespace

Standing::Standing(uint32_t run) {
  for (size_t i = 0; i < kItems; ++i) names_.emplace_back(run, kHistory, i);
  for (const KeyName& name : names_) keys_.push_back(name.view());
}

// Every second one lies in its bucket, the others are records of many sizes.
std::string Standing::ValueOf(size_t index) {
  std::string value(index % 2 == 0 ? kValueBytesMin : 200 + index, '\0');
  WriteValue(MakeValueId(kBefore, index + 1), SealedKey(kHistory, index), value);
  return value;
}

std::expected<void, Error> Standing::Load(Client* client) const {
  for (size_t i = 0; i < kItems; ++i) {
    const auto put = client->Put(keys_[i], ValueOf(i), {.mode = PutMode::kAdd});
    if (!put && put.error().code != Code::kExists) return std::unexpected(put.error());
  }
  return {};
}

std::optional<std::string> Standing::Get(Client* client) const {
  std::optional<std::string> wrong;
  client->GetMany(keys_, [&wrong](size_t i, const Client::GetResult& result) {
    if (!result || wrong) return;
    const std::string name = "standing item " + std::to_string(i);
    if (!*result) {
      wrong = name + ", which every server holds, was absent";
      return;
    }
    const auto id = ReadValue((*result)->value, SealedKey(kHistory, i));
    if (!id) wrong = name + ": " + id.error();
    if (id && *id != MakeValueId(kBefore, i + 1)) wrong = name + " has another's value";
  });
  return wrong;
}

}  // namespace plov::torture
