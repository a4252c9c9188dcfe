#include "torture/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plov::torture {

namespace {

constexpr size_t kBarColumnsMax = 48;

// Instants by rank: the columns of the bars.
class Columns {
 public:
  explicit Columns(std::span<const ExcerptRow> rows) {
    for (const ExcerptRow& row : rows) {
      instants_.push_back(row.start);
      if (!row.is_open) instants_.push_back(row.end);
    }
    std::ranges::sort(instants_);
    instants_.erase(std::unique(instants_.begin(), instants_.end()), instants_.end());
  }

  std::string Bar(const ExcerptRow& row) const {
    std::string bar(Width() + 1, ' ');
    const size_t from = At(row.start);
    // Not before its start, as of an operation that contradicts itself.
    const size_t to = row.is_open ? Width() : std::max(from, At(row.end));
    std::fill(bar.begin() + static_cast<std::ptrdiff_t>(from),
              bar.begin() + static_cast<std::ptrdiff_t>(to), row.is_open ? '~' : '-');
    bar[to] = row.is_open ? '>' : '|';
    bar[from] = '|';
    return bar;
  }

 private:
  size_t Width() const {
    return std::min(kBarColumnsMax, instants_.size() * (instants_.size() > 16 ? 1 : 3));
  }
  size_t At(Instant instant) const {
    const auto rank = std::ranges::lower_bound(instants_, instant) - instants_.begin();
    return static_cast<size_t>(rank) * Width() / instants_.size();
  }

  std::vector<Instant> instants_;
};

}  // namespace

ExcerptRow KillRow(Instant at) {
  ExcerptRow row;
  row.start = row.end = at;
  row.process = "server";
  row.call = "KILL";
  row.result = "started again";
  return row;
}

void AddRow(ExcerptRow row, Excerpt* excerpt) {
  const auto at = std::ranges::lower_bound(excerpt->rows, row.start, {}, &ExcerptRow::start);
  excerpt->rows.insert(at, std::move(row));
}

std::string TimelineText(const Excerpt& excerpt, size_t rows_max) {
  const std::span<const ExcerptRow> all = excerpt.rows;
  const auto later =
      std::ranges::find_if(all, [&](const ExcerptRow& row) { return row.start > excerpt.instant; });
  const auto before = static_cast<size_t>(later - all.begin());
  // As many before the violation as there are, then later ones.
  const size_t begin = before > rows_max ? before - rows_max : 0;
  const auto shown = all.subspan(begin, std::min(rows_max, all.size() - begin));
  std::string text = excerpt.title + "\nbefore: " + excerpt.before + "\n";
  const Columns columns(shown);
  for (const ExcerptRow& row : shown) {
    std::string interval = std::to_string(row.start) + "..";
    if (!row.is_open) interval += std::to_string(row.end);
    text += fmt::format("  {} {:<10} {:<4} {:<20} {}\n", columns.Bar(row), interval, row.process,
                        row.call, row.result);
  }
  if (shown.size() < all.size()) {
    text += "  (" + std::to_string(shown.size()) + " of " + std::to_string(all.size()) +
            " operations; the file has all)\n";
  }
  return text;
}

}  // namespace plov::torture
