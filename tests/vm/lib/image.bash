# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # shared with tests/vm/run
#
# The guest's root: the host's own Debian release, so that what the host built finds the same libraries.

# Room for what a guest writes. The file is sparse, and guests write to a throw-away overlay.
readonly IMAGE_SIZE=6G

image_packages() {
	local common=(
		mount util-linux procps kmod iproute2 iputils-ping ethtool python3 jq strace socat
		runc crun podman conmon netavark aardvark-dns catatonit iptables nftables
		iperf3 bpftool cgroup-tools
		# For guests with systemd; the user's bus is what a rootless runtime asks for a cgroup.
		systemd libpam-systemd dbus dbus-user-session
		# Rootless containers.
		uidmap fuse-overlayfs slirp4netns passt
		# What the project links, and the sanitizers' run time.
		libjson-c5 libnl-3-200 libnl-route-3-200 libbpf1 libasan8 libubsan1
	)
	printf '%s\n' "${common[@]}"
	case $1 in
	bookworm) printf 'libcgroup2\n' ;;
	*) printf 'libcgroup3\n' ;;
	esac
}

# image_ensure : sets image.
image_ensure() {
	local release
	release=$(host_release)
	case $release in
	bookworm | trixie) ;;
	*) die "$EX_RIG" "the guest is the host's own release, and that must be Debian 12 or 13 (this is $release)" ;;
	esac
	local dir
	dir=$vm_cache/images/$release-$(short_hash "$vm_dir/lib/image.bash")
	cached "$dir" "guest image of Debian $release" image_build "$release"
	image=$dir/root.ext4
}

# image_build NEW RELEASE : runs in a subshell of cached().
image_build() {
	set -e
	local new=$1 release=$2 root=$1/root packages
	packages=$(image_packages "$release" | paste -sd,)
	# A name of its own for TMPDIR would not do: mmdebstrap's chroot has only /tmp.
	TMPDIR=/tmp mmdebstrap --mode=root --variant=minbase --include="$packages" \
		--aptopt='Acquire::Languages "none"' \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		"$release" "$root" "$(debian_mirror)"
	image_configure "$root"
	image_systemd "$root"
	image_tester "$root"
	# No journal and no lazy initialisation: nothing of ours writes in the background of a measurement.
	mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=0 -m 0 -d "$root" "$new/root.ext4" "$IMAGE_SIZE"
	rm -rf --one-file-system "$root"
}

image_configure() {
	local root=$1
	mkdir -p "$root/src" "$root/usr/lib/modules"
	# mmdebstrap copies these two from the host.
	printf 'sockmem-vm\n' >"$root/etc/hostname"
	: >"$root/etc/resolv.conf"
	printf '127.0.0.1 localhost sockmem-vm\n::1 localhost ip6-localhost\n' >"$root/etc/hosts"
	mkdir -p "$root/etc/containers/containers.conf.d"
}

# What a guest with systemd starts: no login, for nobody types; nothing by a clock, for it would run beside a measurement;
# nothing for disks, screens and firmware that are not there. Generators are 3 s of an emulated start: the one that reads
# systemd.wants= and podman's stay.
image_systemd() {
	local root=$1 masks=() unit
	# Any will do; without one systemd takes the start for the very first.
	printf '50c3e3e5a5e24ac0b1d4a8e4c1a7f0d2\n' >"$root/etc/machine-id"
	mkdir -p "$root/etc/systemd/journald.conf.d" "$root/etc/systemd/system-generators"
	printf '[Journal]\nStorage=volatile\nRuntimeMaxUse=64M\n' >"$root/etc/systemd/journald.conf.d/vm.conf"
	masks=(getty.target timers.target e2scrub_reap.service modprobe@{dm_mod,drm,efi_pstore,loop}.service)
	masks+=(proc-sys-fs-binfmt_misc.automount systemd-{binfmt,pstore,update-utmp,update-utmp-runlevel}.service)
	for unit in "${masks[@]}"; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit"
	done
	for unit in "$root"/usr/lib/systemd/system-generators/systemd-*; do
		[[ $unit == */systemd-debug-generator ]] || ln -s /dev/null "$root/etc/systemd/system-generators/${unit##*/}"
	done
}

# Somebody without rights, with ranges of ids for user namespaces.
image_tester() {
	local root=$1
	chroot "$root" useradd --create-home --shell /bin/bash --uid 1000 tester
	printf 'tester:100000:65536\n' | tee "$root/etc/subuid" >"$root/etc/subgid"
}
