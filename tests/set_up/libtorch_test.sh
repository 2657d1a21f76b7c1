# LibTorch is there completely or not at all, and the CUDA run-time wheels come only where the loader misses them.
. "$(dirname "$0")/fixture.sh"

tool python3 '
case "$*" in *"pip install"*) ;; *) exit 0 ;; esac
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/torch-'"$LIBTORCH_VERSION"'.dist-info"
exit 1'
run "$checkout/parabench" list
expect "interrupted download: exit code 4" [ "$status" = 4 ]
expect "interrupted download: no installation" [ ! -e "$checkout/.deps/site" ]
expect "interrupted download: what to do" contains "$errors" "needs the Python package index"

tool python3 "$working_python"
mkdir -p "$checkout/.deps/site/torch-1.0.0.dist-info"
run "$checkout/parabench" list
expect "next run installs" [ -d "$checkout/.deps/site/torch/lib" ]
expect "another version is replaced" [ ! -e "$checkout/.deps/site/torch-1.0.0.dist-info" ]
expect "the pinned version" called "pip install .*torch==$LIBTORCH_VERSION"
expect "no CUDA wheels where the loader finds its libraries" not_called "nvidia"

rm -r "$checkout/.deps"
tool ldd 'echo "	libcupti.so.13 => not found"'
run "$checkout/parabench" list
expect "CUDA wheels where one is missing" called "pip install .*$CUDA_RUNTIME_WHEELS"
