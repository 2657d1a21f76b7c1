#!/bin/sh
# Stands in for the Python of other products. FAKE_PEER says how it behaves: sound, loss (other losses), hang, crash,
# error (a rank reports one), garbage (the probe prints no JSON), dumb (the probe fails), silent (and says nothing),
# killed (by a signal), versions (the probe finds another torch).
reply='' work=''
for word; do
  case $before in --reply) reply=$word ;; --work) work=$word ;; esac
  before=$word
done
if [ -z "$reply" ]; then
  case ${FAKE_PEER-} in
    garbage) echo nonsense ;;
    dumb) echo "ImportError: no such library" >&2 && exit 1 ;;
    silent) exit 3 ;;
    killed) kill -KILL $$ ;;
    versions) echo '{"products": {"torch-ddp": "torch 2.0.0 is installed, expected 2.11.0; ./parabench peers"}}' ;;
    *) echo '{"products": {"torch-ddp": "", "horovod": "it cannot be had"}}' ;;
  esac
  exit
fi
[ -e "$work/reply.json" ] || exit 9  # what was handed over
loss=2.5
case ${FAKE_PEER-} in
  loss) loss=3.5 ;;
  hang) sleep 600 & wait ;;
  crash) kill -SEGV $$ ;;
  error) echo '{"rank": 1, "kind": "failure", "message": "told to fail"}' > "$reply/error-1.json" && exit 1 ;;
esac
hash=$(sed -n 's/.*"plan_hash": "\([0-9a-f]*\)".*/\1/p' "$work/reply.json")
memory='{"parameters":0,"gradients":0,"optimizer":0,"weight_versions":0,"activations":0,"communication":0,"workspace":0,
  "total_counted":0,"resident":1048576}'
rank='"host":"fake","device":"cpu","cpuset":"0-1","breakdown_s":null,"bytes_sent":0,"bytes_received":0'
cat > "$reply/part" <<END
{"phase": "measure", "plan_hash": "$hash", "communicator": "", "measured": {
  "step_time_s": {"samples": [[0.5, 0.25, 0.75]], "median": null, "p10": null, "p90": null, "ci95": [null, null]},
  "throughput_samples_per_s": null, "achieved_flops_per_s": null, "losses": [$loss, 2.25, 2, 1, 1, 1], "sync": false,
  "warmup_steps": 3, "baseline": null, "ranks": [
    {"rank": 0, "peak_memory_bytes": $memory, $rank}, {"rank": 1, "peak_memory_bytes": $memory, $rank}]}}
END
mv "$reply/part" "$reply/reply.json"
