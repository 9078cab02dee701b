import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Testing

/// The checks of the indexes by which a storage finds what a user may see.
extension ServerStorageConformance {
  static let visibilityChecks: [Check] =
    [
      Check("Visible changes are of unrestricted types, owned, or shared by name or list") { storage in
        try await storage.write(space: "s") { try $0.put(visibleEntries()) }
        let found = try await storage.read(space: "s") { storage in
          try [
            storage.changes(after: 0, in: .everything, limit: 9, bytes: .max, seenBy: bob),
            storage.changes(after: 0, in: .everything, limit: 2, bytes: .max, seenBy: bob),
            storage.changes(after: 3, in: .everything, limit: 9, bytes: .max, seenBy: bob),
            storage.changes(after: 0, in: SyncScope(container: "x"), limit: 9, bytes: .max, seenBy: bob),
            storage.changes(after: 0, in: .everything, limit: 9, bytes: 1, seenBy: bob),
          ].map { $0.map(\.record.id.id) }
        }
        #expect(
          found == [
            ["open", "own", "named", "listed"], ["open", "own"], ["named", "listed"], ["own"], ["open"],
          ])
      },
      Check("A record that is shared in two ways is found once, until both end") { storage in
        let audiences: [Audience] = [Audience(users: ["bob"], lists: ["L"]), .lists("L"), .nobody]
        var found: [[String]] = []
        for (index, audience) in audiences.enumerated() {
          try await storage.write(space: "s") {
            try $0.put([visible(Int64(index + 1), "a", audience: audience)])
          }
          found.append(try await visibleIDs(storage, bob))
        }
        #expect(found == [["a"], ["a"], []])
      },
      Check("A record with a wide audience is found by every user") { storage in
        let names = Set((0...VisibilityKey.indexedAudience).map { "user\($0)" })
        try await storage.write(space: "s") {
          try $0.put([visible(1, "a", audience: Audience(users: names))])
        }
        #expect(try await visibleIDs(storage, bob) == ["a"])
      },
      Check("The last visible position ignores hidden changes, and never falls") { storage in
        @Sendable func last() async throws -> Int64 {
          try await storage.read(space: "s") { try $0.position(seenBy: bob) }
        }
        #expect(try await last() == 0)
        try await storage.write(space: "s") {
          try $0.put([visible(1, "a", owner: "bob"), visible(2, "b")])
        }
        #expect(try await last() == 1)
        try await storage.write(space: "s") { storage in
          try storage.put([visible(3, "b", audience: .users("bob"))])
        }
        #expect(try await last() == 3)
        try await storage.write(space: "s") { storage in
          try storage.put([visible(4, "b")])
          let pairs = [(Int64(5), "bob"), (6, "cid")]
          try storage.put(
            pairs.map { VisibilityNotice(position: $0.0, user: $0.1, record: .note("b")) })
        }
        #expect(try await last() == 5)
        try await storage.write(space: "s") { storage in
          try storage.put([visible(8, "a", owner: "bob", isDeleted: true), visible(9, "b")])
        }
        #expect(try await last() == 8)
        try await #require(storage as? any ServerMaintenance).compact(space: "s", upTo: 9)
        #expect(try await last() == 8)
        #expect(try await visibleIDs(storage, bob).isEmpty)
      },
      Check("A filtered query finds records that are owned or shared, in its order") { storage in
        try await storage.write(space: "s") { try $0.put(visibleEntries()) }
        let query = AnyQuery(
          "Note", where: .compare(field: "title", .equal, .text("t")), order: [SortKey("id")])
        for schema in [StoreSchema.notes, nil] {
          let found = try await storage.read(space: "s") { storage in
            try [bob, cid].map {
              try storage.query(query, schema: schema, seenBy: $0).map(\.record.id.id)
            }
          }
          #expect(found == [["listed", "named", "own"], ["hidden", "listed", "named"]])
        }
      },
      Check("A removed space leaves nothing in the indexes") { storage in
        try await storage.write(space: "s") { try $0.put(visibleEntries()) }
        try await #require(storage as? any ServerMaintenance).remove(space: "s")
        #expect(try await storage.write(space: "s") { try $0.position(seenBy: bob) } == 0)
        #expect(try await visibleIDs(storage, bob).isEmpty)
      },
    ]
    + (0..<12).map { seed in
      Check("Indexes find what the rules show, in random spaces (seed \(seed))") {
        try await RandomVisibility(seed: seed).run($0)
      }
    }

  static let bob = filter(
    VisibilityFilter(restrictedTypes: ["Note"], owner: "bob", names: ["bob"], lists: ["L"]))
  private static let cid = filter(VisibilityFilter(restrictedTypes: ["Note"], owner: "ann", names: ["cid"]))

  /// Returns a filter that makes a storage use its indexes for any number of changes.
  static func filter(_ filter: VisibilityFilter) -> VisibilityFilter {
    var filter = filter
    filter.fewChanges = 0
    return filter
  }

  static func visible(
    _ position: Int64, _ id: String, type: String = "Note", in container: String = "Note",
    owner: String = "ann", audience: Audience = .nobody, isDeleted: Bool = false
  ) -> StoredRecord {
    StoredRecord(
      position: position,
      record: ServerRecord(
        id: RecordID(type: type, id: id), container: container, version: "\(position)", modified: position,
        created: position, owner: owner, isDeleted: isDeleted,
        fields: isDeleted ? .empty : FieldsDocument(["title": "t"]), sharing: audience))
  }

  private static func visibleEntries() -> [StoredRecord] {
    [
      visible(1, "open", type: "Open"), visible(2, "hidden"), visible(3, "own", in: "x", owner: "bob"),
      visible(4, "named", audience: .users("bob", "cid")), visible(5, "listed", audience: .lists("L")),
      visible(6, "other", type: "Note", owner: "dan", audience: .lists("M")),
    ]
  }

  /// Checks what bob sees after an older database got its indexes: three records, and a last change at position 5.
  static func checkIndexed(_ storage: any ServerStorage) async throws {
    #expect(try await visibleIDs(storage, bob) == ["own", "shared", "wide"])
    #expect(try await storage.read(space: "s") { try $0.position(seenBy: bob) } == 5)
  }

  private static func visibleIDs(_ storage: any ServerStorage, _ filter: VisibilityFilter) async throws
    -> [String]
  {
    try await storage.read(space: "s") { storage in
      try storage.changes(after: 0, in: .everything, limit: 99, bytes: .max, seenBy: filter)
        .map(\.record.id.id)
    }
  }
}

