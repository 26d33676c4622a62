#include "cards/gguf.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <fstream>

#include "core/error.h"
#include "core/formats.h"

namespace paretoken::cards {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF fields are read as they lie in the file");

constexpr std::uint32_t kMagic = 0x46554747;                       // "GGUF"
constexpr std::uint64_t kLongestKey = 65535;                       // limit of the format itself
constexpr std::uint64_t kLongestString = std::uint64_t{16} << 20;  // chat templates have about 10 KB
constexpr std::uint64_t kLongestKeptList = 4096;                   // enough for one number per layer
constexpr std::uint32_t kMostDimensions = 4;
constexpr std::uint64_t kMostMetadata = 1u << 16;
constexpr std::uint64_t kMostTensors = 1u << 20;

enum class ValueType : std::uint32_t {
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    f32,
    boolean,
    string,
    array,
    u64,
    i64,
    f64
};

/// Reads fields in order; every read is checked against the bytes that are left in the file.
class FieldReader {
  public:
    explicit FieldReader(const std::filesystem::path& path) : name_(path.string()) {
        std::error_code error;
        left_ = std::filesystem::file_size(path, error);
        if (error) fail(fmt::format("cannot be read: {}", error.message()));
        file_.rdbuf()->pubsetbuf(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        file_.open(path, std::ios::binary);
        if (!file_) fail("cannot be opened");
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw UsageError(fmt::format("{}: {}", name_, what));
    }
    std::uint64_t left() const { return left_; }
    std::uint64_t position() const { return position_; }

    template <typename T>
    T plain() {
        T value;
        take(reinterpret_cast<char*>(&value), sizeof value);
        return value;
    }

    std::string string(std::uint64_t longest) {
        const auto length = plain<std::uint64_t>();
        if (length > longest || length > left_)
            fail(fmt::format("a string of {} bytes: damaged or cut off", length));
        std::string text(length, '\0');
        take(text.data(), length);
        return text;
    }

    void skip(std::uint64_t bytes) {
        if (bytes > left_) fail("cut off within its header");
        file_.ignore(static_cast<std::streamsize>(bytes));
        position_ += bytes;
        left_ -= bytes;
    }

  private:
    void take(char* out, std::uint64_t bytes) {
        if (bytes > left_ || !file_.read(out, static_cast<std::streamsize>(bytes)))
            fail("cut off within its header");
        position_ += bytes;
        left_ -= bytes;
    }

    std::string name_;
    std::array<char, 1 << 16> buffer_{};
    std::ifstream file_;
    std::uint64_t left_ = 0;
    std::uint64_t position_ = 0;
};

/// The size of a value in bytes; 0 for strings and arrays, which have no fixed size.
std::uint64_t size_of(ValueType type) {
    switch (type) {
        case ValueType::u8:
        case ValueType::i8:
        case ValueType::boolean:
            return 1;
        case ValueType::u16:
        case ValueType::i16:
            return 2;
        case ValueType::u32:
        case ValueType::i32:
        case ValueType::f32:
            return 4;
        case ValueType::u64:
        case ValueType::i64:
        case ValueType::f64:
            return 8;
        default:
            return 0;
    }
}

double read_number(FieldReader& reader, ValueType type) {
    switch (type) {
        case ValueType::u8:
        case ValueType::boolean:
            return reader.plain<std::uint8_t>();
        case ValueType::i8:
            return reader.plain<std::int8_t>();
        case ValueType::u16:
            return reader.plain<std::uint16_t>();
        case ValueType::i16:
            return reader.plain<std::int16_t>();
        case ValueType::u32:
            return reader.plain<std::uint32_t>();
        case ValueType::i32:
            return reader.plain<std::int32_t>();
        case ValueType::f32:
            return reader.plain<float>();
        case ValueType::u64:
            return static_cast<double>(reader.plain<std::uint64_t>());
        case ValueType::i64:
            return static_cast<double>(reader.plain<std::int64_t>());
        case ValueType::f64:
            return reader.plain<double>();
        default:
            reader.fail(fmt::format("metadata of unknown type {}", static_cast<std::uint32_t>(type)));
    }
}

GgufArray read_array(FieldReader& reader) {
    const auto type = reader.plain<ValueType>();
    GgufArray array{reader.plain<std::uint64_t>(), {}};
    const std::uint64_t size = size_of(type);
    if (type == ValueType::string) {
        if (array.length > reader.left() / sizeof(std::uint64_t)) reader.fail("a list longer than the file");
        for (std::uint64_t i = 0; i < array.length; ++i) reader.skip(reader.plain<std::uint64_t>());
    } else if (size == 0) {
        reader.fail(fmt::format("a list of unknown type {}", static_cast<std::uint32_t>(type)));
    } else if (array.length > reader.left() / size) {
        reader.fail("a list longer than the file");
    } else if (array.length > kLongestKeptList) {
        reader.skip(array.length * size);
    } else {
        for (std::uint64_t i = 0; i < array.length; ++i) array.numbers.push_back(read_number(reader, type));
    }
    return array;
}

GgufValue read_value(FieldReader& reader) {
    const auto type = reader.plain<ValueType>();
    if (type == ValueType::string) return reader.string(kLongestString);
    if (type == ValueType::array) return read_array(reader);
    if (type == ValueType::boolean) return reader.plain<std::uint8_t>() != 0;
    return read_number(reader, type);
}

struct PlacedTensor {
    GgufTensor tensor;
    std::uint64_t offset = 0;  ///< offset from the start of the data
};

PlacedTensor read_tensor(FieldReader& reader) {
    PlacedTensor placed;
    GgufTensor& tensor = placed.tensor;
    tensor.name = reader.string(kLongestKey);
    const auto dimensions = reader.plain<std::uint32_t>();
    if (dimensions > kMostDimensions)
        reader.fail(fmt::format("tensor {} has {} dimensions: damaged", tensor.name, dimensions));
    tensor.values = 1;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        const auto extent = reader.plain<std::uint64_t>();
        constexpr std::uint64_t kMostValues = std::uint64_t{1} << 52;
        if (extent == 0 || extent > kMostValues / tensor.values)
            reader.fail(fmt::format("tensor {} has an impossible shape: damaged", tensor.name));
        tensor.values *= extent;
        tensor.shape.push_back(extent);
    }
    const auto type = reader.plain<std::uint32_t>();
    const NumberFormat* dtype = type <= 1000 ? format_of_ggml(static_cast<int>(type)) : nullptr;
    if (dtype == nullptr) reader.fail(fmt::format("tensor {} has the unknown type {}", tensor.name, type));
    if (!tensor.shape.empty() && tensor.shape.front() % dtype->values_per_block != 0)
        reader.fail(fmt::format("tensor {} has rows of {} values, no multiple of {}'s blocks: damaged",
                                tensor.name, tensor.shape.front(), dtype->name));
    tensor.dtype = dtype->name;
    tensor.bytes = tensor.values / dtype->values_per_block * dtype->bytes_per_block;
    placed.offset = reader.plain<std::uint64_t>();
    return placed;
}

/// Throws if a tensor ends beyond the file. An incomplete download has a whole header but lacks weights.
void expect_data(const FieldReader& reader, const PlacedTensor& placed, std::uint64_t data_bytes) {
    if (placed.offset <= data_bytes && placed.tensor.bytes <= data_bytes - placed.offset) return;
    reader.fail(
        fmt::format("cut off: tensor {} ends beyond the file's end; download it again", placed.tensor.name));
}

}  // namespace

