#include "server/batch.h"

namespace plov::server {

void Batch::GoOn(uint64_t now_us) {
  const uint64_t took_us = times.GoOn(now_us);
  if (!request || took_us < slowest.took_us) return;
  slowest = write;
  slowest.took_us = took_us;
}

verify::Cause Batch::CauseOf(Outcome outcome) const {
  using verify::Cause;
  switch (outcome) {
    case Outcome::kWaits:
      return Cause::kGrowth;
    case Outcome::kLogs:
      return Cause::kDisk;
    case Outcome::kReads:
      return Cause::kValue;
    case Outcome::kTurns:
      return Cause::kQueue;
    case Outcome::kAgain:
      break;
    default:
      return Cause::kWork;
  }
  switch (writing.room.means) {
    case RoomSearch::Means::kGrowth:
    case RoomSearch::Means::kWait:
      return Cause::kGrowth;
    case RoomSearch::Means::kExpired:
    case RoomSearch::Means::kSparse:
    case RoomSearch::Means::kHole:
    case RoomSearch::Means::kAnyDead:
      return Cause::kCleaning;
    default:
      return Cause::kQueue;
  }
}

}  // namespace plov::server
