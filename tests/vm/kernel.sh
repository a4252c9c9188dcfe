#!/usr/bin/env bash
# Makes what tests/vm.sh boots, in FOLDER: kernel.sh FOLDER. Debian's newest kernel package is
# downloaded by apt-get and unpacked, not installed: vmlinux, modules/, initramfs. Does nothing when
# they are there. Exit status: 0 made, 77 it cannot be had.
set -euo pipefail

readonly folder=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# In the order in which they are to be loaded; everything else is loaded by name from modules/.
readonly boot_modules=(
  drivers/virtio/virtio_ring drivers/virtio/virtio drivers/virtio/virtio_pci_modern_dev
  drivers/virtio/virtio_pci_legacy_dev drivers/virtio/virtio_pci net/9p/9pnet net/9p/9pnet_virtio
  fs/netfs/netfs fs/fscache/fscache fs/9p/9p fs/overlayfs/overlay
)

skip() {
  echo "vm.sh: skipped: $*" >&2
  exit 77
}

# download PACKAGE: its archive, into the present folder. Package lists that are missing or old name
# nothing that can be downloaded: then root asks for new ones.
download() {
  local get=(timeout 900 apt-get -o Acquire::Retries=3 download) name
  name=$(newest "$1")
  if ! "${get[@]}" "$name" &> log; then
    if ((EUID == 0)); then timeout 300 apt-get update &> /dev/null || true; fi
    name=$(newest "$1")
    "${get[@]}" "$name" &> log || skip "apt-get cannot download $name: $(< log)"
  fi
  rm log
}

# newest PACKAGE: the package itself; of linux-image-amd64, which is empty, the one it depends on.
newest() {
  local name=""
  if [[ $1 == linux-image-amd64 ]]; then
    name=$(apt-cache depends "$1" 2> /dev/null |
      sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
  fi
  echo "${name:-$1}"
}

# The kernel that qemu starts at once: unpacked here, and not, slowly, by the guest.
unpack_kernel() {
  local image=$1 sectors offset length
  sectors=$(od -An -tu1 -j 0x1f1 -N1 "$image")
  read -r offset length < <(od -An -tu4 -j 0x248 -N8 "$image")
  tail -c "+$(((sectors + 1) * 512 + offset + 1))" "$image" | head -c "$length" |
    xz -dc --single-stream > "$2" 2> /dev/null || true
  [[ $(head -c 4 "$2") == $'\x7fELF' ]] || cp "$image" "$2"
}

# In the present folder, which is empty.
make_kernel() {
  local release
  echo "vm.sh: downloading and unpacking a kernel" >&2
  download linux-image-amd64
  dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x --wildcards \
    "./boot/vmlinuz-*" "./lib/modules/*/modules.*" "./lib/modules/*/kernel/arch/x86/crypto" \
    "./lib/modules/*/kernel/crypto" "./lib/modules/*/kernel/drivers/block/brd.ko" \
    "./lib/modules/*/kernel/drivers/block/virtio_blk.ko" "./lib/modules/*/kernel/drivers/infiniband" \
    "./lib/modules/*/kernel/drivers/md/dm-*.ko" \
    "./lib/modules/*/kernel/drivers/net/dummy.ko" "./lib/modules/*/kernel/drivers/net/*virtio*" \
    "./lib/modules/*/kernel/drivers/net/net_failover.ko" "./lib/modules/*/kernel/drivers/virtio" \
    "./lib/modules/*/kernel/fs" "./lib/modules/*/kernel/lib" "./lib/modules/*/kernel/net"
  release=$(ls lib/modules)
  /sbin/depmod -b . "$release"
  unpack_kernel "boot/vmlinuz-$release" vmlinux
  mv "lib/modules/$release" modules
  rm -rf boot lib ./*.deb
}

# Busybox is taken from its package too, for it must be static.
make_busybox() {
  mkdir package
  (cd package; download busybox-static; dpkg-deb -x busybox-static_*.deb .)
  find package -type f -name busybox -exec mv {} busybox \;
  rm -rf package
}

make_initramfs() {
  local tree=$1/tree module
  rm -rf "$tree"
  mkdir -p "$tree"/{bin,dev,lower,modules,all,proc,sys,upper}
  cp "$folder/busybox" "$tree/bin/"
  cp "$here/init" "$tree/init"
  chmod 755 "$tree/init" "$tree/bin/busybox"
  for module in "${boot_modules[@]}"; do
    cp "$folder/modules/kernel/$module.ko" "$tree/modules/"
    echo "${module##*/}" >> "$tree/plov_modules"
  done
  (cd "$tree" && find . | "$folder/busybox" cpio -o -H newc 2> /dev/null) > "$1/initramfs"
  rm -rf "$tree"
  mv "$1/initramfs" "$folder/initramfs"
}

# The modules come last, so that they tell whether all is there. Those of former releases had no dm.
kernel_is_there() { [[ -e $folder/modules/kernel/drivers/md ]]; }
initramfs_is_there() {
  [[ $folder/initramfs -nt $here/init && $folder/initramfs -nt $here/kernel.sh ]]
}

if kernel_is_there && initramfs_is_there; then exit 0; fi
if ! mkdir -p "$folder" || [[ ! -w $folder ]]; then skip "cannot write to $folder"; fi
exec 9> "$folder/lock"
flock -w 900 9 || skip "another set-up in $folder does not end"
new=$folder/new
rm -rf "$new"
mkdir "$new"
trap 'rm -rf "$new"' EXIT
if ! kernel_is_there; then
  (cd "$new"; make_kernel; make_busybox)
  mv "$new"/{vmlinux,busybox} "$folder/"
  rm -rf "$folder/modules"
  mv "$new/modules" "$folder/modules"
fi
if ! initramfs_is_there; then make_initramfs "$new"; fi
