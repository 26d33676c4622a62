#include "reports/files/json/record_lines.h"

#include "core/result/slo.h"
#include "reports/files/json/archive.h"
#include "reports/files/json/record_fields.h"

namespace paretoken::reports {
void fields(auto& a, Is<KeptAnswer> auto& v) {
    a.required("index", v.index);
    PARETOKEN_FIELDS(a, v, warmup, text);
}

void fields(auto& a, Is<ProbeAnswer> auto& v) {
    a.required("question", v.question);
    PARETOKEN_FIELDS(a, v, right, failed, expected, answer);
}

void fields(auto& a, Is<RequestRecord> auto& v) {
    record_fields(a, v);
}

void append_record_line(std::string& out, const RequestRecord& record, TimePoint epoch,
                        const std::string& trace_id) {
    LineWriter writer(out, epoch);
    fields(writer, record);
    writer("trace_id", trace_id);
    writer.close();
}

void append_answer_line(std::string& out, const RequestRecord& record) {
    LineWriter writer(out, {});
    writer("index", record.index);
    writer("id", record.id);
    writer("warmup", record.warmup);
    writer.part("conversation", record.turn, &Turn::conversation);
    writer.part("turn", record.turn, &Turn::number);
    writer("text", record.answer);
    writer.close();
}

RequestRecord parse_record_line(std::string_view line, TimePoint epoch, const std::string& where) {
    auto record = read_fields<RequestRecord>(parsed(line, where), where, epoch);
    try {
        if (!record.slo.empty()) (void)RequestSlos().of(record.slo);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}: \"slo\": {}", where, error.what()));
    }
    return record;
}

KeptAnswer parse_answer_line(std::string_view line, const std::string& where) {
    return read_fields<KeptAnswer>(parsed(line, where), where);
}

void append_probe_line(std::string& out, const ProbeAnswer& answer) {
    LineWriter writer(out, {});
    fields(writer, answer);
    writer.close();
}

ProbeAnswer parse_probe_line(std::string_view line, const std::string& where) {
    return read_fields<ProbeAnswer>(parsed(line, where), where);
}

}  // namespace paretoken::reports
