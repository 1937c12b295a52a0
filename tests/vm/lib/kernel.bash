# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # shared with tests/vm/run
#
# Debian's cloud kernels: a folder with vmlinuz, an initrd that finds the root, and an ext4 image of the modules.

# What the initrd must load to find a root on virtio-blk. Built-in ones are skipped; the rest of the modules come
# with modprobe once the root and the modules' image are mounted.
readonly INITRD_MODULES=(virtio_pci virtio_blk ext4)

kernel_suite() {
	case $1 in
	bookworm | trixie) printf '%s\n' "$1" ;;
	backports) printf 'trixie-backports\n' ;;
	*) return 1 ;;
	esac
}

# kernel_ensure NAME : sets kernel_dir.
kernel_ensure() {
	local key
	key=$(short_hash "$vm_dir/lib/kernel.bash" "$vm_dir/guest/initrd-init")
	kernel_dir=$vm_cache/kernels/$1-$key
	cached "$kernel_dir" "kernel $1" kernel_build "$(kernel_suite "$1")"
}

# kernel_build NEW SUITE : runs in a subshell of cached().
kernel_build() {
	set -e
	local new=$1 suite=$2 tree=$1/tree packages version
	apt_open "$new/apt" "$suite"
	mapfile -t packages < <(kernel_packages linux-image-cloud-amd64)
	printf '%s\n' "${packages[@]}"
	mkdir "$tree"
	apt_unpack "$tree" "${packages[@]}"
	# Modules are in /lib until 6.1 and in /usr/lib since; which of the two kmod looks at is the host's matter.
	if [[ -d $tree/lib/modules ]]; then
		mkdir -p "$tree/usr/lib"
		mv "$tree/lib/modules" "$tree/usr/lib/modules"
		rmdir "$tree/lib"
	fi
	ln -s usr/lib "$tree/lib"
	version=$(ls "$tree/usr/lib/modules")
	printf '%s\n' "$version" >"$new/version"
	depmod --basedir "$tree" "$version"
	find "$tree" -name 'vmlinuz*' -type f -exec cp {} "$new/vmlinuz" \;
	[[ -s $new/vmlinuz ]]
	kernel_initrd "$new" "$tree" "$version"
	kernel_modules_image "$new/modules.ext4" "$tree/usr/lib/modules"
	rm -rf "$tree" "$new/apt"
}

# kernel_packages META : the packages that make up a kernel. One until 6.12; 7.x splits it into linux-binary-,
# linux-modules- and linux-base-VERSION.
kernel_packages() {
	local todo=("$1") seen=' ' package
	while ((${#todo[@]})); do
		package=${todo[0]}
		todo=("${todo[@]:1}")
		[[ $seen == *" $package "* ]] && continue
		seen+="$package "
		[[ $package =~ -[0-9] ]] && printf '%s\n' "$package"
		mapfile -t -O "${#todo[@]}" todo < <(apt_depends "$package" |
			grep -E '^linux-(image|binary|modules|base)-([0-9]|cloud)')
	done
}

# The modules' closure in the order in which insmod must see them, decompressed: busybox reads no .xz or .zst.
kernel_initrd() {
	local new=$1 tree=$2 version=$3 root=$1/initrd.d
	local module file name n=100
	mkdir -p "$root"/{bin,dev,proc,sys,root,modules}
	cp "$(command -v busybox)" "$root/bin/busybox"
	install -m 755 "$vm_dir/guest/initrd-init" "$root/init"
	for module in "${INITRD_MODULES[@]}"; do
		while read -r _ file; do
			name=${file##*/}
			name=${name%%.ko*}
			compgen -G "$root/modules/*-$name.ko" >/dev/null && continue
			decompress "$file" >"$root/modules/$n-$name.ko"
			((n += 1))
		done < <(modprobe --dirname "$tree" --set-version "$version" --show-depends "$module" | grep '^insmod ')
	done
	compgen -G "$root/modules/*-virtio_blk.ko" >/dev/null
	(cd "$root" && find . | cpio --quiet -o -H newc) >"$new/initrd"
	rm -rf "$root"
}

decompress() {
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -qdc "$1" ;;
	*) cat "$1" ;;
	esac
}

kernel_modules_image() {
	local image=$1 dir=$2 mib
	mib=$(($(du -sm --apparent-size "$dir" | cut -f1) * 5 / 4 + 32))
	mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$dir" "$image" "${mib}M"
}
