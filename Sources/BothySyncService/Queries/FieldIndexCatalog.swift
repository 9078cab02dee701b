import BothyStore
import Synchronization

/// The indexes of a space by their numbers. A number is never used again, so entries that were left behind are in no
/// other index.
struct FieldIndexCatalog: Sendable, Hashable {
  /// The indexes that have all entries up to the position of the state.
  var live: [FieldIndex: Int64] = [:]
  /// The indexes that have all entries up to `built`.
  var building: [FieldIndex: Int64] = [:]
  /// The position of the space's changes up to which new indexes are built.
  var built: Int64 = 0
  /// The numbers of indexes that are no longer wanted and still have entries.
  var dropped: [Int64] = []
  /// The number of the next index.
  var next: Int64 = 1
  /// The highest version of a schema that chose the indexes. A server with an older one changes nothing.
  var version = 0

  var isEmpty: Bool { live.isEmpty && building.isEmpty && dropped.isEmpty }

  /// The indexes that each change of a record updates.
  var kept: [FieldIndex: Int64] { live.merging(building) { first, _ in first } }

  /// Adds indexes to those that are built, in the order of their names. All of these are built from the start.
  mutating func build(_ indexes: Set<FieldIndex>) {
    for index in indexes.sorted(by: { $0.name < $1.name }) {
      building[index] = next
      next += 1
    }
    built = 0
  }

  /// Ends the building.
  mutating func finish() {
    live.merge(building) { first, _ in first }
    (building, built) = ([:], 0)
  }

  /// Takes over the indexes that a schema declares. With a newer schema others are dropped. With the same version they
  /// stay, as servers with differing schemas may use the space.
  mutating func adopt(_ wanted: FieldIndexSet) {
    guard wanted.version >= version, !(isEmpty && wanted.isEmpty) else { return }
    let all = wanted.all
    // Entries of an earlier server lack the parts of words.
    for (index, number) in kept where index.form == .words {
      live[index] = nil
      building[index] = nil
      dropped = (dropped + [number]).sorted()
    }
    if wanted.version > version {
      for (index, number) in kept where !all.contains(index) {
        live[index] = nil
        building[index] = nil
        dropped.append(number)
      }
      dropped.sort()
      version = wanted.version
    }
    let missing = all.subtracting(kept.keys)
    if !missing.isEmpty { build(missing) }
  }
}

/// The text of a catalog: `{"building": {…}, "built": 7, "dropped": [3], "live": {"Todo due date": 1}, "next": 4,
/// "version": 2}`.
extension FieldIndexCatalog {
  private static let cache = Mutex<[String: FieldIndexCatalog]>([:])
  /// The most texts that are kept as values. Most spaces have one and the same.
  private static let cacheLimit = 100

  /// Returns the catalog of a text. Without a text it is empty. Returns `nil` for a text that a newer server wrote.
  static func known(_ text: String?) -> FieldIndexCatalog? {
    guard let text else { return FieldIndexCatalog() }
    if let known = cache.withLock({ $0[text] }) { return known }
    guard let read = FieldIndexCatalog(text: text) else { return nil }
    if read.building.isEmpty {
      cache.withLock { cache in
        if cache.count >= cacheLimit { cache = [:] }
        cache[text] = read
      }
    }
    return read
  }

  private init?(text: String) {
    guard let json = try? JSONValue(parsing: text),  // other text is a newer server's
      let members = json.objectValue,
      members.keys.allSatisfy(["live", "building", "built", "dropped", "next", "version"].contains),
      let live = Self.indexes(members["live"]), let building = Self.indexes(members["building"]),
      let next = members["next"]?.intValue, let version = members["version"]?.intValue
    else { return nil }
    self.live = live
    self.building = building
    built = members["built"]?.intValue ?? 0
    dropped = members["dropped"]?.arrayValue?.compactMap(\.intValue) ?? []
    self.next = next
    self.version = Int(clamping: version)
  }

  private static func indexes(_ json: JSONValue?) -> [FieldIndex: Int64]? {
    guard let json else { return [:] }
    guard let members = json.objectValue else { return nil }
    var found: [FieldIndex: Int64] = [:]
    for (name, number) in members {
      guard let index = FieldIndex(name: name), let number = number.intValue else { return nil }
      found[index] = number
    }
    return found
  }

  var text: String {
    func json(_ indexes: [FieldIndex: Int64]) -> JSONValue {
      .object(Dictionary(indexes.map { ($0.name, .int($1)) }, uniquingKeysWith: { first, _ in first }))
    }
    var members: [String: JSONValue] = ["next": .int(next), "version": .int(Int64(version))]
    if !live.isEmpty { members["live"] = json(live) }
    if !building.isEmpty { members["building"] = json(building) }
    if built > 0 { members["built"] = .int(built) }
    if !dropped.isEmpty { members["dropped"] = .array(dropped.map { .int($0) }) }
    return JSONValue.object(members).canonicalText
  }
}
