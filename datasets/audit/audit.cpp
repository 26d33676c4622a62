#include "datasets/audit/audit.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>
#include <string_view>

#include "core/error.h"
#include "core/text/printable.h"
#include "datasets/audit/block_table.h"
#include "datasets/files/json_row.h"
#include "datasets/files/row_file.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMostGroups = 64;
constexpr std::size_t kMostStretches = 20;
constexpr std::size_t kMostExamples = 8;  // prompts of a class that later ones are compared with
constexpr std::size_t kMostCompared = 16 << 10;
constexpr std::size_t kMostChanges = 64;  // different ones per class
constexpr std::size_t kAlike = 32;        // bytes at the start that similar prompts share

// ---- a line

struct Line {
    std::string group = {};
    std::string model = {};
    std::string time = {};
    std::string prompt = {};  ///< whole text of the prompt; empty: none
    std::optional<std::uint64_t> input_tokens = {};
    std::optional<std::uint64_t> cached_tokens = {};
    bool impossible = false;  ///< whether more tokens were cached than there were, which are then left out
};

std::optional<dom::element> field_of(dom::element object, std::string_view key) {
    dom::element value;
    if (!object.is_object() || object[key].get(value) || value.is_null()) return std::nullopt;
    return value;
}

/// Returns the value of the first of `keys` that the object has, as text.
std::string first_text(dom::element object, std::span<const std::string_view> keys) {
    for (const std::string_view key : keys)
        if (const auto value = field_of(object, key)) {
            std::string_view text;
            return value->get(text) ? simdjson::minify(*value) : std::string(text);
        }
    return {};
}

std::optional<std::uint64_t> count_in(std::optional<dom::element> object, std::string_view key) {
    const auto value = object ? field_of(*object, key) : std::nullopt;
    std::uint64_t count = 0;
    if (!value || value->get(count)) return std::nullopt;
    return count;
}

void append_content(dom::element content, std::string& text) {
    std::string_view plain;
    if (!content.get(plain)) {
        text += plain;
        return;
    }
    dom::array parts;
    if (content.get(parts)) return;
    for (const dom::element part : parts) {
        if (!part.get(plain))
            text += plain;
        else if (const auto words = field_of(part, "text"))
            append_content(*words, text);
    }
}

/// Returns the text of a prompt. For a chat it includes the roles, as in a chat template.
std::string prompt_in(dom::element object) {
    std::string text;
    if (const auto system = field_of(object, "system")) append_content(*system, text);
    if (const auto messages = field_of(object, "messages")) {
        dom::array list;
        if (messages->get(list)) return text;
        for (const dom::element message : list) {
            static constexpr std::array<std::string_view, 1> kRole{"role"};
            text += first_text(message, kRole) + "\n";
            if (const auto content = field_of(message, "content")) append_content(*content, text);
            text += "\n";
        }
    } else if (const auto prompt = field_of(object, "prompt")) {
        append_content(*prompt, text);
    }
    return text;
}

/// Reads usage in every provider's spelling. Anthropic's input_tokens exclude tokens read from or written to
/// the cache.
void read_usage(dom::element usage, Line& line) {
    line.input_tokens = count_in(usage, "prompt_tokens");
    if (!line.input_tokens) line.input_tokens = count_in(usage, "input_tokens");
    for (const char* key : {"cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"})
        if (!line.cached_tokens) line.cached_tokens = count_in(usage, key);
    for (const char* key : {"prompt_tokens_details", "input_tokens_details"})
        if (!line.cached_tokens) line.cached_tokens = count_in(field_of(usage, key), "cached_tokens");
    const auto written = count_in(usage, "cache_creation_input_tokens");
    const auto read = count_in(usage, "cache_read_input_tokens");
    if (line.input_tokens && (written || read)) *line.input_tokens += written.value_or(0) + read.value_or(0);
}

