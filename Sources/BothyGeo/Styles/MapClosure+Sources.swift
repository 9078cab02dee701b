import BothyCache
import BothyStore
import HTTPTypes

/// The keys of a list in a cache, and the sources that they belong to.
///
/// The app registers one source, that of the style, with its user agent, limits and secrets. The others are derived from
/// it. Those on other hosts get no secrets, and of the headers only the user agent.
extension MapClosure {
  /// The source of addresses on other hosts than the style's.
  static func elsewhere(_ id: SourceID) -> SourceID { SourceID("\(id.name):elsewhere") }

  /// Returns the id of the source of a part's tiles.
  func id(_ part: Tiles, of style: SourceID) -> SourceID { id(part.names[0], of: style) }

  /// Returns the id of the source with this name in the style.
  func id(_ name: String, of style: SourceID) -> SourceID {
    Self.id("\(style.name)/\(name)", edition: editions[name] ?? 1)
  }

  private static func id(_ first: String, edition: Int) -> SourceID {
    SourceID(edition > 1 ? "\(first)~\(edition)" : first)
  }

  /// Returns the sources that were derived from that of a style.
  ///
  /// - Parameter others: the sources that the app has registered besides. Their ids may begin with that of the style.
  package static func parts(
    of style: SourceID, among all: some Sequence<SourceID>, beside others: [SourceID]
  ) -> [SourceID] {
    let alike = others.filter { isPart($0, of: style) }
    return all.filter { source in
      isPart(source, of: style) && !alike.contains { source == $0 || isPart(source, of: $0) }
    }
  }

  /// True if a source has an id that is derived from that of a style.
  package static func isPart(_ source: SourceID, of style: SourceID) -> Bool {
    source == elsewhere(style) || source.name.hasPrefix("\(style.name)/")
  }

  /// Returns the keys of addresses, in a cache where the source has this id.
  func keys(_ addresses: [String], of id: SourceID) -> [ResourceKey] {
    let own = StyleAddress(style)?.authority
    let (here, there) = (id, Self.elsewhere(id))
    // Sources of any address always have valid parts.
    let anywhere = try? ResourceSource(here, address: .anywhere)
    return addresses.map { address in
      if let name = archives[address] {
        return ResourceKey(self.id(name, of: id), path: TileArchiveInfo.documentPath)
      }
      let isOwn = StyleAddress(address)?.authority == own
      // An address that no request can have is left as it is, and its request fails.
      let key = (try? anywhere?.key(url: address)) ?? ResourceKey(here, path: address)
      return isOwn ? key : ResourceKey(there, path: key.path)
    }
  }

  /// Returns the key of an address, in a cache where the source has this id.
  func key(_ address: String, of id: SourceID) -> ResourceKey { keys([address], of: id)[0] }

  /// Returns the source of a style.
  ///
  /// Throws `BothyError` `invalidSource` for an unknown one, or one with other addresses.
  static func source(_ id: SourceID, in cache: ResourceCache) throws(BothyError) -> ResourceSource {
    guard let source = cache.source(id) else {
      throw BothyError(
        .invalidSource,
        "The cache has no source '\(id)'. Register it with the address `.anywhere` before its style.")
    }
    guard source.address == .anywhere else {
      throw BothyError(
        .invalidSource,
        "The source '\(id)' has an address of its own. A style's source has the address `.anywhere`.")
    }
    return source
  }

  /// Returns the list with ids that have no tiles of another address in the cache.
  ///
  /// Tiles of an earlier address so never answer as those of a later one. A region serves them until its refresh is
  /// complete. Reads a row of each stored source.
  func settled(_ id: SourceID, in cache: ResourceCache) async throws(BothyError) -> MapClosure {
    let own = try Self.source(id, in: cache)
    // A disk that can't be read says so when tiles are read.
    guard let stored = try? await cache.identities() else { return self }
    var settled = self
    settled.editions = [:]
    var sources: [String: ResourceSource] = [:]
    for (address, name) in archives {
      sources[name] = try settled.archive(address, name, of: own, in: cache)
    }
    for part in tiles {
      guard let template = part.template, archives[template] == nil else { continue }
      sources[part.names[0]] = try settled.source(part, template, of: own, in: cache)
    }
    for (name, source) in sources {
      let edition = Self.edition(of: source, stored, in: cache)
      if edition > 1 { settled.editions[name] = edition }
    }
    return settled
  }

