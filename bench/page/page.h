// Page: results of a measurement, as one document: text for a terminal, Markdown for a README, and
// JSON that the page for a browser (page.html, page.js) shows.
//
//   Page page{.title = "plov-bench verbs", .headline = {...}, .facts = FactsOfRun(), .parts = {...}};
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/page/fact.h"
#include "program/json.h"
#include "verify/error.h"

namespace plov::bench {

// Sentences; line ends are kept.
struct Paragraph {
  std::string text;
};

enum class Shown : uint8_t {
  kNumber,
  kBars,    // numbers, under which the page for a browser draws bars
  kSpread,  // of a sample: "least..most"
  kText,    // stands to the left
};

inline constexpr int kAsItIs = -1;  // in four digits

// Of a table of rows (rows.h): which member it shows, and how.
struct Column {
  std::string name;  // above it
  std::string key = {};
  int digits = 0;  // behind the point; thousands of whole numbers are in groups
  Shown shown = Shown::kNumber;
};

struct Table {
  std::string title = {};  // may be empty
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> rows = {};  // of a cell for each column
};

enum class Scale : uint8_t {
  kLinear,  // from 0
  kLog,     // values over 0
  kNines,   // parts of all, from 0 to less than 1: 0.9, 0.99 and 0.999 are equally far apart, as
            // HdrHistogram plots percentiles
};

enum class Unit : uint8_t {
  kNumber,  // named in thousands: 20 k, 1.5 M
  kBytes,   // named in powers of two: 64 B, 4 KiB
};

struct Axis {
  std::string label;
  Scale scale = Scale::kLinear;
  Unit unit = Unit::kNumber;
};

struct Point {
  double x = 0;
  double y = 0;
};

// Of what is plov's, the name begins with "plov": it stands out from its peers.
struct Curve {
  std::string name = {};
  std::vector<Point> points = {};  // joined in this order; those that fit no axis are left out
  std::vector<Point> beyond = {};  // not joined: of a load that achieved less than a smaller one
};

// Of a curve over what was achieved while the load grew: the points that achieved less are beyond.
Curve OverAchieved(Curve curve);

struct Plot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Curve> curves = {};
};

using Part = std::variant<Paragraph, Table, Plot>;

// What a reader is to know first.
struct Headline {
  std::string text = {};
  std::vector<Fact> figures = {};  // three or four
};

struct Page {
  std::string title;
  Headline headline = {};
  std::vector<Fact> facts = {};  // what was run, and where
  std::vector<Part> parts = {};
};

std::string TextOf(const Table& table);

// Paragraphs and tables with an empty line between them. A terminal shows no plots, and who
// reads it knows the title and the facts.
std::string TextOf(const Page& page);

// A section of a README: all but plots.
std::string MarkdownOf(const Page& page);

program::Json JsonOf(const Page& page);

// A whole HTML document: page.html with the page's JSON in it, page.js and the plotting library.
// kUnavailable: plov-bench was built without that.
std::expected<std::string, Error> HtmlOf(const Page& page);

// Whether HtmlOf can; kUnavailable with what to do.
std::expected<void, Error> CanWritePages();

// Writes a text over the file. Errors: kSystem.
std::expected<void, Error> Save(const std::string& path, std::string_view text);

}  // namespace plov::bench
