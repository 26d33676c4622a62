# paretoken_notices(OUTPUT) writes the licences of the libraries that are compiled or linked into the programs to OUTPUT, from
# the texts that the distribution installs with each package. A portable build must find every text; another build names the
# ones that are missing.

# Rows: name | what of it is in the programs | package on Debian | package on Fedora
set(paretoken_parts
    "Boost|Asio and Beast|libboost${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev|boost"
    "Chart.js|inlined in the HTML reports|libjs-chart.js|js-chart"
    "CLI11|the whole library|libcli11-dev|cli11-devel"
    "fmt|the whole library|libfmt-dev|fmt-devel"
    "Google Benchmark|in paretoken-microbench|libbenchmark-dev|google-benchmark"
    "JSON for Modern C++|the whole library|nlohmann-json3-dev|json-devel"
    "OpenSSL|libssl and libcrypto|libssl-dev|openssl-libs"
    "simdjson|the whole library|libsimdjson-dev|simdjson")

# Sets RESULT to the licence text of a package. Boost's text on Debian has two megabytes of notices for its documentation and
# tools; the licence of the library itself is taken from it.
function(paretoken_licence result debian fedora)
    set(text "")
    file(GLOB places /usr/share/doc/${debian}/copyright /usr/share/licenses/${fedora}/*)
    if(places)
        list(GET places 0 place)
        file(READ ${place} text)
    endif()
    if(debian MATCHES "^libboost")
        string(REGEX MATCH "Boost Software License - Version 1\\.0[^\n]*\n( [^\n]*\n)+" text "${text}")
    endif()
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(paretoken_notices output)
    set(notices "The programs paretoken and paretoken-microbench are licensed under Apache-2.0 (see LICENSE). They contain parts "
                "of the libraries below, under their own licences. A portable build also contains libstdc++ (GPL-3.0 with the GCC "
                "Runtime Library Exception 3.1).\n")
    list(JOIN notices "" notices)
    foreach(part IN LISTS paretoken_parts)
        string(REPLACE "|" ";" row "${part}")
        list(GET row 0 name)
        list(GET row 1 what)
        list(GET row 2 debian)
        list(GET row 3 fedora)
        paretoken_licence(text ${debian} ${fedora})
        if(text STREQUAL "")
            if(PARETOKEN_PORTABLE)
                message(FATAL_ERROR "The licence of ${name} was not found; a portable build must carry it. On Debian it is "
                                    "/usr/share/doc/${debian}/copyright.")
            endif()
            set(text "The licence text was not installed on the machine that built these programs.\n")
        endif()
        string(APPEND notices "\n======== ${name} (${what})\n\n${text}")
    endforeach()
    file(CONFIGURE OUTPUT ${output} CONTENT "@notices@" @ONLY)
endfunction()