Line line_of(std::string_view text, const RowPlace& place) {
    static constexpr std::array<std::string_view, 4> kGroups{"class", "endpoint", "path", "model"};
    static constexpr std::array<std::string_view, 1> kModel{"model"};
    static constexpr std::array<std::string_view, 5> kTimes{"at", "at_s", "time", "timestamp", "created"};
    const dom::element root = object_of(text, place);
    Line line{.group = first_text(root, kGroups), .time = first_text(root, kTimes)};
    for (const auto& object : {std::optional(root), field_of(root, "request"), field_of(root, "body")}) {
        if (!object) continue;
        if (line.prompt.empty()) line.prompt = prompt_in(*object);
        if (line.model.empty()) line.model = first_text(*object, kModel);
    }
    if (line.group.empty()) line.group = line.model;
    const auto response = field_of(root, "response");
    for (const auto& object : {field_of(root, "usage"),
                               response ? field_of(*response, "usage") : std::nullopt, std::optional(root)})
        if (object && !line.input_tokens) read_usage(*object, line);
    line.impossible = line.input_tokens && line.cached_tokens.value_or(0) > *line.input_tokens;
    if (line.impossible) line.cached_tokens.reset();
    return line;
}

void add(AuditGroup& group, const Line& line) {
    ++group.requests;
    if (!line.input_tokens || !line.cached_tokens) return;
    ++group.with_usage;
    group.input_tokens += *line.input_tokens;
    group.cached_tokens += *line.cached_tokens;
}

// ---- what changes

/// Finds the parts that change between the prompts of one class.
class ChangeFinder {
  public:
    void add(std::string_view prompt) {
        prompt = prompt.substr(0, kMostCompared);
        bool alike = false;
        for (const std::string& example : examples_) {
            if (const auto part = changing_part(example, prompt)) return count(*part);
            alike = alike || example.substr(0, kAlike) == prompt.substr(0, kAlike);
        }
        if (!alike && examples_.size() < kMostExamples) examples_.emplace_back(prompt);
    }

