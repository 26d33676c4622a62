#include "microbench/cpu/weights/weights_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/cpu/ring.h"

namespace paretoken::microbench {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::uint64_t kMostDistinct = 64 << 20;   // bytes of a layer; the ring repeats them
constexpr double kBound = 2e-5;                     // relative L2 error of an fp32 result
constexpr std::size_t kReferenceMacs = 40'000'000;  // above this number, rows are sampled

struct Matrix {
    MatrixShape shape;
    Activations x;
    std::size_t stride = 1;              // every stride-th row is compared
    std::vector<double> reference = {};  // [batch, compared rows]
    std::size_t y_offset = 0;            // in the outputs of a layer: [batch, rows] each
};

/// Rows [first, first + rows) of a matrix.
struct Slice {
    std::size_t matrix = 0;
    std::size_t first = 0;
    std::size_t rows = 0;
};

std::vector<float> random_activations(std::size_t count, Random& random) {
    std::vector<float> x(count);
    for (float& value : x) value = static_cast<float>(random.normal());
    return x;
}

std::vector<double> reference_of(const Matrix& matrix, WeightType type, std::span<const std::byte> weights) {
    const std::size_t k = matrix.shape.k;
    const std::size_t compared = (matrix.shape.rows + matrix.stride - 1) / matrix.stride;
    std::vector<double> y(matrix.x.batch * compared);
    std::vector<float> row(k);
    for (std::size_t i = 0; i < compared; ++i) {
        dequantise(type, weights.data() + i * matrix.stride * row_bytes(type, k), row);
        for (std::size_t b = 0; b < matrix.x.batch; ++b) {
            double sum = 0;
            for (std::size_t j = 0; j < k; ++j) {
                sum += static_cast<double>(row[j]) * static_cast<double>(matrix.x.values[b * k + j]);
            }
            y[b * compared + i] = sum;
        }
    }
    return y;
}

class WeightsKernel final : public Kernel {
  public:
    WeightsKernel(const WeightsOptions& options, const StreamOptions& stream);

    void prepare(std::size_t thread) override;
    std::optional<std::string> check(std::size_t thread) override;
    std::size_t variant_count() const override { return gemvs_.size(); }
    void choose(std::size_t variant) override { chosen_ = gemvs_[variant]; }
    std::size_t prefetch_bytes() const override { return distance_of(chosen_.fetch); }
    std::size_t window_count() const override { return parts_.front().ring.window_count(); }
    Window window(std::size_t thread, std::size_t index) const override {
        return parts_[thread].ring.window(index);
    }
    void run(std::size_t thread, std::size_t index) override;
    double run_cached(std::size_t thread) override;

  private:
    struct Part {
        Ring ring;
        std::vector<float> y;
    };

    void add_matrix(const MatrixShape& shape, const StreamOptions& stream, std::size_t layer_macs);
    void compute(Gemv gemv, Part& part, std::size_t piece, const std::byte* weights);
    void run_first_copy(Gemv gemv, Part& part);
    std::optional<std::string> check_variant(Gemv gemv, Part& part);
    std::optional<std::string> compare(const Part& part, const Slice& slice) const;

