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
	# There is no journald, and podman would say so at every start.
	mkdir -p "$root/etc/containers/containers.conf.d"
	cat >"$root/etc/containers/containers.conf.d/50-no-systemd.conf" <<-'CONF'
		[containers]
		log_driver = "k8s-file"
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "file"
	CONF
}
