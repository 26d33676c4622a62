// The benchmark_data.db of `evalscope perf`: an SQLite database with a row per request. Its column
// "response_messages" holds pickled Python objects and is never read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_request.h"

#ifdef PARETOKEN_SQLITE
#include <sqlite3.h>
#endif

namespace paretoken::reports {

bool is_evalscope(std::string_view text) {
    return text.starts_with("SQLite format 3");
}

#ifdef PARETOKEN_SQLITE
namespace {

using Json = nlohmann::json;

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

Database opened_database(const std::string& where) {
    sqlite3* raw = nullptr;
    const int result =
        sqlite3_open_v2(where.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(raw, sqlite3_close);
    if (result != SQLITE_OK) refuse_foreign(where, "it cannot be opened as an SQLite database");
    sqlite3_db_config(database.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    return database;
}

Statement prepared(sqlite3* database, const char* sql, const std::string& where) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database, sql, -1, &raw, nullptr) != SQLITE_OK)
        refuse_foreign(where, fmt::format("it is not a benchmark_data.db of evalscope perf ({})",
                                          sqlite3_errmsg(database)));
    return {raw, sqlite3_finalize};
}

/// The next row; false at the end.
bool next_row(sqlite3* database, sqlite3_stmt* statement, const std::string& where) {
    const int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE)
        refuse_foreign(where, fmt::format("the database is damaged ({})", sqlite3_errmsg(database)));
    return false;
}

std::optional<double> column_number(sqlite3_stmt* row, int column) {
    const int type = sqlite3_column_type(row, column);
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return std::nullopt;
    const double value = sqlite3_column_double(row, column);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string column_text(sqlite3_stmt* row, int column) {
    const unsigned char* const text = sqlite3_column_text(row, column);
    return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

/// The columns that are read, in this order.
constexpr const char* kSelect =
    "SELECT start_time, inter_token_latencies, success, latency, first_chunk_latency, prompt_tokens, "
    "completion_tokens, request FROM result ORDER BY start_time";

struct EvalscopeRow {
    double start_s = 0;
    std::string model = {};
    ForeignRequest request = {};
};

EvalscopeRow evalscope_row(sqlite3_stmt* row, const std::string& where) {
    EvalscopeRow read;
    const auto start = column_number(row, 0);
    if (!start || std::abs(*start) > 4e9) refuse_foreign(where, "\"start_time\" is not a time in seconds");
    read.start_s = *start;
    read.model = text_in(Json::parse(column_text(row, 7), nullptr, false), {"model"});
    ForeignRequest& request = read.request;
    request.latency_s = column_number(row, 3);
    request.input_tokens = count_in(Json(column_number(row, 5).value_or(-1)));
    if (column_number(row, 2).value_or(0) == 0 || !request.latency_s) {
        request.failed = true;
        request.latency_s.reset();
        request.error = "the request failed; the file does not tell why";
        return read;
    }
    request.output_tokens = count_in(Json(column_number(row, 6).value_or(-1)));
    const auto first = column_number(row, 4);
    if (!first) return read;
    request.chunks_s.push_back(*first);
    add_gaps(request.chunks_s, Json::parse(column_text(row, 1), nullptr, false), where);
    return read;
}

/// The load, from the arguments beside the database if they are there.
ForeignLoad evalscope_load(const std::filesystem::path& file) {
    ForeignLoad load{.tool = "evalscope perf", .length_source = "usage"};
    const std::filesystem::path arguments = file.parent_path() / "benchmark_args.json";
    std::error_code error;
    if (!std::filesystem::exists(arguments, error)) return load;
    const Json json = foreign_json(read_file(arguments), arguments.string());
    load.model = text_in(json, {"model"});
    load.request_rate = number_in(json, {"rate"});
    if (!load.request_rate || *load.request_rate <= 0) load.concurrency = count_in(json, {"parallel"});
    return with_real_limits(std::move(load));
}

}  // namespace

std::vector<ForeignRun> evalscope_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    const Database database = opened_database(where);
    {
        const Statement kind =
            prepared(database.get(), "SELECT type FROM sqlite_master WHERE name = 'result'", where);
        if (!next_row(database.get(), kind.get(), where) || column_text(kind.get(), 0) != "table")
            refuse_foreign(where, "it has no table \"result\", so that it is not a file of evalscope perf");
    }
    const Statement rows = prepared(database.get(), kSelect, where);
    auto requests = std::make_shared<std::vector<ForeignRequest>>();
    ForeignLoad load = evalscope_load(file);
    double began = 0;
    while (next_row(database.get(), rows.get(), where)) {
        EvalscopeRow row = evalscope_row(rows.get(), where);
        if (requests->empty()) began = row.start_s;
        if (load.model.empty()) load.model = row.model;
        row.request.sent_s = row.start_s - began;
        requests->push_back(std::move(row.request));
    }
    if (requests->empty()) refuse_foreign(where, "it holds no request");
    load.requests = requests->size();
    std::vector<ForeignRun> runs;
    runs.push_back(run_of_requests(load, {Fact::cached_tokens, Fact::server_counters}, std::move(requests)));
    return runs;
}
#else
std::vector<ForeignRun> evalscope_runs(const std::filesystem::path& file) {
    refuse_foreign(file.string(),
                   "this program was built without SQLite and reads no database of evalscope perf");
}
#endif

}  // namespace paretoken::reports
