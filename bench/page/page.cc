#include "bench/page/page.h"

#include <fmt/core.h>

#include <cerrno>
#include <fstream>

#include "torture/html.h"

namespace plov::bench {

using torture::Escaped;

namespace {

constexpr std::string_view kStyle =
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 sans-serif;max-width:76em;margin:2em auto;padding:0 1em;"
    "color:#1b1b1b;background:#fff}"
    "h1{font-size:1.5em}"
    ".plot{display:block;max-width:100%;height:auto;margin:1.5em 0}"
    ".wide{overflow-x:auto;margin:1.5em 0}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;font-weight:bold;padding:.3em 0}"
    "th,td{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
    "th.left,td.left{text-align:left}"
    "td.left:last-child{white-space:normal;min-width:10em}"
    "dl{display:grid;grid-template-columns:max-content auto;gap:.1em 1.5em}"
    "dt{font-weight:bold}dd{margin:0;overflow-wrap:anywhere}"
    "p{white-space:pre-line}"
    "@media (prefers-color-scheme:dark){body{color:#e4e4e4;background:#121316}"
    "th,td{border-color:#3c4047}}";

std::string HtmlOf(const Paragraph& paragraph) {
  return fmt::format("<p>{}</p>\n", Escaped(paragraph.text));
}
std::string HtmlOf(const Chart& chart) { return SvgOf(chart); }
std::string HtmlOf(const Plot& plot) { return SvgOf(plot); }

std::string TextOf(const Paragraph& paragraph) { return paragraph.text + "\n"; }
std::string TextOf(const Plot&) { return {}; }

}  // namespace

std::string TextOf(const Page& page) {
  std::string text;
  for (const Part& part : page.parts) {
    const std::string one = std::visit([](const auto& it) { return TextOf(it); }, part);
    if (!one.empty() && !text.empty()) text += '\n';
    text += one;
  }
  return text;
}

std::string HtmlOf(const Page& page) {
  // The icon is empty, so that no browser asks a server for one.
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<dl>\n",
      Escaped(page.title), kStyle);
  for (const Fact& fact : page.facts) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", Escaped(fact.name), Escaped(fact.value));
  }
  html += "</dl>\n";
  for (const Part& part : page.parts) {
    html += std::visit([](const auto& it) { return HtmlOf(it); }, part);
  }
  return html + "</body>\n</html>\n";
}

std::expected<void, Error> Save(const std::string& path, std::string_view text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file ? std::expected<void, Error>() : FailErrno("cannot write " + path, errno);
}

}  // namespace plov::bench
