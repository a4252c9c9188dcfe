// Fields: takes a JSON object apart that somebody else wrote, and remembers what was wrong first.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace plov::cluster {

using Json = nlohmann::ordered_json;

// 16 hex digits.
std::string IdText(uint64_t id);

class Fields {
 public:
  // object: anything; what is no object has no fields. within: what stands before the names of its fields in
  // `wrong`, which keeps the first thing that is wrong. Both outlive this.
  Fields(const Json& object, std::string within, std::string* wrong)
      : object_(object), within_(std::move(within)), wrong_(wrong) {}

  // Of an element of an array of its own; `within`: which.
  Fields Of(const Json& element, const std::string& within) const {
    return {element, within_ + within + ".", wrong_};
  }

  bool Has(const char* name) const { return object_.is_object() && object_.contains(name); }
  // Zero and nothing where something is wrong.
  uint64_t Number(const char* name, uint64_t min, uint64_t max);
  uint32_t Number32(const char* name, uint32_t min, uint32_t max);
  std::chrono::milliseconds Milliseconds(const char* name, uint32_t min, uint32_t max);
  uint64_t Id(const char* name);       // 16 hex digits, not all 0
  uint64_t Hex(const char* name);      // the same, may be 0
  std::string Name(const char* name);  // IsName
  std::string NameOrNothing(const char* name);
  std::vector<std::string> Texts(const char* name, size_t count_max,
                                 size_t bytes_max);  // 1 at least
  const Json& Array(const char* name, size_t min, size_t max);

  void Wrong(const std::string& name, const std::string& text);

 private:
  const Json& Find(const char* name);

  const Json& object_;
  std::string within_;
  std::string* wrong_;
};

}  // namespace plov::cluster