    WeightsOptions options_;
    bool plant_fault_;
    std::vector<GemvVariant> gemvs_;
    GemvVariant chosen_;
    std::vector<Matrix> matrices_;
    std::vector<Slice> slices_;
    std::vector<Piece> pieces_;  // one per slice
    std::vector<std::byte> layer_;
    std::size_t outputs_ = 0;
    std::vector<Part> parts_;
};

WeightsKernel::WeightsKernel(const WeightsOptions& options, const StreamOptions& stream)
    : options_(options),
      plant_fault_(stream.plant_fault),
      gemvs_(gemvs_for(options.type, options.layout, stream.isa, options.batch)),
      chosen_(gemvs_.front()) {
    const std::uint64_t most = std::min(stream.working_set_bytes / stream.threads, kMostDistinct);
    const auto shapes = streamed_matrices(options.model, options.type, most);
    std::size_t macs = 0;
    for (const MatrixShape& shape : shapes) macs += shape.rows * shape.k * options.batch;
    for (const MatrixShape& shape : shapes) add_matrix(shape, stream, macs);
    for (std::size_t i = 0; i < stream.threads; ++i) {
        parts_.push_back({Ring(pieces_, stream.working_set_bytes / stream.threads), {}});
    }
}

void WeightsKernel::add_matrix(const MatrixShape& shape, const StreamOptions& stream,
                               std::size_t layer_macs) {
    Random random(derived_seed(stream.seed, shape.op, matrices_.size()));
    const auto weights = random_weights(options_.type, shape.rows, shape.k, random);
    const auto x = random_activations(options_.batch * shape.k, random);
    Matrix matrix{.shape = shape,
                  .x = activations_for(options_.type, x, options_.batch),
                  .stride = (layer_macs + kReferenceMacs - 1) / kReferenceMacs,
                  .y_offset = outputs_};
    matrix.reference = reference_of(matrix, options_.type, weights);
    outputs_ += options_.batch * shape.rows;

    const auto stored =
        options_.layout == Layout::packed ? packed(options_.type, weights, shape.rows, shape.k) : weights;
    layer_.insert(layer_.end(), stored.begin(), stored.end());
    const std::size_t row = row_bytes(options_.type, shape.k);
    const std::size_t step = std::max(kPieceBytes / row / kPanel, std::size_t{1}) * kPanel;
    for (std::size_t first = 0; first < shape.rows; first += step) {
        const std::size_t rows = std::min(step, shape.rows - first);
        slices_.push_back({matrices_.size(), first, rows});
        pieces_.push_back({.size = stored_bytes(options_.type, options_.layout, rows, shape.k),
                           .bytes = rows * row,
                           .flops = 2.0 * static_cast<double>(rows * shape.k * options_.batch)});
    }
    matrices_.push_back(std::move(matrix));
}

void WeightsKernel::prepare(std::size_t thread) {
    Part& part = parts_[thread];
    part.ring.fill(layer_);
    part.y.assign(outputs_, 0);
    if (!plant_fault_) return;
    std::byte* piece = part.ring.first_copy();
    for (std::size_t i = 0; i < part.ring.pieces_of_first_copy(); ++i) {
        piece[pieces_[i].size / 2 | 1] ^= std::byte{0x80};
        piece += pieces_[i].size;
    }
}

void WeightsKernel::compute(Gemv gemv, Part& part, std::size_t piece, const std::byte* weights) {
    const Slice& slice = slices_[piece];
    const Matrix& matrix = matrices_[slice.matrix];
    gemv({.weights = weights,
          .rows = slice.rows,
          .x = &matrix.x,
          .y = part.y.data() + matrix.y_offset + slice.first,
          .y_stride = matrix.shape.rows});
}

void WeightsKernel::run(std::size_t thread, std::size_t index) {
    Part& part = parts_[thread];
    part.ring.for_each(
        index, [&](std::size_t piece, const std::byte* at) { compute(chosen_.run, part, piece, at); });
}

double WeightsKernel::run_cached(std::size_t thread) {
    Part& part = parts_[thread];
    const Matrix& matrix = matrices_[slices_.front().matrix];
    const std::size_t panels = kCachedBytes / row_bytes(options_.type, matrix.shape.k) / kPanel;
    const std::size_t rows = std::min(slices_.front().rows, std::max<std::size_t>(panels, 1) * kPanel);
    chosen_.run({.weights = part.ring.first_copy(),
                 .rows = rows,
                 .x = &matrix.x,
                 .y = part.y.data() + matrix.y_offset,
                 .y_stride = matrix.shape.rows});
    return 2.0 * static_cast<double>(rows * matrix.shape.k * options_.batch);
}

void WeightsKernel::run_first_copy(Gemv gemv, Part& part) {
    std::fill(part.y.begin(), part.y.end(), std::numeric_limits<float>::quiet_NaN());
    const std::byte* at = part.ring.first_copy();
    for (std::size_t i = 0; i < part.ring.pieces_of_first_copy(); ++i) {
        compute(gemv, part, i, at);
        at += pieces_[i].size;
    }
}

std::optional<std::string> WeightsKernel::compare(const Part& part, const Slice& slice) const {
    const Matrix& matrix = matrices_[slice.matrix];
    const std::size_t compared = matrix.reference.size() / options_.batch;
    std::vector<float> y;
    std::vector<double> reference;
    for (std::size_t b = 0; b < options_.batch; ++b) {
        const float* const out = part.y.data() + matrix.y_offset + b * matrix.shape.rows;
        for (std::size_t row = slice.first; row < slice.first + slice.rows; ++row) {
            if (!std::isfinite(out[row]))
                return fmt::format("{}: row {} was not written", matrix.shape.op, row);
            if (row % matrix.stride != 0) continue;
            y.push_back(out[row]);
            reference.push_back(matrix.reference[b * compared + row / matrix.stride]);
        }
    }
    const double error = relative_l2(y, reference);
    if (error <= kBound) return std::nullopt;
    return fmt::format("{}: relative error {:.1e} > {:.0e}", matrix.shape.op, error, kBound);
}

std::optional<std::string> WeightsKernel::check(std::size_t thread) {
    for (const GemvVariant& variant : gemvs_) {
        if (auto wrong = check_variant(variant.run, parts_[thread])) return wrong;
    }
    return std::nullopt;
}

std::optional<std::string> WeightsKernel::check_variant(Gemv gemv, Part& part) {
    run_first_copy(gemv, part);
    const std::vector<float> first = part.y;
    run_first_copy(gemv, part);
    if (std::memcmp(first.data(), part.y.data(), first.size() * sizeof(float)) != 0) {
        return "the same inputs gave different bits";
    }
    for (std::size_t i = 0; i < part.ring.pieces_of_first_copy(); ++i) {
        if (auto wrong = compare(part, slices_[i])) return wrong;
    }
    return std::nullopt;
}

}  // namespace

std::vector<MatrixShape> streamed_matrices(const ModelShape& model, WeightType type,
                                           std::uint64_t most_bytes) {
    std::vector<MatrixShape> matrices;
    std::uint64_t bytes = 0;
    for (MatrixShape matrix : model.layer) {
        if (matrix.k % block_values(type) != 0) continue;
        bytes += matrix.count * row_bytes(type, matrix.k) * matrix.rows;
        const std::size_t count = std::exchange(matrix.count, 1);
        matrices.insert(matrices.end(), count, matrix);
    }
    if (bytes <= most_bytes) return matrices;
    const double share = static_cast<double>(most_bytes) / static_cast<double>(bytes);
    for (MatrixShape& matrix : matrices) {
        const auto panels = static_cast<std::size_t>(static_cast<double>(matrix.rows / kPanel) * share);
        matrix.rows = std::max<std::size_t>(panels, 1) * kPanel;
    }
    return matrices;
}

std::unique_ptr<Kernel> weights_kernel(const WeightsOptions& options, const StreamOptions& stream) {
    return std::make_unique<WeightsKernel>(options, stream);
}

}  // namespace paretoken::microbench
