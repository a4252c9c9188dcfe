// ConfigurationRegister: the configuration of one shard with its coordinator, as a register that is only ever
// compared and set, epoch after epoch.
//
// A proposal is the next epoch. It is made on what the proposer has read, at that revision: the coordinator takes
// one proposal on each, or none. When the reply to it is lost the proposal is unknown, and to read the register is
// not enough: it may be accepted after it was read. So it is *killed*: the value that it was based on is written
// again, as it was, at the revision it was based on.
//  - That is accepted: the revision has moved on, the proposal can never be accepted any more.
//  - That is refused: the revision has moved on before, by whichever write. So the proposal was accepted, or can
//    never be any more, and what is read since tells which.
// A kill whose reply is lost, too, is repeated. It writes the id of the proposal that made its epoch again, not one
// of its own: another proposer may kill upon a proposal that was accepted, whose own proposer then still finds it.
//
// What is read may be old. A write that was refused says that the revision is greater than the one it had, so an
// answer that is no greater is read again.
//
// Source: PacificA, Microsoft Research MSR-TR-2008-25, section 2.3: configurations by compare and set.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "cluster/configuration.h"
#include "cluster/coordinator.h"

namespace plov::cluster {

// What the register held, and the revision to propose upon.
struct Held {
  Shard shard;
  Revision revision = 0;
  std::string data;  // as it was read: fields of a later release stay when it is written again
};

enum class Verdict : uint8_t {
  kAccepted,  // it holds the proposal, or did when this was found out
  kRefused,   // the proposal was not accepted and never will be
  kPassed,  // a later epoch is held: the proposal may have been accepted before, and can never be held again
  kOpen,  // not known yet, for want of a connection: Settle
};

struct Outcome {
  Verdict verdict;
  std::optional<Held>
      held;  // what is known to be held since; nothing where it could not be read, and while open
  std::string why;  // of a verdict that is not kAccepted, or of `held` that is missing
};

// Threads: one at a time.
class ConfigurationRegister {
 public:
  // coordinator: outlives this. number: of the shard.
  ConfigurationRegister(Coordinator* coordinator, uint32_t number, uint64_t cluster_id);

  const std::string& path() const { return path_; }

  // The first configuration: epoch, ids and cluster are filled in here. kExists: another one is there; kUnknown: call
  // it again.
  std::expected<Held, Error> Create(Shard shard);

  // What it holds, or has held: an old answer is right for a hint, and a proposal upon it is refused. Never an epoch
  // before one that this has read. Errors: as Coordinator::Get, and kProtocol: of another cluster, or older than
  // what was read.
  std::expected<Held, Error> Read();

  // Proposes `next` upon `base`, as the epoch after it; epoch, ids and cluster are filled in here. Not while a proposal
  // is open. One that makes no sense (configuration.h) is refused.
  Outcome Propose(const Held& base, Shard next);

  // Goes on with a proposal that is open, until it is known what became of it or the connection is lost again.
  Outcome Settle();

  bool is_open() const { return open_.has_value(); }

 private:
  struct Open {
    Held base;
    uint64_t proposal;
  };

  // Of a write that was refused: what is held now, where that can be read.
  Outcome Refused(Revision revision, std::string why);
  // Of a kill that was refused: what has become of the proposal, by what is held now.
  Outcome Compare();
  Outcome Closed(Outcome outcome);
  Outcome StillOpen(const Error& error) const;
  // What is held at a revision greater than `revision`.
  std::expected<Held, Error> ReadAbove(Revision revision);
  std::expected<Held, Error> Decoded(const Value& value) const;

  Coordinator* coordinator_;
  std::string path_;
  uint64_t cluster_id_;
  uint64_t epoch_ = 0;  // the greatest that was read or accepted here
  std::optional<Open> open_;
};

}  // namespace plov::cluster
