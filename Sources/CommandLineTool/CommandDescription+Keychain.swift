extension CommandDescription {
    static var keychain: CommandDescription {
        CommandDescription(
            .keychain,
            "Keep secrets that configurations refer to; none is ever shown.",
            operands: [
                OperandDescription("add|find|list|replace|remove", .text),
                OperandDescription("NAME|REFERENCE", .text, optional: true),
            ],
            options: [
                OptionDescription(
                    .kind,
                    value: "KIND",
                    "Of add: password, shared-secret, private-key or identity; password if not given."
                ),
                OptionDescription(.file, value: "FILE", "Read the secret from a file; a dash is standard input."),
                OptionDescription(.passwordFile, value: "FILE", "Of an identity: read its password from a file."),
                OptionDescription(.base64, "The secret is written in base64."),
                OptionDescription(.scope, value: "SCOPE", "user (your own, the usual) or system."),
                OptionDescription(.name, value: "NEW", "Of replace: another name; alone, the secret stays."),
                OptionDescription(.force, "Of remove: also where configurations refer to it."),
            ],
            details: [
                "A secret is asked for on a terminal, without showing it, or read from standard input or a file; it is "
                    + "never an argument. The end of its last line isn't part of it. An identity is a PKCS#12 file "
                    + "(.p12, .pfx), opened with its password before it is kept.",
                "add and find print the reference, which stays the same whatever name and secret replace gives it. "
                    + "A WireGuard pre-shared key is added by --kind shared-secret --base64; a private key in base64 is "
                    + "known by its form.",
            ]
        )
    }
}
