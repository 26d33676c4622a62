#include "reports/html.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlReport, IsWrittenWhereABrowserCanOpenIt) {
    std::ofstream(PARETOKEN_BINARY_DIR "/sample-report.html") << html_report(sample::report());
}

}  // namespace
}  // namespace paretoken::reports
