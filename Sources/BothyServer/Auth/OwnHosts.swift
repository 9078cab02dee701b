/// The host names of a server that requires no token. Other names are refused, because a web page can let any name of
/// its own point here.
struct OwnHosts: Sendable {
  private let names: Set<String>

  init(_ names: [String]) { self.names = Set(names.map { $0.lowercased() }) }

  /// True if the host of an authority such as `localhost:8080` is one of the names or an IP address. A web page can't
  /// claim an address as its name.
  func contains(_ authority: String) -> Bool {
    let host = HostName.part(of: authority).lowercased()
    return names.contains(host) || HostName.isAddress(host)
  }

  /// Like `contains(_:)`, but for the value of an `Origin` field, such as `http://localhost:8080`.
  func containsOrigin(_ origin: String) -> Bool {
    origin.firstRange(of: "://").map { contains(String(origin[$0.upperBound...])) } ?? false
  }
}
