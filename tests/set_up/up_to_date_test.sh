# Nothing is installed, configured or built where nothing changed; every kind of change is seen.
. "$(dirname "$0")/fixture.sh"

quiet_after() {  # DESCRIPTION: the next run calls no tool
  : > "$calls"
  run "$checkout/parabench" list
  expect "$1: no tool is called" [ ! -s "$calls" ]
  expect "$1: nothing on standard error" [ -z "$errors" ]
}
builds_after() {  # DESCRIPTION: the next run builds, the one after it does not
  : > "$calls"
  run "$checkout/parabench" list
  expect "$1: builds" called "cmake --build"
  quiet_after "after $1"
}

echo "int x;" > "$checkout/base/x.cpp"
mkdir -p "$checkout/.git/logs" "$checkout/results/out"
touch "$checkout/.git/logs/HEAD"
builds_after "first run"
expect "first run downloaded" [ -d "$checkout/.deps/site/torch-$LIBTORCH_VERSION.dist-info" ]

echo "int y;" > "$checkout/base/x.cpp"
builds_after "changed source"
expect "a changed source needs no new configuration" not_called "--preset"
rm "$checkout/base/x.cpp"
builds_after "removed source"
echo >> "$checkout/.git/logs/HEAD"
builds_after "new commit"
echo "{}" > "$checkout/results/out/quick.json"
echo "note" > "$checkout/README.md"
quiet_after "a result and a note"
rm "$checkout/build/default/bin/parabench"
builds_after "removed program"
rm -r "$checkout/.deps"
builds_after "removed LibTorch"

touch "$checkout/CMakePresets.json"
: > "$calls"
run "$checkout/parabench" list
expect "changed presets: configures again" called "--preset default"

cp -r "$checkout/.deps" "$sandbox/wheels"
: > "$calls"
run env PARABENCH_DEPS="$sandbox/wheels" "$checkout/parabench" list
expect "another folder of wheels: configures again" called "-DPARABENCH_DEPS=$sandbox/wheels"
: > "$calls"
run "$checkout/parabench" list
expect "stays with the folder of the build" not_called "cmake"

tool cmake 'echo "error: expected ;" ; exit 1'
echo "int z" > "$checkout/base/z.cpp"
for attempt in first second; do
  run "$checkout/parabench" list
  expect "$attempt broken build: exit code 4" [ "$status" = 4 ]
  expect "$attempt broken build: names the compiler's message" contains "$errors" "error: expected ;"
  expect "$attempt broken build: the old program does not run" [ -z "$output" ]
done
