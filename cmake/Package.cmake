# What `cpack` makes of a build: a Debian package and a tarball. Those of a portable build (preset `dist`) run on other
# distributions too.

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME paretoken)
set(CPACK_PACKAGE_VENDOR paretoken)
set(CPACK_PACKAGE_CONTACT "The paretoken developers <paretoken@paretoken.invalid>")
set(CPACK_PACKAGE_FILE_NAME paretoken-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
    "It loads an LLM server as users would, measures what the hardware can deliver, and combines both with prices on one page.")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
if(PARETOKEN_PORTABLE)
    # libc6 itself depends on libgcc_s, the other library that the programs load.
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28), ca-certificates")
else()
    set(CPACK_DEBIAN_PACKAGE_DEPENDS ca-certificates)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()

include(CPack)
