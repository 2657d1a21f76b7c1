#!/bin/sh
# The example for ReFrame, run by ReFrame. Arguments: checkout, parabench, folder of the wheels. Exit code 77: no ReFrame.
set -eu
root=$1 parabench=$2 deps=$3
PYTHONPATH=$deps/test-site${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
python=
for candidate in python3 /usr/bin/python3; do
  [ -n "$python" ] || ! "$candidate" -c 'import reframe.frontend.cli' 2> /dev/null || python=$candidate
done
if [ -z "$python" ]; then
  echo "no ReFrame: python3 -m pip install --target $deps/test-site with the TEST_WHEELS of cmake/dependencies.env"
  exit 77
fi
SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT
. "$root/tests/examples/stand_in.sh"
cd "$SCRATCH"

# run_reframe NAME: its output in NAME.log
run_reframe() {
  "$python" -c 'import sys; from reframe.frontend.cli import main; sys.exit(main())' --prefix "$SCRATCH/$1" \
    -c "$root/docs/examples/reframe/parabench_check.py" -S parabench="$parabench" -r --performance-report \
    > "$1.log" 2>&1
}
run_reframe good || { cat good.log; exit 1; }
grep -q 'Ran 2/2 test case(s) from 2 check(s) (0 failure(s)' good.log || { cat good.log; exit 1; }
grep -q 'step_time.*0.051' good.log || { cat good.log; exit 1; }
# What failed in parabench has to fail there, too.
if FAKE_RANK='gpipe|measure|failure|1' run_reframe bad || ! grep -q '1 failure(s)' bad.log; then
  cat bad.log
  exit 1
fi
echo "ReFrame ran both cases, read their figures, and saw the failure"
