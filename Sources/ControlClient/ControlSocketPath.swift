/// Where a client finds tunneld (design, section 9).
package enum ControlSocketPath {
    /// `explicit` (from `--socket`), else `TUNNELD_SOCKET`, else `control` in `RUNTIME_DIRECTORY`, else the default.
    package static func find(explicit: String?, environment: (String) -> String?) -> String {
        if let explicit, !explicit.isEmpty { return explicit }
        if let path = environment("TUNNELD_SOCKET"), !path.isEmpty { return path }
        // systemd names several directories with colons between; the first is the one of the control socket.
        guard let folder = environment("RUNTIME_DIRECTORY")?.split(separator: ":").first else { return preset }
        return "\(folder)/control"
    }

    package static let preset = "/run/tunneld/control"
}
