// The shard's timeouts: records that are held for clients, and tables that clients are to leave.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "server/shard.h"

namespace plov::server {

using fabric::PeerId;

namespace {

// More GETs than a client can make between two reports: what its host's processors could do in hours.
constexpr uint64_t kReportMax = uint64_t{1} << 40;

}  // namespace

void Shard::Tick() {
  const uint64_t now_us = MonotonicUs();
  const Growth& growth = store_->growth();
  // A table that has just become history may have been left by all before.
  if (growth.draining() && growth.awaited_version() != drained_version_) ReleaseTables(now_us);
  const uint64_t tick_ms = writes_wait_ ? kWaitMs : kTickMs;
  if (now_us - ticked_at_us_ < std::min(timeouts_.hold_us, tick_ms * 1000)) return;
  ticked_at_us_ = now_us;
  if (commit_ != nullptr) commit_->Tick();
  for (Endpoint& endpoint : endpoints_) {
    for (auto& [id, peer] : endpoint.peers) gets_.Release(&peer, now_us);
  }
  if (store_->growth().draining()) ReleaseTables(now_us);
}

// Frees tables that all clients have left, and drops clients that do not leave theirs: they come
// back by themselves. While the memory is wanted they have less time.
void Shard::ReleaseTables(uint64_t now_us) {
  Growth& growth = store_->growth();
  if (drained_version_ != growth.awaited_version()) {
    drained_version_ = growth.awaited_version();
    drain_since_us_ = now_us;
  }
  uint64_t grace_us = timeouts_.grace_us;
  if (growth.hungry()) grace_us /= 10;
  if (writes_wait_) grace_us = timeouts_.grace_us / 40;
  if (now_us - drain_since_us_ >= grace_us) DropUnconfirmed();
  ReleaseConfirmed();
}

void Shard::Confirm(Peer* peer, uint64_t version) {
  confirmations_.Remove(peer->confirmed_version);
  confirmations_.Add(version);
  peer->confirmed_version = version;
}

// It is the client's word, and counts for no more than one.
void Shard::TakeReport(std::string_view report) {
  verify::GetReport told;
  if (report.size() < sizeof(told)) return;
  std::memcpy(&told, report.data(), sizeof(told));
  if (store_->evicts()) TakeHits(report.substr(sizeof(told)));
  if (std::max({told.gets, told.reads, told.torn}) > kReportMax) return;
  counters_.reported.gets += told.gets;
  counters_.reported.reads += told.reads;
  counters_.reported.torn += told.torn;
}

void Shard::TakeHits(std::string_view hits) {
  std::array<verify::HitName, verify::kHitNamesMax> names;
  const size_t count = std::min(hits.size() / sizeof(verify::HitName), names.size());
  std::memcpy(names.data(), hits.data(), count * sizeof(verify::HitName));
  store_->OnHits(std::span(names).first(count));
}

void Shard::ReleaseConfirmed() {
  if (!store_->growth().draining()) return;
  store_->growth().OnConfirmed(confirmations_.least());
}

void Shard::DropUnconfirmed() {
  for (Endpoint& endpoint : endpoints_) {
    std::vector<PeerId> late;
    for (const auto& [id, peer] : endpoint.peers) {
      if (peer.confirmed_version < drained_version_) late.push_back(id);
    }
    for (const PeerId id : late) {
      ++counters_.dropped_unconfirmed;
      endpoint.port->Close(id);
      Drop(&endpoint, id);
    }
  }
}

}  // namespace plov::server
