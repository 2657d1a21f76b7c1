# A checkout with nothing in it but the root script and what it reads, in a folder of its own, and a PATH whose tools
# only note that they were called. Sourced by every test here; the first argument of a test is the real checkout.
#
#   $checkout  the folder with the script         $calls   file with one line per call of a tool
#   $status, $output, $errors                     of the last `run COMMAND...`
set -eu

source_root=$1
sandbox=$(mktemp -d)
trap 'rm -rf "$sandbox"' EXIT
checkout=$sandbox/checkout
calls=$sandbox/calls
tools=$sandbox/tools
mkdir -p "$checkout/cmake" "$tools"
for part in analytic base datasets models parallelism plots results suite tests; do mkdir "$checkout/$part"; done
cp "$source_root/parabench" "$source_root/CMakePresets.json" "$source_root/CMakeLists.txt" "$checkout"
cp "$source_root/cmake/dependencies.env" "$checkout/cmake"
. "$checkout/cmake/dependencies.env"
: > "$calls"

# tool NAME [BODY]: a command that notes its name and arguments, then does BODY.
tool() {
  printf '#!/bin/sh\necho "%s $*" >> "%s"\n%s\n' "$1" "$calls" "${2-}" > "$tools/$1"
  chmod +x "$tools/$1"
}

# Configuring makes build.ninja; building makes a program that prints its arguments, one per line.
working_cmake='
while [ $# -gt 0 ]; do
  case $1 in
    -B) mkdir -p "$2"; : > "$2/build.ninja"; exit ;;
    --build) mkdir -p "$2/bin"; printf "#!/bin/sh\nprintf \"%%s\\\\\\\\n\" \"\$@\"\n" > "$2/bin/parabench"
             chmod +x "$2/bin/parabench"; echo "compiler output"; exit ;;
  esac
  shift
done'
tool cmake "$working_cmake"
tool ctest 'echo "100% tests passed"'
tool apt-get
tool id 'echo 0'
tool dpkg-query 'shift 3; printf "%s:installed " "$@"'
# pip makes what tells a finished installation, the folder that ldd is asked about, and a file per CUDA wheel in a
# folder that they share.
working_python='
case "$*" in *"pip install"*) ;; *) exit 0 ;; esac
while [ "$1" != --target ]; do shift; done
folder=$2
mkdir -p "$folder"
for wheel; do
  case $wheel in
    torch==*) mkdir -p "$folder/torch/lib" "$folder/torch-${wheel#*==}.dist-info" ;;
    nvidia-*) name=${wheel%%==*}
              mkdir -p "$folder/nvidia/cu13/lib" "$folder/$(echo "$name" | tr - _)-${wheel#*==}.dist-info"
              echo "$wheel" > "$folder/nvidia/cu13/lib/$name" ;;
  esac
done'
tool python3 "$working_python"
tool ldd
tool ldconfig
tool nvcc 'echo "Cuda compilation tools, release 13.0, V13.0.88"'

PATH=$tools:$PATH
unset PARABENCH_BUILD PARABENCH_DEPS CI
# Left to itself, the script looks for a GPU driver: only gpu_test.sh lets it.
export PARABENCH_PRESET=default

run() {
  status=0
  "$@" > "$sandbox/output" 2> "$sandbox/errors" || status=$?
  output=$(cat "$sandbox/output")
  errors=$(cat "$sandbox/errors")
}

# expect DESCRIPTION COMMAND...: the test ends where the command fails.
expect() {
  description=$1 && shift
  "$@" && return
  printf 'not so: %s\nstatus: %s\nstdout: %s\nstderr: %s\ncalls:\n' "$description" "$status" "$output" "$errors"
  cat "$calls"
  exit 1
}

called() { grep -q -e "$1" "$calls"; }
not_called() { ! called "$1"; }
contains() { case $1 in *"$2"*) ;; *) return 1 ;; esac; }
