# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # shared with tests/vm/run
#
# Which QEMU, and how it translates. QEMU translates a page of code without locking it until 8.1; where the guest
# patches its kernel's text meanwhile (tracing attached, a static key toggled by tc or a sysctl), a processor may run
# the old bytes: `Oops: int3`. Guests on two processors under load, patching their kernel's text for 10 s each:
#
#   QEMU 7.2, several threads    6.12: 2 of 2 died, 7.3: 1 of 1 died, 6.1: 1 of 1 hung
#   QEMU 7.2, a single thread    6.12: 1 of 1 stood, 7.3: 1 of 1 stood
#   QEMU 10.0, several threads   5 of 5 stood, on 6.12, 7.3 and 6.1 alike

# qemu_ensure : sets qemu_root, empty for the host's own QEMU. Debian 12 has 7.2 and, in its backports, 10.0, which is
# unpacked beside the kernels; the libraries that it needs are those of the installed 7.2.
qemu_ensure() {
	qemu_root=
	[[ $(host_release) == bookworm ]] || return 0
	local dir
	dir=$vm_cache/qemu/bookworm-backports-$(short_hash "$vm_dir/lib/qemu.bash")
	if (cached "$dir" "QEMU of bookworm-backports" qemu_build); then
		qemu_root=$dir/tree
	else
		note "going on with the host's own QEMU"
	fi
}

# qemu_build NEW : runs in a subshell of cached().
qemu_build() {
	set -e
	local new=$1
	apt_open "$new/apt" bookworm-backports
	mkdir "$new/tree"
	apt_unpack "$new/tree" qemu-system-x86 qemu-system-common qemu-system-data seabios
	"$new/tree/usr/bin/qemu-system-x86_64" --version
	rm -rf "$new/apt"
}

# qemu_tcg KERNEL : the threads that translate, where the user does not say.
qemu_tcg() {
	local version
	version=$("$qemu_root/usr/bin/qemu-system-x86_64" --version | sed -n '1s/.*version \([0-9]*\.[0-9]*\).*/\1/p')
	if [[ $1 != bookworm ]] && dpkg --compare-versions "$version" lt 8.1; then
		printf 'single\n'
	else
		printf 'multi\n'
	fi
}
