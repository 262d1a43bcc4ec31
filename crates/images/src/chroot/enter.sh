# Arguments: the layers directory, the name of the temporary directory in it, the layers beneath (top first, with
# colons), the number of lent folders, for each its path and name, then the arguments of the step.
cd "$1"
temporary=$2 lower=$3 folders=$4
shift 4
root=$PWD/$temporary/root

# Without redirects, metadata-only copies and the index a layer holds nothing that refers to the layers beneath by
# anything but its path, so it is valid on any mount of them.
#
# Whoever is root of a part of the host's ids only (rootless) keeps the overlay's marks where that root may write, and
# borrows the host's device nodes, because it cannot make any.
if [ "$(cat /proc/self/uid_map | tr -s ' ')" = " 0 0 4294967295" ]; then marks=redirect_dir=off,metacopy=off own=1; else marks=userxattr own=; fi
mount -t overlay -o "lowerdir=$lower,upperdir=$temporary/upper,workdir=$temporary/work,$marks,index=off" \
    hood "$root"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t tmpfs -o mode=755,nosuid,noexec,size=1m tmpfs "$root/dev"
mount -t tmpfs -o mode=755,nosuid,nodev,size=64m tmpfs "$root/run"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"

umask 000
node() {
    if [ "$own" ]; then
        mknod -m 666 "$root/dev/$1" c "$2" "$3"
    else
        : >"$root/dev/$1"
        mount --bind "/dev/$1" "$root/dev/$1"
    fi
}
node null 1 3
node zero 1 5
node full 1 7
node random 1 8
node urandom 1 9
node tty 5 0
umask 022
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5,nosuid,noexec devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"

mkdir "$root/run/hood-build" "$root/run/lock"
mount --bind "$temporary/lent" "$root/run/hood-build"
while [ "$folders" -gt 0 ]; do
    mount --bind "$1" "$root/run/hood-build/$2"
    folders=$((folders - 1))
    shift 2
done
# The host's resolver and names, over the empty files of the template, so that the layer never has them.
for file in resolv.conf hosts; do
    if [ -e "/etc/$file" ] && [ -f "$root/etc/$file" ]; then mount --bind "/etc/$file" "$root/etc/$file"; fi
done
if [ "$own" ]; then echo template >/proc/sys/kernel/hostname; else hostname template; fi

# The step is root over files only: it can neither mount nor make devices, load modules or trace what it did not start.
exec chroot "$root" /usr/bin/setpriv --inh-caps=-all \
    --bounding-set=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+setfcap,+sys_chroot \
    /bin/bash -eu -o pipefail /run/hood-build/step.sh "$@"
