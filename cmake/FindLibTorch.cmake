# LibTorch from the pinned wheel, its CPU half: libtorch_cpu and libc10.
#
# Defines LibTorch::LibTorch. torch's own package file stops without a CUDA toolkit, although the CPU half needs only
# libcudart and libcupti. The wheel's libraries look for these beside themselves (site/nvidia/cu13/lib, where the root
# script puts them if need be), then where the system does; so this module has nothing to say about them.
set(LibTorch_ROOT_DIR "${PARABENCH_DEPS}/site/torch")
set(LibTorch_INCLUDE_DIRS "${LibTorch_ROOT_DIR}/include" "${LibTorch_ROOT_DIR}/include/torch/csrc/api/include")
if(EXISTS "${LibTorch_ROOT_DIR}/lib/libtorch_cpu.so")
  set(LibTorch_LIBRARY "${LibTorch_ROOT_DIR}/lib/libtorch_cpu.so")
  file(STRINGS "${LibTorch_ROOT_DIR}/version.py" LibTorch_VERSION REGEX "^__version__ = '[0-9.]+")
  string(REGEX REPLACE "[^']*'([0-9.]+).*" "\\1" LibTorch_VERSION "${LibTorch_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_LIBRARY
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE
    "no LibTorch under ${PARABENCH_DEPS}: run ./parabench once, it installs it, or choose the preset pure")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  foreach(library c10 torch_cpu)
    add_library(LibTorch::${library} SHARED IMPORTED)
    set_target_properties(
      LibTorch::${library} PROPERTIES IMPORTED_LOCATION "${LibTorch_ROOT_DIR}/lib/lib${library}.so")
  endforeach()
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIRS})
  target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::torch_cpu LibTorch::c10)
endif()
