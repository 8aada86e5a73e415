#!/bin/sh
# A hook that acts only when this node begins to lead, and ignores all other changes.
set -eu
[ "$ELECTD_EVENT" = leading ] || exit 0
echo "$ELECTD_NODE leads $ELECTD_CLUSTER in epoch $ELECTD_EPOCH"
