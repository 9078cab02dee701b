import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of the number of lists that name one user.
extension ServerStorageConformance {
  private static func list(
    _ id: String, _ members: [String], base: String? = nil
  ) -> BothySync.SyncOperation {
    let list = UserList(id: id, name: "friends", members: members)
    return SyncOperation(
      id: "\(id)-\(members.joined())-\(base ?? "")", kind: base == nil ? .insert : .update,
      record: list.recordID, base: base, fields: list.fields)
  }

  private static func service(_ storage: any ServerStorage, lists limit: Int) -> SyncService {
    var rules = AccessRules()
    rules.listLimit = limit
    return SyncService(storage: storage, rules: rules, now: { 1000 })
  }

  /// Sends operations of a user. One owner may name a user in two lists, and all owners in 16. Returns the versions of
  /// what was applied.
  @discardableResult
  private static func send(
    _ operations: [BothySync.SyncOperation], by owner: String = "ann", to storage: any ServerStorage,
    limit: Int = 16
  ) async throws -> [String] {
    let request = SyncRequest(device: "d", operations: operations)
    let answer = try await service(storage, lists: limit).sync(
      space: "s", user: Caller(owner), request)
    return answer.outcomes.compactMap {
      if case .applied(let version, _, _) = $0.verdict { version } else { nil }
    }
  }

  private static func expectTooMany(
    _ operations: [BothySync.SyncOperation], by owner: String = "ann", in storage: any ServerStorage
  ) async throws {
    let before = try await storage.read(space: "s") { $0.head }
    let error = await #expect(throws: SyncServiceError.self) {
      try await send(operations, by: owner, to: storage)
    }
    #expect(error?.code == .tooManyReaders)
    #expect(
      error?.message
        == "'bob' may be in 16 lists of this space, and in 2 of one owner (--lists). Take it out of other lists, or "
        + "share the records with it by its name.")
    #expect(try await storage.read(space: "s") { $0.head } == before)
  }

  /// Returns the number of ann's lists that name bob.
  static func listsOfBob(_ storage: any ServerStorage) async throws -> Int? {
    try await storage.read(space: "s") { try $0.listCounts(of: ["bob"], ownedBy: "ann", limit: 9).first }
  }

  /// Makes a list of ann's that names bob, whose member has no owner, as older servers left it.
  static func leaveListWithoutOwner(in storage: any ServerStorage) async throws {
    try await send([list("L", ["bob"])], to: storage)
    try await storage.write(space: "s") { try $0.setMembers(["bob"], of: "L", ownedBy: nil) }
  }

  static let listChecks: [Check] = [
    Check("Lists that name a user are counted by their owner and up to a limit") { storage in
      try await storage.write(space: "s") { storage in
        try storage.setMembers(["bob", "cid"], of: "L1", ownedBy: "ann")
        try storage.setMembers(["bob"], of: "L2", ownedBy: "ann")
        try storage.setMembers(["bob"], of: "L3", ownedBy: "eve")
        try storage.setMembers(["bob"], of: "L4", ownedBy: nil)
      }
      let names = ["cid", "bob", "dan"]
      let counts = try await storage.read(space: "s") { storage in
        [
          try storage.listCounts(of: names, ownedBy: nil, limit: 9),
          try storage.listCounts(of: names, ownedBy: nil, limit: 3),
          try storage.listCounts(of: names, ownedBy: "ann", limit: 9),
          try storage.listCounts(of: names, ownedBy: "ann", limit: 1),
          try storage.listCounts(of: names, ownedBy: "eve", limit: 9),
          try storage.listCounts(of: [], ownedBy: nil, limit: 9),
        ]
      }
      #expect(counts == [[1, 4, 0], [1, 3, 0], [1, 2, 0], [1, 1, 0], [0, 1, 0], []])
      try await storage.write(space: "s") { try $0.setMembers(["cid"], of: "L1", ownedBy: "ann") }
      #expect(try await listsOfBob(storage) == 1)
      #expect(
        try await storage.read(space: "other") { try $0.listCounts(of: names, ownedBy: nil, limit: 9) }
          == [0, 0, 0])
    },
    Check("One owner names a user in an eighth of the lists, and others in the rest") { storage in
      let versions = try await send([list("L1", ["bob"]), list("L2", ["bob", "cid"])], to: storage)
      #expect(versions.count == 2)
      try await expectTooMany([list("L3", ["bob", "dan"])], in: storage)
      #expect(try await send([list("L3", ["cid", "dan"])], to: storage).count == 1)
      #expect(try await send([list("E1", ["bob"])], by: "eve", to: storage).count == 1)
      #expect(try await send([list("L1", [], base: versions[0])], to: storage).count == 1)
      #expect(try await send([list("L4", ["bob"])], to: storage).count == 1)
      #expect(try await listsOfBob(storage) == 2)
    },
    Check("All owners together name a user in a limited number of lists") { storage in
      var versions: [String] = []
      for owner in 1...8 {
        let two = [list("A\(owner)", ["bob"]), list("B\(owner)", ["bob"])]
        versions += try await send(two, by: "o\(owner)", to: storage)
      }
      #expect(versions.count == 16)
      try await expectTooMany([list("L", ["bob"])], in: storage)
      #expect(try await send([list("M", ["cid"])], to: storage).count == 1)
      let gone = SyncOperation(
        id: "gone", kind: .delete, record: UserList.recordID("A1"), base: versions[0])
      #expect(try await send([gone], by: "o1", to: storage).count == 1)
      #expect(try await send([list("L", ["bob"])], to: storage).count == 1)
    },
    Check("The lists of one request count together, with those that lose the user") { storage in
      let three = ["L1", "L2", "L3"].map { list($0, ["bob"]) }
      try await expectTooMany(three, in: storage)
      let versions = try await send(Array(three.prefix(2)), to: storage)
      #expect(versions.count == 2)
      let moved = [list("L3", ["bob"]), list("L1", ["cid"], base: versions[0])]
      #expect(try await send(moved, to: storage).count == 2)
      #expect(try await listsOfBob(storage) == 2)
    },
    Check("Lists beyond the limit stay, lose members, and get no lost one back") { storage in
      let many = (1...5).map { list("L\($0)", ["bob"]) }
      let versions = try await send(many, to: storage, limit: 1000)
      let kept = try await send([list("L1", ["bob", "cid"], base: versions[0])], to: storage)
      #expect(kept.count == 1)
      #expect(try await send([list("L2", ["cid"], base: versions[1])], to: storage).count == 1)
      #expect(try await listsOfBob(storage) == 4)
      #expect(try await storage.read(space: "s") { try $0.lists(of: ["bob"]).count } == 4)
      try await expectTooMany([list("L6", ["bob"])], in: storage)
    },
    Check("Lists of an export are restored, however many name a user") { storage in
      let records = (1...3).map { number in
        let list = UserList(id: "L\(number)", name: "friends", members: ["bob"])
        return ServerRecord(
          id: list.recordID, version: "", modified: 1, owner: "ann",
          fields: FieldsDocument(list.fields))
      }
      let done = try await service(storage, lists: 16).restore(records, into: "s")
      #expect(done.inserted == 3)
      #expect(try await listsOfBob(storage) == 3)
    },
  ]
}
