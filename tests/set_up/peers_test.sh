# The environment of other products is there completely or as it was, without those products that cannot be had.
. "$(dirname "$0")/fixture.sh"

python='
case "$*" in
  *"pip install"*) while [ "$1" != --target ]; do shift; done; mkdir -p "$2/torch-'"$LIBTORCH_VERSION"'.dist-info" ;;
  *"venv --without-pip"*) mkdir -p "$4/bin" "$4/lib/python3.11/site-packages"; : > "$4/made"
                          printf "#!/bin/sh\n%s\n" "IMPORTED" > "$4/bin/python"; chmod +x "$4/bin/python" ;;
  *--python*UNAVAILABLE*) echo "ERROR: no wheel" >&2; exit 1 ;;
esac'
# python_without WHEEL [BODY]: what cannot be installed, and what the environment's own Python does.
python_without() { tool python3 "$(echo "$python" | sed "s/UNAVAILABLE/$1/; s/IMPORTED/${2-exit 0}/")"; }
python_without torchgpipe
run "$checkout/parabench" peers --help
expect "help explains it" contains "$output" "usage: ./parabench peers"
run "$checkout/parabench" peers --anything
expect "takes no arguments" [ "$status" = 2 ]
expect "says what it got" contains "$errors" "got '--anything'"
expect "neither installs" not_called "pip"
run "$checkout/parabench" peers
expect "goes on without a product" [ "$status" = 0 ]
expect "an environment" [ -e "$checkout/.deps/peers/made" ]
expect "torch is the one of LibTorch" grep -qx "$checkout/.deps/site" \
  "$checkout/.deps/peers/lib/python3.11/site-packages/torch-of-libtorch.pth"
expect "which product is missing" contains "$errors" "torchgpipe could not be installed"
expect "pip's message is shown" contains "$errors" "ERROR: no wheel"
expect "the reason stays, with pip's" contains "$(cat "$checkout/.deps/peers/reasons/torchgpipe")" \
  "could not be installed by ./parabench peers: ERROR: no wheel; see torchgpipe.log there"
expect "where it says" [ -s "$checkout/.deps/peers/torchgpipe.log" ]
expect "others have none" [ ! -e "$checkout/.deps/peers/reasons/deepspeed" ]
expect "pinned versions" called "pip --python .*numpy==[0-9]"
expect "nothing is built" not_called "cmake"

python_without numpy
run "$checkout/parabench" peers
expect "without what torch needs: exit code 4" [ "$status" = 4 ]
expect "the old environment stays" [ -e "$checkout/.deps/peers/reasons/torchgpipe" ]

python_without nothing "echo 'ImportError: libcublas.so.13' >\\&2; exit 1"
run "$checkout/parabench" peers
expect "without a torch that Python can import: exit code 4" [ "$status" = 4 ]
expect "why" contains "$errors" "torch cannot be imported: ImportError: libcublas.so.13"
expect "the old environment stays" [ -e "$checkout/.deps/peers/reasons/torchgpipe" ]

python_without nothing 'case \\$2 in *ShareMemCommBuilder*) exit 1 ;; esac'
run "$checkout/parabench" peers
expect "goes on without an extension" [ "$status" = 0 ]
expect "whose product has a reason" contains "$(cat "$checkout/.deps/peers/reasons/deepspeed-extension")" "could not be built"
expect "and no other one" [ ! -e "$checkout/.deps/peers/reasons/torchgpipe" ]

python_without nothing
run env "PARABENCH_PEERS=$sandbox/elsewhere" "$checkout/parabench" peers
expect "another folder" [ -e "$sandbox/elsewhere/made" ]

mkdir "$sandbox/mine"
: > "$sandbox/mine/thesis"
run env "PARABENCH_PEERS=$sandbox/mine" "$checkout/parabench" peers
expect "somebody's folder: exit code 2" [ "$status" = 2 ]
expect "it stays" [ -e "$sandbox/mine/thesis" ]
expect "why" contains "$errors" "a folder that ./parabench peers made"

for name in python3 python3.11; do tool $name 'exit 1'; done
sed -i 's|/usr/bin/python3;|/nowhere/python3;|' "$checkout/parabench"
run "$checkout/parabench" peers
expect "no Python that fits: exit code 4" [ "$status" = 4 ]
expect "what to type" contains "$errors" "apt-get install python3-venv python3-pip"
