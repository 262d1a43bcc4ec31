python3 -m pip install --no-cache-dir --compile --progress-bar off --disable-pip-version-check \
    --root-user-action ignore --break-system-packages --no-warn-script-location -- "$@"
