#include "client/cli/line_editor.h"

#include <fmt/core.h>
#include <histedit.h>
#include <signal.h>

#include <climits>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string_view>
#include <utility>

#include "client/cli/completion.h"
#include "client/cli/shell_history.h"

namespace plov::cli {

struct LineEditor::Parts {
  std::string prompt;
  ShellHistory history = {};
  bool is_interrupted = false;
  EditLine* editor = nullptr;

  ~Parts() {
    if (editor != nullptr) ::el_end(editor);
  }

  // What follows libedit calls.

  static Parts* Of(EditLine* editor) {
    void* parts = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &parts);
    return static_cast<Parts*>(parts);
  }

  static char* Prompt(EditLine* editor) { return Of(editor)->prompt.data(); }

  static unsigned char OnTab(EditLine* editor, wint_t) {
    const LineInfo* line = ::el_line(editor);
    const Completion completion =
        Complete({line->buffer, static_cast<size_t>(line->cursor - line->buffer)});
    if (completion.names.empty()) return CC_REFRESH_BEEP;
    if (!completion.rest.empty()) {
      ::el_insertstr(editor, completion.rest.c_str());
      return CC_REFRESH;
    }
    fmt::print("\n");
    for (const std::string& name : completion.names) fmt::print("{}  ", name);
    fmt::print("\n");
    std::fflush(stdout);
    return CC_REDISPLAY;
  }

  static unsigned char OnSuspend(EditLine* editor, wint_t) {
    ::el_set(editor, EL_PREP_TERM, 0);
    ::kill(0, SIGSTOP);  // all of the job
    ::el_set(editor, EL_PREP_TERM, 1);
    return CC_REDISPLAY;
  }

  // Ends the line as it stands, which is not used.
  static unsigned char OnInterrupt(EditLine* editor, wint_t) {
    Of(editor)->is_interrupted = true;
    ::el_cursor(editor, INT_MAX / 2);  // to its end
    ::el_insertstr(editor, "^C");
    ::el_push(editor, "\n");
    return CC_REFRESH;
  }
};

namespace {

// Text beyond ASCII can be typed where the environment names no language, too.
void SetCharacters() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

void Bind(EditLine* editor, const char* key, const char* command) {
  ::el_set(editor, EL_BIND, key, command, nullptr);
}

}  // namespace

LineEditor::LineEditor(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LineEditor::LineEditor(LineEditor&&) noexcept = default;
LineEditor::~LineEditor() = default;

std::expected<LineEditor, Error> LineEditor::Open(const std::string& prompt) {
  SetCharacters();
  std::unique_ptr<Parts> parts(new Parts{.prompt = prompt});
  EditLine* editor = parts->editor = ::el_init("plov", stdin, stdout, stderr);
  if (editor == nullptr) return Fail(Code::kSystem, "cannot edit lines on this terminal");
  ::el_set(editor, EL_CLIENTDATA, parts.get());
  ::el_set(editor, EL_PROMPT, &Parts::Prompt);
  ::el_set(editor, EL_SIGNAL, 1);
  ::el_set(editor, EL_EDITOR, "emacs");
  // As wide text, of which el_set would make copies that nobody frees.
  ::el_wset(editor, EL_ADDFN, L"plov-complete", L"completes names", &Parts::OnTab);
  ::el_wset(editor, EL_ADDFN, L"plov-interrupt", L"leaves the line", &Parts::OnInterrupt);
  ::el_wset(editor, EL_ADDFN, L"plov-suspend", L"stops the shell", &Parts::OnSuspend);
  Bind(editor, "^I", "plov-complete");
  Bind(editor, "^R", "em-inc-search-prev");
  ::el_source(editor, nullptr);  // the user's ~/.editrc
  Bind(editor, "^C", "plov-interrupt");
  Bind(editor, "^Z", "plov-suspend");
  ::el_set(editor, EL_SETTY, "-d", "-isig", nullptr);  // they are keys while a line is edited
  if (parts->history.get() != nullptr) {
    ::el_set(editor, EL_HIST, &::history, parts->history.get());
  }
  return LineEditor(std::move(parts));
}

LineEditor::Line LineEditor::Next() {
  parts_->is_interrupted = false;
  ::el_set(parts_->editor, EL_PREP_TERM,
           1);  // or what is typed at the sight of the prompt is shown twice
  int bytes = 0;
  const char* text = ::el_gets(parts_->editor, &bytes);
  if (parts_->is_interrupted) return {Kind::kInterrupted};
  if (text == nullptr || bytes <= 0) return {Kind::kEnd};
  std::string line(text, static_cast<size_t>(bytes));
  if (line.ends_with('\n')) line.pop_back();
  if (line.find_first_not_of(" \t") != line.npos) parts_->history.Add(line);
  return {Kind::kLine, std::move(line)};
}

}  // namespace plov::cli
