// The one translation unit that holds the compiled parts of Boost.Asio and Boost.Beast: every other file of
// the project includes their declarations only (BOOST_ASIO_SEPARATE_COMPILATION,
// BOOST_BEAST_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
