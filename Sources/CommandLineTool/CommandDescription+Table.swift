extension CommandDescription {
    /// The argument table, in the order of the overview.
    package static let table: [CommandDescription] = Command.allCases.map(of)

    package static func of(_ command: Command) -> CommandDescription {
        switch command {
        case .importFile, .new, .list, .show, .export, .rename, .remove: ofConfigurations(command)
        case .edit, .set, .enable, .disable, .history, .restore: ofChanges(command)
        case .keychain: keychain
        default: ofSessions(command)
        }
    }

    static let name = OperandDescription("NAME", .configuration)
    private static let oneOrAll = OperandDescription("NAME", .configuration, optional: true)

    /// The commands about what is stored.
    private static func ofConfigurations(_ command: Command) -> CommandDescription {
        switch command {
        case .importFile:
            CommandDescription(
                command,
                "Store a WireGuard .conf file, or every one of a folder.",
                operands: [OperandDescription("FILE|FOLDER", .file)],
                options: [
                    OptionDescription(.name, value: "NAME", "What to call it; else the file's name without .conf."),
                    OptionDescription(.strict, "Refuse a file that has warnings."),
                    OptionDescription(.replace, "Replace the stored configuration of the same name."),
                ],
                details: [
                    "Prints what was kept, changed and ignored, by line. PreUp, PostUp, PreDown and PostDown commands "
                        + "are kept for show and export and never run. The file itself isn't changed.",
                    "A dash reads from standard input and needs --name. Of a folder, a file that can't be imported "
                        + "doesn't keep the others from it.",
                ]
            )
        case .new: new
        case .list:
            CommandDescription(command, "List the stored configurations and whether they run.")
        case .show:
            CommandDescription(
                command,
                "Show a stored configuration, without its secrets.",
                operands: [name]
            )
        case .export:
            CommandDescription(
                command,
                "Print a configuration as a .conf file.",
                operands: [name],
                options: [
                    OptionDescription(.withSecrets, "With the private key and the pre-shared keys (root only).")
                ],
                details: ["Without --with-secrets the keys are left out, and the file says so."]
            )
        case .rename:
            CommandDescription(
                command,
                "Give a configuration another name; a running tunnel goes on.",
                operands: [name, OperandDescription("NEW", .text)]
            )
        default:
            CommandDescription(
                command,
                "Remove a configuration and its secrets.",
                operands: [name],
                options: [OptionDescription(.force, "Stop its tunnel first where it runs.")],
                details: ["NAME is the whole name or identifier here, never a prefix. Nothing is asked."]
            )
        }
    }

    private static var new: CommandDescription {
        CommandDescription(
            .new,
            "Make a key pair and a configuration to fill in.",
            operands: [OperandDescription("NAME", .text)],
            options: [
                OptionDescription(
                    .address,
                    value: "ADDRESS",
                    repeats: true,
                    "An address inside the tunnel, with its prefix length."
                ),
                OptionDescription(.listenPort, value: "PORT", "The UDP port to listen on; else one is chosen."),
                OptionDescription(.dns, value: "SERVER", repeats: true, "A name server or search domain."),
                OptionDescription(.mtu, value: "BYTES", "The largest packet inside the tunnel."),
                OptionDescription(
                    .peer,
                    value: "KEY",
                    repeats: true,
                    "The public key of a peer; the options after it are this peer's."
                ),
                OptionDescription(.endpoint, value: "HOST:PORT", repeats: true, "Where the peer is reached."),
                OptionDescription(
                    .allowedIPs,
                    value: "PREFIX",
                    repeats: true,
                    "What is routed to the peer; commas separate several."
                ),
                OptionDescription(
                    .keepalive,
                    value: "SECONDS",
                    repeats: true,
                    "Send something at least this often, for a peer behind NAT."
                ),
            ],
            details: ["Prints the public key, which the other side needs. The private key never leaves tunneld."]
        )
    }

    /// The commands about what runs, and about the machine.
    private static func ofSessions(_ command: Command) -> CommandDescription {
        switch command {
        case .up:
            CommandDescription(
                command,
                "Start a tunnel and wait until a peer has answered.",
                operands: [name],
                options: [
                    OptionDescription(.noWait, "Return as soon as tunneld has accepted the start."),
                    OptionDescription(.timeout, value: "S", "How many seconds to wait; 30 if not given."),
                ],
                details: [
                    "Ctrl-C, or the end of the wait (exit code 3), ends this command and not the tunnel: it keeps "
                        + "trying until it is stopped by `tunnelctl down NAME`.",
                    "With --json, each change is a line with the document of `status NAME --json`.",
                ]
            )
        case .down:
            CommandDescription(
                command,
                "Stop a tunnel.",
                operands: [oneOrAll],
                options: [OptionDescription(.all, "Stop every tunnel that you may stop.")],
                details: ["NAME is the whole name or identifier here, never a prefix."]
            )
        case .status:
            CommandDescription(
                command,
                "Show what a tunnel does, or all of them.",
                operands: [oneOrAll],
                options: [OptionDescription(.check, "Exit with 3 unless it is (all are) connected.")]
            )
        case .watch:
            CommandDescription(
                command,
                "Print a line for each change, until interrupted.",
                operands: [oneOrAll]
            )
        case .stats:
            CommandDescription(command, "Show the counters of a tunnel.", operands: [name])
        case .message:
            CommandDescription(
                command,
                "Send a message to a tunnel's provider and print its answer.",
                operands: [name, OperandDescription("TEXT", .text, optional: true)],
                options: [
                    OptionDescription(.file, value: "FILE", "Send what is in this file; of at most 1 MiB."),
                    OptionDescription(
                        .timeout,
                        value: "S",
                        "How many seconds to wait for the answer; 10 if not given."
                    ),
                ],
                details: [
                    "A dash as TEXT sends what comes from standard input; without TEXT and --file the message is empty. "
                        + "What a provider understands is its own affair: that of WireGuard answers `help`.",
                    "The answer is printed as it came; with --json, as base64 and, where it is text, as that.",
                ]
            )
        case .network:
            CommandDescription(
                command,
                "Show the network around the tunnels: links, default routes, name servers.",
                options: [OptionDescription(.watch, "Go on with a line for each change, until interrupted.")],
                details: [
                    "With --json --watch, each change is a line: the whole network, and what is different in it."
                ]
            )
        case .doctor:
            CommandDescription(
                command,
                "Check what this machine lacks, and say how to mend it.",
                details: ["Works without tunneld too. Exits with 1 if there is a problem."]
            )
        case .repair:
            CommandDescription(
                command,
                "Take back what tunneld left on this machine and no running tunnel needs.",
                options: [OptionDescription(.force, "Without tunneld: end the tunnels that still run, too.")],
                details: [
                    "Rules and routes of tunneld's protocol number, interfaces made for its providers, journals of sessions. "
                        + "Without a running tunneld it is done here, as root. What it did is said line by line."
                ]
            )
        case .version:
            CommandDescription(command, "Show the versions of tunnelctl and of the running tunneld.")
        default:
            CommandDescription(
                command,
                "Show the commands, or what one of them takes.",
                operands: [OperandDescription("COMMAND", .command, optional: true)]
            )
        }
    }
}
