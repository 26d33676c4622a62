#pragma once
// What the parts of the composition (composition.h) share.
#include <fmt/format.h>

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/words/composition.h"
#include "cli/words/groups.h"

namespace paretoken::cli {

struct Composing {
    Parts& parts;
    const Origin& origin;
    Translation& out;

    bool is(Tool tool) const { return origin.tool == tool; }
    bool whole(Tool tool) const { return origin.whole && origin.tool == tool; }
    void note(std::string text) const { out.notes.push_back(std::move(text)); }
    void absent(std::string text) const { out.absent.push_back(std::move(text)); }
    /// Adds an option of the command that is no field of the plan.
    void option(std::string_view name, std::string value) const {
        out.more.insert(out.more.end(), {std::string(name), std::move(value)});
    }
    /// Names the file into which data are to be saved first (`advice`), because nothing is downloaded.
    void need_file(std::string_view what, std::string_view advice, const std::string& file) const {
        absent(fmt::format("{}: nothing is downloaded; {}", what, advice));
        parts.set("dataset_path", file);
        out.file = file;
    }
};

/// Reads the fields of a group, and remembers which of them were asked for.
class Fields {
  public:
    explicit Fields(Group group) : group_(std::move(group)) {}

    /// Returns the value of a field; empty when there is none.
    std::string value(std::string_view key);
    /// Returns the names of the fields that were not asked for.
    std::vector<std::string> unread() const;

  private:
    Group group_;
    std::set<std::string, std::less<>> read_;
};

struct ForeignValue {
    std::string_view name;
    std::string_view ours;  ///< empty: there is none
    std::string_view why = {};
};

const ForeignValue* row_named(std::span<const ForeignValue> rows, std::string_view name);
const ForeignValue* backend_named(std::string_view name);
const ForeignValue* dataset_named(std::string_view name);

inline constexpr std::string_view kText = "only endpoints that generate text are measured";
inline constexpr std::string_view kPictures = "requests with images, audio or video are not sent";
inline constexpr std::string_view kValueNeeded =
    "the value is needed here; write it in place of the variable, or NAME=VALUE on a line before the command";
inline constexpr std::string_view kStreams =
    "every answer is read as a stream, because the times of tokens are what is measured";

/// Whether a text is a place to fill in: "<rate>", "{{ rate }}".
bool is_place(std::string_view text);
/// Whether a text is for the reader or the shell to fill in: a place, or one with a variable.
bool is_to_fill_in(std::string_view text);
/// Reads the number that an option has. Throws UsageError naming the option.
double number(std::string_view option, const std::string& text);
std::string text_of_number(double value);
/// Puts "http://" before an address without a scheme.
std::string with_scheme(const std::string& url);

/// The mix of models that requests name in turn: "A=1,B=1", or the only one.
std::string mix_of(const Texts& models);
/// The path of a file or directory, and not a name on a hub.
bool is_file(std::string_view text);
/// A length with a spread: "800", or "normal:mean=800,stddev=80" with limits if they are given.
std::string length_of(const std::string& mean, const std::string& deviation, const std::string& least = {},
                      const std::string& most = {});

/// Sets rates or numbers of requests in flight. Several are the levels of a sweep.
void set_levels(const Composing& now, std::string_view field, const std::vector<std::string>& values);
/// Sets a field of the JSON body, or else a field of the plan that means it.
void set_body_field(const Composing& now, const std::string& name, const std::string& value);

void compose_other_tools(const Composing& now);  ///< of the smaller tools, to the parts of the others
void compose_server(const Composing& now);       ///< the address, the protocol, headers
void compose_ends(const Composing& now);         ///< what ends a run of guidellm
void compose_load(const Composing& now);         ///< rates, numbers of requests in flight, ends
void compose_scenario(const Composing& now);     ///< AIPerf's, which sets options that the line does not
/// The times of a trace, of which `kind` is AIPerf's name of its format, and the pauses of agents.
void compose_replay(const Composing& now, std::string_view kind);
void compose_requests(const Composing& now);       ///< the dataset, lengths, conversations
void compose_guidellm_data(const Composing& now);  ///< the dataset of guidellm, and columns of files
/// Names the file into which the rows of a dataset on a hub are to be saved. Nothing is downloaded.
void need_rows(const Composing& now, std::string_view what, const std::string& name);

}  // namespace paretoken::cli
