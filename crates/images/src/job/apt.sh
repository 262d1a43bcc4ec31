# Lists and archives stay on the tmpfs: nothing of apt's bookkeeping is in the layer.
mkdir -p /tmp/apt/lists/partial /tmp/apt/cache/archives/partial
apt() {
    apt-get -y -q -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 \
        -o Dir::Etc::SourceList=/run/hood-build/sources.list -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists=/tmp/apt/lists -o Dir::Cache=/tmp/apt/cache \
        -o Acquire::https::CAInfo="${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$@"
}
apt update
apt install --no-install-recommends -- "$@"
