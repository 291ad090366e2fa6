# Sourced by the other scripts: puts the Swift toolchain into PATH where sudo took it out.
# shellcheck shell=bash
if ! command -v swift > /dev/null; then
    for folder in /opt/swift/usr/bin /usr/local/swift/usr/bin "${SUDO_USER:+$(getent passwd "$SUDO_USER" | cut -d: -f6)/.local/share/swiftly/bin}"; do
        if [ -x "$folder/swift" ]; then
            PATH=$folder:$PATH
            break
        fi
    done
fi
PATH=$PATH:/usr/sbin:/sbin
export PATH