  /// Returns the number of the id that has tiles of this source, else of the first that no other source has.
  private static func edition(
    of source: ResourceSource, _ stored: [SourceID: UInt64?], in cache: ResourceCache
  ) -> Int {
    let first = source.id.name
    var known: [Int: UInt64?] = [:]
    for (id, identity) in stored where id == source.id || id.name.hasPrefix(first + "~") {
      let number = id == source.id ? 1 : Int(id.name.dropFirst(first.count + 1))
      if let number { known.updateValue(identity, forKey: number) }
    }
    func isOfAnother(_ number: Int) -> Bool {
      cache.source(Self.id(first, edition: number)).map { $0.identity != source.identity } ?? false
    }
    if let same = known.filter({ $0.value == source.identity }).keys.max() { return same }
    // Tiles that an earlier version stored may be of this source.
    if let unnoted = known.filter({ $0.value == nil }).keys.max(), !isOfAnother(unnoted) { return unnoted }
    var number = 1
    while known.keys.contains(number) || isOfAnother(number) { number += 1 }
    return number
  }

  /// Registers the sources of the list in a cache. See `settled(_:in:)` for their ids.
  ///
  /// None of them follows a redirect to the local network, and neither does the style's own source from now on.
  func register(_ id: SourceID, in cache: ResourceCache) throws(BothyError) {
    var own = try Self.source(id, in: cache)
    if own.admitsRedirect == nil {
      own.admitsRedirect = { StyleAddress.admitsRedirect(from: $0, to: $1) }
      try cache.register(own)
    }
    var elsewhere = Self.stranger(own)
    elsewhere = try Self.copy(elsewhere, Self.elsewhere(id), .anywhere)
    try cache.register(elsewhere)
    // The zooms and names of an archive are known when its document was read.
    for (address, name) in archives where part(named: name) == nil {
      if let source = try archive(address, name, of: own, in: cache) { try Self.add(source, to: cache) }
    }
    for part in tiles {
      guard let template = part.template, var source = try self.source(part, template, of: own, in: cache)
      else { continue }
      source.zooms = part.zooms.lowest...part.zooms.highest
      // An archive is checked as a whole, and its tiles may be packed.
      if source.container == nil { source.tileForm = part.form }
      source.names = SourceNames(short: part.names[0], long: part.names[0], attribution: part.attribution)
      try Self.add(source, to: cache)
    }
  }

  /// Registers a source, unless another one has its id. A region's source then gets another id when it is loaded.
  private static func add(_ source: ResourceSource, to cache: ResourceCache) throws(BothyError) {
    if let known = cache.source(source.id), known.identity != source.identity { return }
    try cache.register(source)
  }

  /// Returns the source of a part's tiles, or `nil` if the app has registered it itself.
  private func source(
    _ part: Tiles, _ template: String, of own: ResourceSource, in cache: ResourceCache
  ) throws(BothyError) -> ResourceSource? {
    if let name = archives[template] { return try archive(template, name, of: own, in: cache) }
    let host = StyleAddress(style)?.authority ?? ""
    let authorities = part.hosts.isEmpty ? [StyleAddress(template)?.authority ?? ""] : part.hosts
    let isOwn = authorities.allSatisfy { $0.lowercased() == host }
    let owner = isOwn ? own : Self.stranger(own)
    return try Self.copy(
      owner, id(part, of: own.id), SourceAddress(template: template), hosts: part.hosts)
  }

  /// Returns a source as other hosts may know it.
  static func stranger(_ source: ResourceSource) -> ResourceSource {
    var copy = source
    copy.secrets = [:]
    copy.headers = [:]
    copy.headers[.userAgent] = source.headers[.userAgent]
    return copy
  }

  private static func copy(
    _ source: ResourceSource, _ id: SourceID, _ address: SourceAddress, hosts: [String] = []
  ) throws(BothyError) -> ResourceSource {
    var copy = try ResourceSource(
      id, address: address, hosts: hosts, freshness: source.freshness, headers: source.headers,
      limits: source.limits, ignoredQueryItems: source.ignoredQueryItems, secrets: source.secrets,
      allowsBulkDownload: source.allowsBulkDownload)
    copy.requiresUserAgent = source.requiresUserAgent
    copy.admitsRedirect = source.admitsRedirect
    copy.rateGroup = source.rateGroup ?? source.id.name
    return copy
  }
}
