
# After every step: /usr/local is open to all, as in E2B's templates, and logs and backups are gone. `find` and not
# `chmod -R`, which would copy every file of the layers beneath into this one.
find /usr/local -path /usr/local/lib/hood -prune -o ! -type l ! -perm 777 -exec chmod 777 {} +
rm -rf /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/log/fontconfig.log \
    /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/cache/ldconfig /root/.cache/pip /root/.npm