std::optional<double> GgufHeader::number(const std::string& key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return {};
    if (const auto* flag = std::get_if<bool>(&found->second)) return *flag ? 1 : 0;
    if (const auto* value = std::get_if<double>(&found->second)) return *value;
    return {};
}

std::optional<std::string> GgufHeader::string(const std::string& key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return {};
    if (const auto* value = std::get_if<std::string>(&found->second)) return *value;
    return {};
}

const GgufArray* GgufHeader::array(const std::string& key) const {
    const auto found = metadata.find(key);
    return found == metadata.end() ? nullptr : std::get_if<GgufArray>(&found->second);
}

GgufHeader read_gguf_header(const std::filesystem::path& path) {
    FieldReader reader(path);
    GgufHeader header;
    if (reader.left() < 24 || reader.plain<std::uint32_t>() != kMagic) reader.fail("not a GGUF file");
    header.version = reader.plain<std::uint32_t>();
    if (header.version != 2 && header.version != 3)
        reader.fail(
            fmt::format("the GGUF version is {}; only little-endian files of versions 2 and 3 can be read",
                        header.version));
    const auto tensors = reader.plain<std::uint64_t>();
    const auto entries = reader.plain<std::uint64_t>();
    if (tensors > kMostTensors || entries > kMostMetadata)
        reader.fail("impossible counts in its header: damaged");
    for (std::uint64_t i = 0; i < entries; ++i) {
        std::string key = reader.string(kLongestKey);
        header.metadata.insert_or_assign(std::move(key), read_value(reader));
    }
    std::vector<PlacedTensor> placed;
    for (std::uint64_t i = 0; i < tensors; ++i) placed.push_back(read_tensor(reader));

    const double alignment = header.number("general.alignment").value_or(32);
    if (!(alignment >= 1 && alignment <= (1 << 20))) reader.fail("an impossible alignment: damaged");
    const auto step = static_cast<std::uint64_t>(alignment);
    const std::uint64_t padding = (step - reader.position() % step) % step;
    const std::uint64_t data_bytes = reader.left() > padding ? reader.left() - padding : 0;
    for (PlacedTensor& one : placed) {
        expect_data(reader, one, data_bytes);
        header.tensors.push_back(std::move(one.tensor));
    }
    return header;
}

bool is_gguf(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::uint32_t magic = 0;
    return file.read(reinterpret_cast<char*>(&magic), sizeof magic) && magic == kMagic;
}

}  // namespace paretoken::cards
