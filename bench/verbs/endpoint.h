// Endpoint: one side's memory, completion queues and queue pairs for one run.
//
//   inbox    one slot for each message in flight: what the peer SENDs or WRITEs, what is READ
//   outbox   likewise: what this side sends, what the peer READs
//   slot     40 bytes that a UD SEND fills with the packet's global routing header, the message,
//            and padding to whole cache lines
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "bench/verbs/measure.h"
#include "bench/verbs/send_queue.h"
#include "fabric/verbs/cm.h"
#include "fabric/verbs/memory.h"
#include "verify/words.h"

namespace plov::bench {

using Context = std::unique_ptr<ibv_context, fabric::verbs::FreeBy<ibv_close_device>>;

// An RDMA device's active port, and which of its GIDs its packets carry.
struct Device {
  Context context;
  std::string name;
  uint8_t port = 0;
  uint8_t gid_index = 0;
  ibv_gid gid{};
  uint16_t lid = 0;
  bool is_ethernet = false;  // RoCE: paths are told by GIDs
  ibv_mtu mtu = IBV_MTU_256;

  uint32_t mtu_bytes() const { return uint32_t{128} << mtu; }  // IBV_MTU_256 is 1

  // The one that is wanted, else the first with an active port. kUnavailable.
  static std::expected<Device, Error> Open(const WantedDevice& wanted);
};

// What the peer has to know of an endpoint. Little-endian, as it is in memory.
struct Introduction {
  uint64_t address = 0;  // of its registered memory
  uint32_t rkey = 0;
  uint32_t qp_number = 0;
  uint32_t ud_qp_number = 0;
  uint32_t packet_number = 0;
  uint32_t lid = 0;
  uint32_t mtu = 0;  // an ibv_mtu
  uint8_t gid[16] = {};
};
static_assert(sizeof(Introduction) == 48);

enum class Side { kClient, kServer };

class Endpoint {
 public:
  // kInvalidArgument where the device has no such queue pairs, or the message is too large for one.
  static std::expected<Endpoint, Error> Create(const Device& device, const Run& run, Side side);

  Introduction introduction() const;
  std::expected<void, Error> Connect(const Introduction& peer);

  // Words of a slot's message.
  uint64_t* inbox(uint64_t slot) const { return words(InboxAt(slot)); }
  uint64_t* outbox(uint64_t slot) const { return words(OutboxAt(slot)); }
  size_t word_count() const { return bytes_ / verify::kWordBytes; }

  // Receives the next message into a slot's inbox; `empty`: only the completion of a WRITE with
  // immediate data is wanted.
  enum class Into { kSlot, kNothing };
  std::expected<void, Error> PostReceive(uint64_t slot, Into into);
  // The slot of the next receive that has completed.
  std::expected<std::optional<uint64_t>, Error> PollReceive();

  // Adds a work request to the next batch: from the outbox to the peer's inbox, nothing where the peer
  // READs what it wants; or from the peer's outbox to the inbox.
  std::expected<void, Error> Send(By by, uint64_t slot);
  std::expected<void, Error> Read(uint64_t slot, uint64_t tag);
  std::expected<void, Error> Flush();
  // Appends the tags of READs that have completed.
  std::expected<void, Error> PollSends(std::vector<uint64_t>* tags);

 private:
  Endpoint(const Device& device, const Run& run, Side side);
  std::expected<void, Error> Make();
  std::expected<QueuePair, Error> MakeQp(ibv_qp_type type);
  ibv_ah_attr PathToPeer() const;
  uint64_t InboxAt(uint64_t slot) const { return slot * stride_ + kHeadBytes; }
  uint64_t OutboxAt(uint64_t slot) const { return (window_ + slot) * stride_ + kHeadBytes; }
  uint64_t* words(uint64_t at) const { return verify::WordsAt(pages_.bytes().data(), at); }
  ibv_sge Memory(uint64_t at) const;
  ibv_send_wr Request(ibv_wr_opcode opcode) const;

  static constexpr uint64_t kHeadBytes = 40;  // sizeof(ibv_grh)

  const Device* device_;
  const Combination* combination_;
  Side side_;
  uint32_t bytes_;
  uint64_t window_;
  uint64_t stride_;
  uint32_t depth_;
  uint32_t inline_bytes_ = 0;
  uint32_t packet_number_;

  // Destroyed in reverse.
  fabric::verbs::Pd pd_;
  fabric::verbs::Cq send_cq_;
  fabric::verbs::Cq ud_send_cq_;
  fabric::verbs::Cq receive_cq_;
  fabric::verbs::RegisteredPages pages_;
  std::unique_ptr<ibv_ah, fabric::verbs::FreeBy<ibv_destroy_ah>> ud_path_;
  QueuePair qp_;
  QueuePair ud_;
  std::optional<SendQueue> sends_;
  std::optional<SendQueue> ud_sends_;
  Introduction peer_;
};

}  // namespace plov::bench
