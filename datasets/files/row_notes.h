#pragma once
// What a reader of rows noticed that does not make a file wrong: rows that hold no request and were left out,
// fields that no dataset uses, very long pauses, and calls of tools whose arguments are not JSON.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/files/row_file.h"

namespace paretoken::datasets {

struct Row;

class RowNotes {
  public:
    /// Counts the next row of the file. `place` is where it is.
    void add(const Row& row, const RowPlace& place);

    /// Counts remarks on that row.
    void add_remarks(const std::vector<std::string_view>& remarks, const RowPlace& place);

    /// Returns the positions among all rows, counted from 0 and ascending, of those that were left out.
    const std::vector<std::size_t>& left_out() const { return left_out_; }

    /// Returns a sentence for each reason for which rows were left out (with their share above 5 %), for each
    /// remark, and one for all unknown fields, followed by `known_fields`: "prompt, messages".
    std::vector<std::string> texts(std::string_view known_fields) const;

  private:
    struct Count {
        std::size_t rows = 0;
        std::size_t first_line = 0;
    };
    static void count(std::map<std::string, Count, std::less<>>& counts, std::string_view what,
                      const RowPlace& place);

    std::size_t rows_ = 0;
    double longest_pause_s_ = 0;
    std::vector<std::size_t> left_out_;
    std::map<std::string, Count, std::less<>> reasons_;
    std::map<std::string, Count, std::less<>> turns_;  ///< by the reason why turns were left out of rows
    std::map<std::string, Count, std::less<>> remarks_;
    std::map<std::string, Count, std::less<>> unknown_;  ///< by name; at most kMostUnknown
    bool more_unknown_ = false;
};

}  // namespace paretoken::datasets
