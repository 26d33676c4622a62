#pragma once
// Shortens the name of a model for a reader, and compares the names that clients and servers give it.
#include <string>
#include <string_view>

namespace paretoken {

/// Returns the name of a model for a reader: without the directory if it is the path of a GGUF file, as
/// servers of llama.cpp call their models.
std::string shown_model(std::string_view model);

/// Returns whether the model of an answer may be the one that was asked for. Servers leave out the vendor,
/// add a date or a version ("gpt-4o-2024-08-06"), put it in place of "latest", and change case and points.
bool may_be_model(std::string_view asked, std::string_view answered);

}  // namespace paretoken
