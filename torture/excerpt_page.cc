// Excerpt: as a page.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "program/html.h"
#include "torture/excerpt.h"

namespace plov::torture {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1d22; --paper: #fbfbf9; --line: #d7d7d0; --soft: #6a6d75;
  --read: #dbe7f8; --read-ink: #1d4172; --store: #ddefdd; --store-ink: #1f4d26;
  --wrong: #b3261e; --wrong-paper: #fde7e4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7e7e3; --paper: #16181c; --line: #363a42; --soft: #9a9da6;
    --read: #1f3352; --read-ink: #cfe0fb; --store: #1f3d26; --store-ink: #cdebd2;
    --wrong: #ff8a80; --wrong-paper: #4a1f1c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1100px; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 20px; margin: 0 0 8px; }
h2 { font-size: 16px; margin: 28px 0 4px; overflow-wrap: anywhere; }
p { margin: 4px 0; color: var(--soft); overflow-wrap: anywhere; }
.frame { overflow-x: auto; margin: 10px 0; border: 1px solid var(--line); border-radius: 6px; }
.lines { position: relative; min-width: 100%; }
.line { display: flex; border-top: 1px solid var(--line); }
.line:first-child { border-top: 0; }
.name { position: sticky; left: 0; z-index: 2; width: 64px; flex: none; padding: 8px 6px;
  background: var(--paper); border-right: 1px solid var(--line); font-weight: 600; font-size: 13px;
  overflow-wrap: anywhere; }
.track { position: relative; flex: 1; }
.op { position: absolute; height: 26px; padding: 0 5px; border: 1px solid transparent;
  border-radius: 4px; font: 12px/24px ui-monospace, monospace; text-align: left; white-space: nowrap;
  overflow: hidden; text-overflow: ellipsis; cursor: pointer; background: var(--read);
  color: var(--read-ink); }
.op.store { background: var(--store); color: var(--store-ink); }
.op.open { border-right: 2px dashed currentColor; border-radius: 4px 0 0 4px; }
.op.wrong { background: var(--wrong-paper); color: var(--wrong); border-color: var(--wrong);
  font-weight: 700; }
.op:focus-visible, .op.chosen { outline: 2px solid var(--ink); outline-offset: 1px; }
.details { min-height: 44px; padding: 8px 10px; border-left: 3px solid var(--line);
  font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.legend span { display: inline-block; vertical-align: middle; padding: 0 6px; margin-right: 8px; border-radius: 4px;
  font-size: 13px; }
)";

// Shows what is chosen, by pointer, touch or keyboard. Without it titles tell the same.
constexpr std::string_view kScript = R"(
for (const frame of document.querySelectorAll('section')) {
  const details = frame.querySelector('.details');
  const choose = (op) => {
    frame.querySelectorAll('.chosen').forEach((other) => other.classList.remove('chosen'));
    op.classList.add('chosen');
    details.textContent = op.title;
  };
  frame.querySelectorAll('.op').forEach((op) => {
    for (const event of ['click', 'mouseenter', 'focus']) op.addEventListener(event, () => choose(op));
  });
  const wrong = frame.querySelector('.wrong');
  if (wrong) {
    choose(wrong);
    const box = frame.querySelector('.frame');
    box.scrollLeft = wrong.offsetLeft + wrong.offsetWidth - box.clientWidth + 90;
  }
}
)";

// Places: columns are instants by rank, so that what is near in order is near on the page; each
// process has as many lanes as it has operations at one time.
class Places {
 public:
  explicit Places(std::span<const ExcerptRow> rows) {
    for (const ExcerptRow& row : rows) {
      instants_.push_back(row.start);
      if (!row.is_open) instants_.push_back(row.end);
    }
    std::ranges::sort(instants_);
    instants_.erase(std::unique(instants_.begin(), instants_.end()), instants_.end());
  }

  size_t columns() const { return instants_.size() + 1; }
  size_t Left(const ExcerptRow& row) const { return RankOf(row.start); }
  size_t Right(const ExcerptRow& row) const {
    return row.is_open ? columns() : std::max(RankOf(row.end), Left(row)) + 1;
  }

 private:
  size_t RankOf(Instant instant) const {
    return static_cast<size_t>(std::ranges::lower_bound(instants_, instant) - instants_.begin());
  }

