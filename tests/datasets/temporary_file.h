#pragma once
// A temporary file with a given text. The destructor of the object removes the file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

namespace paretoken::testing {

class TemporaryFile {
  public:
    explicit TemporaryFile(std::string_view text) {
        static int files = 0;
        path_ = ::testing::TempDir() + "paretoken_rows_" + std::to_string(getpid()) + "_" +
                std::to_string(++files);
        std::ofstream(path_, std::ios::binary) << text;
    }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace paretoken::testing
