#include "torture/modified_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <variant>
#include <vector>

#include "torture/outcome.h"

namespace plov::torture {

namespace {

// What is added, and what counts are compared as: exact up to kNumbersMax in each of these types.
constexpr std::array kTypes = {ElementType::kInt64, ElementType::kUint32, ElementType::kDouble,
                               ElementType::kFloat};
static_assert(kTypes.size() == ModifiedState::kVectors);
// Of a half; the last two are long values.
constexpr std::array<size_t, ModifiedState::kVectors> kElements = {1, 100, 5'000, 20'000};
constexpr size_t kOperandElementsMax = 1'000;

// The bytes of an element of this type that is so much.
std::string ElementOf(ElementType type, double number) {
  const auto bytes = [](auto value) {
    std::string text(sizeof(value), '\0');
    std::memcpy(text.data(), &value, sizeof(value));
    return text;
  };
  switch (type) {
    case ElementType::kInt64:
      return bytes(static_cast<int64_t>(number));
    case ElementType::kUint32:
      return bytes(static_cast<uint32_t>(number));
    case ElementType::kFloat:
      return bytes(static_cast<float>(number));
    default:
      return bytes(number);
  }
}

double NumberOf(ElementType type, const char* element) {
  const auto as = [element]<typename T>(T number) {
    std::memcpy(&number, element, sizeof(number));
    return static_cast<double>(number);
  };
  switch (type) {
    case ElementType::kInt64:
      return as(int64_t{});
    case ElementType::kUint32:
      return as(uint32_t{});
    case ElementType::kFloat:
      return as(float{});
    default:
      return as(double{});
  }
}

std::string Repeated(const std::string& element, size_t count) {
  std::string all;
  all.reserve(count * element.size());
  for (size_t i = 0; i < count; ++i) all += element;
  return all;
}

}  // namespace

ElementType ModifiedVectors::TypeOf(size_t index) { return kTypes[index]; }

size_t ModifiedVectors::HalfOf(size_t index) const {
  const size_t bytes = (value_bytes_max_ - std::min(value_bytes_max_, kVectorHeadBytes)) / 2;
  return std::clamp(bytes / ElementBytes(TypeOf(index)), size_t{1}, kElements[index]);
}

// An update that is refused is known not to be there only once that is known.
ModifiedVectors::Bounds ModifiedVectors::BoundsOf(size_t index, size_t half) const {
  const ModifiedItem& item = (*vectors_)[index].halves[half];
  return {item.told.load(std::memory_order_seq_cst), item.refused};
}

ModifiedVectors::Wrong ModifiedVectors::Check(size_t index, size_t half, const Bounds& bounds,
                                              double element) {
  ++judged_;
  const uint64_t most = (*vectors_)[index].halves[half].begun - bounds.refused;
  if (element >= static_cast<double>(bounds.told) && element <= static_cast<double>(most)) {
    return std::nullopt;
  }
  return fmt::format(
      "the elements of half {} of a vector were {}: {} updates were told before, and {} can have "
      "been "
      "applied",
      half, element, bounds.told, most);
}

ModifiedVectors::Wrong ModifiedVectors::CheckHalf(size_t index, size_t half, const Bounds& bounds,
                                                  std::string_view elements) {
  const size_t element_bytes = ElementBytes(TypeOf(index));
  const std::string_view first = elements.substr(0, element_bytes);
  for (size_t at = 0; at < elements.size(); at += element_bytes) {
    if (elements.substr(at, element_bytes) == first) continue;
    return fmt::format("half {} of a vector had {} at 0 and {} at {}", half,
                       NumberOf(TypeOf(index), first.data()),
                       NumberOf(TypeOf(index), &elements[at]), at / element_bytes);
  }
  return Check(index, half, bounds, NumberOf(TypeOf(index), first.data()));
}

ModifiedVectors::Wrong ModifiedVectors::Update(Client* client, size_t index, std::string_view key) {
  ModifiedVector& vector = (*vectors_)[index];
  const size_t half = HalfOf(index);
  const size_t which = random_->Below(3);  // the first one, the second one, or both
  const size_t first = which == 1 ? 1 : 0, end = which == 0 ? 1 : 2;
  const std::string one = ElementOf(TypeOf(index), 1);
  const size_t count = (end - first) * half;
  const bool each = count <= kOperandElementsMax && random_->Below(4) == 0;
  const std::string operand = each ? Repeated(one, count) : one;
  const auto note = [&](std::atomic<uint64_t> ModifiedItem::*counter) {
    uint64_t greatest = 0;
    for (size_t i = first; i < end; ++i) {
      greatest = std::max<uint64_t>(greatest, ++(vector.halves[i].*counter));
    }
    return greatest;
  };
  if (note(&ModifiedItem::begun) >= ModifiedCounter::kNumbersMax) return std::nullopt;  // used up
  const auto updated =
      client->UpdateVector(key, VectorFunction::kAdd, VectorOperand(TypeOf(index), operand),
                           {.slice = {first * half, count}});
  if (updated) {
    note(&ModifiedItem::told);
    ++judged_;
    return std::nullopt;
  }
  const Code code = updated.error().code;
  if (OutcomeOf(code) != Outcome::kUnknown) note(&ModifiedItem::refused);
  if (code == Code::kNotFound) {  // whoever is the first
    const std::string zeros = Repeated(ElementOf(TypeOf(index), 0), 2 * half);
    client->Put(key, VectorValue(TypeOf(index), zeros), {.mode = PutMode::kAdd});
  } else if (code == Code::kWrongType || code == Code::kOutOfRange) {
    return "an update of a vector ended with " + updated.error().message;
  }
  return std::nullopt;
}

ModifiedVectors::Wrong ModifiedVectors::Get(Client* client, size_t index, std::string_view key) {
  std::array<Bounds, 2> bounds = {BoundsOf(index, 0), BoundsOf(index, 1)};
  const auto got = client->Get(key);
  if (!got) return std::nullopt;
  if (may_be_old_) bounds[0].told = bounds[1].told = 0;
  const size_t half = HalfOf(index);
  const size_t half_bytes = half * ElementBytes(TypeOf(index));
  if (!*got) {
    auto wrong = Check(index, 0, bounds[0], 0);
    return wrong ? wrong : Check(index, 1, bounds[1], 0);
  }
  const auto view = VectorView::Of((*got)->value);
  if (!view || view->type() != TypeOf(index) || view->size() != 2 * half) {
    return fmt::format("a vector was a value of {} bytes of another kind", (*got)->value.size());
  }
  auto wrong = CheckHalf(index, 0, bounds[0], view->bytes().substr(0, half_bytes));
  return wrong ? wrong : CheckHalf(index, 1, bounds[1], view->bytes().substr(half_bytes));
}

ModifiedVectors::Wrong ModifiedVectors::Reduce(Client* client, size_t index, std::string_view key) {
  const size_t half = random_->Below(2);
  const Bounds bounds = BoundsOf(index, half);
  const auto function =
      static_cast<VectorFunction>(static_cast<uint64_t>(VectorFunction::kAdd) + random_->Below(3));
  const size_t count = HalfOf(index);
  const auto reduced = client->ReduceVector(key, function, {half * count, count});
  if (!reduced && reduced.error().code == Code::kNotFound) return Check(index, half, bounds, 0);
  if (!reduced) return std::nullopt;
  if (reduced->type != TypeOf(index) || reduced->count != count) {
    return fmt::format("{} elements of a vector were reduced instead of {}", reduced->count, count);
  }
  const double all =
      std::visit([](auto value) { return static_cast<double>(value); }, reduced->value);
  const bool is_sum = function == VectorFunction::kAdd;
  return Check(index, half, bounds, is_sum ? all / static_cast<double>(count) : all);
}

// Of each half all elements are found or none.
ModifiedVectors::Wrong ModifiedVectors::Filter(Client* client, size_t index, std::string_view key) {
  const std::array<Bounds, 2> bounds = {BoundsOf(index, 0), BoundsOf(index, 1)};
  const auto least = static_cast<double>(bounds[0].told + random_->Below(3));
  const std::string operand = ElementOf(TypeOf(index), least);
  const auto filtered =
      client->FilterVector(key, Comparison::kGreaterOrEqual, VectorOperand(TypeOf(index), operand));
  if (!filtered) return std::nullopt;
  const size_t half = HalfOf(index), element_bytes = ElementBytes(TypeOf(index));
  const std::vector<uint32_t>& indexes = filtered->indexes;
  const auto middle = static_cast<size_t>(
      std::ranges::lower_bound(indexes, static_cast<uint32_t>(half)) - indexes.begin());
  const std::string_view bytes = filtered->bytes;
  const std::array<std::string_view, 2> found = {bytes.substr(0, middle * element_bytes),
                                                 bytes.substr(middle * element_bytes)};
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;
    if (found[i].size() != half * element_bytes) {
      return fmt::format("{} elements of half {} of a vector were at least {}, and others not",
                         found[i].size() / element_bytes, i, least);
    }
    if (auto wrong = CheckHalf(index, i, bounds[i], found[i])) return wrong;
  }
  return std::nullopt;
}

}  // namespace plov::torture
