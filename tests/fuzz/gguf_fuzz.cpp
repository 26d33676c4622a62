// The header of a GGUF file: the values read fit into the file, and a card made of it has possible sizes.
#include "cards/gguf.h"

#include <sys/stat.h>

#include "cards/model.h"
#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {

void fuzz(Input input) {
    const MemoryFile file(input.rest());
    cards::GgufHeader header;
    if (refuses([&] { header = cards::read_gguf_header(file.path()); })) return;
    require(cards::is_gguf(file.path()), "a header that was read is GGUF's");
    std::uint64_t bytes = 0;
    for (const cards::GgufTensor& tensor : header.tensors) {
        require(tensor.values > 0, "a tensor holds values");
        require(tensor.bytes <= input.rest().size(), "a tensor fits into the file");
        bytes = std::max(bytes, tensor.bytes);
    }
    for (const auto& [key, value] : header.metadata) {
        const auto* array = std::get_if<cards::GgufArray>(&value);
        require(array == nullptr || array->length <= input.rest().size(), "a list fits into the file");
        require(array == nullptr || array->numbers.size() <= array->length,
                "no more numbers are kept than there are");
    }
    cards::ModelCard card;
    if (refuses([&] { card = cards::model_card_of_gguf(file.path()); })) return;
    require(card.layers > 0 && card.resident_weight_bytes > 0, "a model has layers and weights");
}

}  // namespace paretoken::fuzz
