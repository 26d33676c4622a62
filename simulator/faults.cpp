#include "simulator/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/error.h"
#include "core/random.h"
#include "core/spec.h"

namespace paretoken::sim {
namespace {

using std::chrono::milliseconds;

constexpr FaultKind kQuirk = FaultKind::quirk;
constexpr FaultKind kFault = FaultKind::fault;

constexpr FaultRow kRows[] = {
    {"crlf", kQuirk, Misbehaviour::crlf, "", 0, false, {}, "lines end in CR LF"},
    {"bare-cr", kQuirk, Misbehaviour::bare_cr, "", 0, false, {}, "lines end in CR"},
    {"no-space", kQuirk, Misbehaviour::no_space, "", 0, false, {}, "no space after \"data:\""},
    {"pings", kQuirk, Misbehaviour::pings, "every", 1, false, {}, "a comment before every Nth token"},
    {"split",
     kQuirk,
     Misbehaviour::split,
     "bytes",
     7,
     false,
     {},
     "the body is written in pieces of this many bytes"},
    {"coalesce",
     kQuirk,
     Misbehaviour::coalesce,
     "tokens",
     4,
     false,
     {},
     "the events of this many tokens in one write"},
    {"close-delimited",
     kQuirk,
     Misbehaviour::close_delimited,
     "",
     0,
     false,
     {},
     "no length and no chunks: the answer ends with the connection"},
    {"no-done", kQuirk, Misbehaviour::no_done, "", 0, false, {}, "no [DONE] at the end"},
    {"null-content",
     kQuirk,
     Misbehaviour::null_content,
     "",
     0,
     false,
     {},
     "a chat opens with \"content\":null"},
    {"reasoning-content",
     kQuirk,
     Misbehaviour::reasoning_content,
     "",
     0,
     false,
     {},
     "reasoning comes under the older name reasoning_content"},
    {"gzip", kQuirk, Misbehaviour::gzip, "", 0, false, {}, "compressed although nobody asked for it"},
    {"reset",
     kFault,
     Misbehaviour::reset,
     "after",
     5,
     false,
     {},
     "the connection is reset after this many tokens"},
    {"stall", kFault, Misbehaviour::stall, "after", 5, true, milliseconds(500),
     "nothing is written for a while after this many tokens"},
    {"slow-headers", kFault, Misbehaviour::slow_headers, "", 0, true, milliseconds(500),
     "the answer, head included, is held back for a while"},
    {"http-429", kFault, Misbehaviour::http_429, "", 0, false, {}, "refused with 429 and Retry-After"},
    {"http-503", kFault, Misbehaviour::http_503, "", 0, false, {}, "refused with 503"},
    {"error-chunk",
     kFault,
     Misbehaviour::error_chunk,
     "after",
     5,
     false,
     {},
     "an error object inside the stream after this many tokens"},
    {"truncate",
     kFault,
     Misbehaviour::truncate,
     "after",
     5,
     false,
     {},
     "the stream ends after this many tokens as if it were complete"},
};

std::string_view word_for(FaultKind kind) {
    return kind == kQuirk ? "quirk" : "fault";
}

const FaultRow& row_named(FaultKind kind, std::string_view name, std::string_view text) {
    std::string known;
    for (const FaultRow& row : kRows) {
        if (row.name == name && row.kind == kind) return row;
        if (row.kind == kind) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    for (const FaultRow& row : kRows) {
        if (row.name == name) {
            throw UsageError(fmt::format("--{} {}: {} is a {}; write --{} {}", word_for(kind), text, name,
                                         word_for(row.kind), word_for(row.kind), text));
        }
    }
    throw UsageError(fmt::format("--{} {}: unknown; there are {}", word_for(kind), text, known));
}

/// Returns the whole number of a field; a number of tokens may have the unit "tok".
std::int64_t count_in(std::string_view value, std::string_view field, std::string_view option) {
    std::string_view digits = value;
    if (digits.ends_with("tok")) digits.remove_suffix(3);
    std::int64_t count = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    const std::int64_t least = field == "after" || field == "seed" ? 0 : 1;
    if (error != std::errc{} || end != digits.data() + digits.size() || count < least) {
        throw UsageError(fmt::format("{}: {} is \"{}\", but must be a whole number from {} on", option, field,
                                     value, least));
    }
    return count;
}

std::string fields_of(const FaultRow& row) {
    std::string fields;
    if (!row.count_field.empty()) fields += fmt::format("{}={},", row.count_field, row.count);
    if (row.has_time) fields += fmt::format("ms={},", row.time / milliseconds(1));
    return fields + "p=1,seed=…";
}

void set_field(Fault& fault, const FaultRow& row, const std::string& key, const std::string& value,
               const std::string& option) {
    if (key == "p") {
        fault.probability = Spec{row.name.data(), {{key, value}}}.number(key);
        if (!(fault.probability >= 0 && fault.probability <= 1))
            throw UsageError(fmt::format("{}: p is {}, but must be between 0 and 1", option, value));
    } else if (key == "seed") {
        fault.seed = static_cast<std::uint64_t>(count_in(value, key, option));
    } else if (!row.count_field.empty() && key == row.count_field) {
        fault.count = count_in(value, key, option);
    } else if (row.has_time && key == "ms") {
        fault.time = milliseconds(count_in(value, key, option));
    } else {
        throw UsageError(
            fmt::format("{}: unknown field \"{}\"; {} has {}", option, key, row.name, fields_of(row)));
    }
}

void inject(InjectedFaults& injected, const Fault& fault) {
    switch (fault.what) {
        case Misbehaviour::crlf:
            injected.line_end = "\r\n";
            break;
        case Misbehaviour::bare_cr:
            injected.line_end = "\r";
            break;
        case Misbehaviour::no_space:
            injected.no_space = true;
            break;
        case Misbehaviour::pings:
            injected.ping_every = fault.count;
            break;
        case Misbehaviour::split:
            injected.piece_bytes = fault.count;
            break;
        case Misbehaviour::coalesce:
            injected.coalesce = fault.count;
            break;
        case Misbehaviour::close_delimited:
            injected.close_delimited = true;
            break;
        case Misbehaviour::no_done:
            injected.no_done = true;
            break;
        case Misbehaviour::null_content:
            injected.null_content = true;
            break;
        case Misbehaviour::reasoning_content:
            injected.reasoning_content = true;
            break;
        case Misbehaviour::gzip:
            injected.gzip = true;
            break;
        case Misbehaviour::reset:
            injected.reset_after = fault.count;
            break;
        case Misbehaviour::stall:
            injected.stall_after = fault.count;
            injected.stall = fault.time;
            break;
        case Misbehaviour::slow_headers:
            injected.header_delay = fault.time;
            break;
        case Misbehaviour::http_429:
            injected.status = 429;
            break;
        case Misbehaviour::http_503:
            injected.status = 503;
            break;
        case Misbehaviour::error_chunk:
            injected.error_after = fault.count;
            break;
        case Misbehaviour::truncate:
            injected.truncate_after = fault.count;
            break;
    }
}

const FaultRow& row_of(Misbehaviour what) {
    return *std::ranges::find(kRows, what, &FaultRow::what);
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

}  // namespace

std::span<const FaultRow> fault_table() {
    return kRows;
}

std::string_view name_of(Misbehaviour what) {
    return row_of(what).name;
}

Fault parse_fault(FaultKind kind, std::string_view text) {
    const Spec spec = parse_spec(text);
    const FaultRow& row = row_named(kind, spec.name, text);
    const std::string option = fmt::format("--{} {}", word_for(kind), text);
    Fault fault{.what = row.what, .seed = {}, .count = row.count, .time = row.time};
    for (const auto& [key, value] : spec.fields) set_field(fault, row, key, value, option);
    return fault;
}

std::string fault_help(FaultKind kind) {
    std::string help;
    for (const FaultRow& row : kRows) {
        if (row.kind != kind) continue;
        std::string name(row.name);
        if (!row.count_field.empty()) name += fmt::format(":{}={}", row.count_field, row.count);
        if (row.has_time)
            name += fmt::format("{}ms={}", row.count_field.empty() ? ":" : ",", row.time / milliseconds(1));
        fmt::format_to(std::back_inserter(help), "\n{}: {}", name, row.title);
    }
    return help;
}

InjectedFaults faults_of_answer(std::span<const Fault> faults, std::uint64_t seed, std::uint64_t number) {
    InjectedFaults injected;
    for (const Fault& fault : faults) {
        Random random(derived_seed(fault.seed.value_or(seed), row_of(fault.what).name, number));
        if (random.uniform() < fault.probability) inject(injected, fault);
    }
    return injected;
}

std::string events_with_faults(const InjectedFaults& injected, std::string_view events) {
    std::string text(events);
    if (injected.null_content)
        replace_all(text, R"("role":"assistant","content":"")", R"("role":"assistant","content":null)");
    if (injected.reasoning_content) replace_all(text, R"("reasoning":")", R"("reasoning_content":")");
    if (injected.no_done) replace_all(text, "data: [DONE]\n\n", "");
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const bool cut = injected.no_space && line.starts_with("data: ");
        if (cut) out += "data:";
        out += cut ? line.substr(6) : line;
        out += injected.line_end;
    }
    return out;
}

std::vector<std::string> writes_with_faults(const InjectedFaults& injected, std::string_view body,
                                            bool chunked) {
    std::vector<std::string> writes;
    const std::size_t most =
        injected.piece_bytes > 0 ? static_cast<std::size_t>(injected.piece_bytes) : body.size();
    for (; !body.empty(); body.remove_prefix(std::min(most, body.size()))) {
        const std::string_view piece = body.substr(0, most);
        writes.push_back(chunked ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : std::string(piece));
    }
    return writes;
}

}  // namespace paretoken::sim
