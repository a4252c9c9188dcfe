#include "door/memcached/text_reply.h"

#include <algorithm>

#include "door/memcached/base64.h"
#include "door/memcached/expiry.h"
#include "door/memcached/numbers.h"
#include "door/memcached/text_request.h"

namespace plov::door::memcached {

namespace {

// Values of so many bytes are within the budget before they are copied, not after.
constexpr size_t kReservedFrom = 4096;

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

void AddRemaining(uint32_t expiry, std::string* to) {
  if (expiry == 0) {
    *to += "-1";
    return;
  }
  AppendNumber(static_cast<uint64_t>(std::max<int64_t>(SecondsUntil(expiry), 0)), to);
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

}  // namespace

void AddFailure(const Error& error, std::string* to) {
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

bool TextRequest::HasMemory(size_t bytes, std::string* to) {
  if (bytes < kReservedFrom || connection()->Reserve(bytes)) return true;
  connection()->worker()->counters().Add(door::Count::kOutOfMemory);
  *to += "SERVER_ERROR out of memory writing get response\r\n";
  return false;
}

bool TextRequest::TakeItem(const Client::GetResult& result, std::string* to) {
  Counters& counters = connection()->worker()->counters();
  counters.Add(door::Count::kGets);
  if (!result) {
    counters.Add(door::Count::kFailures);
    AddFailure(result.error(), to);
    return false;
  }
  if (!*result) {
    AddMiss(to);
    return true;
  }
  counters.Add(door::Count::kGetHits);
  const Item& item = **result;
  const bool has_value = command.verb == Verb::kGet || command.wants_value;
  if (has_value && !HasMemory(item.value.size(), to)) return false;
  if (command.verb == Verb::kMetaGet) {
    AddMetaItem(item, std::nullopt, to);
  } else if (command.verb == Verb::kMetaDebug) {
    AddDebug(item, to);
  } else {
    AddItem(item, to);
  }
  return true;
}

void TextRequest::AddMiss(std::string* to) const {
  if (!command.is_meta() || command.noreply) return;
  *to += "EN";
  if (command.verb == Verb::kMetaGet) {
    ForEachFlag(command.meta_flags, [&](std::string_view flag) { AddEcho(flag, command, to); });
  }
  *to += "\r\n";
}

void TextRequest::AddItem(const Item& item, std::string* to) const {
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

void TextRequest::AddMetaItem(const Item& item, std::optional<uint32_t> expiry,
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
        expires = expiry.value_or(expires);
        break;
      case 's':
        *to += " s";
        AppendNumber(item.value.size(), to);
        break;
      case 't':
        *to += " t";
        AddRemaining(expires, to);
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
    *to += std::to_string(-SecondsUntil(item.expiry));
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
      AddRemaining(found_expiry_, to);
    } else {
      AddEcho(flag, command, to);
    }
  });
}

}  // namespace plov::door::memcached
