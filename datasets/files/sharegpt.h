#pragma once
// ShareGPT's conversations: a JSON array, or lines, of {"conversations": [{"from": "human", "value": …},
// {"from": "gpt", "value": …}, …]}. A conversation opens with the first message of the human, after the
// system message if there is one; rows without such a message are left out. turns=N takes up to N of the
// human's messages as turns (1 if not given). The file's replies between them are sent only if
// DatasetOptions::live_replies (datasets/catalog.h) is false; otherwise the server's own answers take their
// place. A request wants as many output tokens as the file's reply to it has, of four bytes each, or 128 if
// it has none; osl= sets another number for all.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

RowFormat sharegpt_format(const Spec& spec);
std::unique_ptr<Dataset> make_sharegpt(const DatasetOptions& options);

}  // namespace paretoken::datasets
