// TopView: what `plov top` shows, as lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/rates.h"

namespace plov::cli {

enum class Standing { kServes, kStill, kStopped, kGone };

enum class ShardOrder { kNumber, kCpu };

struct TopView {
  std::string server;  // its URI
  const Sample* sample = nullptr;
  Rates rates = {};
  Standing standing = Standing::kServes;
  double standing_seconds = 0;    // how long that is so; not of kServes
  std::string error = {};         // of kGone
  double restarted_seconds = -1;  // how long ago; negative: it was not, in a while
  ShardOrder order = ShardOrder::kNumber;
  bool is_paused = false;
};

struct TopLine {
  enum class Style : uint8_t { kPlain, kBold, kAlarm, kHead };

  Style style = Style::kPlain;
  std::string text;
};

std::vector<TopLine> LinesOf(const TopView& view);

// A plain block of all lines.
std::string PlainText(const std::vector<TopLine>& lines);

struct ScreenSize {
  size_t columns = 80;
  size_t rows = 24;
};

// What draws the lines over those before on a terminal of that size: what has no room is left out, and
// nothing of their text is obeyed.
std::string ScreenText(const std::vector<TopLine>& lines, const ScreenSize& size, bool has_colors);

}  // namespace plov::cli
