// plov.h as a C compiler sees it: that it compiles, and that both languages lay it out alike.
#include "tests/capi/header_in_c.h"

_Static_assert(PLOV_SYSTEM == 15, "codes are constants");
_Static_assert(PLOV_WRONG_TYPE == 19, "codes are constants");
_Static_assert(sizeof(plov_put_options) == 24, "programs without a struct_bytes have this size");
_Static_assert(sizeof(((plov_error*)0)->message) == PLOV_MESSAGE_BYTES, "messages have that room");

size_t plov_layout_in_c(size_t index) {
  static const size_t layout[] = {PLOV_LAYOUT};
  return index < sizeof(layout) / sizeof(layout[0]) ? layout[index] : 0;
}

plov_code plov_round_trip_in_c(plov_client* client, const char* key, const char* value) {
  plov_item item = {{NULL, 0}, 0, 0, 0};
  const plov_put_options options = {.mode = PLOV_ADD, .flags = 7};
  plov_code code = plov_put(client, plov_text(key), plov_text(value), &options, NULL);
  if (code != PLOV_OK) return code;
  code = plov_get(client, plov_text(key), &item);
  if (code != PLOV_OK) return code;
  if (item.flags != 7 || item.value.bytes != strlen(value)) return PLOV_CORRUPT;
  if (memcmp(item.value.data, value, item.value.bytes) != 0) return PLOV_CORRUPT;
  return plov_delete(client, plov_text(key), item.version);
}
