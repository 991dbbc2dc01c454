# fmt for a cross build: the host's headers, without a library. Only fmt's own folder is offered: the host's other headers are not
# the target's.
find_path(INGLE_HOST_FMT fmt/format.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/host_include)
file(CREATE_LINK ${INGLE_HOST_FMT}/fmt ${CMAKE_BINARY_DIR}/host_include/fmt SYMBOLIC)
if(NOT TARGET fmt::fmt)
  add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
  target_include_directories(fmt::fmt INTERFACE ${CMAKE_BINARY_DIR}/host_include)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
set(fmt_FOUND TRUE)
