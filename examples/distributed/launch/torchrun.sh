#!/bin/sh
# Starts one rank per core group on each node with PyTorch's own launcher (Debian: python3-torch). Run it on every node.
# If a rank fails, torchrun starts all again, at most 3 times, and train.js continues with the last checkpoint.
#   NODES=2 RANKS_PER_NODE=4 MASTER=node-0:29400 sh torchrun.sh
# A PyTorch that is built without libuv, such as those of Debian 13 and forky, cannot meet at an address. It can in a file that all
# nodes see and that does not exist yet:
#   NODES=2 RANKS_PER_NODE=4 MEETING_FILE=/shared/digits-1 sh torchrun.sh
# ADDRESS is that of this node, if the others do not know its name (PyTorch 2).
set -eu
here=$(dirname "$0")
endpoint=${MASTER:-127.0.0.1:29400}
conf=store_type=tcp
if [ -n "${MEETING_FILE:-}" ]; then
  endpoint=$MEETING_FILE
  conf=store_type=file
  export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 # torchrun's own store for the ranks would need libuv too
fi
exec torchrun \
  --no_python \
  --nnodes "${NODES:-1}" \
  --nproc_per_node "${RANKS_PER_NODE:-2}" \
  --max_restarts 3 \
  --rdzv_backend c10d \
  --rdzv_endpoint "$endpoint" \
  --rdzv_conf "$conf" \
  --rdzv_id "${JOB:-digits}" \
  ${ADDRESS:+--local_addr "$ADDRESS"} \
  --redirects 1 --tee 1 \
  node "$here/../train.js" --checkpoint "${CHECKPOINT:-digits.pt}" "$@"
