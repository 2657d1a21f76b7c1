# The environment of other products is there completely or as it was, without those products that cannot be had.
. "$(dirname "$0")/fixture.sh"

python='
case "$*" in
  *"pip install"*)
    while [ "$1" != --target ]; do shift; done
    folder=$2
    mkdir -p "$folder/nvidia"
    shift 2
    for wheel; do mkdir "$folder/$(echo "${wheel%==*}" | tr - _)-${wheel#*==}.dist-info"; done ;;
  *"venv --without-pip"*)
    mkdir -p "$4/bin" "$4/lib/python3.11/site-packages"
    printf "#!/bin/sh\nIMPORTED\n" > "$4/bin/python"
    chmod +x "$4/bin/python"
    : > "$4/made" ;;
  *--python*UNAVAILABLE*) exit 1 ;;
esac'
# fake_python WHEEL [COMMAND]: one that cannot install the wheel, and whose environments import torch by the command.
fake_python() { tool python3 "$(echo "$python" | sed "s/UNAVAILABLE/$1/; s/IMPORTED/${2:-exit 0}/")"; }

fake_python torchgpipe
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
expect "the reason stays" [ -s "$checkout/.deps/peers/reasons/torchgpipe" ]
expect "others have none" [ ! -e "$checkout/.deps/peers/reasons/deepspeed" ]
expect "pinned versions" called "pip --python .*numpy==[0-9]"
expect "nothing is built" not_called "cmake"
expect "what the CUDA half of the wheel needs" called "pip install .*nvidia-cufile"

fake_python numpy
run "$checkout/parabench" peers
expect "without what torch needs: exit code 4" [ "$status" = 4 ]
expect "the old environment stays" [ -e "$checkout/.deps/peers/reasons/torchgpipe" ]

fake_python nothing 'echo libcudnn.so.9: not found >\&2; exit 1'
run "$checkout/parabench" peers
expect "torch that cannot be imported: exit code 4" [ "$status" = 4 ]
expect "why" contains "$errors" "libcudnn.so.9: not found"
expect "the old environment still stays" [ -e "$checkout/.deps/peers/reasons/torchgpipe" ]

fake_python nothing
run env "PARABENCH_PEERS=$sandbox/elsewhere" "$checkout/parabench" peers
expect "another folder" [ -e "$sandbox/elsewhere/made" ]

for name in python3 python3.11; do tool $name 'exit 1'; done
sed -i 's|/usr/bin/python3;|/nowhere/python3;|' "$checkout/parabench"
run "$checkout/parabench" peers
expect "no Python that fits: exit code 4" [ "$status" = 4 ]
expect "what to type" contains "$errors" "apt-get install python3-venv python3-pip"
