#!/bin/sh
# What --benchmark_out writes, read by Google Benchmark's own compare.py. Arguments: checkout, parabench, folder of the
# wheels (not needed). Exit code 77: no compare.py, or no Python with SciPy, which it wants.
set -eu
root=$1 parabench=$2
compare=/usr/share/benchmark/compare.py
python=
for candidate in python3 /usr/bin/python3; do
  [ -n "$python" ] || ! "$candidate" -c 'import scipy' 2> /dev/null || python=$candidate
done
if [ ! -f "$compare" ] || [ -z "$python" ]; then
  echo "no compare.py of Google Benchmark with SciPy: apt-get install libbenchmark-tools python3-scipy"
  exit 77
fi
SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT
. "$root/tests/examples/stand_in.sh"
cd "$SCRATCH"

one='mlp[layers=4,hidden=64]/cifar10-synthetic/sequential/np:1/batch:16'
two='mlp[layers=4,hidden=64]/cifar10-synthetic/gpipe/np:2/batch:16'
for run in before after; do
  "$parabench" run "$one" "$two" --repetitions 3 --benchmark_out=$run.json > $run.log 2>&1 || { cat $run.log; exit 1; }
done
"$python" "$compare" --no-color benchmarks before.json after.json > compared.log 2>&1 || { cat compared.log; exit 1; }
# It pairs benchmarks by name: both cases, each with its three launches and the test over them.
for id in "$one" "$two"; do
  [ "$(grep -F "$id" compared.log | grep -c 'manual_time  ')" = 3 ] || { cat compared.log; exit 1; }
  grep -F "$id" compared.log | grep -q 'Repetitions: 3 vs 3' || { cat compared.log; exit 1; }
done
echo "compare.py paired both cases and their launches"
