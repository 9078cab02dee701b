import BothyStore
import Synchronization

extension SyncService {
  /// Stores records unchanged, with owner, audience and time of change. Checks neither permissions nor
  /// `AccessRules.writeRule`, because only operators import.
  ///
  /// Meant for records of an export. Versions are assigned again. Existing records are replaced, and no others are
  /// changed. A record with a value that is nested too deeply is left out and reported. So is one whose owner,
  /// audience, list or members have a name that no other call takes, because it isn't in Unicode's normal form C.
  ///
  /// Uses one transaction and no history, so the feed has these changes without user and time. Callers send a few
  /// hundred at a time. The limits of the rules, and their schema, aren't checked.
  ///
  /// - Throws: `BothyError` `.invalidValue` for such a name of the space, besides the storage's errors. Nothing was
  ///   stored then.
  public func restore(_ records: [ServerRecord], into space: String) async throws -> ServerImport {
    guard space.isNormalName else {
      throw BothyError(
        .invalidValue, "The name of the space isn't in Unicode's normal form C (NFC). Write it in this form.")
    }
    var last = Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    var refused: [RecordID: Rejection] = [:]
    for (id, record) in last where record.fields.bytes.nests(deeperThan: JSONReader.maximumValueDepth + 1) {
      refused[id] = Rejection(
        code: "invalid",
        message: "\(id) has a value that is nested deeper than \(JSONReader.maximumValueDepth) levels. "
          + "Make it flatter.")
      last[id] = nil
    }
    for (id, record) in last {
      guard let name = record.nameOfOtherForm else { continue }
      refused[id] = Rejection(
        code: "invalidName",
        message:
          "\(id) has the name '\(name.prefix(64))', which isn't in Unicode's normal form C (NFC). Write it in "
          + "this form, like the names of tokens.")
      last[id] = nil
    }
    if blobs != nil {
      try await keepBlobs(namedIn: last.values.map { try $0.fields.members() }, in: space)
    }
    let ordered = last.values.sorted { ($0.id.type, $0.id.id) < ($1.id.type, $1.id.id) }
    let (rules, leftOut) = (rules, refused)
    return try await storage.write(space: space) { storage in
      var done = ServerImport()
      done.refused = leftOut
      var changes: [(before: ServerRecord?, after: ServerRecord)] = []
      var written: [StoredRecord] = []
      let known = try storage.records(ordered.map(\.id))
      for var record in ordered {
        let before = known[record.id]?.record
        record.version = before?.version ?? ""
        if let before, record == before, record.container.hasSameBytes(as: before.container) {
          done.unchanged += 1
          continue
        }
        if before.map(\.isDeleted) ?? true { done.inserted += 1 } else { done.updated += 1 }
        let position = storage.head + Int64(written.count) + 1
        record.version = String(position)
        let leaves = before.flatMap { $0.container.hasSameBytes(as: record.container) ? nil : $0.container }
        written.append(StoredRecord(position: position, record: record, leaves: leaves))
        changes.append((before, record))
      }
      let sight = try VisibilityChange(of: changes, rules, in: storage, limit: .max)
      let keeps = try FieldIndexing(wanted: rules.fieldIndexes).follow(changes, in: storage)
      try storage.put(written, keepsIndexes: keeps)
      try sight.store(in: storage)
      return done
    }
  }

  /// Reads the live records of a space, lists included: one consistent state, in the order of their changes. Calls
  /// `body` for each, and uses little memory.
  ///
  /// Reads 500 records at a time, in one transaction that stays open meanwhile. Writes continue beside it, except in a
  /// storage in memory. A missing space has none.
  ///
  /// - Parameter body: runs on a thread of the storage, so it should be short. Its error ends the export.
  /// - Throws: the error of `body`, or of the storage. `BothyError` `.unreachable` if the storage loses its connection
  ///   after the first record, because others would be of another state. Export the space again then.
  public func export(space: String, _ body: @escaping @Sendable (ServerRecord) throws -> Void) async throws {
    let isBegun = Mutex(false)
    try await storage.read(space: space) { storage in
      // The storage repeats a read that lost its connection.
      guard !isBegun.withLock({ $0 }) else {
        throw BothyError(
          .unreachable,
          "The connection to the database was lost in the middle, and what came before is of another moment. "
            + "Export the space again.")
      }
      var position: Int64 = 0
      while case let page = try storage.changes(after: position, in: .everything, limit: 500),
        let last = page.last
      {
        for entry in page where !entry.record.isDeleted {
          isBegun.withLock { $0 = true }
          try body(entry.record)
        }
        position = last.position
      }
    }
  }
}

extension ServerRecord {
  /// The first of the names that rights depend on that isn't in Unicode's normal form C, or `nil`.
  fileprivate var nameOfOtherForm: String? {
    var names = [owner].compactMap { $0 } + sharing.users.sorted() + sharing.lists.sorted()
    if id.type == UserList.typeName {
      // A list that can't be read has no members.
      let members = (try? fields.members()).map(UserList.members) ?? []
      names += [id.id] + members
    }
    return names.first { !$0.isNormalName }
  }
}

extension SyncService {
  /// Reads every record of a space and every blob that they name. A damaged blob is quarantined. Devices that have
  /// missing blobs receive a request for them at their next sync.
  ///
  /// The records are read in one transaction without a time limit, the blobs after it. Memory grows with the names of
  /// the blobs. A missing space is in order.
  ///
  /// - Parameter readsBlobs: false checks only that the blobs exist, which costs a look-up each.
  /// - Throws: the error of a record that can't be read, or of the storages.
  public func verify(space: String, readsBlobs: Bool = true) async throws -> SpaceCheck {
    let (digest, named) = try await storage.read(space: space) { storage in
      var sum = DigestSum(parts: 0)
      var named: Set<String> = []
      try storage.forEachRecord(in: .everything) { entry in
        sum.add(entry.record.id, fields: entry.record.fields.bytes)
        for value in try entry.record.fields.members().values {
          if let blob = Blob(value) { named.insert(blob.sha256) }
        }
      }
      return (sum.digest(of: .everything, position: storage.head), named)
    }
    var check = SpaceCheck(digest: digest, missingBlobs: [])
    guard let blobs else { return check }
    for name in named.sorted() where Blob.isName(name) {
      guard case .whole = try await blobs.holding(of: name, in: space) else {
        check.missingBlobs.append(name)
        continue
      }
      guard readsBlobs, case .part = try await blobs.verifiedHolding(of: name, in: space) else { continue }
      check.missingBlobs.append(name)
      check.damagedBlobs.append(name)
    }
    try await blobs.want(Set(check.missingBlobs), in: space, limit: .max)
    return check
  }
}