  std::vector<Instant> instants_;
};

std::string Interval(const ExcerptRow& row) {
  return row.is_open ? fmt::format("from {} on, without an end", row.start)
                     : fmt::format("from {} to {}", row.start, row.end);
}

// Of a column: labels fit when there are few.
constexpr size_t kColumnPixels = 44;
constexpr size_t kWideColumnPixels = 68;
constexpr size_t kWideColumnsMax = 14;
constexpr size_t kLanePixels = 32;

class Section {
 public:
  explicit Section(const Excerpt& excerpt) : excerpt_(excerpt), places_(excerpt.rows) {}

  std::string Html() {
    std::vector<std::string> processes;  // in the order in which they begin
    for (const ExcerptRow& row : excerpt_.rows) {
      auto& lane = lanes_[row.process];
      if (lane.empty()) processes.push_back(row.process);
      lane.push_back(&row);
    }
    Put("<section><h2>{}</h2><p>before: {}{}</p>\n", program::Escaped(excerpt_.title),
        program::Escaped(excerpt_.before),
        excerpt_.is_minimal ? "" : "; not the smallest: what was before is not remembered");
    Put("<div class=\"frame\"><div class=\"lines\" style=\"width:{}px\">\n",
        64 + column_pixels() * places_.columns());
    for (const std::string& process : processes) AddLine(process);
    Put("</div></div>\n<div class=\"details\" aria-live=\"polite\">Choose an operation.</div>"
        "</section>\n");
    return std::move(html_);
  }

 private:
  template <typename... Values>
  void Put(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Values>(values)...);
  }

  size_t column_pixels() const {
    return places_.columns() > kWideColumnsMax ? kColumnPixels : kWideColumnPixels;
  }

  void AddLine(const std::string& process) {
    std::vector<size_t> free_from;  // column, by lane
    std::string operations;
    for (const ExcerptRow* row : lanes_[process]) {
      const size_t left = places_.Left(*row);
      auto lane = std::ranges::find_if(free_from, [&](size_t column) { return column <= left; });
      if (lane == free_from.end()) lane = free_from.insert(lane, 0);
      *lane = places_.Right(*row);
      operations += Operation(*row, static_cast<size_t>(lane - free_from.begin()));
    }
    Put("<div class=\"line\"><div class=\"name\">{}</div><div class=\"track\" "
        "style=\"height:{}px\">\n{}</div></div>\n",
        program::Escaped(process), kLanePixels * free_from.size() + 6, operations);
  }

  std::string Operation(const ExcerptRow& row, size_t lane) const {
    const size_t left = places_.Left(row);
    const std::string text = program::Escaped(row.call + " → " + row.result);
    return fmt::format(
        "<button class=\"op{}{}{}\" style=\"left:{}px;width:{}px;top:{}px\" title=\"{}{} {}, {}\">"
        "{}{}</button>\n",
        row.stores ? " store" : "", row.is_open ? " open" : "", row.is_impossible ? " wrong" : "",
        column_pixels() * left + 2, column_pixels() * (places_.Right(row) - left) - 4,
        kLanePixels * lane + 6, row.is_impossible ? "impossible: " : "",
        program::Escaped(row.process), text, Interval(row), row.is_impossible ? "✗ " : "", text);
  }

  const Excerpt& excerpt_;
  Places places_;
  std::map<std::string, std::vector<const ExcerptRow*>> lanes_;
  std::string html_;
};

}  // namespace

std::string TimelinePage(const std::string& title, std::span<const std::string> facts,
                         std::span<const Excerpt> excerpts) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      program::Escaped(title), kStyle);
  for (const std::string& fact : facts) page += "<p>" + program::Escaped(fact) + "</p>\n";
  if (!excerpts.empty()) {
    page +=
        "<p class=\"legend\"><span class=\"op\" style=\"position:static\">reads</span>"
        "<span class=\"op store\" style=\"position:static\">writes</span>"
        "<span class=\"op wrong\" style=\"position:static\">✗ fits into no order</span>"
        "Time goes to the right, in the order of starts and ends and not to scale.</p>\n";
  }
  for (const Excerpt& excerpt : excerpts) page += Section(excerpt).Html();
  return page + fmt::format("<script>{}</script>\n</body>\n</html>\n", kScript);
}

}  // namespace plov::torture
