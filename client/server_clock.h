// Server clock: the server's Unix time as this client knows it, with its error.
//
// It is learned by exchange: a reply carries the server's time at some instant between the sending
// of the request and the arrival of the reply. From then on the error grows by what two hosts'
// clocks may differ in rate. Nothing of this host's clocks but their rate is used, so other hosts,
// time namespaces and steps of the real-time clock do not matter. Rule R7 of plov(7).
#pragma once

#include <cstdint>

namespace plov {

// This host's clock for it, in microseconds: monotonic, suspended time included.
uint64_t BootUs();

class ServerClock {
 public:
  // What the server's clock may show, first to last.
  struct Bounds {
    uint64_t earliest_us;
    uint64_t latest_us;
  };

  // Two hosts' clocks differ in rate by at most this: NTP slews by half of it, and a quartz drifts
  // by a tenth.
  static constexpr uint64_t kRateErrorPpm = 1000;
  // An older exchange is worth another one: its error has grown by 10 ms.
  static constexpr uint64_t kAgeUsMax = 10'000'000;

  // An exchange: times of this host around it, and the server's within it. The better of the two
  // that are known then stays.
  void Sample(uint64_t sent_us, uint64_t received_us, uint64_t server_us) {
    const Exchange fresh{sent_us, received_us, server_us};
    if (!known_ || Width(fresh, received_us) <= Width(last_, received_us)) last_ = fresh;
    known_ = true;
  }

  bool known() const { return known_; }
  bool IsOld(uint64_t now_us) const { return now_us - last_.received_us > kAgeUsMax; }

  // Needs an exchange; `now_us` may be before it.
  Bounds At(uint64_t now_us) const {
    const uint64_t drift_us = Drift(last_, now_us);
    return {last_.server_us + (now_us - last_.received_us) - drift_us,
            last_.server_us + (now_us - last_.sent_us) + drift_us};
  }

 private:
  struct Exchange {
    uint64_t sent_us = 0;
    uint64_t received_us = 0;
    uint64_t server_us = 0;
  };

  // Rounded up: half a microsecond is not none. Each clock shows its time rounded down, so a span of it is up to one
  // microsecond off.
  static constexpr uint64_t kRoundingUs = 1 + 2;
  static uint64_t Drift(const Exchange& exchange, uint64_t now_us) {
    const uint64_t age_us =
        now_us > exchange.sent_us ? now_us - exchange.sent_us : exchange.received_us - now_us;
    return age_us * kRateErrorPpm / 1'000'000 + kRoundingUs;
  }
  static uint64_t Width(const Exchange& exchange, uint64_t now_us) {
    return exchange.received_us - exchange.sent_us + 2 * Drift(exchange, now_us);
  }

  Exchange last_;
  bool known_ = false;
};

}  // namespace plov
