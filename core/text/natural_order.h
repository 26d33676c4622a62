#pragma once
// The order of labels for people, in which numbers count as numbers: "x2" is before "x16". It is pure.
#include <string_view>

namespace paretoken {

/// Compares texts from left to right, the numbers in them by their values and all else byte by byte. "0.25"
/// is one number; the parts of a version such as "0.10.1" are several.
struct NaturalLess {
    using is_transparent = void;

    bool operator()(std::string_view a, std::string_view b) const;
};

}  // namespace paretoken
