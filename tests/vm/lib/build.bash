# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # shared with tests/vm/run
#
# The project, built on the host for /usr/local, and the archive that carries it into one guest.

# overlay_make TAR : builds unless told not to, and writes what is laid over the guest's root. A tar of its own for each
# guest, so that the next build does not change a running one. The lock is the checkout's: one build at a time.
overlay_make() {
	local tar=$1 lock stage=$source_dir/build/vm-stage
	mkdir -p "$source_dir/build"
	exec {lock}>"$source_dir/build/vm.lock"
	flock "$lock"
	[[ $build == no ]] || project_build "$stage"
	mkdir -p "$stage/usr/local"
	tar --create --file "$tar" --owner=0 --group=0 --numeric-owner \
		--transform='s,^guest/units/,usr/lib/systemd/system/,' --transform='s,^guest/as-tester,usr/bin/as-tester,' \
		--transform='s,^guest/,usr/lib/sockmem-vm/,' \
		-C "$stage" . -C "$vm_dir" guest/{init,fstab,containers.conf,agent,as-tester} guest/units/{sockmem-vm.service,src.mount}
	exec {lock}>&-
}

# Runs on every start: with nothing changed it costs about a second. Files that meson only copies are no ninja
# targets, so the installation is never skipped; it starts from nothing, or deleted files would live on.
project_build() {
	local stage=$1 build_dir=$source_dir/build/vm log=$source_dir/build/vm.log
	if [[ ! -e $source_dir/meson.build ]]; then
		note "no meson.build in the checkout: the guest starts without the project"
		return
	fi
	rm -rf "$stage.new"
	# What another release built is linked with other libraries, and ninja would not know.
	[[ -e $build_dir/made-on-$(host_release) ]] || rm -rf "$build_dir"
	if ! {
		{ [[ -e $build_dir/build.ninja ]] || meson setup "$build_dir" "$source_dir" --prefix=/usr/local; } &&
			touch "$build_dir/made-on-$(host_release)" &&
			ninja -C "$build_dir" &&
			meson install -C "$build_dir" --no-rebuild --quiet --destdir "$stage.new"
	} >"$log" 2>&1; then
		cat "$log" >&2
		die "$EX_BUILD" "the project does not build"
	fi
	mkdir -p "$stage.new"
	rm -rf "$stage"
	mv -T "$stage.new" "$stage"
}
