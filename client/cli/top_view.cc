#include "client/cli/top_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "client/cli/report.h"
#include "program/format.h"
#include "program/json.h"
#include "program/output.h"

namespace plov::cli {

namespace {

using verify::Counter;
using Style = TopLine::Style;

std::string PerSecond(double rate) {
  return program::Grouped(static_cast<uint64_t>(std::llround(rate))) + "/s";
}

// How long something is so already.
std::string Age(double age_s) {
  const double whole = std::floor(age_s);
  return whole < 60 ? fmt::format("{} s", whole) : program::Duration(whole);
}

// A time that is known by its bucket, or a cost: three digits and a unit.
std::string Time(double time_s) {
  if (time_s < 1e-3) return fmt::format("{:.3g} us", time_s * 1e6);
  return time_s < 1 ? fmt::format("{:.3g} ms", time_s * 1e3) : fmt::format("{:.3g} s", time_s);
}

std::string QuantileText(const verify::Times& times, double part) {
  const auto us = QuantileOf(times, part);
  if (!us) return "-";
  if (*us == UINT64_MAX) return "over 67 s";
  return "under " + Time(static_cast<double>(*us) / 1e6);
}

std::string Ratio(double part, double all) {
  return all > 0 ? fmt::format("{:.2f}", part / all) : "-";
}

std::string TextOf(const Sample& sample, std::string_view name) {
  return Printable(verify::TextValue(sample.shards.front().text, name));
}

class Lines {
 public:
  explicit Lines(const TopView& view) : view_(view), total_(view.sample->total) {}

  std::vector<TopLine> Take() {
    AddServer();
    AddCost();
    AddTraffic();
    AddSpace();
    AddShards();
    return std::move(lines_);
  }

 private:
  uint64_t Of(Counter counter) const { return total_[counter] == UINT64_MAX ? 0 : total_[counter]; }
  void Add(std::string_view name, std::string_view text) {
    lines_.push_back({Style::kPlain, fmt::format("{:<10} {}", name, text)});
  }

  void AddServer() {
    const Sample& sample = *view_.sample;
    const uint64_t started_us = Of(Counter::kStartedAtUs);
    const uint64_t up_us = sample.clock_us > started_us ? sample.clock_us - started_us : 0;
    lines_.push_back(
        {Style::kPlain, fmt::format("{}, plovd {}, process {}, up {}{}", Printable(view_.server),
                                    TextOf(sample, "version"), TextOf(sample, "pid"),
                                    Age(static_cast<double>(up_us) / 1e6),
                                    view_.is_paused ? "   PAUSED: p goes on" : "")});
    AddStanding();
  }

  void AddStanding() {
    const std::string since = Age(view_.standing_seconds);
    switch (view_.standing) {
      case Standing::kServes:
        break;
      case Standing::kStill:
        lines_.push_back(
            {Style::kPlain, fmt::format("does not move for {}: idle, or stopped", since)});
        break;
      case Standing::kStopped:
        lines_.push_back({Style::kAlarm, fmt::format("does not move for {}: its process is "
                                                     "stopped; GETs go on, PUTs do not",
                                                     since)});
        break;
      case Standing::kGone:
        lines_.push_back({Style::kAlarm, fmt::format("GONE for {}: {}; what follows is its last",
                                                     since, Printable(view_.error))});
        break;
    }
    if (view_.restarted_seconds >= 0) {
      lines_.push_back(
          {Style::kAlarm, fmt::format("restarted {} ago", Age(view_.restarted_seconds))});
    }
  }

  void AddCost() {
    const auto now = view_.rates.cpu_per_million_gets();
    const uint64_t gets = Of(Counter::kReportedGets);
    const double all =
        gets == 0 ? 0 : static_cast<double>(Of(Counter::kCpuUs)) / static_cast<double>(gets);
    lines_.push_back(
        {Style::kBold, fmt::format("server CPU per million GETs: {} ({} since its start)",
                                   now ? Time(*now) : "-", gets == 0 ? "-" : Time(all))});
  }

