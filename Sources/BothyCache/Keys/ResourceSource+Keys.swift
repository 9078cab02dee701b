/// Keys of a source, normalised before any look-up, and the addresses of keys.
extension ResourceSource {
  /// Returns the key of a path below the source's base, with its query.
  ///
  /// Percent-encoding gets one form, and dot segments and a fragment are removed. Ignored and secret query items are
  /// left out. A slash at the beginning does not count, and one at the end does. Reads and sends nothing.
  ///
  /// - Throws: `BothyError` `invalidKey` only for a source of any address, if the text isn't an address.
  public func key(path: String) throws(BothyError) -> ResourceKey {
    if case .anywhere = address.form { return try key(url: path) }
    let (path, query) = CanonicalPath.split(path)
    return ResourceKey(id, path: canonical(CanonicalPath.path(path), query))
  }

  /// Returns the key of a whole address, which must be below the source's own.
  ///
  /// Any of the source's hosts will do, and all give the same key. The scheme must be that of the source. Ignored and
  /// secret query items are left out.
  ///
  /// - Throws: `BothyError` `invalidKey` if the text isn't an address or belongs to another server. A source of tiles,
  ///   or with an address rule of the app's own, throws it for any address.
  public func key(url: String) throws(BothyError) -> ResourceKey {
    guard let given = AbsoluteAddress(url) else {
      throw BothyError(.invalidKey, "\"\(url.prefix(200))\" isn't an address of a web server.")
    }
    let path = given.path.dropFirst()
    switch address.form {
    case .anywhere:
      return ResourceKey(
        id, path: given.scheme + "://" + given.authority + "/" + canonical(String(path), given.query))
    case .base:
      for host in hosts.isEmpty ? [""] : hosts {
        guard let base = base(host), given.scheme == base.scheme, given.authority == base.authority else {
          continue
        }
        let folder = base.path.hasSuffix("/") ? base.path : base.path + "/"
        guard given.path.hasPrefix(folder) || given.path == base.path else { continue }
        return ResourceKey(id, path: canonical(String(given.path.dropFirst(folder.count)), given.query))
      }
      throw BothyError(.invalidKey, "\(given.text.prefix(200)) is not below the address of source \(id).")
    case .tiles, .custom:
      throw BothyError(.invalidKey, "Source \(id) has tiles; ask for them by zoom, x and y.")
    }
  }

  /// Returns the key of a tile. Columns wrap around the world, so x is taken modulo 2^zoom.
  ///
  /// Rows count from the north, whatever the address does. The work is arithmetic alone, without an allocation.
  ///
  /// - Throws: `BothyError` `zoomOutOfRange` outside the source's zooms. `invalidKey` for a row that isn't on the map.
  public func key(zoom: Int, x: Int, y: Int) throws(BothyError) -> ResourceKey {
    guard zooms.contains(zoom) else {
      throw BothyError(.zoomOutOfRange, "Source \(id) has the zooms \(zooms), not \(zoom).")
    }
    let edge = 1 << zoom
    guard (0..<edge).contains(y) else {
      throw BothyError(
        .invalidKey, "Row \(y) is not on the map: at zoom \(zoom) rows go from 0 to \(edge - 1).")
    }
    let remainder = x % edge
    return ResourceKey(id, zoom: zoom, x: remainder < 0 ? remainder + edge : remainder, y: y)
  }

  /// Returns the address of requests for the key without secrets, for display and logs.
  ///
  /// - Parameter host: an index into `hosts`. Any number is valid and is taken modulo their count.
  package func publicURL(for key: ResourceKey, host: Int = 0) -> String {
    let name = hosts.isEmpty ? "" : hosts[Int(UInt(bitPattern: host) % UInt(hosts.count))]
    switch (address.form, key.name) {
    case (.tiles(let template), .tile(let bits)):
      let (zoom, x, y) = ResourceKey.tile(of: bits)
      let text = template.address(zoom: Int(zoom), x: Int(x), y: Int(y), host: name)
      return template.namesHost || name.isEmpty ? text : replacingHost(of: text, with: name)
    case (.tiles(let template), .path(let path)):
      let root = AbsoluteAddress(template.text.replacing("{s}", with: name.isEmpty ? "s" : name))
      return "\(root?.scheme ?? "https")://\(root?.authority ?? "")/\(path)"
    case (.base, _):
      guard let base = base(name) else { return key.path }
      return base.scheme + "://" + base.authority + (base.path.hasSuffix("/") ? base.path : base.path + "/")
        + key.path
    case (.anywhere, _): return key.path
    case (.custom(let rule), _): return rule.address(key, name)
    }
  }

  /// Returns the address of requests for the key with secrets, for sending only.
  package func requestURL(for key: ResourceKey, host: Int = 0) -> String {
    var url = publicURL(for: key, host: host)
    for (name, value) in secrets.sorted(by: { $0.key < $1.key }) {
      url += url.contains("?") ? "&" : "?"
      url += CanonicalPath.encoded(name, keeping: CanonicalPath.unreserved) + "="
      url += CanonicalPath.encoded(value, keeping: CanonicalPath.unreserved)
    }
    return url
  }

  private func canonical(_ path: String, _ query: (some StringProtocol)?) -> String {
    let ignored = secrets.isEmpty ? ignoredQueryItems : ignoredQueryItems.union(secrets.keys)
    guard let query, let kept = CanonicalPath.query(query, ignoring: ignored) else { return path }
    return path + "?" + kept
  }

  private func base(_ host: String) -> AbsoluteAddress? {
    guard case .base(let text) = address.form else { return nil }
    if text.contains("{s}") { return AbsoluteAddress(text.replacing("{s}", with: host)) }
    guard var base = AbsoluteAddress(text) else { return nil }
    if !host.isEmpty { base.authority = host.lowercased() }
    return base
  }

  private func replacingHost(of text: String, with host: String) -> String {
    guard let scheme = text.firstRange(of: "://") else { return text }
    let rest = text[scheme.upperBound...]
    return text[..<scheme.upperBound] + host + rest.drop { $0 != "/" && $0 != "?" }
  }
}
