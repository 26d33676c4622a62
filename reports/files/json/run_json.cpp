#include "reports/files/json/run_json.h"

#include "core/result/metrics.h"
#include "core/version.h"
#include "reports/files/json/run_fields.h"

namespace paretoken::reports {

std::string run_json(const RunResult& result) {
    Json json = {{"schema", std::string(kRunSchema)}, {"definitions", std::string(kDefinitions)}};
    json.update(Writer::json_of(result));
    return text_of(json, 1) + "\n";
}

RunResult parse_run_json(std::string_view text, const std::string& where) {
    constexpr std::string_view kBefore = "paretoken/run/2";  // had "state", and else the same keys
    const Json json = parsed(text, where);
    const bool is_before = json.is_object() && json.value("schema", Json()) == kBefore;
    if (is_before && json.value("state", Json()) != "finished")
        throw UsageError(
            fmt::format("{}: the run was killed, and its records are those of an earlier version; use the "
                        "version that wrote them, or measure again",
                        where));
    if (!is_before) expect(json, "schema", kRunSchema, where);
    expect(json, "definitions", kDefinitions, where);
    return read_fields<RunResult>(json, where);
}

std::string begun_json(const Begun& begun, const Judging& judging) {
    Json json = {{"schema", std::string(kBegunSchema)}, {"definitions", std::string(kDefinitions)}};
    json.update(Writer::json_of(begun));
    json["judging"] = Writer::json_of(judging);
    return text_of(json, 1) + "\n";
}

BegunFile parse_begun_json(std::string_view text, const std::string& where) {
    const Json json = parsed(text, where);
    expect(json, "schema", kBegunSchema, where);
    expect(json, "definitions", kDefinitions, where);
    BegunFile file;
    file.begun = read_fields<Begun>(json, where);
    Reader(json, where, "", {}).required("judging", file.judging);
    return file;
}

std::string ended_json(const Recorded& recorded, const std::map<std::string, FileMark>& files) {
    Json json = {{"schema", std::string(kEndedSchema)},
                 {"run_id", recorded.begun.provenance.run_id},
                 {"files", Writer::json_of(files)}};
    json.update(Writer::json_of(recorded, recorded.observed.began));
    return text_of(json, -1) + "\n";
}

std::map<std::string, FileMark> parse_ended_json(std::string_view text, const std::string& where,
                                                 Recorded& recorded) {
    const Json json = parsed(text, where);
    expect(json, "schema", kEndedSchema, where);
    Reader reader(json, where, "", recorded.observed.began);
    fields(reader, recorded);
    std::string run_id;
    reader.required("run_id", run_id);
    if (run_id != recorded.begun.provenance.run_id)
        throw UsageError(fmt::format(
            "{} is of the run {}, and the begun.json beside it of the run {}: they are files of two "
            "runs; restore the file that was replaced",
            where, run_id, recorded.begun.provenance.run_id));
    std::map<std::string, FileMark> files;
    reader.required("files", files);
    return files;
}

std::map<std::string, FileMark> file_marks_in(std::string_view ended_json, const std::string& where) {
    const Json json = parsed(ended_json, where);
    expect(json, "schema", kEndedSchema, where);
    std::map<std::string, FileMark> files;
    Reader(json, where, "", TimePoint{}).required("files", files);
    return files;
}

}  // namespace paretoken::reports
