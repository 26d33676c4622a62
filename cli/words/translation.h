#pragma once
// Translates command lines of other load generators to ours: whole lines for `paretoken translate`, and
// single options on our own commands. Reads no file and no environment.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/words/foreign_options.h"

namespace paretoken::cli {

struct Translation {
    std::string command;                  ///< our command: "run" or "sweep"
    std::vector<std::string> words = {};  ///< its options
    std::vector<std::string> notes =
        {};  ///< what means something else here, as sentences without a full stop
    std::vector<std::string> unneeded = {};  ///< given options that need nothing here
    std::vector<std::string> absent = {};    ///< "--image-count: requests with images … are not sent"
    std::vector<std::string> unknown = {};   ///< options that no tool has, with the nearest known name
    std::vector<std::string> more = {};      ///< further options of the command, such as "--repeat 3"
    std::vector<std::string> server = {};    ///< options of the server that the other tool starts itself
    bool has_random_prompts = false;         ///< whether the prompts are random, as the other tool's would be
    std::string file = {};          ///< the file that is to be made before our command can run; empty: none
    std::optional<Tool> tool = {};  ///< whose line it was
    std::string program = "paretoken";  ///< the name for people of what has the options
    bool several = false;               ///< whether the load has several levels, which only a sweep measures
};

/// Returns how many words follow an option of our command; nothing if the command has no such option.
using OwnOptions = std::function<std::optional<Values>(const std::string& name)>;

/// Translates the words of one of our commands ("run"), which has the options `own`. Words without a foreign
/// name or value are returned unchanged. Throws UsageError naming the option and the mistake.
Translation translated(const std::vector<std::string>& words, std::string_view command,
                       const OwnOptions& own);

/// Translates each of these commands that is one of another tool, with the tool's defaults where ours differ.
/// Words before the tool's name are left out. `complaints` gets why a command has no translation, such as the
/// command of ours that does the same, or that no command is of a known tool.
std::vector<Translation> translations_of(const std::vector<std::vector<std::string>>& commands,
                                         std::vector<std::string>& complaints);

/// Returns the first translation. Throws UsageError with the first complaint.
Translation translation_of(const std::vector<std::vector<std::string>>& commands);

/// Returns our command line, without secrets.
std::string shown_line(const Translation& translation);

/// Returns the one line that names the options that need nothing here; empty if there is none.
std::string unneeded_text(const Translation& translation);

/// Returns why the words of `command` ("paretoken run") cannot be carried out; empty if they can.
std::string complaint_of(const Translation& translation, std::string_view command);

}  // namespace paretoken::cli
