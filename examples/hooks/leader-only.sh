#!/bin/sh
# A hook that only acts when this node begins to lead: the other changes end here.
set -eu
[ "$ELECTD_EVENT" = leading ] || exit 0
echo "$ELECTD_NODE leads $ELECTD_CLUSTER in epoch $ELECTD_EPOCH"
