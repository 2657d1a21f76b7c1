# What the programs load when they start. Arguments: the front program, then any others.
# The front starts without LibTorch, MPI and CUDA; no program needs the CUDA driver, so all start without a GPU.
set -eu

needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
reject() {  # PROGRAM PATTERN
  found=$(needed "$1" | grep -E "$2") || return 0
  echo "$1 loads" $found
  exit 1
}

[ -n "$(needed "$1")" ] || { echo "cannot read $1"; exit 1; }
reject "$1" 'torch|c10|mpi|cuda|cudart|cupti|nccl'
for program; do
  reject "$program" '^libcuda\.so'
done
