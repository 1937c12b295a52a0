# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # used by those who source this
#
# What every part of the rig uses: messages, the cache folder, and building a cached object once.

# Exit codes of the rig itself; any other is COMMAND's. 125 is what docker and podman use for "not the command's fault".
readonly EX_BUILD=1
readonly EX_USAGE=2
readonly EX_RIG=125

vm_cache=${XDG_CACHE_HOME:-$HOME/.cache}/sockmem

note() {
	printf 'vm: %s\n' "$*" >&2
}

die() {
	local status=$1
	shift
	note "$@"
	exit "$status"
}

# The release whose binaries the host builds; the guest's root is the same, so that they run there.
host_release() {
	# shellcheck source=/dev/null
	(. /etc/os-release && printf '%s\n' "${VERSION_CODENAME:-unknown}")
}

# short_hash FILE... : names a cached object by what it is made from, so that a changed recipe is built anew.
short_hash() {
	cat -- "$@" | sha256sum | cut -c1-12
}

# cached PATH WHAT BUILDER ARG... : unless PATH exists, runs `BUILDER NEW ARG...` and renames NEW to PATH.
# One builder at a time; the others wait and then find PATH. BUILDER runs in a process of its own group of
# commands whose output goes to PATH.log, which is shown if it fails.
cached() {
	local path=$1 what=$2 builder=$3
	shift 3
	[[ -e $path ]] && return
	mkdir -p "${path%/*}"
	local lock new log=$path.log
	exec {lock}>"$path.lock"
	flock "$lock"
	if [[ ! -e $path ]]; then
		note "making $what (once; kept in $vm_cache)"
		new=$(mktemp -d "$path.new.XXXXXX")
		if ! ("$builder" "$new" "$@") >"$log" 2>&1; then
			tail -n 40 "$log" >&2
			rm -rf --one-file-system "$new"
			die "$EX_RIG" "could not make $what (whole log: $log)"
		fi
		mv -T "$new" "$path"
	fi
	exec {lock}>&-
}
