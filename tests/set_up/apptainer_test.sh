# The Apptainer definition: its steps are the set-up's, and leave the programs.
. "$(dirname "$0")/fixture.sh"

definition=$source_root/docs/apptainer/parabench.def
section() { awk -v name="$1" '/^%/ { on = $1 == name; next } on' "$definition" | sed "s|/opt/parabench|$checkout|g"; }

mkdir -p "$checkout/build/default" "$checkout/.deps"
: > "$checkout/build/default/of-the-host"
tool dpkg-query 'exit 1'
section %post > "$sandbox/post"
# As in the image, where nobody has chosen a preset.
run env -u PARABENCH_PRESET sh "$sandbox/post"
expect "%post succeeds" [ "$status" = 0 ]
expect "%post installs the set-up's packages" called "apt-get .*install .*$(echo $PURE_PACKAGES $TORCH_PACKAGES $MPI_PACKAGES)$"
expect "%post installs LibTorch" [ -d "$checkout/.deps/site/torch-$LIBTORCH_VERSION.dist-info" ]
expect "%post leaves the programs alone" [ "$(ls -A "$checkout/build/default")" = bin ]

section %runscript > "$sandbox/runscript"
run env PATH="$checkout/build/default/bin:$PATH" sh "$sandbox/runscript" run "a case"
expect "%runscript runs the program" [ "$output" = "run
a case" ]
for name in %environment %test; do
  section "$name" > "$sandbox/section"
  expect "$name finds the program" grep -q "PATH=$checkout/build/default/bin:" "$sandbox/section"
done
