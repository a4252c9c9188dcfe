#include "server/vector_scan.h"

#include <algorithm>
#include <array>
#include <bit>

#include "verify/record.h"

namespace plov::server {

using verify::Comparison;
using verify::Operation;
using verify::Request;
using verify::VectorFunction;

namespace {

// What is unmasked at once.
constexpr size_t kScannedBytes = size_t{16} << 10;

}  // namespace

std::optional<verify::ElementType> VectorScan::TypeOf(const verify::MaskedItem& item) {
  if (item.value_bytes() < verify::kVectorHeadBytes) return std::nullopt;
  std::array<char, verify::kVectorHeadBytes> head;
  return verify::VectorTypeOf(item.CopyPart(0, head.size(), head.data()), item.value_bytes());
}

std::optional<WriteReply> VectorScan::Open(const Request& request, size_t room, Store* store,
                                           uint64_t now_us) {
  const auto hit = store->Get(request.key, now_us, Store::kVerifiedAtOnce);
  if (!hit) return WriteReply{hit.error(), 0};
  if (request.conditional && hit->item.version() != request.expected_version) {
    return WriteReply{Code::kVersionMismatch, hit->item.version()};
  }
  if (!request.conditional) store->OnScan(request.key);
  hit_ = *hit;
  store_ = store;
  is_verified_ = hit->record_bytes <= Store::kVerifiedAtOnce || request.conditional;
  auto refusal = OpenIn(request, room);
  if (refusal) {
    Reset();
  } else if (hit->record_bytes > 0) {
    store_->Hold(hit_.record_offset, hit_.record_bytes);
    is_held_ = true;
  }
  return refusal;
}

std::optional<WriteReply> VectorScan::OpenIn(const Request& request, size_t room) {
  // A result, or one match: so who goes on gets on.
  constexpr size_t kLeast =
      verify::ReplyBytes(verify::kVectorAnswerBytes + sizeof(uint32_t) + verify::kElementBytesMax);
  if (room < kLeast) return WriteReply{Code::kTooLarge, 0};
  const auto call = verify::DecodeVectorCall(request.value);
  if (!call) return WriteReply{Code::kProtocol, 0};
  const auto type = TypeOf(hit_.item);
  if (!type) return WriteReply{Code::kWrongType, 0};
  type_ = *type;
  const size_t element_bytes = verify::ElementBytes(type_);
  const auto end =
      call->slice.EndOf((hit_.item.value_bytes() - verify::kVectorHeadBytes) / element_bytes);
  if (!end) return WriteReply{Code::kOutOfRange, verify::kBeyondEnd};
  at_ = first_ = call->slice.first;
  end_ = *end;
  value_.assign(verify::kVectorAnswerBytes, '\0');
  operand_ = request.value.substr(verify::kVectorCallBytes);
  if (request.operation == Operation::kReduce) {
    const auto function = static_cast<VectorFunction>(call->function);
    const bool reduces =
        verify::IsVectorFunction(call->function) && function != VectorFunction::kAssign;
    if (!reduces || !operand_.empty()) return WriteReply{Code::kProtocol, 0};
    if (!verify::Applies(function, type_)) return WriteReply{Code::kWrongType, 0};
    reduction_.emplace(function, type_);
    return std::nullopt;
  }
  if (static_cast<uint8_t>(type_) != call->type) return WriteReply{Code::kWrongType, 0};
  if (!verify::IsComparison(call->function) || operand_.size() != element_bytes) {
    return WriteReply{Code::kProtocol, 0};
  }
  comparison_ = static_cast<Comparison>(call->function);
  matches_bytes_max_ = room - verify::ReplyBytes(0);
  return std::nullopt;
}

// Whether it is known to be whole, or known not to be.
bool VectorScan::Verify(size_t bytes) {
  if (!digest_) digest_.emplace(store_->DigestOf(hit_));
  if (!digest_->Go(bytes)) return false;
  is_verified_ = store_->IsWhole(hit_, digest_->Finish());
  return true;
}

std::optional<Code> VectorScan::Go(size_t bytes) {
  if (!is_verified_) {
    if (!Verify(bytes)) return std::nullopt;
    return is_verified_ ? std::nullopt : std::optional(Code::kCorrupt);
  }
  const size_t element_bytes = verify::ElementBytes(type_);
  if (hit_.record_bytes <= Store::kVerifiedAtOnce) bytes = hit_.item.value_bytes();
  std::array<char, kScannedBytes> chunk;
  for (uint64_t left = std::max(bytes / element_bytes, size_t{1}); left > 0 && at_ < end_;) {
    const uint64_t count = std::min({left, end_ - at_, uint64_t{kScannedBytes / element_bytes}});
    const std::string_view part = hit_.item.CopyPart(verify::kVectorHeadBytes + at_ * element_bytes,
                                                     count * element_bytes, chunk.data());
    store_->AddWork(part.size());
    if (!Take(at_, part)) {
      Finish();
      return Code::kOk;
    }
    left -= count;
  }
  if (at_ < end_) return std::nullopt;
  Finish();
  return Code::kOk;
}

bool VectorScan::Take(uint64_t element, std::string_view part) {
  const size_t count = part.size() / verify::ElementBytes(type_);
  if (reduction_) {
    reduction_->Add(part);
    at_ += count;
    return true;
  }
  const size_t looked =
      verify::FilterElements(comparison_, type_, operand_, part, static_cast<uint32_t>(element),
                             matches_bytes_max_, &value_);
  at_ += looked;
  return looked == count;
}

// The head of the reply's value, and what is known at the end only.
void VectorScan::Finish() {
  const auto type = static_cast<uint8_t>(type_);
  const uint64_t next = at_ == end_ ? verify::VectorSlice::kToEnd : at_;
  const uint64_t count = reduction_ ? end_ - first_ : next;
  value_.replace(0, verify::kVectorAnswerBytes, verify::EncodeVectorAnswer({type, count}));
  if (!reduction_) return;
  const auto bits = std::bit_cast<std::array<char, sizeof(uint64_t)>>(reduction_->bits());
  value_.append(bits.data(), bits.size());
}

void VectorScan::Reset() {
  if (is_held_) store_->Release(hit_.record_offset);
  is_held_ = false;
  is_verified_ = false;
  digest_.reset();
  reduction_.reset();
  store_ = nullptr;
}

}  // namespace plov::server
