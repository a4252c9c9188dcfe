#include "bench/load/items.h"

#include <algorithm>
#include <cstring>

namespace plov::bench {

// 40 bits as eight digits of five; what the key is longer by is the same in all keys.
void Items::FillKey(uint64_t number, std::string* key) const {
  constexpr uint64_t kDigitBits = 5;
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
  static_assert(kDigits.size() == 1 << kDigitBits);
  key->assign(shape_.key_bytes, 'k');
  for (size_t at = key->size(); at > key->size() - kKeyBytesMin; number >>= kDigitBits) {
    (*key)[--at] = kDigits[number & (kDigits.size() - 1)];
  }
}

void FillRepeated(std::string_view key, uint32_t value_bytes, std::string* value) {
  value->resize(value_bytes);
  for (size_t at = 0; at < value->size(); at += key.size()) {
    key.copy(value->data() + at, value->size() - at);
  }
}

// Every key's worth of bytes is the one before it, so two comparisons say it all.
bool IsRepeated(std::string_view key, std::string_view value) {
  const size_t first = std::min(key.size(), value.size());
  return value.substr(0, first) == key.substr(0, first) &&
         value.substr(first) == value.substr(0, value.size() - first);
}

void Items::FillValue(uint64_t number, std::string_view key, std::string* value) const {
  if (!shape_.are_numbers) return FillRepeated(key, ValueBytes(number), value);
  // As long as its numbers stay for a while.
  value->assign(ValueBytes(number), '0');
  value->front() = '1';
}

bool Items::IsValue(uint64_t number, std::string_view key, std::string_view value) const {
  if (shape_.are_numbers) {
    return std::ranges::all_of(value, [](char digit) { return digit >= '0' && digit <= '9'; });
  }
  return value.size() == ValueBytes(number) && IsRepeated(key, value);
}

}  // namespace plov::bench
