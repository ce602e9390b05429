#!/bin/sh
# Installs what scripts/debian-packages.txt lists and is not there yet. Safe to
# repeat; asks the network for nothing when nothing is missing.
set -eu
list=$(dirname "$0")/debian-packages.txt

if ! command -v dpkg-query >/dev/null; then
	echo "no Debian: install by hand what $list lists" >&2
	exit 0
fi

missing=
while read -r package; do
	case $package in '' | '#'*) continue ;; esac
	# ${db:Status-Status} is dpkg's, not the shell's.
	# shellcheck disable=SC2016
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$status" = installed ] || missing="$missing $package"
done <"$list"
[ -n "$missing" ] || exit 0

as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
echo "installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -o DPkg::Lock::Timeout=300 -q update
# shellcheck disable=SC2086  # one word per package
$as_root apt-get -o DPkg::Lock::Timeout=300 -q install -y --no-install-recommends $missing
