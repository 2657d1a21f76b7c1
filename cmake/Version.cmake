# parabench_version: link it to include "parabench_version.h", what this program was built from. Hash and state of the
# checkout are looked up in every build, into a small source of their own, so that a commit recompiles nothing else.
# Run as a script (cmake -P), this file writes that source.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(generated "${PROJECT_BINARY_DIR}/generated")
  string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" build_type_flags)
  list(JOIN parabench_flags " " flags)
  string(STRIP "${CMAKE_CXX_FLAGS} ${${build_type_flags}} ${flags}" flags)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/parabench_version.h.in" "${generated}/parabench_version.h" @ONLY)
  add_custom_target(
    parabench_version_source
    COMMAND ${CMAKE_COMMAND} "-DCHECKOUT=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${generated}/parabench_version.cpp" -P
            "${CMAKE_CURRENT_LIST_FILE}"
    BYPRODUCTS "${generated}/parabench_version.cpp"
    COMMENT "Version"
    VERBATIM)
  add_library(parabench_version STATIC "${generated}/parabench_version.cpp")
  target_include_directories(parabench_version PUBLIC "${generated}")
  target_link_libraries(parabench_version PRIVATE parabench_options)
  add_dependencies(parabench_version parabench_version_source)
  return()
endif()

# Outside a git checkout (a source archive) the hash stays unknown.
set(git_hash unknown)
set(git_dirty false)
find_program(GIT git)
if(GIT AND EXISTS "${CHECKOUT}/.git")
  execute_process(
    COMMAND ${GIT} -C "${CHECKOUT}" rev-parse HEAD
    OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(git_hash ${hash})
    execute_process(
      COMMAND ${GIT} -C "${CHECKOUT}" status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(git_dirty true)
    endif()
  endif()
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/parabench_version.cpp.in" "${OUTPUT}" @ONLY)
