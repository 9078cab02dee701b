import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of the rows that a change of lists and audiences may write.
extension ServerStorageConformance {
  private static let schema = StoreSchema(types: [
    TypeSchema(
      "Private", fields: [FieldSchema("title", .text)],
      permissions: Permissions(read: .shared, update: .shared, delete: .owner)),
    TypeSchema("Open", fields: [FieldSchema("title", .text)]),
  ])
  private static let records = (1...5).map { RecordID(type: "Private", id: "r\($0)") }

  private static func list(_ members: [String], base: String? = nil, id: String = "L")
    -> BothySync.SyncOperation
  {
    let list = UserList(id: id, name: "friends", members: members)
    return SyncOperation(
      id: "list-\(id)-\(members.count)-\(base ?? "")", kind: base == nil ? .insert : .update,
      record: list.recordID, base: base, fields: list.fields)
  }

  private static func names(_ count: Int) -> [String] { (1...count).map { "m\($0)" } }

  private static func insert(_ id: RecordID, _ audience: Audience = .nobody) -> BothySync.SyncOperation {
    var operation = SyncOperation(id: "of-\(id.id)", kind: .insert, record: id, fields: ["title": "t"])
    operation.sharing = SharingChange(add: audience)
    return operation
  }

  /// Sends operations of the list's owner with a limit of 20 rows. Returns the versions of what was applied.
  private static func change(
    _ storage: any ServerStorage, _ operations: [BothySync.SyncOperation], limit: Int = 20
  ) async throws -> [String] {
    var rules = AccessRules(schema: schema)
    rules.sharingRowLimit = limit
    let service = SyncService(storage: storage, rules: rules, now: { 1000 })
    let request = SyncRequest(device: "d", operations: operations)
    return try await service.sync(space: "s", user: Caller("ann"), request).outcomes.compactMap {
      if case .applied(let version, _, _) = $0.verdict { version } else { nil }
    }
  }

  /// Makes a list of five members and five records that are shared with it, which is 25 rows. Returns the versions, that
  /// of the list first.
  private static func share(_ storage: any ServerStorage) async throws -> [String] {
    let list = try await change(storage, [list(names(5))])
    return list + (try await change(storage, records.map { insert($0, .lists("L")) }, limit: 25))
  }

  /// Returns an operation that takes a record of `share` away from the list.
  private static func unshare(_ index: Int, _ versions: [String]) -> BothySync.SyncOperation {
    var operation = SyncOperation(
      id: "un-\(index)", kind: .update, record: records[index], base: versions[index + 1])
    operation.sharing = SharingChange(remove: Audience(lists: ["L"]))
    return operation
  }

