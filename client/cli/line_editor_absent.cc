// LineEditor where plov is built without libedit.

#include <unistd.h>

#include <utility>

#include "client/cli/line_editor.h"
#include "client/cli/lines.h"
#include "program/output.h"

namespace plov::cli {

namespace {

constexpr size_t kLineBytesMax = 4096;  // a terminal gives no more at once

}  // namespace

struct LineEditor::Parts {
  std::string prompt;
  LineReader lines{STDIN_FILENO, kLineBytesMax};
};

LineEditor::LineEditor(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LineEditor::LineEditor(LineEditor&&) noexcept = default;
LineEditor::~LineEditor() = default;

std::expected<LineEditor, Error> LineEditor::Open(const std::string& prompt) {
  return LineEditor(std::unique_ptr<Parts>(new Parts{.prompt = prompt}));
}

LineEditor::Line LineEditor::Next() {
  program::WriteAll(STDOUT_FILENO, parts_->prompt);
  const auto line = parts_->lines.Next();
  if (line.kind != LineReader::Kind::kLine) return {Kind::kEnd};
  return {Kind::kLine, std::string(line.text)};
}

}  // namespace plov::cli
