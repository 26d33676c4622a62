#pragma once
// Shortens the name of a model for a reader.
#include <string>
#include <string_view>

namespace paretoken {

/// Returns the name of a model for a reader: without the directory if it is the path of a GGUF file, as
/// servers of llama.cpp call their models.
std::string shown_model(std::string_view model);

}  // namespace paretoken
