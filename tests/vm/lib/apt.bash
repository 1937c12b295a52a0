# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # shared with tests/vm/run
#
# Packages of any Debian release, read through a configuration of our own: /etc/apt and the host's lists are not touched.

# The mirror that the host itself uses, asked from apt at run time.
debian_mirror() {
	local release mirror
	release=$(host_release)
	# shellcheck disable=SC2016 # apt's own placeholders
	mirror=$(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(COMPONENT)' |
		awk -F'|' -v r="$release" '$2 == r && $3 == "main" { print $1; exit }')
	mirror=${SOCKMEM_VM_MIRROR:-$mirror}
	[[ $mirror ]] || die "$EX_RIG" "apt knows no mirror of Debian $release (set SOCKMEM_VM_MIRROR to one)"
	printf '%s\n' "$mirror"
}

debian_keyring() {
	local keyring
	for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
		[[ -r $keyring ]] && printf '%s\n' "$keyring" && return
	done
	die "$EX_RIG" "no Debian archive keyring on this host (package debian-archive-keyring)"
}

# apt_open DIR SUITE : makes DIR an apt world that knows SUITE and nothing else. Paths go on apt's command line
# (apt_args), which wins over anything in /etc/apt/apt.conf.d.
apt_open() {
	local dir=$1 suite=$2
	mkdir -p "$dir"/{lists,archives}/partial
	: >"$dir/status"
	printf 'deb [arch=amd64 signed-by=%s] %s %s main\n' "$(debian_keyring)" "$(debian_mirror)" "$suite" >"$dir/sources.list"
	apt_args=(
		-o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
		-o Dir::State::Lists="$dir/lists" -o Dir::State::Status="$dir/status"
		-o Dir::Cache="$dir" -o Dir::Cache::Archives="$dir/archives"
		-o APT::Architecture=amd64 -o APT::Sandbox::User=root -o Acquire::Languages=none
	)
	apt-get "${apt_args[@]}" update || die "$EX_RIG" \
		"cannot read Debian $suite (an unknown key means that debian-archive-keyring of this host is too old for it)"
}

# apt_depends PACKAGE : names it depends on, alternatives and versions dropped.
apt_depends() {
	apt-cache "${apt_args[@]}" show --no-all-versions "$1" |
		sed -n 's/^\(Pre-\)\?Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/[ |].*//' | sort -u
}

# apt_unpack DIR PACKAGE... : downloads and unpacks without installing.
apt_unpack() {
	local dir=$1 debs package
	shift
	debs=$(mktemp -d "$dir.debs.XXXXXX")
	(cd "$debs" && apt-get "${apt_args[@]}" download "$@")
	for package in "$debs"/*.deb; do
		dpkg-deb -x "$package" "$dir"
	done
	rm -rf "$debs"
}
