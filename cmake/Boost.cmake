# paretoken_boost(): the library paretoken_boost, which holds the compiled parts of Boost.Asio and Boost.Beast. Every other
# file includes their declarations only.

function(paretoken_boost)
    add_library(paretoken_boost STATIC ${CMAKE_SOURCE_DIR}/cmake/boost.cpp)
    target_link_libraries(paretoken_boost PUBLIC paretoken_options Boost::headers OpenSSL::SSL Threads::Threads)
    target_compile_definitions(paretoken_boost PUBLIC BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION
                               BOOST_ASIO_NO_DEPRECATED)
endfunction()
