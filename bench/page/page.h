// Page: what a measurement came to, as one document: text for a terminal, Markdown for a README, and
// JSON that the page for a browser (page.html, page.js) shows.
//
//   Page page{.title = "plov-bench verbs", .headline = {...}, .facts = FactsOfRun(), .parts = {...}};
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
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

// Rows of texts. Columns of numbers stand to the right; a name that begins with '<' is that of a
// column of texts, which stand to the left.
struct Table {
  std::string title = {};  // may be empty
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};  // of no more cells than columns
};

enum class Owner : uint8_t { kPeer, kPlov };  // plov's stand out from its peers'

struct Bar {
  std::string name;
  std::optional<double> value;  // nullopt: there is none
  Owner owner = Owner::kPeer;
};

struct BarGroup {
  std::string name = {};
  std::vector<Bar> bars = {};
};

struct Chart {
  enum class Shown : uint8_t { kEverywhere, kOnPage };  // on the page alone: a table says the same

  std::string title;
  std::string unit;  // of the values
  std::vector<BarGroup> groups = {};
  std::optional<double> target = {};  // a line at this value
  Shown shown = Shown::kEverywhere;
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

struct Curve {
  std::string name = {};
  std::vector<Point> points =
      {};                      // joined in this order; those that do not fit an axis are left out
  Owner owner = Owner::kPeer;  // where all are of one side, none stands out
  std::vector<Point> beyond = {};  // not joined: of a load that achieved less than a smaller one
};

// Adds a point of a load that grows from call to call, over what it achieved.
void AddAchieved(Point point, Curve* curve);

struct Plot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Curve> curves = {};
};

using Part = std::variant<Paragraph, Table, Chart, Plot>;

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
std::string TextOf(const Chart& chart);  // as wide as a terminal of 80 columns

// Paragraphs, tables and charts with an empty line between them. A terminal shows no plots, and who
// reads it knows the title and the facts.
std::string TextOf(const Page& page);

// A section of a README: all but charts and plots.
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
