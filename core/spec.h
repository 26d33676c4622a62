#pragma once
// The little languages of the command line: durations ("30s", "20ms"), counts ("64k"), ladders ("1,2,4",
// "1..64", "8..64:8") and named specs ("lognormal:mean=512,cv=1"). All throw UsageError naming the text and
// what was expected.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// "30s", "1.5m", "20ms", "300us", "2h"; a bare number is seconds.
Duration parse_duration(std::string_view text);

/// The text that parse_duration takes back: "90s", "1500us", in the largest unit that needs no fraction.
std::string text_of(Duration duration);

/// "8", "1.5", "4k" (powers of 1000); finite.
double parse_number(std::string_view text);

/// "500", "64k", "2M" (powers of 1000).
std::uint64_t parse_count(std::string_view text);

/// Whether a text can be a name: letters, digits, - and _, at least one.
bool is_plain_name(std::string_view text);

/// The kinds of steps that a ladder may have.
enum class Rungs : std::uint8_t {
    whole,    ///< whole numbers of at least 1
    decimal,  ///< numbers above 0
};

/// "1,2,4" as given; "1..64" by doubling (the end is always included); "8..64:8" in steps; "0.25..8" where
/// decimals are allowed. Ascending, no repeats.
std::vector<double> parse_ladder(std::string_view text, Rungs rungs);

/// "poisson:rate=8" → name "poisson", fields {rate: "8"}; "64" → name "64", no fields.
struct Spec {
    std::string name;
    std::map<std::string, std::string> fields;

    bool operator==(const Spec&) const = default;

    double number(const std::string& key) const;  ///< "8", "1.5", "4k"; throws when missing or not a number
    double number_or(const std::string& key, double otherwise) const;
    std::string text_or(const std::string& key, std::string_view otherwise) const;
    void expect_only(std::initializer_list<std::string_view> keys) const;  ///< throws on any other key
};
Spec parse_spec(std::string_view text);

/// The text that parse_spec takes back; fields are in alphabetical order.
std::string text_of(const Spec& spec);

}  // namespace paretoken
