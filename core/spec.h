#pragma once
// Parses durations ("30s"), counts ("64k"), ladders of levels ("1,2,4", "1..64", "8..64:8") and specs
// ("lognormal:mean=512,cv=1"). The functions throw UsageError naming the text and what was expected.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// Reads "30s", "1.5m", "1m30s", "20ms", "300us", "50ns", "2h", or a number of seconds, from 0 to 1e9 s.
Duration parse_duration(std::string_view text);

/// Reads a duration like parse_duration(), but a number without a unit is in milliseconds.
Duration parse_milliseconds(std::string_view text);

/// Returns "90s", "1500us": the largest of s, ms, us and ns that needs no fraction.
std::string text_of(Duration duration);

/// Reads a finite number: "8", "1.5", "4k". The suffixes k, M and G are powers of 1000.
double parse_number(std::string_view text);

/// Reads a whole number from 0: "500", "64k", "2M" (powers of 1000).
std::uint64_t parse_count(std::string_view text);

/// Returns whether a text can be a name: letters, digits, - and _, at least one.
bool is_plain_name(std::string_view text);

/// The kinds of numbers that a ladder may have; none is above 1e9.
enum class Rungs : std::uint8_t {
    whole,    ///< whole numbers of at least 1
    decimal,  ///< numbers of at least 0.000001
};

/// Reads a ladder: a list ("1,2,4"), a range by doubling ("1..64") or in equal steps ("8..64:8"), or several
/// with commas between them. The result is ascending, at most 10,000 values.
std::vector<double> parse_ladder(std::string_view text, Rungs rungs);

/// A name with fields: "poisson:rate=8" → name "poisson", fields {rate: "8"}; "64" → name "64", no fields.
struct Spec {
    std::string name;
    std::map<std::string, std::string> fields;

    bool operator==(const Spec&) const = default;

    double number(const std::string& key) const;  ///< reads "8", "1.5", "4k"; throws if missing or no number
    double number_or(const std::string& key, double otherwise) const;
    std::string text_or(const std::string& key, std::string_view otherwise) const;
    void expect_only(std::initializer_list<std::string_view> keys) const;  ///< throws on any other key
};
Spec parse_spec(std::string_view text);

/// Returns a text that parse_spec() reads; fields are in alphabetical order.
std::string text_of(const Spec& spec);

}  // namespace paretoken
