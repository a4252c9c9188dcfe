#include "server/modification.h"

#include <algorithm>
#include <array>

#include "server/vector_scan.h"
#include "verify/number.h"
#include "verify/record.h"

namespace plov::server {

using verify::Operation;
using verify::Request;

namespace {

// A longer value is made in slices, of such parts.
constexpr size_t kMadeAtOnce = verify::kShortValueMax;
constexpr size_t kPartBytes = size_t{16} << 10;

}  // namespace

std::optional<WriteReply> Modification::Make(const Request& request, Store* store,
                                             uint64_t now_us) {
  const auto hit = store->Current(request.key, now_us, Store::kVerifiedAtOnce);
  if (!hit && hit.error() != Code::kNotFound) return WriteReply{hit.error(), 0};
  const bool needs_item = request.conditional || !request.creates;
  if (!hit && needs_item) return WriteReply{Code::kNotFound, 0};
  if (hit && request.conditional && hit->item.version() != request.expected_version) {
    return WriteReply{Code::kVersionMismatch, hit->item.version()};
  }
  store_ = store;
  put_ = {.operation = hit ? Operation::kPut : Operation::kAdd,
          .conditional = hit.has_value(),
          .flags = request.flags,
          .ttl_seconds = request.ttl_seconds,
          .expiry = request.expiry,
          .sequence = request.sequence,
          .expected_version = hit ? hit->item.version() : 0,
          .key = request.key};
  if (hit && !request.compares) {
    put_.flags = hit->item.flags();
    if (request.operation != Operation::kTouch) {
      put_.ttl_seconds = 0;
      put_.expiry = hit->item.expiry();
    }
  }
  auto refusal = MakeOf(request, hit ? &*hit : nullptr);
  if (refusal) Reset();
  return refusal;
}

std::optional<WriteReply> Modification::MakeOf(const Request& request, const Store::Hit* hit) {
  if (request.rendezvous) return WriteReply{Code::kTooLarge, 0};
  switch (request.operation) {
    case Operation::kPut:
      return Compare(request, *hit);
    case Operation::kIncrement:
      return Increment(request, hit);
    case Operation::kAppend:
      return Join({}, hit, request.value);
    case Operation::kPrepend:
      return Join(request.value, hit, {});
    case Operation::kUpdate:
      return Update(request, *hit);
    default:
      return Join({}, hit, {});
  }
}

std::optional<WriteReply> Modification::Compare(const Request& request, const Store::Hit& hit) {
  const bool is_equal = hit.item.value_bytes() == request.expected_value.size() &&
                        hit.item.value() == request.expected_value;
  if (!is_equal) return WriteReply{Code::kVersionMismatch, hit.item.version()};
  put_.value = request.value;
  return std::nullopt;
}

std::optional<WriteReply> Modification::Increment(const Request& request, const Store::Hit* hit) {
  const auto change = verify::DecodeNumberChange(request.value);
  if (!change) return WriteReply{Code::kProtocol, 0};
  std::optional<std::string> text;
  // Spaces are behind some.
  if (hit != nullptr && hit->item.value_bytes() > 2 * verify::kNumberTextMax) {
    return WriteReply{Code::kNotANumber, 0};
  }
  if (hit != nullptr) text = hit->item.value();
  const auto number = verify::ChangeNumber(*change, text);
  if (!number) return WriteReply{number.error(), 0};
  number_ = *number;
  value_ = verify::NumberText(*number, change->mode);
  put_.value = value_;
  return std::nullopt;
}

std::optional<WriteReply> Modification::Join(std::string_view before, const Store::Hit* hit,
                                             std::string_view after) {
  const size_t base_bytes = hit != nullptr ? hit->item.value_bytes() : 0;
  const size_t bytes = before.size() + base_bytes + after.size();
  if (bytes > store_->value_bytes_max()) return WriteReply{Code::kTooLarge, 0};
  if (bytes > kMadeAtOnce && base_bytes > 0) {
    put_.rendezvous = true;
    put_.value_bytes = static_cast<uint32_t>(bytes);
    before_ = before;
    after_ = after;
    base_ = *hit;
    is_verified_ = hit->record_bytes <= Store::kVerifiedAtOnce;
    store_->Hold(hit->record_offset, hit->record_bytes);
    return std::nullopt;
  }
  value_ = before;
  if (hit != nullptr) value_ += hit->item.value();
  value_ += after;
  put_.value = value_;
  return std::nullopt;
}

std::optional<WriteReply> Modification::Update(const Request& request, const Store::Hit& hit) {
  const auto call = verify::DecodeVectorCall(request.value);
  if (!call || !verify::IsVectorFunction(call->function)) return WriteReply{Code::kProtocol, 0};
  const auto function = static_cast<verify::VectorFunction>(call->function);
  const auto type = VectorScan::TypeOf(hit.item);
  const bool fits = type && static_cast<uint8_t>(*type) == call->type;
  if (!fits || !verify::Applies(function, *type)) return WriteReply{Code::kWrongType, 0};
  const size_t element_bytes = verify::ElementBytes(*type);
  const std::string_view operand = request.value.substr(verify::kVectorCallBytes);
  const auto end =
      call->slice.EndOf((hit.item.value_bytes() - verify::kVectorHeadBytes) / element_bytes);
  if (!end) return WriteReply{Code::kOutOfRange, verify::kBeyondEnd};
  const size_t slice_bytes = (*end - call->slice.first) * element_bytes;
  if (operand.size() != element_bytes && operand.size() != slice_bytes) {
    return WriteReply{Code::kProtocol, 0};
  }
  const size_t from = verify::kVectorHeadBytes + call->slice.first * element_bytes;
  update_ = {function, *type, from, from + slice_bytes, operand};
  auto refusal = Join({}, &hit, {});
  if (!refusal && !is_long()) UpdatePart(0, value_);
  return refusal;
}

// Parts begin and end where elements do.
void Modification::UpdatePart(size_t from, std::span<char> part) const {
  if (!update_) return;
  const size_t first = std::max(from, update_->from);
  const size_t end = std::min(from + part.size(), update_->end);
  if (first >= end) return;
  const size_t element_bytes = verify::ElementBytes(update_->type);
  const bool is_scalar = update_->operand.size() == element_bytes;
  const std::string_view operand =
      is_scalar ? update_->operand : update_->operand.substr(first - update_->from, end - first);
  verify::UpdateElements(update_->function, update_->type, &part[first - from],
                         (end - first) / element_bytes, operand);
}

std::optional<Code> Modification::Verify(size_t bytes) {
  if (is_verified_) return Code::kOk;
  if (!digest_) digest_.emplace(store_->DigestOf(*base_));
  if (!digest_->Go(bytes)) return std::nullopt;
  is_verified_ = store_->IsWhole(*base_, digest_->Finish());
  return is_verified_ ? Code::kOk : Code::kCorrupt;
}

std::optional<Code> Modification::Fill(Store::Writing* writing, size_t bytes) {
  const auto verified = Verify(bytes);
  if (verified != Code::kOk) return verified;
  bytes = std::max(bytes / verify::kElementBytesMax, size_t{1}) * verify::kElementBytesMax;
  const size_t base_end = before_.size() + base_->item.value_bytes();
  std::array<char, kPartBytes> chunk;
  while (bytes > 0 && writing->settled_bytes < put_.value_bytes) {
    const size_t at = writing->settled_bytes;
    std::string_view part;
    if (at < before_.size()) {
      part = before_.substr(at);
    } else if (at >= base_end) {
      part = after_.substr(at - base_end);
    } else {
      const size_t part_bytes = std::min({base_end - at, bytes, chunk.size()});
      part = base_->item.CopyPart(at - before_.size(), part_bytes, chunk.data());
      UpdatePart(at, {chunk.data(), part_bytes});
    }
    part = part.substr(0, bytes);
    store_->Fill(writing, part);
    bytes -= part.size();
  }
  return writing->settled_bytes == put_.value_bytes ? std::optional(Code::kOk) : std::nullopt;
}

bool Modification::IsOvertaken(const WriteReply& reply) const {
  if (put_.operation == Operation::kAdd) return reply.status == Code::kExists;
  return reply.status == Code::kVersionMismatch || reply.status == Code::kNotFound;
}

void Modification::Reset() {
  if (base_) store_->Release(base_->record_offset);
  base_.reset();
  update_.reset();
  digest_.reset();
  number_.reset();
  put_ = {};
  store_ = nullptr;
  is_verified_ = false;
}

}  // namespace plov::server
