# docs/cluster.md names what must be there: every package, every variable of the root script.
. "$(dirname "$0")/fixture.sh"

status= output= errors=
page=$(cat "$source_root/docs/cluster.md")
for package in $PURE_PACKAGES $TORCH_PACKAGES $MPI_PACKAGES $REPORT_PACKAGES; do
  expect "docs/cluster.md names $package" contains "$page" "\`$package\`"
done
for variable in $(sed -n 's/^# \([A-Z][A-Z_]*\)  *[a-z].*/\1/p' "$source_root/parabench"); do
  expect "docs/cluster.md names $variable" contains "$page" "$variable"
done
