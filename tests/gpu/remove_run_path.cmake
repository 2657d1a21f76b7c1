# What installing does to a program: cmake -DPROGRAM=FILE -P remove_run_path.cmake
file(RPATH_REMOVE FILE "${PROGRAM}")