    const std::pair<ChangingPart, std::uint64_t>* most_frequent() const {
        const auto most = std::ranges::max_element(
            changes_, [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
        return most == changes_.end() ? nullptr : &most->second;
    }

  private:
    void count(const ChangingPart& part) {
        const auto found = changes_.find(part.before);
        if (found != changes_.end())
            ++found->second.second;
        else if (changes_.size() < kMostChanges)
            changes_.emplace(part.before, std::pair(part, std::uint64_t{1}));
    }

    std::vector<std::string> examples_;
    std::map<std::string, std::pair<ChangingPart, std::uint64_t>> changes_;  ///< by the words before them
};

// ---- the log

class Audit {
  public:
    Audit(const std::string& path, const AuditOptions& options) : path_(path), options_(options) {}

    LogAudit result() {
        BlockTable table(options_.blocks);
        std::uint64_t bytes = 0;
        std::uint64_t seen = 0;
        for_each_line([&](const Line& line, const RowPlace& place) {
            ++found_.lines;
            found_.impossible += line.impossible ? 1 : 0;
            if (line.prompt.empty() && !line.input_tokens) {
                ++found_.without_anything;
                return;
            }
            count(line, place);
            if (line.prompt.empty()) return;
            ++found_.prompts;
            bytes += line.prompt.size();
            seen += table.seen_bytes(line.prompt, world_of(line));
            finders_[group_of(line)].add(line.prompt);
        });
        if (found_.prompts == 0 && found_.all.requests == 0)
            throw UsageError(
                fmt::format("{}: no line holds \"messages\", \"prompt\" or usage with "
                            "\"prompt_tokens\"; give a log of requests",
                            path_));
        for (const auto& [name, group] : groups_) found_.groups.push_back(group);
        if (bytes == 0) return std::move(found_);
        found_.blocks_room = table.room();
        found_.blocks_forgotten = table.forgotten();
        found_.cacheable = static_cast<double>(seen) / static_cast<double>(bytes);
        name_changes();
        if (!found_.changes.empty()) found_.cacheable_moved = share_with_parts_moved();
        return std::move(found_);
    }

  private:
    void for_each_line(const std::function<void(const Line&, const RowPlace&)>& visit) const {
        const RowFile file(path_, RowLayout::lines, [&](std::string_view text, const RowPlace& place) {
            visit(line_of(text, place), place);
        });
    }

    static std::uint64_t world_of(const Line& line) { return std::hash<std::string>()(line.model); }

    /// Returns the group of a line: its class, or "others" if the log already has the most classes.
    std::string group_of(const Line& line) const {
        const bool fits = groups_.contains(line.group) || groups_.size() < kMostGroups;
        return fits ? line.group : "others";
    }

    void count(const Line& line, const RowPlace& place) {
        add(found_.all, line);
        const std::string name = group_of(line);
        AuditGroup& group = groups_[name];
        group.name = name;
        add(group, line);
        auto& stretches = found_.stretches;
        if (stretches.empty() || stretches.back().requests >= stretch_) {
            if (stretches.size() == kMostStretches) halve(stretches);
            if (stretches.empty() || stretches.back().requests >= stretch_)
                stretches.push_back({.name = line.time, .first_line = place.line});
        }
        add(stretches.back(), line);
    }

    /// Joins every two sections into one, and doubles the length of later ones.
    void halve(std::vector<AuditGroup>& stretches) {
        std::vector<AuditGroup> longer;
        for (std::size_t i = 0; i < stretches.size(); i += 2) {
            AuditGroup both = stretches[i];
            if (i + 1 < stretches.size()) {
                both.requests += stretches[i + 1].requests;
                both.with_usage += stretches[i + 1].with_usage;
                both.input_tokens += stretches[i + 1].input_tokens;
                both.cached_tokens += stretches[i + 1].cached_tokens;
            }
            longer.push_back(std::move(both));
        }
        stretches = std::move(longer);
        stretch_ *= 2;
    }

    void name_changes() {
        constexpr std::size_t kShownBefore = 20;
        for (const auto& [name, finder] : finders_) {
            const auto* const most = finder.most_frequent();
            if (most == nullptr) continue;
            const ChangingPart& part = most->first;
            std::size_t cut = part.before.size() - std::min(part.before.size(), kShownBefore);
            while (cut < part.before.size() && continues_character(part.before[cut])) ++cut;
            found_.changes.push_back({.group = name,
                                      .kind = kind_of(part.text),
                                      .example = redacted(part.text),
                                      .before = part.before.substr(cut),
                                      .at = part.at,
                                      .prompts = most->second});
        }
    }

    double share_with_parts_moved() {
        BlockTable table(options_.blocks);
        std::uint64_t bytes = 0;
        std::uint64_t seen = 0;
        for_each_line([&](const Line& line, const RowPlace&) {
            if (line.prompt.empty()) return;
            const auto* const most = finders_[group_of(line)].most_frequent();
            bytes += line.prompt.size();
            seen += table.seen_bytes(most == nullptr ? line.prompt : moved_back(most->first, line.prompt),
                                     world_of(line));
        });
        found_.blocks_forgotten = std::max(found_.blocks_forgotten, table.forgotten());
        return static_cast<double>(seen) / static_cast<double>(bytes);
    }

    const std::string& path_;
    const AuditOptions& options_;
    LogAudit found_;
    std::map<std::string, AuditGroup> groups_;
    std::map<std::string, ChangeFinder> finders_;
    std::uint64_t stretch_ = 1;  ///< requests per section
};

}  // namespace

std::optional<double> AuditGroup::served() const {
    if (input_tokens == 0) return std::nullopt;
    return static_cast<double>(cached_tokens) / static_cast<double>(input_tokens);
}

LogAudit audit_of_log(const std::string& path, const AuditOptions& options) {
    return Audit(path, options).result();
}

}  // namespace paretoken::datasets
