#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/options.h"
#include "client/cli/rates.h"
#include "client/cli/screen.h"
#include "client/cli/server_process.h"
#include "client/cli/top_json.h"
#include "client/cli/top_view.h"

namespace plov::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr seconds kWindow{5};
// A server that stands still is not called so before; one that is idle, before it would have heard of GETs.
constexpr seconds kStoppedAfter{2};
constexpr seconds kStillAfter = History::kReportsEvery;
// A restart is told for so long.
constexpr seconds kRestartShown{30};
// Keys wait while a server is looked for.
constexpr seconds kLookMax{1};

double SecondsSince(Clock::time_point at) {
  return std::chrono::duration<double>(Clock::now() - at).count();
}

class LiveView {
 public:
  LiveView(const Options& options, Client client, Screen* screen)
      : options_(options),
        client_(std::move(client)),
        screen_(screen),
        history_(std::max<microseconds>(kWindow, options.interval)) {}

  Outcome Run() {
    for (uint64_t shown = 0; shown < options_.count.value_or(UINT64_MAX); ++shown) {
      const auto next = Clock::now() + options_.interval;
      if (!is_paused_) Look();
      if (history_.empty()) return std::unexpected(lost_);
      if (auto drawn = Draw(); !drawn) return drawn;
      if (shown + 1 == options_.count) break;
      const auto goes_on = AwaitNext(next);
      if (!goes_on || !*goes_on) return goes_on ? Outcome{} : std::unexpected(goes_on.error());
    }
    return {};
  }

 private:
  // A client looks for its server by itself, but only for as long as a call may take.
  void Look() {
    std::expected<std::vector<std::string>, Error> texts =
        client_ ? client_->ServerStats(Freshness::kAsFound) : std::unexpected(lost_);
    if (!texts) {
      client_ = std::nullopt;
      if (auto client = ConnectAsAdministrator(options_)) {
        texts = client->ServerStats(Freshness::kAsFound);
        client_ = std::move(*client);
      } else {
        texts = std::unexpected(client.error());
      }
    }
    if (!texts) {
      lost_ = texts.error();
      if (!lost_at_) lost_at_ = Clock::now();
      return;
    }
    lost_at_ = std::nullopt;
    if (history_.Add(Sample::Of(*texts))) restarted_at_ = Clock::now();
  }

  // Whether its process stands still, where this host shows it.
  bool IsStopped() const {
    const auto process = ProcessOf(options_.server, history_.last().shards.front().text);
    return process && process->is_stopped;
  }

  TopView View() const {
    TopView view{.server = options_.server,
                 .sample = &history_.last(),
                 .rates = history_.rates(),
                 .order = order_,
                 .is_paused = is_paused_};
    if (lost_at_) {
      view.standing = Standing::kGone;
      view.standing_seconds = SecondsSince(*lost_at_);
      view.error = lost_.message;
    } else if (history_.still() >= kStoppedAfter) {
      view.standing = IsStopped()                      ? Standing::kStopped
                      : history_.still() < kStillAfter ? Standing::kServes
                                                       : Standing::kStill;
      view.standing_seconds = std::chrono::duration<double>(history_.still()).count();
    }
    if (restarted_at_ && Clock::now() - *restarted_at_ < kRestartShown) {
      view.restarted_seconds = SecondsSince(*restarted_at_);
    }
    return view;
  }

  Outcome Draw() {
    const TopView view = View();
    if (options_.json) return screen_->Write(program::LineOf(TopJson(view)));
    const std::vector<TopLine> lines = LinesOf(view);
    if (!screen_->is_terminal()) return screen_->Write(PlainText(lines) + "\n");
    return screen_->Write(ScreenText(lines, screen_->size(), screen_->has_colors()));
  }

  // False: it is to end.
  std::expected<bool, Error> AwaitNext(Clock::time_point next) {
    while (true) {
      switch (screen_->Await(next)) {
        case Screen::Event::kTime:
          return true;
        case Screen::Event::kEnd:
          return false;
        case Screen::Event::kKey:
          if (screen_->key() == 'q') return false;
          OnKey(screen_->key());
          break;
        case Screen::Event::kResized:
          break;
      }
      if (auto drawn = Draw(); !drawn) return std::unexpected(drawn.error());
    }
  }

  void OnKey(char key) {
    if (key == 'p') is_paused_ = !is_paused_;
    if (key == 's') {
      order_ = order_ == ShardOrder::kNumber ? ShardOrder::kCpu : ShardOrder::kNumber;
    }
  }

  const Options& options_;
  std::optional<Client> client_;
  Screen* screen_;
  History history_;
  Error lost_{};  // why the server cannot be seen, since then
  std::optional<Clock::time_point> lost_at_;
  std::optional<Clock::time_point> restarted_at_;
  ShardOrder order_ = ShardOrder::kNumber;
  bool is_paused_ = false;
};

}  // namespace

Outcome Top(const Options& given, program::Output*) {
  Options options = given;
  options.timeout = std::min<microseconds>(options.timeout, kLookMax);
  auto client = ConnectAsAdministrator(options);
  if (!client) return std::unexpected(client.error());
  options.wait = {};  // from here on it is looked for at each interval
  std::expected<std::unique_ptr<Screen>, Error> screen = Screen::Plain();
  if (!options.json) screen = Screen::Open();
  if (!screen) return std::unexpected(screen.error());
  return LiveView(options, std::move(*client), screen->get()).Run();
}

}  // namespace plov::cli
