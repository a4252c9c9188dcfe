#!/usr/bin/env bash
# Boots a folder as a machine of its own: systemd is its init. Called with the folder, as root, in new
# namespaces of mounts, processes, names, IPC and control groups.
set -euo pipefail

mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  : > "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
pivot_root . mnt
cd /
umount -l /mnt
exec /usr/bin/env -i container=plov-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