/// Random records of several types, owners and audiences. A storage must find those that a filter shows, and may find
/// others only where the filter says so.
private struct RandomVisibility {
  let seed: UInt64
  private static let types = ["Note", "Open", "Task", "Wide"]
  private static let containers = ["a", "a/b", "a/b/c", "ab", "b"]
  private static let users = ["ann", "bob", "cid"]
  private static let lists = ["L", "M"]

  func run(_ storage: any ServerStorage) async throws {
    var random = SeededChoices(seed: seed)
    var entries: [RecordID: StoredRecord] = [:]
    var head: Int64 = 0
    for _ in 0..<30 {
      let written = (0..<random.pick([1, 2, 9])).map { _ in
        head += 1
        return entry(head, &random)
      }
      try await storage.write(space: "s") { try $0.put(written) }
      for entry in written { entries[entry.record.id] = entry }
      try await compare(storage, Array(entries.values), head, &random)
    }
  }

  private func entry(_ position: Int64, _ random: inout SeededChoices) -> StoredRecord {
    var audience = Audience.nobody
    if random.chance(0.3) { audience = .users(random.pick(Self.users)) }
    if random.chance(0.2) { audience = audience.union(.lists(random.pick(Self.lists))) }
    return ServerStorageConformance.visible(
      position, "r\(Int.random(in: 0..<12, using: &random))", type: random.pick(Self.types),
      in: random.pick(Self.containers), owner: random.pick(Self.users), audience: audience,
      isDeleted: random.chance(0.2))
  }

  private func compare(
    _ storage: any ServerStorage, _ entries: [StoredRecord], _ head: Int64, _ random: inout SeededChoices
  ) async throws {
    let name = random.pick(Self.users)
    let filter = ServerStorageConformance.filter(
      VisibilityFilter(
        restrictedTypes: Set(Self.types.filter { _ in random.chance(0.5) }), owner: name, names: [name],
        lists: random.chance(0.5) ? [random.pick(Self.lists)] : []))
    let scope = random.pick([
      .everything, SyncScope(container: random.pick(Self.containers)),
      SyncScope(container: random.pick(Self.containers), includesChildren: true),
    ])
    let (start, limit) = (Int64.random(in: 0...head, using: &random), random.pick([1, 3, 100]))
    let shown = entries.filter { Self.shows($0, filter) }.sorted { $0.position < $1.position }
    let expected = shown.filter { $0.position > start && scope.contains($0.record.container) }
    let found = try await storage.read(space: "s") { storage in
      (
        try storage.changes(after: start, in: scope, limit: limit, bytes: .max, seenBy: filter),
        try storage.position(seenBy: filter), try storage.query(AnyQuery("Note"), schema: nil, seenBy: filter)
      )
    }
    let comment: Comment = "seed \(seed), head \(head), \(filter), \(scope), after \(start)"
    #expect(found.0 == Array(expected.prefix(limit)), comment)
    #expect(found.1 >= shown.last?.position ?? 0, comment)
    let notes = shown.filter { $0.record.id.type == "Note" && !$0.record.isDeleted }.map(\.record.id.id)
    #expect(found.2.map(\.record.id.id).sorted() == notes.sorted(), comment)
  }

  private static func shows(_ entry: StoredRecord, _ filter: VisibilityFilter) -> Bool {
    let record = entry.record
    guard filter.restrictedTypes.contains(record.id.type) else { return true }
    return record.owner == filter.owner || !record.sharing.users.isDisjoint(with: filter.names)
      || !record.sharing.lists.isDisjoint(with: filter.lists)
  }
}