  void AddTraffic() {
    const Rates& r = view_.rates;
    const std::string by_message = PerSecond(r.gets_by_message) + " by message";
    if (!r.reported) {
      Add("GETs", "not known before two reports of a client, 10 s apart; " + by_message);
    } else {
      Add("GETs", fmt::format("{}, {} READs each, {} torn, {}", PerSecond(r.reported->gets),
                              Ratio(r.reported->reads, r.reported->gets),
                              PerSecond(r.reported->torn), by_message));
    }
    Add("PUTs", fmt::format("{}, p50 {}, p99 {}; {} DELETEs", PerSecond(r.puts),
                            QuantileText(r.writes, 0.5), QuantileText(r.writes, 0.99),
                            PerSecond(r.deletes)));
    if (total_[Counter::kLogMode] != UINT64_MAX) {
      Add("commits", fmt::format("p50 {}, p99 {}; {} a second{}", QuantileText(r.commits, 0.5),
                                 QuantileText(r.commits, 0.99),
                                 program::Bytes(static_cast<uint64_t>(r.log_bytes)),
                                 Of(Counter::kLogFailed) != 0 ? "; the log FAILS" : ""));
    }
    Add("clients", fmt::format("{}, {} refused", program::Grouped(Of(Counter::kClients)),
                               program::Grouped(Of(Counter::kClientsRefused))));
  }

  void AddSpace() {
    Add("memory",
        fmt::format("{} of {}, {} % full; {} items", program::Bytes(Of(Counter::kMemoryUsedBytes)),
                    program::Bytes(Of(Counter::kMemoryBytes)), Of(Counter::kFullPercent),
                    program::Grouped(Of(Counter::kItems))));
    Add("CPU", fmt::format("{:.1f} % of a processor", view_.rates.cpu * 100));
  }

  void AddShards() {
    lines_.push_back({});
    lines_.push_back(
        {Style::kHead, fmt::format("{:>6} {:>7} {:>12} {:>12} {:>6} {:>14}", "SHARD", "CPU %",
                                   "REQUESTS/s", "PUTs/s", "FULL %", "ITEMS")});
    std::vector<Rates::Shard> shards = view_.rates.shards;
    if (view_.order == ShardOrder::kCpu) {
      std::ranges::sort(shards, [](const Rates::Shard& a, const Rates::Shard& b) {
        return a.cpu != b.cpu ? a.cpu > b.cpu : a.number < b.number;
      });
    }
    for (const Rates::Shard& shard : shards) {
      const verify::Counters& counters = view_.sample->shards[shard.number];
      lines_.push_back(
          {Style::kPlain,
           fmt::format("{:>6} {:>7.1f} {:>12.0f} {:>12.0f} {:>6} {:>14}", shard.number,
                       shard.cpu * 100, shard.requests, shard.puts, counters[Counter::kFullPercent],
                       program::Grouped(counters[Counter::kItems]))});
    }
  }

  const TopView& view_;
  const verify::Counters& total_;
  std::vector<TopLine> lines_;
};

std::string_view ColorOf(Style style) {
  static constexpr auto kColors =
      std::to_array<std::string_view>({"", "\x1b[1m", "\x1b[1;31m", "\x1b[7m"});
  return kColors[static_cast<size_t>(style)];
}

// As many characters as there are columns.
std::string_view Cut(std::string_view text, size_t columns) {
  size_t end = 0;
  for (; end < text.size() && columns > 0; --columns) {
    end += std::max<size_t>(program::CharacterBytes(text.substr(end)), 1);
  }
  return text.substr(0, end);
}

}  // namespace

std::vector<TopLine> LinesOf(const TopView& view) { return Lines(view).Take(); }

std::string PlainText(const std::vector<TopLine>& lines) {
  std::string text;
  for (const TopLine& line : lines) text.append(line.text).append(1, '\n');
  return text;
}

std::string ScreenText(const std::vector<TopLine>& lines, const ScreenSize& size, bool has_colors) {
  std::string screen = "\x1b[H";
  const size_t shown = std::min(lines.size(), size.rows);
  for (size_t i = 0; i < shown; ++i) {
    const std::string text = program::ForTerminal(lines[i].text);
    const bool is_styled = has_colors && lines[i].style != Style::kPlain;
    screen += i > 0 ? "\r\n\x1b[K" : "\x1b[K";  // without what was there
    if (is_styled) screen += ColorOf(lines[i].style);
    screen += Cut(text, size.columns);
    if (is_styled) screen += "\x1b[0m";
  }
  if (shown < size.rows) screen += "\r\n\x1b[J";
  return screen;
}

}  // namespace plov::cli
