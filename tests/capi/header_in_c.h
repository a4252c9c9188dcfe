// What header_in_c.c, compiled as C, shows to the tests.
#pragma once

#include <plov.h>

// Sizes and offsets that C and C++ must agree on.
#define PLOV_LAYOUT                                                                               \
  sizeof(plov_code), sizeof(plov_error), offsetof(plov_error, message), sizeof(plov_view),        \
      sizeof(plov_item), offsetof(plov_item, expiry), sizeof(plov_options),                       \
      offsetof(plov_options, window), offsetof(plov_options, max_age_us),                         \
      sizeof(plov_put_options), offsetof(plov_put_options, ttl_seconds), sizeof(plov_put_item),   \
      sizeof(plov_increment_options), offsetof(plov_increment_options, initial),                  \
      offsetof(plov_increment_options, flags), sizeof(plov_increment_result),                     \
      offsetof(plov_increment_result, version), sizeof(plov_get_result),                          \
      offsetof(plov_get_result, item), sizeof(plov_write_result),                                 \
      offsetof(plov_write_result, version), sizeof(plov_client_stats), sizeof(plov_scan_summary), \
      offsetof(plov_scan_summary, settled), sizeof(plov_vector_slice), sizeof(plov_vector),       \
      offsetof(plov_vector, elements), sizeof(plov_reduced), offsetof(plov_reduced, value),       \
      sizeof(plov_filtered), offsetof(plov_filtered, version)

#ifdef __cplusplus
extern "C" {
#endif

// The layout's number `index`; 0 past the last.
size_t plov_layout_in_c(size_t index);

// Adds an item, gets it and removes it.
plov_code plov_round_trip_in_c(plov_client* client, const char* key, const char* value);

#ifdef __cplusplus
}
#endif
