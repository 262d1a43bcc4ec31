user=$1 uid=$2 workdir=$3
prompt="PS1='\\w \$ '"

# New homes, and those of root and the default user, get the short prompt; Debian's would show the host's name.
for rc in /etc/skel/.bashrc /root/.bashrc; do printf '\n%s\n' "$prompt" >>"$rc"; done
groupadd --gid "$uid" "$user"
useradd --uid "$uid" --gid "$uid" --create-home --shell /bin/bash "$user"
chmod 755 "/home/$user"
if command -v sudo >/dev/null; then
    printf '%s ALL=(ALL:ALL) NOPASSWD: ALL\n' "$user" >/etc/sudoers.d/user
    chmod 440 /etc/sudoers.d/user
fi
# Debian's .bashrc returns at once in a shell that is not interactive, but `bash -l -c` must see what a person put in.
sed -i '/^# If not running interactively/,/^esac/d' /etc/skel/.bashrc "/home/$user/.bashrc"

mkdir -p "$workdir" /code
chown "$uid:$uid" "$workdir"
chmod 777 /code

# Inside a sandbox `pip install` into the system's Python is what everybody means.
rm -f /usr/lib/python3*/EXTERNALLY-MANAGED
printf '[global]\nbreak-system-packages = true\ndisable-pip-version-check = true\nroot-user-action = ignore\n' >/etc/pip.conf