  private static func expectRefusal(
    _ storage: any ServerStorage, _ operations: [BothySync.SyncOperation], limit: Int = 20
  ) async throws {
    func state() async throws -> [Int64] {
      try await storage.read(space: "s") {
        [
          $0.head, Int64(try $0.members(of: "L").count),
          Int64(try $0.records(sharedWith: "L", limit: 9).count),
        ]
      }
    }
    let before = try await state()
    let error = await #expect(throws: SyncServiceError.self) {
      try await change(storage, operations, limit: limit)
    }
    #expect(error?.code == .tooManyReaders)
    #expect(error?.message.contains("--sharing-rows") ?? false)
    #expect(try await state() == before)
  }

  private static func notices(of name: String, _ storage: any ServerStorage) async throws -> [RecordID] {
    try await storage.read(space: "s") { try $0.notices(for: [name], after: 0, limit: nil).map(\.record) }
  }

  /// Returns the page of a pull of everything.
  private static func pull(
    _ storage: any ServerStorage, by name: String, _ cursor: String? = nil
  ) async throws -> SyncResponse.Page {
    let service = SyncService(storage: storage, rules: AccessRules(schema: schema), now: { 1000 })
    let request = SyncRequest(device: name, pulls: [.init(.everything, cursor: cursor)])
    return try #require(
      try await service.sync(space: "s", user: Caller(name), request).pages.first)
  }

  /// Returns the number of notices of each name.
  private static func notices(_ storage: any ServerStorage, _ names: [String]) async throws -> [Int] {
    try await storage.read(space: "s") { storage in
      try names.map { try storage.notices(for: [$0], after: 0, limit: nil).count }
    }
  }

  /// Shares a record and one that isn't there, as older servers left rows of forgotten tombstones. Returns the rows.
  static func leaveStrayShare(in storage: any ServerStorage) async throws -> Set<RecordID> {
    try await storage.write(space: "s") { storage in
      try storage.put([entry(storage.head + 1, "a")])
      for id in ["a", "gone"] { try storage.setLists(["L"], of: .note(id)) }
    }
    return try await sharedRows(storage)
  }

  /// Returns the records with a row for the list.
  static func sharedRows(_ storage: any ServerStorage) async throws -> Set<RecordID> {
    Set(try await storage.read(space: "s") { try $0.records(sharedWith: "L", limit: 9) })
  }

  static let sharingRowChecks: [Check] = [
    Check("A list that gains members of too many rows is refused whole, and fewer are added") { storage in
      let versions = try await share(storage)
      #expect(versions.count == 6)
      try await expectRefusal(storage, [list(names(10), base: versions[0])])
      #expect(try await change(storage, [list(names(9), base: versions[0])]).count == 1)
      #expect(try await notices(storage, ["m5", "m6", "m9"]) == [0, 5, 5])
    },
    Check("A list alone that loses members of too many rows notes one row for each") { storage in
      let versions = try await share(storage)
      let cursor = try await pull(storage, by: "m1").cursor
      let emptied = list([], base: versions[0])
      try await expectRefusal(storage, [emptied, insert(RecordID(type: "Private", id: "more"))])
      #expect(try await change(storage, [emptied]).count == 1)
      #expect(try await notices(storage, names(5)) == [1, 1, 1, 1, 1])
      #expect(try await notices(of: "m1", storage) == [VisibilityNotice.everyShared])
      let page = try await pull(storage, by: "m1", cursor)
      #expect(page.types == ["Private"] && page.outOfScope.isEmpty && page.changes.isEmpty && !page.more)
      #expect(try await pull(storage, by: "m1").changes.isEmpty, "nothing of it is shown meanwhile")
      #expect(try await pull(storage, by: "m1", page.cursor).types.isEmpty)
    },
    Check("A list alone that loses members of few rows notes each record") { storage in
      let versions = try await share(storage)
      #expect(try await change(storage, [list(names(1), base: versions[0])]).count == 1)
      #expect(try await notices(storage, names(5)) == [0, 5, 5, 5, 5])
      #expect(Set(try await notices(of: "m5", storage)) == Set(records))
    },
    Check("A list that is replaced counts the members whom it gains alone") { storage in
      let versions = try await share(storage)
      let others = (1...4).map { "n\($0)" }
      try await expectRefusal(storage, [list(others, base: versions[0])], limit: 19)
      #expect(try await change(storage, [list(others, base: versions[0])]).count == 1)
      #expect(try await notices(storage, ["m1", "m5", "n1"]) == [1, 1, 5])
    },
    Check("A list with any number of rows is deleted alone, and notes one for each member") { storage in
      let (members, shared) = (names(80), (1...70).map { RecordID(type: "Private", id: "s\($0)") })
      let version = try #require(try await change(storage, [list(members)]).first)
      #expect(try await change(storage, shared.map { insert($0, .lists("L")) }, limit: 5600).count == 70)
      let delete = SyncOperation(
        id: "delete", kind: .delete, record: UserList.recordID("L"), base: version)
      #expect(try await change(storage, [delete]).count == 1)
      let reported = try await storage.read(space: "s") { storage in
        try members.map { try storage.notices(for: [$0], after: 0, limit: nil) }
      }
      #expect(reported.allSatisfy { $0.map(\.record) == [VisibilityNotice.everyShared] })
      #expect(Set(reported.joined().map(\.position)).count == 80)
      let head = try await storage.read(space: "s") { $0.head }
      #expect(reported.joined().map(\.position).max() == head)
    },
    Check("Audiences' changes of too many rows are refused whole, and fewer made") { storage in
      let versions = try await share(storage)
      try await expectRefusal(storage, records.indices.map { unshare($0, versions) })
      let two = [unshare(0, versions), unshare(1, versions)]
      try await expectRefusal(storage, two, limit: 9)
      #expect(try await change(storage, two, limit: 10).count == 2)
      #expect(try await notices(storage, ["m1", "m5"]) == [2, 2])
    },
    Check("A record alone in its request loses any one list, and several within the limit") { storage in
      #expect(try await change(storage, ["M", "N"].map { list(names(3), id: $0) }).count == 2)
      let shared = insert(RecordID(type: "Private", id: "both"), .lists("M", "N"))
      let version = try #require(try await change(storage, [shared]).first)
      func without(_ lists: Set<String>) -> BothySync.SyncOperation {
        var operation = SyncOperation(
          id: "w\(lists.count)", kind: .update, record: shared.record, base: version)
        operation.sharing = SharingChange(remove: Audience(lists: lists))
        return operation
      }
      let error = await #expect(throws: SyncServiceError.self) {
        try await change(storage, [without(["M", "N"])], limit: 5)
      }
      #expect(error?.code == .tooManyReaders)
      #expect(try await change(storage, [without(["M"])], limit: 2).count == 1)
      #expect(try await notices(storage, ["m1", "m3"]) == [1, 1])
    },
    Check("A record alone in its request is unshared from a list of any number of rows") { storage in
      let versions = try await share(storage)
      #expect(try await change(storage, [unshare(0, versions)], limit: 4).count == 1)
      let reported = try await storage.read(space: "s") { try $0.notices(for: ["m5"], after: 0, limit: nil) }
      #expect(reported.map(\.record) == [records[0]])
    },
    Check("A record that gains a list counts a row for each member") { storage in
      #expect(try await change(storage, [list(names(5))]).count == 1)
      let one = insert(records[0], Audience(users: ["bob"], lists: ["L"]))
      try await expectRefusal(storage, [one], limit: 5)
      try await expectRefusal(storage, records.prefix(2).map { insert($0, .lists("L")) }, limit: 9)
      #expect(try await change(storage, [one], limit: 6).count == 1)
      #expect(try await notices(storage, ["m1", "bob"]) == [0, 0])
    },
    Check("A new list alone has any members, and several lists a row for each") { storage in
      #expect(try await change(storage, [list(names(30))]).count == 1)
      let two = ["M", "N"].map { list(names(11), id: $0) }
      try await expectRefusal(storage, two)
      #expect(try await change(storage, two, limit: 22).count == 2)
    },
    Check("Lists that change together count the records of open types once for each list") { storage in
      let made = try await change(storage, ["M", "N"].map { list([], id: $0) })
      let open = (1...5).map { insert(RecordID(type: "Open", id: "o\($0)"), .lists("M", "N")) }
      #expect(try await change(storage, open).count == 5)
      let both = zip(["M", "N"], made).map { list(["m1"], base: $1, id: $0) }
      try await expectRefusal(storage, both, limit: 11)
      #expect(try await change(storage, both, limit: 12).count == 2)
    },
    Check("The id of a forgotten list stays taken while records are shared with it") { storage in
      let versions = try await share(storage)
      let delete = SyncOperation(
        id: "delete", kind: .delete, record: UserList.recordID("L"), base: versions[0])
      #expect(try await change(storage, [delete]).count == 1)
      let head = try await storage.read(space: "s") { $0.head }
      try await storage.upkeep?.compact(space: "s", upTo: head)
      #expect(try await change(storage, [list(names(1))]).isEmpty)
      #expect(try await storage.read(space: "s") { try $0.members(of: "L").isEmpty })
    },
    Check("Rows of shared records are forgotten with the records' tombstones") { storage in
      try await storage.write(space: "s") { storage in
        try storage.put([
          entry(1, "a"), entry(2, "b", isDeleted: true), entry(3, "c", isDeleted: true),
        ])
        for id in ["a", "b", "c"] { try storage.setLists(["L"], of: .note(id)) }
      }
      let upkeep = try #require(storage.upkeep)
      try await upkeep.compact(space: "s", upTo: 2)
      #expect(try await sharedRows(storage) == [.note("a"), .note("c")])
      try await upkeep.turn("s", at: 1000)
      try await upkeep.turn("s", at: 2000, keepingSince: 1500)
      #expect(try await sharedRows(storage) == [.note("a")])
    },
    Check("A new member gets no notice of a record that leaves the list at the same time") { storage in
      let versions = try await share(storage)
      var leaving = SyncOperation(id: "un", kind: .update, record: records[0], base: versions[1])
      leaving.sharing = SharingChange(remove: Audience(lists: ["L"]))
      let members = (1...6).map { "m\($0)" }
      #expect(try await change(storage, [leaving, list(members, base: versions[0])], limit: 99).count == 2)
      let reported = try await storage.read(space: "s") { storage in
        try ["m1", "m6"].map { Set(try storage.notices(for: [$0], after: 0, limit: nil).map(\.record)) }
      }
      #expect(reported == [[records[0]], Set(records.dropFirst())])
    },
  ]
}
