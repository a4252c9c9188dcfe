// Image: an emulated design's bytes, written once, before anybody READs them.
#pragma once

#include <cstddef>
#include <expected>
#include <span>

#include "bench/designs/layout.h"
#include "verify/error.h"

namespace plov::bench {

// Writes all items of the layout into zeroed memory of region_bytes. kNoSpace.
std::expected<void, Error> WriteImage(const Layout& layout, std::span<std::byte> region);

// Seeds of the checksums, by place.
uint64_t PlaceSeed(uint64_t offset);

}  // namespace plov::bench
