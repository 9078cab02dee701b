/// The names that a server answers under which asks nobody who they are: a page of the web can let any name of its own
/// point here.
struct OwnHosts: Sendable {
  private let names: Set<String>

  init(_ names: [String]) { self.names = Set(names.map { $0.lowercased() }) }

  /// Whether an authority such as `localhost:8080` is one of them, or an address: addresses are nobody's names.
  func contains(_ authority: String) -> Bool {
    let host = HostName.part(of: authority).lowercased()
    return names.contains(host) || HostName.isAddress(host)
  }

  /// The same for the value of an `Origin` field, such as `http://localhost:8080`.
  func containsOrigin(_ origin: String) -> Bool {
    origin.firstRange(of: "://").map { contains(String(origin[$0.upperBound...])) } ?? false
  }
}
