internal import BothyStore
internal import GRDB

/// The identities of an index's sources, so that two with one id never mix their entries.
extension IndexTransaction {
  /// True if an entry of a source may be stored. The first one brings the identity.
  ///
  /// A source loses its id to another one when it has no entries. Call it before entries change.
  func admits(_ source: KnownSource, _ identity: UInt64?) throws -> Bool {
    guard let identity else { return true }
    if let known = admitted[source.id] { return known }
    let isAdmitted = try note(Int64(bitPattern: identity), of: source)
    admitted[source.id] = isAdmitted
    return isAdmitted
  }

  private func note(_ identity: Int64, of source: KnownSource) throws -> Bool {
    let find = try PreparedStatement(
      "SELECT i.value, s.count FROM identity i LEFT JOIN source s ON s.name = i.source WHERE i.source = ?1",
      in: database)
    find.bind(utf8: source.name, at: 1)
    let known: (identity: Int64, count: Int64)? =
      try find.step() ? (identity: find.int(at: 0), count: find.int(at: 1)) : nil
    find.reset()
    if let known {
      if known.identity == identity { return true }
      if known.count > 0 { return false }
      replacesIdentity = true
    }
    try put(identity, of: source)
    return true
  }

  private func put(_ identity: Int64, of source: KnownSource) throws {
    let put = try PreparedStatement("INSERT OR REPLACE INTO identity VALUES (?1, ?2)", in: database)
    put.bind(utf8: source.name, at: 1)
    put.bind(identity, at: 2)
    try put.run()
  }

  /// Stores the identity that a source had in another index. Returns false if another source with entries has the id.
  func restore(_ identity: Int64, of source: SourceID) throws -> Bool {
    try note(identity, of: sources.source(source))
  }
}

extension DiskStore {
  /// Returns the identity of each source with entries, of one source or of all.
  func identities(_ source: SourceID?) throws -> [SourceID: UInt64?] {
    let wanted = source.map { sources.source($0).name }
    return try read { database in
      let select = try PreparedStatement(
        """
        SELECT s.name, i.value FROM source s LEFT JOIN identity i ON i.source = s.name
        WHERE s.count > 0 AND (?1 IS NULL OR s.name = ?1)
        """, in: database)
      defer { select.reset() }
      if let wanted { select.bind(utf8: wanted, at: 1) } else { select.bind(Int64?.none, at: 1) }
      var found: [SourceID: UInt64?] = [:]
      while try select.step() {
        let value = select.optionalInt(at: 1).map { UInt64(bitPattern: $0) }
        found.updateValue(value, forKey: SourceID(select.text(at: 0) ?? ""))
      }
      return found
    } ?? [:]
  }
}
