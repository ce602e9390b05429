#!/bin/sh
# Installs what scripts/debian-packages.txt lists and is missing. Safe to repeat;
# no network access when nothing is missing.
#
# With --tests: only what `npm test` runs, and where it may not be installed (no apt,
# neither root nor passwordless sudo, no network) that is said and is not an error:
# the tests concerned are skipped. With CI set it is an error.
set -eu
list=$(dirname "$0")/debian-packages.txt
tests=
[ "${1-}" != --tests ] || tests=1

# give_up REASON: what is missing stays missing.
give_up() {
	echo "dialtone: not installed, because $1:$missing" >&2
	if [ -n "$tests" ] && [ -z "${CI-}" ]; then
		echo "dialtone: the tests that need them are skipped, and listed at the end" >&2
		exit 0
	fi
	exit 1
}

# One dpkg-query for all: this runs before every `npm test`.
# ${…} is dpkg's, not the shell's.
# shellcheck disable=SC2016
installed=$(dpkg-query -W -f '|${Package}|${db:Status-Status}|' 2>/dev/null || true)
missing=
while read -r package programs; do
	case $package in '' | '#'*) continue ;; esac
	[ -z "$tests" ] || [ -n "$programs" ] || continue
	case $installed in *"|$package|installed|"*) continue ;; esac
	# Of another package (kubectl has several): this one could not be unpacked beside it.
	first=${programs%% *}
	[ -z "$first" ] || ! dpkg-query -S "/usr/bin/$first" >/dev/null 2>&1 || continue
	missing="$missing $package"
done <"$list"
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null || give_up "this is not a Debian"
[ "${DIALTONE_TEST_INSTALL-}" != 0 ] || give_up "DIALTONE_TEST_INSTALL is 0"
as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root="sudo -n"
	$as_root true 2>/dev/null || give_up "this needs root, or sudo without a password"
fi
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300"

echo "dialtone: installing$missing" >&2
$apt update >&2 || give_up "apt-get update failed"
# Other releases of Debian lack a few.
# shellcheck disable=SC2086  # one word per package
offered=$(apt-cache --no-all-versions show $missing 2>/dev/null | sed -n 's/^Package: //p')
known=
for package in $missing; do
	if echo "$offered" | grep -qxF -e "$package"; then
		known="$known $package"
	else
		echo "dialtone: this release has no package $package" >&2
	fi
done
# Servers are only for tests, which start their own: do not start the system's.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	# shellcheck disable=SC2064
	trap "$as_root rm -f $policy" EXIT
	printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
	$as_root chmod 755 $policy
fi
# shellcheck disable=SC2086  # one word per package
$apt install -y --no-install-recommends $known >&2 || give_up "apt-get install failed"
