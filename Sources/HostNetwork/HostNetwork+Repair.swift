extension HostNetwork {
    /// Takes back everything that carries our marks, but for what running tunnels have in force.
    package func repair(keeping kept: [NetworkJournal]) -> NetworkRevertReport { applier.repair(keeping: kept) }
}
