#pragma once
// Converts the result and the records of a run to JSON text and back, with errors as in record_lines.h.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/result/result.h"
#include "core/run/judging.h"
#include "core/run/recorded.h"

namespace paretoken::reports {

inline constexpr std::string_view kRunSchema = "paretoken/run/3";
inline constexpr std::string_view kBegunSchema = "paretoken/begun/1";
inline constexpr std::string_view kEndedSchema = "paretoken/ended/1";

/// The result of a run that has ended. Results of "paretoken/run/2" can be read too.
std::string run_json(const RunResult& result);
RunResult parse_run_json(std::string_view text, const std::string& where);

/// What tells a file that a run wrote from another one.
struct FileMark {
    std::uint64_t bytes = 0;
    std::string sha256 = {};  ///< in hexadecimal digits

    bool operator==(const FileMark&) const = default;
};

/// What begun.json holds.
struct BegunFile {
    Begun begun;
    Judging judging;  ///< what the command judged the run by
};
std::string begun_json(const Begun& begun, const Judging& judging);
BegunFile parse_begun_json(std::string_view text, const std::string& where);

/// The content of ended.json. Times are in seconds since `recorded.observed.began`, which must be set, like
/// `recorded.begun` of the same run, before they are read. `files` tells the record files apart from others.
std::string ended_json(const Recorded& recorded, const std::map<std::string, FileMark>& files);
std::map<std::string, FileMark> parse_ended_json(std::string_view text, const std::string& where,
                                                 Recorded& recorded);
/// Reads only the marks of the files from an ended.json, for readers who need nothing else of it.
std::map<std::string, FileMark> file_marks_in(std::string_view ended_json, const std::string& where);

}  // namespace paretoken::reports
