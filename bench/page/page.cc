#include "bench/page/page.h"

#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>

#include "bench/page/template.h"
#include "program/html.h"

namespace plov::bench {

namespace {

using program::Json;

constexpr auto kScaleNames = std::to_array<const char*>({"linear", "log", "nines"});
constexpr auto kUnitNames = std::to_array<const char*>({"number", "bytes"});

bool Fits(Scale scale, double value) {
  if (!std::isfinite(value)) return false;
  return scale == Scale::kLinear || (scale == Scale::kLog ? value > 0 : value >= 0 && value < 1);
}

Json JsonOf(const Axis& axis) {
  return {{"label", axis.label},
          {"scale", kScaleNames[static_cast<size_t>(axis.scale)]},
          {"unit", kUnitNames[static_cast<size_t>(axis.unit)]}};
}

Json JsonOf(const Plot& plot, const std::vector<Point>& points) {
  Json array = Json::array();
  for (const Point& point : points) {
    if (Fits(plot.x.scale, point.x) && Fits(plot.y.scale, point.y)) {
      array.push_back({{"x", point.x}, {"y", point.y}});
    }
  }
  return array;
}

Json PartOf(const Paragraph& paragraph) { return {{"kind", "text"}, {"text", paragraph.text}}; }

Json PartOf(const Table& table) {
  Json columns = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back({{"name", column.name},
                       {"text", column.shown == Shown::kText},
                       {"bars", column.shown == Shown::kBars}});
  }
  return {{"kind", "table"}, {"title", table.title}, {"columns", columns}, {"rows", table.rows}};
}

Json PartOf(const Plot& plot) {
  Json curves = Json::array();
  for (const Curve& curve : plot.curves) {
    curves.push_back({{"name", curve.name},
                      {"points", JsonOf(plot, curve.points)},
                      {"beyond", JsonOf(plot, curve.beyond)}});
  }
  return {{"kind", "plot"},
          {"title", plot.title},
          {"x", JsonOf(plot.x)},
          {"y", JsonOf(plot.y)},
          {"curves", std::move(curves)}};
}

// Puts the text in the place of the mark, which is there once.
void Fill(std::string_view mark, std::string_view text, std::string* html) {
  html->replace(html->find(mark), mark.size(), text);
}

// In a script nothing may look like markup: "</script>" would end it.
std::string ScriptJson(const Json& json) {
  std::string text;
  for (const char c : program::LineOf(json)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

Curve OverAchieved(Curve curve) {
  Curve achieved{.name = std::move(curve.name)};
  for (const Point& point : curve.points) {
    const bool grew = achieved.points.empty() || point.x > achieved.points.back().x;
    (grew ? achieved.points : achieved.beyond).push_back(point);
  }
  return achieved;
}

Json JsonOf(const Page& page) {
  Json object = {{"title", page.title},
                 {"headline", page.headline.text},
                 {"figures", JsonOf(page.headline.figures)},
                 {"facts", JsonOf(page.facts)},
                 {"parts", Json::array()}};
  for (const Part& part : page.parts) {
    object["parts"].push_back(std::visit([](const auto& it) { return PartOf(it); }, part));
  }
  return object;
}

std::expected<void, Error> CanWritePages() {
  if (!ChartLibrary().empty()) return {};
  return Fail(Code::kUnavailable,
              "pages need the package libjs-chart.js, without which plov-bench was built: install "
              "it and build again, or use --json");
}

std::expected<std::string, Error> HtmlOf(const Page& page) {
  if (auto can = CanWritePages(); !can) return std::unexpected(can.error());
  std::string html(PageTemplate());
  // From the end to the beginning: what is filled in may have a mark in it.
  Fill("@SCRIPT@", PageScript(), &html);
  Fill("@LIBRARY@", ChartLibrary(), &html);
  Fill("@DATA@", ScriptJson(JsonOf(page)), &html);
  Fill("@TITLE@", program::Escaped(page.title), &html);
  return html;
}

std::expected<void, Error> Save(const std::string& path, std::string_view text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file ? std::expected<void, Error>() : FailErrno("cannot write " + path, errno);
}

}  // namespace plov::bench
