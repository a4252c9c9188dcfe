#include "door/memcached/text_request.h"

#include <algorithm>

#include "door/memcached/base64.h"
#include "door/memcached/numbers.h"

namespace plov::door::memcached {

namespace {

// Calls each(word) for the flags of a meta command.
template <typename Each>
void ForEachFlag(std::string_view flags, Each&& each) {
  while (true) {
    const size_t begin = flags.find_first_not_of(' ');
    if (begin == flags.npos) return;
    flags.remove_prefix(begin);
    const size_t end = std::min(flags.find(' '), flags.size());
    each(flags.substr(0, end));
    flags.remove_prefix(end);
  }
}

void AddKey(std::string_view key, bool is_binary, std::string* to) {
  *to += " k";
  if (is_binary) {
    *to += EncodeBase64(key);
    *to += " b";
  } else {
    *to += key;
  }
}

// Who asked for it is a word that is given back, or the key.
void AddEcho(std::string_view flag, const Command& command, std::string* to) {
  if (flag[0] == 'O') {
    *to += ' ';
    *to += flag;
  } else if (flag[0] == 'k') {
    AddKey(command.key(), command.is_key_binary, to);
  }
}

std::string_view NameOf(int outcome) {
  constexpr std::string_view kNames[] = {"STORED",  "EXISTS",  "NOT_FOUND", "NOT_STORED",
                                         "TOUCHED", "DELETED", "OK"};
  return kNames[outcome];
}

// Of what meta commands know.
std::string_view CodeOf(int outcome) {
  constexpr std::string_view kCodes[] = {"HD", "EX", "NF", "NS", "HD", "HD", "HD"};
  return kCodes[outcome];
}

}  // namespace

void TextRequest::Recycle() {
  Reset();
  SpareRequests<TextRequest>::Give(this);
}

std::string_view TextRequest::closing() const {
  const bool is_list = command.verb == Verb::kGet || command.verb == Verb::kGat;
  return is_list ? "END\r\n" : "";
}

// As memcached, which tells a classic command with noreply nothing, but a meta command of every failure.
void TextRequest::AddFailure(const Error& error, std::string* to) const {
  if (command.noreply && !command.is_meta()) return;
  *to += "SERVER_ERROR ";
  switch (error.code) {
    case Code::kNoSpace:
      *to += "out of memory storing object";
      break;
    case Code::kTooLarge:
      *to += "object too large for cache";
      break;
    default:
      *to += error.message;
      break;
  }
  *to += "\r\n";
}

void TextRequest::AddNoMemory(std::string* to) const {
  *to += "SERVER_ERROR out of memory writing get response\r\n";
}

void TextRequest::AddOutcome(Outcome outcome, Version version, std::string* to) const {
  const int index = static_cast<int>(outcome);
  if (outcome == Outcome::kNotANumber) {
    if (command.noreply && !command.is_meta()) return;
    *to += "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
  } else if (command.is_meta()) {
    AddMetaOutcome(CodeOf(index), version, to);
  } else if (!command.noreply) {
    *to += NameOf(index);
    *to += "\r\n";
  }
}

void TextRequest::AddMetaOutcome(std::string_view code, Version version, std::string* to) const {
  const bool is_nominal = code == "HD";
  if (command.noreply && is_nominal) return;
  *to += code;
  AddReturned(version, to);
  *to += "\r\n";
}

void TextRequest::AddNumber(uint64_t number, Version version, std::string* to) const {
  if (command.noreply) return;
  if (command.is_meta() && !command.wants_value) return AddMetaOutcome("HD", version, to);
  const std::string text = std::to_string(number);
  if (command.is_meta()) {
    *to += "VA " + std::to_string(text.size());
    AddReturned(version, to);
    *to += "\r\n";
  }
  *to += text + "\r\n";
}

void TextRequest::AddItem(const Item& item, std::optional<uint32_t> touched_expiry,
                          std::string* to) const {
  if (command.verb == Verb::kMetaGet) {
    AddMetaItem(item, touched_expiry, to);
  } else if (command.verb == Verb::kMetaDebug) {
    AddDebug(item, to);
  } else {
    AddClassicItem(item, to);
  }
}

void TextRequest::AddMiss(std::string* to) const {
  if (!command.is_meta() || command.noreply) return;
  *to += "EN";
  if (command.verb == Verb::kMetaGet) {
    ForEachFlag(command.meta_flags, [&](std::string_view flag) { AddEcho(flag, command, to); });
  }
  *to += "\r\n";
}

void TextRequest::AddClassicItem(const Item& item, std::string* to) const {
  *to += "VALUE ";
  *to += key();
  *to += ' ';
  AppendNumber(item.flags, to);
  *to += ' ';
  AppendNumber(item.value.size(), to);
  if (command.with_cas) {
    *to += ' ';
    AppendNumber(item.version, to);
  }
  *to += "\r\n";
  *to += item.value;
  *to += "\r\n";
}

void TextRequest::AddSecondsLeft(uint32_t expiry, std::string* to) const {
  if (expiry == 0) {
    *to += "-1";
    return;
  }
  AppendNumber(static_cast<uint64_t>(std::max<int64_t>(SecondsLeft(expiry), 0)), to);
}

void TextRequest::AddMetaItem(const Item& item, std::optional<uint32_t> touched_expiry,
                              std::string* to) const {
  if (command.wants_value) {
    *to += "VA ";
    AppendNumber(item.value.size(), to);
  } else {
    *to += "HD";
  }
  uint32_t expires = item.expiry;
  ForEachFlag(command.meta_flags, [&](std::string_view flag) {
    switch (flag[0]) {
      case 'T':
        expires = touched_expiry.value_or(expires);
        break;
      case 's':
        *to += " s";
        AppendNumber(item.value.size(), to);
        break;
      case 't':
        *to += " t";
        AddSecondsLeft(expires, to);
        break;
      case 'c':
        *to += " c";
        AppendNumber(item.version, to);
        break;
      case 'f':
        *to += " f";
        AppendNumber(item.flags, to);
        break;
      default:
        AddEcho(flag, command, to);
    }
  });
  *to += "\r\n";
  if (!command.wants_value) return;
  *to += item.value;
  *to += "\r\n";
}

// Of what memcached tells, what is known here: not when and whether the item was read, nor a slab.
void TextRequest::AddDebug(const Item& item, std::string* to) const {
  *to += "ME ";
  *to += command.is_key_binary ? EncodeBase64(key()) : std::string(key());
  *to += " exp=";
  if (item.expiry == 0) {
    *to += "-1";
  } else {
    *to += std::to_string(-SecondsLeft(item.expiry));
  }
  *to += " cas=";
  AppendNumber(item.version, to);
  *to += " size=";
  AppendNumber(ItemBytes(key().size(), item.flags, item.value.size()), to);
  *to += "\r\n";
}

void TextRequest::AddReturned(Version version, std::string* to) const {
  ForEachFlag(command.meta_flags, [&](std::string_view flag) {
    const bool has_item = version != 0 || command.verb == Verb::kMetaStore;
    if (flag[0] == 'c' && has_item && command.verb != Verb::kMetaDelete) {
      *to += " c";
      AppendNumber(version, to);
    } else if (flag[0] == 't' && has_item && command.verb == Verb::kMetaArithmetic) {
      *to += " t";
      AddSecondsLeft(found_expiry(), to);
    } else {
      AddEcho(flag, command, to);
    }
  });
}

}  // namespace plov::door::memcached
