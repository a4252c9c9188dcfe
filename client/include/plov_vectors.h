// Vectors in C: values that are elements of one type, which the server changes, sums up and looks through
// where they are. A part of plov.h, which includes it.
//
//   const float half = 0.5f;
//   plov_update_vector(client, plov_text("v"), PLOV_VECTOR_ADD,
//                      plov_elements(PLOV_FLOAT, &half, sizeof(half)), NULL, 0, NULL);
//   plov_reduced sum;
//   if (plov_reduce_vector(client, plov_text("v"), PLOV_VECTOR_ADD, NULL, &sum) == PLOV_OK) {
//     use(sum.value.as_double);
//   }
//
// Any PUT stores one: the value is the PLOV_VECTOR_HEAD_BYTES of plov_vector_head and then the elements,
// little-endian. PLOV_APPEND adds elements; plov_vector_of says what a value has that a GET found.
#pragma once

#include <plov.h>

#ifdef __cplusplus
extern "C" {
#endif

// Numbers never change.
typedef enum plov_element_type {
  PLOV_INT8 = 1,
  PLOV_INT16 = 2,
  PLOV_INT32 = 3,
  PLOV_INT64 = 4,
  PLOV_UINT8 = 5,
  PLOV_UINT16 = 6,
  PLOV_UINT32 = 7,
  PLOV_UINT64 = 8,
  PLOV_FLOAT = 9,
  PLOV_DOUBLE = 10
} plov_element_type;

typedef enum plov_vector_function {
  PLOV_VECTOR_ASSIGN = 1,  // not of plov_reduce_vector
  PLOV_VECTOR_ADD =
      2,  // of integers modulo 2 to the power of their bits, of plov_reduce_vector of 64
  PLOV_VECTOR_MIN = 3,  // NaN is not the lesser of two
  PLOV_VECTOR_MAX = 4,  // nor the greater
  PLOV_VECTOR_AND = 5,  // of integers only, as the next two
  PLOV_VECTOR_OR = 6,
  PLOV_VECTOR_XOR = 7
} plov_vector_function;

// Of floating point as IEEE 754 has it: NaN is not equal to itself.
typedef enum plov_comparison {
  PLOV_EQUAL = 1,
  PLOV_NOT_EQUAL = 2,
  PLOV_LESS = 3,
  PLOV_LESS_OR_EQUAL = 4,
  PLOV_GREATER = 5,
  PLOV_GREATER_OR_EQUAL = 6
} plov_comparison;

enum { PLOV_VECTOR_HEAD_BYTES = 8 };

// As a slice's count: all elements up to the end.
#define PLOV_TO_END UINT64_MAX

// Elements next to each other. One that goes beyond the vector's end is PLOV_OUT_OF_RANGE.
typedef struct plov_vector_slice {
  uint64_t first;
  uint64_t count;
} plov_vector_slice;

// Elements of one type, at any address, little-endian.
typedef struct plov_vector {
  uint32_t type;  // a plov_element_type
  uint32_t reserved;
  plov_view elements;
} plov_vector;

// What plov_reduce_vector made of a slice.
typedef struct plov_reduced {
  uint32_t type;  // the vector's, a plov_element_type
  uint32_t reserved;
  uint64_t count;  // of the slice's elements; of none, the value is what changes nothing
  uint64_t version;
  union {
    int64_t as_signed;     // PLOV_INT8 to PLOV_INT64
    uint64_t as_unsigned;  // PLOV_UINT8 to PLOV_UINT64
    double as_double;      // PLOV_FLOAT, PLOV_DOUBLE
  } value;
} plov_reduced;

// What plov_filter_vector found, in order.
typedef struct plov_filtered {
  plov_vector found;
  const uint32_t* indexes;  // of what was found
  size_t count;             // of these
  uint64_t version;
} plov_filtered;

static inline plov_vector plov_elements(uint32_t type, const void* data, size_t bytes) {
  plov_vector vector = {type, 0, {data, bytes}};
  return vector;
}

// Writes the PLOV_VECTOR_HEAD_BYTES with which a vector of this plov_element_type begins.
PLOV_API plov_code plov_vector_head(uint32_t type, void* head);

// Returns: PLOV_OK with the elements, which are the value's; PLOV_WRONG_TYPE when it is no vector, and
//          `vector` is all zero then; PLOV_INVALID_ARGUMENT.
// Cost:    nothing: it asks nobody.
PLOV_API plov_code plov_vector_of(plov_view value, plov_vector* vector);

// Changes elements of a vector, each by the plov_vector_function of it and the operand; atomic, at most
// once. Flags and expiry stay.
//
// operand: of the vector's type: one element for all of the slice, or one for each.
// slice:   may be NULL for the whole vector.
// expected_version: not 0: only this version of it.
// version: may be NULL; receives the new version.
// Errors:  PLOV_NOT_FOUND, PLOV_WRONG_TYPE, PLOV_OUT_OF_RANGE (the slice), PLOV_TOO_LARGE (an operand over
//          16 KiB), PLOV_VERSION_MISMATCH, PLOV_INVALID_ARGUMENT (and, or, xor of floating point); else as
//          plov_put.
// Cost:    one message and its reply; the server copies the vector.
PLOV_API plov_code plov_update_vector(plov_client* client, plov_view key, uint32_t function,
                                      plov_vector operand, const plov_vector_slice* slice,
                                      uint64_t expected_version, uint64_t* version);
// As the other plov_start functions. Key and operand must stay; the slice need not.
PLOV_API plov_code plov_start_update_vector(plov_client* client, plov_view key, uint32_t function,
                                            plov_vector operand, const plov_vector_slice* slice,
                                            uint64_t expected_version, plov_write_callback done,
                                            void* context);

// What the plov_vector_function makes of all elements of a slice, one after the other: their sum, the
// least, ...; by the server, as they are at one instant.
//
// slice:   may be NULL for the whole vector.
// reduced: receives it; all zero unless PLOV_OK.
// Errors:  PLOV_NOT_FOUND, PLOV_WRONG_TYPE (also and, or, xor of floating point), PLOV_OUT_OF_RANGE (the
//          slice), PLOV_PROTOCOL (an older server).
// Cost:    one message and its reply; the server reads the elements.
PLOV_API plov_code plov_reduce_vector(plov_client* client, plov_view key, uint32_t function,
                                      const plov_vector_slice* slice, plov_reduced* reduced);

// The elements of a slice that compare so to the operand, and their indexes; as they are at one instant.
// The deadline is each message's.
//
// comparison: a plov_comparison, with the operand on the right.
// operand:    one element, of the vector's type.
// slice:      may be NULL for the whole vector.
// filtered:   receives them. Their memory belongs to the client and stays until its next call; all zero
//             unless PLOV_OK.
// Errors:     as plov_reduce_vector; PLOV_VERSION_MISMATCH (the vector was written all the time).
// Cost:       one message and its reply for each 30 KB of what is found, indexes of 4 bytes and elements.
PLOV_API plov_code plov_filter_vector(plov_client* client, plov_view key, uint32_t comparison,
                                      plov_vector operand, const plov_vector_slice* slice,
                                      plov_filtered* filtered);

#ifdef __cplusplus
}
#endif
