// Page: what a measurement came to, as one document for a terminal or for a browser.
//
//   Page page{.title = "plov-bench verbs", .facts = FactsOfRun(), .parts = {table, chart, plot}};
//   output->Write(TextOf(page));
//   return Save(settings.html, HtmlOf(page));
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/page/chart.h"
#include "bench/page/fact.h"
#include "bench/page/plot.h"
#include "bench/page/table.h"
#include "verify/error.h"

namespace plov::bench {

// Sentences; line ends are kept.
struct Paragraph {
  std::string text;
};

using Part = std::variant<Paragraph, Table, Chart, Plot>;

struct Page {
  std::string title;
  std::vector<Fact> facts;  // what was run, and where
  std::vector<Part> parts;
};

// Paragraphs, tables and charts with an empty line between them. A terminal shows no plots, and who
// reads it knows the title and the facts.
std::string TextOf(const Page& page);

// A whole HTML document: all of the page in the order of its parts. It refers to nothing outside of
// itself, runs no scripts, and is light or dark as its reader likes.
std::string HtmlOf(const Page& page);

// Writes a text over the file. Errors: kSystem.
std::expected<void, Error> Save(const std::string& path, std::string_view text);

}  // namespace plov::bench
