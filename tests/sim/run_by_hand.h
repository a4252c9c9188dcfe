// A run made by hand: one server and one client on the simulated network, and a test that says what
// happens when.
#pragma once

#include <functional>
#include <utility>

#include "tests/sim/fiber.h"
#include "tests/sim/server_process.h"

namespace plov::sim {

struct RunByHand {
  // The server serves from the first step on; `client` runs in a fiber, and ends before this does.
  RunByHand(const Scenario& what, const HostClock& server_clock, std::function<void()> client)
      : scenario(what), server(scenario, &network, 0, server_clock, ""), fiber(std::move(client)) {
    server.Begin({.value_bytes_max = 64, .bucket_count = scenario.bucket_count}).value();
    server.Listen();
  }

  // A READ's piece, a turn of the server unless it is stopped, a turn of the client, and a
  // microsecond.
  void Step() {
    if (network.flights() > 0) network.Deliver(0);
    if (!is_stopped) server.Turn();
    fiber.Resume();
    host.Pass(1);
  }

  VirtualHost host{1};
  Random random{1};
  Scenario scenario;
  Network network{&host, &random, scenario.network};
  ServerProcess server;
  bool is_stopped = false;  // the server answers nothing
  Fiber fiber;
};

}  // namespace plov::sim
