#!/bin/sh
# Started by the harness of the conformance suite with the name of the GatewayClass; ends with SIGTERM.
set -eu
cd "$(dirname "$0")/../../.."
export CONNECTION_MIN_TERMINATION_DEADLINE=0s
node_modules/.bin/node scripts/interop/conformance/dns-pods.mjs &
exec node_modules/.bin/node bin/run.js run --kube --gateway-class "$1" --gateway-addresses "$GATEWAY_ADDRESSES"
