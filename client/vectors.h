// Vectors: what a server is asked to do with one (plov/vectors.h, verify/vector.h).
//
// Threads: the client's.
#pragma once

#include <plov/client.h>

#include <expected>
#include <string_view>

#include "client/write_queue.h"

namespace plov {

class Engine;

// An operand with many elements stays the caller's.
Write MakeUpdate(std::string_view key, VectorFunction function, const VectorOperand& operand,
                 const VectorOptions& options);

std::expected<Reduced, Error> Reduce(Engine* engine, std::string_view key, VectorFunction function,
                                     const VectorSlice& slice);
std::expected<Filtered, Error> Filter(Engine* engine, std::string_view key, Comparison comparison,
                                      const VectorOperand& operand, const VectorSlice& slice);

}  // namespace plov
