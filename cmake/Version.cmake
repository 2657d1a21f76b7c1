# parabench_version: link it to include "parabench_version.h", what this program was built from. The header is looked at
# in every build and written only when it changes. Run as a script (cmake -P), this file writes the header.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(header "${PROJECT_BINARY_DIR}/generated/parabench_version.h")
  string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" flags)
  list(JOIN parabench_flags " " own_flags)
  string(STRIP "${CMAKE_CXX_FLAGS} ${${flags}} ${own_flags}" flags)
  add_custom_target(
    parabench_version_header
    COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DHEADER=${header}" "-DVERSION=${PROJECT_VERSION}"
            "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}" "-DFLAGS=${flags}" -P "${CMAKE_CURRENT_LIST_FILE}"
    BYPRODUCTS "${header}"
    COMMENT "Version"
    VERBATIM)
  add_library(parabench_version INTERFACE)
  target_include_directories(parabench_version INTERFACE "${PROJECT_BINARY_DIR}/generated")
  add_dependencies(parabench_version parabench_version_header)
  return()
endif()

# Outside a git checkout (a source archive) hash and state stay unknown and clean.
set(GIT_HASH unknown)
set(GIT_DIRTY false)
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(
    COMMAND ${GIT} -C "${SOURCE}" rev-parse HEAD
    OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(GIT_HASH ${hash})
    execute_process(
      COMMAND ${GIT} -C "${SOURCE}" status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(GIT_DIRTY true)
    endif()
  endif()
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/parabench_version.h.in" "${HEADER}" @ONLY)
